//! Reads settings from files, and makes a method from all flags about it.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use gnsm::Method;
use gnsm::settings::{DagmmConfig, DsvddConfig, GnsmConfig, Head, PaperSet};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{HeadName, MethodArguments, Preset};

/// The method with its preset, its head, and the settings of a file on top.
pub(crate) fn method(arguments: &MethodArguments) -> Result<Method> {
    let method = named(&arguments.method, arguments.preset, arguments.head)?;
    let method = match &arguments.config {
        Some(path) => with_file(&method, path)?,
        None => method,
    };
    method.validate()?;
    Ok(method)
}

/// `method` with all of it given by name, and the settings as JSON.
pub fn method_with(name: &str, preset: Option<&str>, head: Option<&str>, changes: Value) -> Result<Method> {
    let method = with_changes(&named(name, parsed("preset", preset)?, parsed("head", head)?)?, changes)?;
    method.validate()?;
    Ok(method)
}

/// What a word stands for.
pub(crate) fn parsed<T: ValueEnum>(what: &str, name: Option<&str>) -> Result<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    let parsed = T::from_str(name, false).map_err(|_| {
        let names = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        anyhow!("setting `{what}`: `{name}` is not one of {}", names.join(", "))
    });
    parsed.map(Some)
}

fn named(name: &str, preset: Option<Preset>, head: Option<HeadName>) -> Result<Method> {
    let mut method = Method::named(name)?;
    if let Some(preset) = preset {
        if !matches!(method, Method::Gnsm(_) | Method::Dsvdd(_) | Method::Dagmm(_)) {
            bail!("--preset is for the methods gnsm, dsvdd and dagmm, not for {}; leave it out", method.name());
        }
        method = with_preset(method, preset);
    }
    if let Method::Gnsm(config) = &mut method {
        *config = with_head(*config, head);
    } else if head.is_some() {
        bail!("--head is for the method gnsm, not for {}; leave it out, or give --method gnsm", method.name());
    }
    Ok(method)
}

/// A method with the settings of a preset. Methods that the paper does not tune have the same settings for all data
/// sets.
pub(crate) fn with_preset(method: Method, preset: Preset) -> Method {
    let set = match preset {
        Preset::Fast => return method,
        Preset::Paper => PaperSet::Any,
        Preset::PaperBank => PaperSet::Bank,
        Preset::PaperCensus => PaperSet::Census,
        Preset::PaperCmc => PaperSet::Cmc,
        Preset::PaperProbe => PaperSet::Probe,
    };
    as_in_the_paper(method, set)
}

/// A method with the paper's settings for one of its sets.
pub(crate) fn as_in_the_paper(method: Method, set: PaperSet) -> Method {
    match method {
        Method::Dagmm(_) => Method::Dagmm(DagmmConfig::paper(set)),
        Method::Gnsm(_) => Method::Gnsm(GnsmConfig::paper(set)),
        Method::Dsvdd(_) => Method::Dsvdd(DsvddConfig::paper()),
        _ => method,
    }
}

fn with_head(config: GnsmConfig, head: Option<HeadName>) -> GnsmConfig {
    match head {
        None => config,
        Some(HeadName::Norms) => config.with_paper_head(),
        // The noise and the objective belong to the head; the network and its training to the preset.
        Some(HeadName::Evidence) => with_default_noise(config, Head::Evidence { weights: None }),
        Some(HeadName::Surprise) => with_default_noise(config, Head::Surprise),
    }
}

fn with_default_noise(config: GnsmConfig, head: Head) -> GnsmConfig {
    let mut changed = GnsmConfig::fast();
    let hidden = changed.training.hidden;
    (changed.network, changed.training, changed.head) = (config.network, config.training, head);
    changed.training.hidden = hidden;
    changed
}

/// A TOML file; what is wrong with it is told in one line, with its number.
pub(crate) fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
        let place = line.map(|line| format!(", line {line}")).unwrap_or_default();
        anyhow!("{}{place}: {}", path.display(), error.message().trim_end().replace('\n', ", "))
    })
}

/// A method's settings as JSON, with the digits a person would write.
pub fn of_method(method: &Method) -> Result<Value> {
    let mut value = readable(method)?;
    Ok(without_limits(value["settings"].take()))
}

/// Settings in which no limit is a word.
pub(crate) fn without_limits(mut settings: Value) -> Value {
    replace(&mut settings, &UNLIMITED.into(), &ALL.into());
    settings
}

