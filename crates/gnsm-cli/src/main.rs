//! The `gnsm` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    gnsm_cli::main_with(std::env::args_os()).into()
}
