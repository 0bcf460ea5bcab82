//! What every detector can do, and the one list of them.
//!
//! Higher scores mean odder rows, everywhere. The command line's names, the benchmark's columns and the contract tests iterate
//! over [`Method::NAMES`].
//!
//! To add a detector, write its file and add a line to the list below. A line names a type of settings, which has `Default`
//! and `validate`, and a fitted type, which is a [`Detector`] and has `fit`, `config`, `save` and `load`.

use serde::{Deserialize, Serialize};

use crate::cells::Cells;
use crate::columns::{Encoded, Layout};
use crate::density::MixtureConfig;
use crate::detectors::{
    Cbrw, Comprex, Dagmm, DagmmConfig, Detector, Dsvdd, DsvddConfig, Ecod, Gmm, Homophily, IsolationForest,
    IsolationForestConfig, Knn, KnnConfig, Marginals, NoSettings, OcSvm, OcSvmConfig, Pca, PcaConfig, RowCount,
    WalkConfig, score_distinct,
};
use crate::error::{Error, Result};
use crate::files::Tensors;
use crate::score_matching::{Gnsm, GnsmConfig};
use crate::train::{CurvePoint, Ending, Run, TrainingConfig};

/// Writes out the list of methods as two enums, [`Method`] and [`Fitted`], and all that depends on which one it is.
macro_rules! methods {
    ($($(#[$documentation:meta])* $name:literal: $variant:ident($config:ty) => $detector:ty;)+) => {
        /// A detector's settings: choose one, and fit it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", content = "settings")]
        pub enum Method {
            $($(#[$documentation])* #[serde(rename = $name)] $variant($config),)+
        }

        /// A fitted detector of one of the methods.
        #[derive(Debug, Clone)]
        pub enum Fitted {
            $($(#[$documentation])* $variant(Box<$detector>),)+
        }

        impl Method {
            /// The names of all methods.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// The method of that name, with its default settings.
            pub fn named(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$variant(<$config>::default())),)+
                    _ => Err(Error::config("method", format!("`{name}` is not one of {}", Self::NAMES.join(", ")))),
                }
            }

            /// The method's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// Checks the settings.
            pub fn validate(&self) -> Result<()> {
                match self {
                    $(Self::$variant(config) => config.validate(),)+
                }
            }

            /// Fits on `training` rows; `validation` rows are for what has to be chosen, and where nothing has, they train too.
            pub fn fit(&self, layout: &Layout, training: &Encoded, validation: &Encoded, run: Run<'_>) -> Result<Fitted> {
                self.validate()?;
                match self {
                    $(Self::$variant(config) => {
                        let fitted = <$detector>::fit(config, layout, training, validation, run)?;
                        Ok(Fitted::$variant(Box::new(fitted)))
                    })+
                }
            }
        }

        impl Fitted {
            /// The method, with the settings that this detector was fitted with.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(fitted) => Method::$variant(fitted.config().clone()),)+
                }
            }

            /// The method's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// The detector.
            pub fn detector(&self) -> &dyn Detector {
                match self {
                    $(Self::$variant(fitted) => fitted.as_ref(),)+
                }
            }

            /// Scores all rows, computing each distinct one once.
            pub fn score_distinct(&self, rows: &Encoded) -> Vec<f64> {
                score_distinct(self.detector(), rows)
            }

            pub(crate) fn save(&self, tensors: &mut Tensors) -> serde_json::Result<serde_json::Value> {
                match self {
                    $(Self::$variant(fitted) => fitted.save(tensors),)+
                }
            }

            pub(crate) fn load(
                name: &str,
                content: serde_json::Value,
                layout: &Layout,
                tensors: &mut Tensors,
            ) -> std::result::Result<Self, String> {
                match name {
                    $($name => <$detector>::load(content, layout, tensors).map(|fitted| Self::$variant(Box::new(fitted))),)+
                    _ => Err(format!("method `{name}` is unknown")),
                }
            }
        }
    };
}

methods! {
    /// A score made of cells: given the rest of the row, by themselves, and beside the nearest rows.
    "cells": Cells(NoSettings) => Cells;
    /// Gumbel Noise Score Matching.
    "gnsm": Gnsm(GnsmConfig) => Gnsm;
    /// The surprise of each cell by itself.
    "marginals": Marginals(NoSettings) => Marginals;
    /// How often the whole row was seen.
    "row-count": RowCount(NoSettings) => RowCount;
    /// What is left of a row outside of its principal components.
    "pca": Pca(PcaConfig) => Pca;
    /// A Gaussian mixture on the one-hot encoding.
    "gmm": Gmm(MixtureConfig) => Gmm;
    /// Tail probabilities of each column by itself.
    "ecod": Ecod(NoSettings) => Ecod;
    /// How few random cuts set a row apart.
    "isolation-forest": IsolationForest(IsolationForestConfig) => IsolationForest;
    /// The distance to the k-th nearest training row.
    "knn": Knn(KnnConfig) => Knn;
    /// Coupled biased random walks between values that occur together.
    "cbrw": Cbrw(WalkConfig) => Cbrw;
    /// The same walk, drawn to where odd values keep company.
    "homophily": Homophily(WalkConfig) => Homophily;
    /// A one-class support vector machine.
    "ocsvm": OcSvm(OcSvmConfig) => OcSvm;
    /// The length of a row in patterns of the training rows.
    "comprex": Comprex(NoSettings) => Comprex;
    /// The distance of a row's code from a centre.
    "dsvdd": Dsvdd(DsvddConfig) => Dsvdd;
    /// The energy of a row's code and reconstruction in a Gaussian mixture.
    "dagmm": Dagmm(DagmmConfig) => Dagmm;
}

impl Method {
    /// The settings of the training loop, if the method has one.
    pub fn training(&self) -> Option<TrainingConfig> {
        match self {
            Self::Gnsm(config) => Some(config.training),
            Self::Dsvdd(config) => Some(config.training.config()),
            Self::Dagmm(config) => Some(config.training.config()),
            _ => None,
        }
    }
}

impl Fitted {
    /// How training went, if there was any.
    pub fn training(&self) -> Option<(&[CurvePoint], Ending)> {
        match self {
            Self::Gnsm(gnsm) => Some((gnsm.curve(), gnsm.ending())),
            Self::Dsvdd(dsvdd) => Some((dsvdd.curve(), dsvdd.ending())),
            Self::Dagmm(dagmm) => Some((dagmm.curve(), dagmm.ending())),
            _ => None,
        }
    }

    /// What is wrong with the fit, if something is.
    pub fn warning(&self) -> Option<String> {
        if let Self::Dsvdd(dsvdd) = self { dsvdd.warning() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::Silent;

    /// A method with its default settings, but for a network that trains in no time.
    fn quick(name: &str) -> Result<Method> {
        let mut method = Method::named(name)?;
        match &mut method {
            Method::Gnsm(config) => {
                (config.network.width, config.network.depth, config.training.steps) = (8, 1, 10);
            }
            Method::Dsvdd(config) => (config.layers, config.training.steps) = (vec![8, 4], 10),
            Method::Dagmm(config) => (config.layers, config.training.steps) = (vec![8], 10),
            _ => {}
        }
        Ok(method)
    }

    #[test]
    fn names_and_settings_come_back_from_json() -> Result<()> {
        for name in Method::NAMES {
            let method = Method::named(name)?;
            let text = serde_json::to_string(&method).expect("settings serialise");
            assert!(text.contains(&format!("\"method\":\"{name}\"")), "{text}");
            assert_eq!(serde_json::from_str::<Method>(&text).ok(), Some(method));
        }
        let problem = Method::named("nonsense").expect_err("no such method").to_string();
        assert!(problem.starts_with("setting `method`: `nonsense` is not one of cells, gnsm, "), "{problem}");
        Ok(())
    }

    #[test]
    fn settings_out_of_range_are_named() {
        for (name, setting, value) in [
            ("pca", "variance", 1.0.into()),
            ("gmm", "components", 0.into()),
            ("isolation-forest", "trees", 0.into()),
            ("isolation-forest", "sample", 1.into()),
            ("knn", "neighbour", 0.into()),
            ("knn", "most_rows", 0.into()),
            ("cbrw", "damping", 1.0.into()),
            ("homophily", "damping", (-0.5).into()),
            ("ocsvm", "nu", 0.0.into()),
            ("ocsvm", "gamma", serde_json::Value::from(-1.0)),
            ("ocsvm", "tolerance", 0.0.into()),
            ("ocsvm", "most_rows", 0.into()),
            ("dsvdd", "layers", serde_json::json!([8, 0])),
            ("dsvdd", "reconstruction", serde_json::Value::from(-1.0)),
            ("dagmm", "layers", serde_json::json!([])),
            ("dagmm", "code", 0.into()),
            ("dagmm", "estimation", 0.into()),
            ("dagmm", "dropout", 1.0.into()),
            ("dagmm", "components", 65.into()),
            ("dagmm", "energy", serde_json::Value::from(-0.1)),
            ("dagmm", "regularisation", 0.0.into()),
        ] {
            let json = serde_json::json!({ "method": name, "settings": { (setting): value } });
            let method: Method = serde_json::from_value(json).expect("a method");
            let problem = method.validate().expect_err("out of range");
            assert!(matches!(problem, Error::Config { field, .. } if field == setting), "{name}: {problem}");
        }
    }

    /// Every array of every detector is needed, in its length: a file that lacks one is refused and nothing panics.
    #[test]
    fn damaged_arrays_are_refused() -> Result<()> {
        let layout = Layout::new(1, vec![3, 2]);
        let codes = (0..40).flat_map(|row| [row % 3, u32::from(row % 7 == 0)]).collect();
        let rows = Encoded::new(40, codes, (0..40).map(|row| ((row * 7 % 11) as f32 - 5.0) / 4.0).collect());
        for name in Method::NAMES {
            let run = Run { seed: 1, max_seconds: None, resume: None, save: None, watcher: &mut Silent };
            let fitted = quick(name)?.fit(&layout, &rows, &rows, run)?;
            let mut tensors = Tensors::default();
            let content = fitted.save(&mut tensors).expect("content serialises");
            let load = |mut tensors: Tensors| Fitted::load(name, content.clone(), &layout, &mut tensors);
            let loaded = load(tensors.clone()).unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert_eq!(fitted.detector().score(&rows), loaded.detector().score(&rows), "{name}");
            assert_eq!(fitted.method(), loaded.method());
            for array in tensors.names() {
                let (mut without, mut short) = (tensors.clone(), tensors.clone());
                without.remove(&array);
                let is_shorter = short.shorten(&array);
                assert!(load(without).is_err(), "{name} without {array}");
                assert!(!is_shorter || load(short).is_err(), "{name} with a short {array}");
            }
            assert!(
                Fitted::load(name, serde_json::json!({}), &layout, &mut tensors).is_err(),
                "{name} without settings"
            );
        }
        Ok(())
    }
}
