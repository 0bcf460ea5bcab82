use super::*;
use crate::files::Tensors;
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
        let loaded = load(tensors.clone()).unwrap_or_else(|problem| panic!("{name}: {problem:?}"));
        assert_eq!(fitted.detector().score(&rows), loaded.detector().score(&rows), "{name}");
        assert_eq!(fitted.method(), loaded.method());
        for array in tensors.names() {
            let (mut without, mut short) = (tensors.clone(), tensors.clone());
            without.remove(&array);
            let is_shorter = short.shorten(&array);
            assert!(load(without).is_err(), "{name} without {array}");
            assert!(!is_shorter || load(short).is_err(), "{name} with a short {array}");
        }
        assert!(Fitted::load(name, serde_json::json!({}), &layout, &mut tensors).is_err(), "{name} without settings");
    }
    Ok(())
}
