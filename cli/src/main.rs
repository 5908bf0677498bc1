//! The `tegula` command over the kernel library.

use std::process::ExitCode;

use tegula_cli::Library;

fn main() -> ExitCode {
    log_to_stderr();
    let library = Library { kernels: tegula_kernels::library(), cases: tegula_kernels::cases::CASES };
    tegula_cli::run(&library, std::env::args_os())
}

/// Prints warnings, or what `TEGULA_LOG` (`error`, `warn`, `info`, `debug`, `trace`) chooses, on standard error.
fn log_to_stderr() {
    let level = std::env::var("TEGULA_LOG").ok().and_then(|l| l.parse().ok()).unwrap_or(tracing::Level::WARN);
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .init();
}