/// Settings as JSON. They go through text, since a 32-bit 0.001 would become the 64-bit number 0.0010000000474974513.
pub(crate) fn readable(settings: &impl Serialize) -> Result<Value> {
    Ok(serde_json::from_str(&serde_json::to_string(settings)?)?)
}

/// The largest number stands for "no limit" in a settings type; TOML cannot hold it, and nobody could read it.
const UNLIMITED: u64 = u64::MAX;
const ALL: &str = "all";

/// Puts `new` wherever `settings` hold `old`.
fn replace(settings: &mut Value, old: &Value, new: &Value) {
    match settings {
        Value::Object(members) => members.values_mut().for_each(|value| replace(value, old, new)),
        value if value == old => *value = new.clone(),
        _ => {}
    }
}

/// Settings with those of a TOML file in place of their own.
pub(crate) fn with_changes_of<T: Serialize + DeserializeOwned>(settings: &T, path: &Path) -> Result<T> {
    changed(settings, read_toml(path)?).with_context(|| path.display().to_string())
}

/// Settings with these in place of their own.
pub(crate) fn changed<T: Serialize + DeserializeOwned>(settings: &T, changes: Value) -> Result<T> {
    let mut value = without_limits(readable(settings)?);
    merge(&mut value, changes, "")?;
    replace(&mut value, &ALL.into(), &UNLIMITED.into());
    Ok(serde_json::from_value(value)?)
}

/// The method with the settings of a TOML file in place of its own.
pub(crate) fn with_file(method: &Method, path: &Path) -> Result<Method> {
    with_changes(method, read_toml(path)?).with_context(|| path.display().to_string())
}

fn with_changes(method: &Method, changes: Value) -> Result<Method> {
    let mut settings = of_method(method)?;
    merge(&mut settings, changes, "")?;
    replace(&mut settings, &ALL.into(), &UNLIMITED.into());
    let whole = serde_json::json!({ "method": method.name(), "settings": settings });
    Ok(serde_json::from_value(whole)?)
}

/// Refuses a value of another type than the setting has. Reading all settings at once would not name the wrong one. A
/// setting that can be `none` or "no limit" takes both types.
fn check_type(setting: &Value, change: &Value, path: &str) -> Result<()> {
    let must = match (setting, change) {
        (_, Value::Null) => return Ok(()),
        (Value::Number(_), Value::String(text)) if text == ALL => return Ok(()),
        (Value::Bool(_), change) if !change.is_boolean() => "true or false",
        (Value::Number(number), change) if number.is_f64() && !change.is_number() => "a number",
        (Value::Number(number), change) if !(number.is_f64() || change.is_i64() || change.is_u64()) => "a whole number",
        (Value::Array(_), change) if !change.is_array() => "a list",
        (Value::String(text), change) if text != ALL && !change.is_string() => "a text",
        _ => return Ok(()),
    };
    let place = if path.is_empty() { "the settings".to_owned() } else { format!("setting `{path}`") };
    bail!("{place}: is {change}, must be {must}")
}

