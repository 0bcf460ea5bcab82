//! Finds what is odd in tables of categories and numbers, without labels, and says why.

pub mod table;
pub mod schema;
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
pub mod metrics;
mod container;
pub mod atomic_file;
pub mod error;
