//! Finds what is odd in tables of categories and numbers, without labels, and says why.

pub mod table;
pub mod schema;
pub mod encode;
pub mod layout;
pub mod noise;
pub mod network;
pub mod error;
