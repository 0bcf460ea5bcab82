//! The built binary from outside: what it prints where, how it ends, and what it leaves behind.

mod harness;
mod help;
mod output;
mod passing;
mod drift;
mod facts;
mod wrong_cells;
mod streams;
mod inputs;
mod determinism;
mod large;
mod generate;
mod groups;
mod bad_input;
mod bad_files;
mod interruption;
#[cfg(feature = "masks")]
mod masks;
#[cfg(feature = "serve")]
mod serve;
