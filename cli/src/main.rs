//! The `tegula` command over the kernel library.

use std::process::ExitCode;

use tegula_cli::Library;

fn main() -> ExitCode {
    tegula_cli::main(&Library::standard())
}
