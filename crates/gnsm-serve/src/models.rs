//! The models, by name. One that is replaced stays until the requests that use it are answered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use gnsm::Model;
use serde_json::json;

use crate::Error;
use crate::log::log;
use crate::metrics::Metrics;
use crate::recent::Recent;

/// What tells that a file was replaced.
type Stamp = (Option<SystemTime>, u64, u64);

/// A model, and counts of the last rows that it was asked about.
#[derive(Debug)]
pub struct Served {
    /// The model.
    pub model: Model,
    /// The last rows.
    pub recent: Recent,
}

impl Served {
    fn load(path: &Path) -> gnsm::Result<Arc<Self>> {
        Ok(Arc::new(Self { model: Model::load(path)?, recent: Recent::default() }))
    }
}

/// A model and its file.
#[derive(Debug)]
struct Slot {
    path: PathBuf,
    served: RwLock<Arc<Served>>,
    stamp: Mutex<Stamp>,
}

/// All models.
#[derive(Debug)]
pub struct Models(BTreeMap<String, Slot>);

impl Models {
    /// Loads all models.
    pub fn load(paths: &[PathBuf], metrics: &Metrics) -> Result<Self, Error> {
        let mut models = BTreeMap::new();
        for path in paths {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // The time stamp is taken first. So if the file is replaced meanwhile, it is loaded again.
            let stamp = Mutex::new(stamp(path));
            let slot = Slot { path: path.clone(), served: RwLock::new(Served::load(path)?), stamp };
            metrics.load(&name);
            if let Some(other) = models.insert(name.clone(), slot) {
                let (a, b) = (other.path.display(), path.display());
                return Err(format!("{a} and {b} are both called `{name}`; rename one of the files").into());
            }
        }
        if models.is_empty() {
            return Err("there is no model to serve; name at least one file".into());
        }
        Ok(Self(models))
    }

    /// The model of that name.
    pub fn get(&self, name: &str) -> Option<Arc<Served>> {
        self.0.get(name).map(Slot::served)
    }

    /// All names with their models.
    pub fn all(&self) -> impl Iterator<Item = (&str, Arc<Served>)> {
        self.0.iter().map(|(name, slot)| (name.as_str(), slot.served()))
    }

    /// Loads models again whose files were replaced. If one cannot be loaded, that is logged, and the old one stays.
    pub fn refresh(&self, metrics: &Metrics) {
        for (name, slot) in &self.0 {
            let now = stamp(&slot.path);
            let mut known = slot.stamp.lock().unwrap_or_else(PoisonError::into_inner);
            if *known == now {
                continue;
            }
            *known = now;
            match Served::load(&slot.path) {
                Ok(served) => {
                    log("info", "model replaced", json!({ "model": name, "hash": served.model.hash() }));
                    *slot.served.write().unwrap_or_else(PoisonError::into_inner) = served;
                    metrics.load(name);
                }
                Err(error) => {
                    log("error", "model not replaced", json!({ "model": name, "error": error.to_string() }));
                }
            }
        }
    }
}

impl Slot {
    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn stamp(path: &Path) -> Stamp {
    #[cfg(unix)]
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = std::fs::metadata(path) else { return (None, 0, 0) };
    #[cfg(unix)]
    let node = found.ino();
    #[cfg(not(unix))]
    let node = 0;
    (found.modified().ok(), found.len(), node)
}
