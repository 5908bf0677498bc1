//! The `tegula` command over the kernel library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tegula_cli::main()
}
