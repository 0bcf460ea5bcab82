//! Finds what is odd in tables of categories and numbers, without labels, and says why.

pub mod table;
pub mod density;
pub mod threshold;
pub mod metrics;
pub mod error;
