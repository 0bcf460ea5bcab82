//! From a path or a pipe to the bytes of one table: compression, a tar around it, and which format it is.

pub(in crate::table) mod compression;
pub(in crate::table) mod lines;
pub(in crate::table) mod open;
pub(in crate::table) mod source;
pub(in crate::table) mod tar;
