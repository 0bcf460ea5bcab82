//! What every detector can do, and the one list of them.
//!
//! Higher scores mean odder rows, everywhere. The command line's names, the benchmark's columns and the contract tests iterate
//! over [`Method::NAMES`].
//!
//! To add a detector, write its file and add a line to the list below. A line names a type of settings, which has `Default`
//! and `validate`, and a fitted type, which is a [`Detector`](crate::detectors::Detector), can be kept in a file ([`Store`](crate::files::Store)) and has `fit`
//! and `config`.

use serde::{Deserialize, Serialize};

use crate::cells::{Cells, CellsSettings};
use crate::columns::{Encoded, Layout};
use crate::density::MixtureConfig;
use crate::detectors::{
    Cbrw, Comprex, Dagmm, DagmmConfig, Dsvdd, DsvddConfig, Ecod, Gmm, Homophily, IsolationForest,
    IsolationForestConfig, Knn, KnnConfig, Marginals, NoSettings, OcSvm, OcSvmConfig, Pca, PcaConfig, RowCount,
    WalkConfig, fitted_detectors, score_distinct,
};
use crate::error::{Error, Result};
use crate::score_matching::{Gnsm, GnsmConfig};
use crate::train::{CurvePoint, Ending, Run, TrainingConfig};

/// Writes out the list of methods as two enums, [`Method`] and [`Fitted`], and all that depends on which one it is.
macro_rules! methods {
    ($($(#[$documentation:meta])* $name:literal: $variant:ident($config:ty) => $detector:ty;)+) => {
        /// A detector's settings: choose one, and fit it.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", content = "settings")]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$documentation])* #[serde(rename = $name)] $variant($config),)+
        }

        fitted_detectors! {
            /// A fitted detector of one of the methods.
            pub enum Fitted {
                $($(#[$documentation])* $name: $variant($detector),)+
            }
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
            #[doc(hidden)]
            pub fn fit(&self, layout: &Layout, training: &Encoded, validation: &Encoded, run: Run<'_>) -> Result<Fitted> {
                self.validate()?;
                match self {
                    $(Self::$variant(config) => {
                        let fitted = <$detector>::fit(config, layout, [training, validation], run)?;
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

            /// Scores all rows, computing each distinct one once.
            pub fn score_distinct(&self, rows: &Encoded) -> Vec<f64> {
                score_distinct(self.detector(), rows)
            }
        }
    };
}

methods! {
    /// A score made of cells: given the rest of the row, by themselves, and beside the nearest rows.
    "cells": Cells(CellsSettings) => Cells;
    /// Gumbel Noise Score Matching.
    "gnsm": Gnsm(GnsmConfig) => Gnsm;
    /// The surprise of each cell by itself.
    "marginals": Marginals(NoSettings) => Marginals;
    /// How often the whole row was seen.
    "row-count": RowCount(NoSettings) => RowCount;
    /// The distance from the mean, by how much rows vary in each direction.
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
    /// The same walk, drawn to where odd values keep company: our reading of a paper.
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

impl Default for Method {
    fn default() -> Self {
        Self::Cells(CellsSettings::default())
    }
}

impl Method {
    /// Whether a fitted one can judge rows that it learned from as if it had not: then no row has to be held back.
    pub fn leaves_out(&self) -> bool {
        matches!(self, Self::Cells(_))
    }

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
mod tests;
