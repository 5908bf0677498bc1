//! The `tegula` command over the kernel library.

use std::process::ExitCode;

use tegula_cli::Library;

fn main() -> ExitCode {
    let library = Library { kernels: tegula_kernels::library(), cases: tegula_kernels::cases::CASES };
    tegula_cli::run(&library, std::env::args_os())
}