/// Puts `changes` into `settings`, table by table.
fn merge(settings: &mut Value, changes: Value, path: &str) -> Result<()> {
    let (Value::Object(changes), false) = (&changes, settings.is_null()) else {
        check_type(settings, &changes, path)?;
        *settings = changes;
        return Ok(());
    };
    let Value::Object(known) = settings else { bail!("setting `{path}` is one value, not a table") };
    // A table with a `kind` has the keys of that kind, so another kind replaces the whole table.
    if changes.get("kind").is_some_and(|kind| known.get("kind") != Some(kind)) {
        *settings = Value::Object(changes.clone());
        return Ok(());
    }
    for (key, change) in changes {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let Some(setting) = known.get_mut(key) else {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            if names.is_empty() {
                bail!("there is no setting `{path}`, nor any other; leave it out");
            }
            bail!("there is no setting `{path}`; there are {}", names.join(", "));
        };
        merge(setting, change.clone(), &path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_toml(base: GnsmConfig, toml: &str) -> Result<GnsmConfig> {
        match with_changes(&Method::Gnsm(base), toml::from_str(toml)?)? {
            Method::Gnsm(config) => Ok(config),
            other => bail!("this is {}", other.name()),
        }
    }

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() -> Result<()> {
        for base in [GnsmConfig::fast(), GnsmConfig::paper(PaperSet::Any)] {
            assert_eq!(with_toml(base, "")?, base);
            let config = with_toml(base, "weighted = true\n[training]\nsteps = 7\n[network]\nwidth = 16\n")?;
            let mut expected = base;
            expected.weighted = true;
            expected.training.steps = 7;
            expected.network.width = 16;
            assert_eq!(config, expected);
        }
        Ok(())
    }

    #[test]
    fn a_setting_of_a_wrong_type_is_named() {
        for (toml, expected) in [
            ("training.steps = \"many\"", "setting `training.steps`: is \"many\", must be a whole number"),
            ("training.steps = 2.5", "setting `training.steps`: is 2.5, must be a whole number"),
            ("training.learning_rate = true", "setting `training.learning_rate`: is true, must be a number"),
            ("weighted = 1", "setting `weighted`: is 1, must be true or false"),
        ] {
            let problem = with_toml(GnsmConfig::fast(), toml).map_err(|error| error.to_string());
            assert_eq!(problem.err().as_deref(), Some(expected));
        }
    }

    #[test]
    fn no_limit_is_a_word() -> Result<()> {
        let paper = of_method(&Method::Gnsm(GnsmConfig::paper(PaperSet::Any)))?;
        assert_eq!(paper["training"]["validation_rows"], "all");
        assert!(!paper.to_string().contains(&u64::MAX.to_string()), "{paper}");
        let config = with_toml(GnsmConfig::fast(), "training.validation_rows = \"all\"")?;
        assert_eq!(config.training.validation_rows, GnsmConfig::paper(PaperSet::Any).training.validation_rows);
        assert_eq!(with_toml(config, "training.validation_rows = 7")?.training.validation_rows, 7);
        Ok(())
    }

    #[test]
    fn the_papers_settings_have_no_limit_on_rows_and_differ_by_set() -> Result<()> {
        let paper = |set| of_method(&Method::Gnsm(GnsmConfig::paper(set)));
        for (set, batch, steps) in
            [(PaperSet::Any, 2048, 1_000_000), (PaperSet::Bank, 2048, 2_000_000), (PaperSet::Cmc, 512, 600_000)]
        {
            let settings = paper(set)?;
            assert_eq!(
                (&settings["training"]["batch"], &settings["training"]["steps"]),
                (&batch.into(), &steps.into())
            );
            let head = &settings["head"];
            assert_eq!([&head["most_rows"], &head["most_compared"], &head["criterion"]], ["all", "all", "mean"]);
        }
        for method in [Method::Dsvdd(DsvddConfig::paper()), Method::Dagmm(DagmmConfig::paper(PaperSet::Census))] {
            assert_eq!(of_method(&method)?["training"]["validation_rows"], "all");
        }
        // The head of the preset stays as it is when it is asked for by name.
        assert_eq!(
            with_head(GnsmConfig::paper(PaperSet::Any), Some(HeadName::Norms)),
            GnsmConfig::paper(PaperSet::Any)
        );
        Ok(())
    }

    #[test]
    fn what_is_not_set_can_be_set() -> Result<()> {
        let weights = "head.weights = { values = 0.0, doubt = 0.5, residual = 0.5, patterns = 0.0 }";
        let expected = gnsm::settings::EvidenceWeights { values: 0.0, doubt: 0.5, residual: 0.5, patterns: 0.0 };
        assert_eq!(with_toml(GnsmConfig::fast(), weights)?.head, Head::Evidence { weights: Some(expected) });
        Ok(())
    }

    #[test]
    fn a_table_of_another_kind_is_replaced() -> Result<()> {
        let config = with_toml(GnsmConfig::fast(), "levels.smoothing = { kind = \"fixed\", delta = 0.5 }")?;
        assert_eq!(config.levels.smoothing, gnsm::settings::Smoothing::Fixed { delta: 0.5 });
        assert_eq!(config.levels.count, GnsmConfig::fast().levels.count);
        Ok(())
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let problem = |toml| with_toml(GnsmConfig::fast(), toml).expect_err("an error").to_string();
        assert!(problem("training.stepz = 3").starts_with("there is no setting `training.stepz`; there are batch, "));
        assert_eq!(problem("training.steps.x = 3"), "setting `training.steps` is one value, not a table");
        assert!(problem("training = 3").contains("TrainingConfig"));
        assert!(problem("training.steps = \"many\"").contains("many"));
    }
}
