//! The `tegula` command over the kernel library, to be built without the compiler (`--no-default-features`) and carried to
//! machines that have no LLVM. It has a name of its own, so that the two can be built side by side.

use std::process::ExitCode;

use tegula_cli::Library;

fn main() -> ExitCode {
    tegula_cli::main(&Library::standard())
}
