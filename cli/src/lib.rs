//! The `tegula` command, as a library: a crate with kernels of its own gets the same command over them.
//!
//! | module | subject |
//! |---|---|
//! | [`args`] | the command line |
//! | [`commands`] | one file a command |
//! | [`select`] | from names on the command line to a built kernel |
//! | [`table`], `output` | output for people |
//! | [`error`] | errors of one line with an exit status |

#[macro_use]
mod output;

pub mod args;
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
        Command::Compile(args) => commands::compile::run(library, args),
        Command::Opt(args) => commands::opt::run(args),
        Command::Run(args) => commands::run::run(library, args),
        Command::Check(args) => commands::check::run(library, args),
        Command::Tune(args) => commands::tune::run(library, args),
        Command::Measure => commands::tune::measure(library),
        Command::Demo(args) => commands::demo::run(library, args),
        Command::Doctor(args) => commands::doctor::run(args),
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
    if out.is_empty() { "give a command; see tegula --help".into() } else { out.join("; ") }
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
