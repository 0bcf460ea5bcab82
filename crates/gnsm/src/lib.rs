//! Finds what is odd in tables of categories and numbers, without labels, and says why.
//!
//! The modules are the steps of the method, in order:
//!
//! 1. [`table`]: rows as read from CSV, JSON lines, Parquet, Arrow or ARFF.
//! 2. [`schema`], [`encode`]: what each column is; category codes and scaled numbers.
//! 3. [`noise`]: the levels, the noise of each, the loss and its gradient.
//! 4. [`network`]: from a noisy row and its level to logits.
//! 5. [`train`]: the loop.
//! 6. [`embed`]: score norms and surprise of a row, per level and per cell.
//! 7. [`density`]: how typical an embedding is.
//! 8. [`gnsm`] assembles 3 to 7; [`detector`] lists the methods; [`threshold`] turns scores into p-values and decisions; [`reason`]
//!    says why; [`model`] is what is fitted, saved and loaded.
//!
//! Segmentation masks have rooms of their own, in [`mask`].
//!
//! ```
//! use std::path::Path;
//!
//! use gnsm::detector::Method;
//! use gnsm::gnsm::GnsmConfig;
//! use gnsm::model::{FitOptions, Model};
//! use gnsm::table::{ReadOptions, read_table};
//! use gnsm::train::Silent;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("claims.csv");
//! # let rows: String = (0..200).map(|i| format!("{},{}\n", ["taxi", "hotel"][i % 2], 20 + 100 * (i % 2) + i % 7)).collect();
//! # std::fs::write(&path, format!("category,amount\n{rows}taxi,950\n")).unwrap();
//! let table = read_table(&path, &ReadOptions::default())?;
//! let mut config = GnsmConfig::fast();
//! config.training.steps = 200;
//! let model = Model::fit(&table, &Method::Gnsm(config), &FitOptions::default(), &mut Silent)?;
//! let scores = model.score(&table)?;
//! let oddest = (0..scores.len()).max_by(|&a, &b| scores[a].score.total_cmp(&scores[b].score)).unwrap();
//! assert_eq!(oddest, 200);
//! println!("{}", model.explain(&table, &[oddest], 1)?[0].reasons[0]);
//! # Ok::<(), gnsm::error::Error>(())
//! ```

pub mod table;
pub mod schema;
mod codes;
pub mod encode;
pub mod layout;
pub mod noise;
pub mod network;
pub mod train;
pub mod embed;
pub mod density;
pub mod gnsm;
pub mod baselines;
pub mod detector;
pub mod threshold;
pub mod reason;
pub mod model;
pub mod model_file;
mod checkpoint;
pub mod metrics;
pub mod correlation;
pub mod mask;
pub mod container;
pub mod atomic_file;
pub mod error;
