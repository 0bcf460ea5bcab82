//! From a path or a pipe to the bytes of one table: compression, a tar or zip around it, its encoding, and which format
//! it is; and from several paths to one table.

pub(in crate::table) mod compression;
pub(in crate::table) mod encoding;
pub(in crate::table) mod lines;
pub(in crate::table) mod open;
pub(in crate::table) mod several;
pub(in crate::table) mod source;
pub(in crate::table) mod tar;
pub(in crate::table) mod zip;
