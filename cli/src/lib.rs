//! The `tegula` command, as a library: a crate with kernels of its own gets the same command over them.
//!
//! | module | subject |
//! |---|---|
//! | [`args`] | the command line |
//! | [`commands`] | one file a command |
//! | [`case`] | building and running a case of the kernel library |
//! | [`select`] | from names on the command line to a built kernel |
//! | [`table`], `output` | output for people |
//! | [`error`] | errors of one line with an exit status |
//!
//! Without the feature `compiler`, the commands that compile are not there, and neither is LLVM.

#[macro_use]
mod output;

pub mod args;
pub mod case;
pub mod commands;
pub mod error;
pub mod select;
pub mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use tegula::lang::kernel::KernelInfo;
use tegula_kernels::cases::Case;

use crate::args::{Cli, Command};
use crate::error::{CliError, Result};

/// The kernels that the command works on.
#[derive(Clone, Debug)]
pub struct Library {
    /// The kernels.
    pub kernels: Vec<&'static KernelInfo>,
    /// Problems to run them on.
    pub cases: &'static [Case],
}

/// The command over the kernel library, with this process's arguments and a log on standard error.
pub fn main() -> ExitCode {
    log_to_stderr();
    let library = Library { kernels: tegula_kernels::library(), cases: tegula_kernels::cases::CASES };
    run(&library, std::env::args_os())
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

/// Runs the command with these arguments, the first of which is the program's name. Errors are printed as one line on
/// standard error; the exit status is 2 for a wrong command line and 1 for what failed.
pub fn run<I, T>(library: &Library, args: I) -> ExitCode
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            print!("{e}");
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            eprintln!("tegula: {}", one_line(&e));
            return ExitCode::from(2);
        }
    };
    match dispatch(library, &cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tegula: {e}");
            ExitCode::from(e.exit_status())
        }
    }
}

fn dispatch(library: &Library, command: &Command) -> Result<()> {
    match command {
        Command::Kernels(args) => commands::kernels::run(library, args),
        #[cfg(feature = "compiler")]
        Command::Compile(args) => commands::compile::run(library, args),
        Command::Opt(args) => commands::opt::run(args),
        #[cfg(feature = "compiler")]
        Command::Run(args) => commands::run::run(library, args),
        #[cfg(feature = "compiler")]
        Command::Check(args) => commands::check::run(library, args),
        #[cfg(feature = "compiler")]
        Command::Tune(args) => commands::tune::run(library, args),
        #[cfg(feature = "compiler")]
        Command::Measure => commands::tune::measure(library),
        #[cfg(feature = "compiler")]
        Command::Demo(args) => commands::demo::run(library, args),
        Command::Doctor(args) => commands::doctor::run(args),
        #[cfg(feature = "compiler")]
        Command::Export(args) => commands::export::run(library, args),
        Command::Session(args) => commands::session::run(library, args),
        Command::Cache(args) => commands::cache::run(args),
    }
}

/// What clap found wrong, and its suggestion, in one line.
fn one_line(e: &clap::Error) -> String {
    let text = e.to_string();
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    let mut out = Vec::new();
    for line in lines {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            continue;
        }
        out.push(line.trim_start_matches("error: ").trim_start_matches("tip: ").to_owned());
    }
    if out.is_empty() { "give a command; see tegula --help".into() } else { out.join("; ").replace(":; ", ": ") }
}

impl Library {
    /// The kernel of this name.
    ///
    /// # Errors
    /// With the nearest name.
    pub fn kernel(&self, name: &str) -> Result<&'static KernelInfo> {
        self.kernels
            .iter()
            .find(|k| k.name == name)
            .copied()
            .ok_or_else(|| CliError::unknown("kernel", name, self.kernels.iter().map(|k| k.name)))
    }
}
