//! The `tegula` command, as a library: a crate with kernels of its own gets the same command over them with one line in a
//! program, [`cli!`].
//!
//! | module | subject |
//! |---|---|
//! | [`args`] | the command line |
//! | [`commands`] | one file a command |
//! | [`case`] | building and running a case of the kernel library |
//! | `generated` | a problem for a kernel that has none |
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
#[cfg(feature = "compiler")]
mod generated;
pub mod select;
pub mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser};
use tegula::lang::kernel::KernelInfo;
/// Problems that a kernel can be run on.
pub use tegula_kernels::{cases, problem};

use crate::args::{Cli, Command};
use crate::cases::{CASES, Case};
use crate::error::{CliError, Result};

/// The kernels that the command works on.
#[derive(Clone, Debug)]
pub struct Library {
    /// The kernels.
    pub kernels: Vec<&'static KernelInfo>,
    /// Problems to run them on.
    pub cases: &'static [Case],
}

/// The command with this process's arguments and a log on standard error: the `main` of a program.
pub fn main(library: &Library) -> ExitCode {
    log_to_stderr();
    run(library, std::env::args_os())
}

/// The `main` of a program that is the command over these kernels: `cli![add, gemm::matmul]`. To `run`, `check` and `tune` a
/// kernel on data of its own and against a reference of its own, give problems: `cli![add, gemm::matmul; cases = CASES]`, of
/// type `&'static [Case]`, with [`Case`](cases::Case). Without, `run` takes the tensors' extents from the command line, and the
/// interpreter is the reference.
///
/// ```ignore
/// use tegula::prelude::*;
///
/// #[kernel]
/// fn scale<B: Dim>(x: &Tensor<f32, 1>, y: &mut Tiles<f32, (B,)>, by: Scalar<f32>) {
///     y.store(x.tile::<(B,)>(y.index()).load() * by);
/// }
///
/// tegula_cli::cli![scale];
/// ```
#[macro_export]
macro_rules! cli {
    ($($($segment:ident)::+),* $(,)?) => {
        $crate::cli![$($($segment)::+),*; cases = &[]];
    };
    ($($($segment:ident)::+),* $(,)?; cases = $cases:expr) => {
        pub(crate) fn main() -> ::std::process::ExitCode {
            let kernels = $crate::__private::kernel_list![$($($segment)::+),*].to_vec();
            $crate::main(&$crate::Library { kernels, cases: $cases })
        }
    };
}

/// What [`cli!`] refers to.
#[doc(hidden)]
pub mod __private {
    pub use tegula::kernel_list;
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
    let result = dispatch(library, &cli.command).and(output::finish().map_err(CliError::Failed));
    match result {
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
    let mut out = String::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            continue;
        }
        // A line that ends in a colon is about the next.
        if !out.is_empty() {
            out.push_str(if out.ends_with(':') { " " } else { "; " });
        }
        out.push_str(line.trim_start_matches("error: ").trim_start_matches("tip: "));
    }
    if e.kind() == ErrorKind::InvalidSubcommand && e.get(ContextKind::SuggestedSubcommand).is_none() {
        out.push_str(&format!("; choose from: {}", commands_at(&text).join(", ")));
    }
    out
}

/// The commands that can stand where the usage in this text says that one is wanted.
fn commands_at(text: &str) -> Vec<String> {
    let usage = text.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
    let mut command = Cli::command();
    for word in usage.split_whitespace() {
        if let Some(sub) = command.find_subcommand(word) {
            command = sub.clone();
        }
    }
    command.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect()
}

impl Library {
    /// The kernels of `tegula-kernels`.
    pub fn standard() -> Self {
        Self { kernels: tegula_kernels::library(), cases: CASES }
    }

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
