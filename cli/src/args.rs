//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compile, check and run tile kernels.
#[derive(Parser, Debug)]
#[command(name = "tegula", version, propagate_version = true, arg_required_else_help = false)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// List the kernels: parameters with types, dims, defaults.
    Kernels(KernelsArgs),
    /// Compile a kernel and show one stage of it.
    #[cfg(feature = "compiler")]
    Compile(CompileArgs),
    /// Run passes on a file of Tile IR.
    Opt(OptArgs),
    /// Run a kernel on generated data.
    #[cfg(feature = "compiler")]
    Run(RunArgs),
    /// Compile all kernels for all targets, and run them on the CPU against their references. Needs no GPU.
    #[cfg(feature = "compiler")]
    Check(CheckArgs),
    /// Find the fastest configuration of a kernel on a device, and record it.
    #[cfg(feature = "compiler")]
    Tune(TuneArgs),
    /// Measure one candidate (used by `tune`).
    #[cfg(feature = "compiler")]
    #[command(hide = true)]
    Measure,
    /// The headline kernels on the CPU at real sizes, then compiled for GPUs.
    #[cfg(feature = "compiler")]
    Demo(DemoArgs),
    /// Say what was found on this machine, what is missing, and how to get it.
    Doctor(Json),
    /// Write a kernel's code with a header and a launcher for hosts in other languages.
    #[cfg(feature = "compiler")]
    Export(ExportArgs),
    /// Check every kernel on a GPU against its reference, and time the headline kernels at real sizes.
    Session(SessionArgs),
    /// Show, verify and remove the compiled kernels that are kept on disk.
    Cache(CacheArgs),
}

/// Output for scripts.
#[derive(Args, Debug)]
pub struct Json {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// What is listed of the kernels.
#[derive(Args, Debug)]
pub struct KernelsArgs {
    /// List for each parameter which properties of its argument the kernel is compiled for.
    #[arg(long, alias = "specializations")]
    pub specialisations: bool,
    /// Output for scripts.
    #[command(flatten)]
    pub json: Json,
}

/// How a kernel is chosen and specialised.
#[derive(Args, Debug)]
pub struct KernelArgs {
    /// The kernel; `tegula kernels` lists them.
    pub kernel: String,
    /// Element type of the kernel's first type parameter, such as f16.
    #[arg(long)]
    pub dtype: Option<String>,
    /// Size of a symbolic dim, such as BM=128. May be repeated.
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dims: Vec<String>,
    /// Warps per program on GPUs.
    #[arg(long)]
    pub warps: Option<u32>,
    /// Pipeline stages of loops on GPUs.
    #[arg(long)]
    pub stages: Option<u32>,
}

/// Arguments of `tegula compile`.
#[derive(Args, Debug)]
pub struct CompileArgs {
    /// The kernel and what is chosen of it.
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Value of a build-time parameter, such as causal=true. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub comptime: Vec<String>,
    /// What to compile for: cpu, or an architecture such as sm_80, sm_90a, gfx942.
    #[arg(long, default_value = "cpu")]
    pub target: String,
    /// The stage to show.
    #[arg(long, value_enum, default_value_t = Emit::Asm)]
    pub emit: Emit,
    /// Write there instead of to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print what is known of the compiled kernel as JSON; the stage itself goes to `--output`.
    #[arg(long)]
    pub json: bool,
}

/// Stages of compilation.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emit {
    /// Tile IR as the kernel's source gives it.
    Tile,
    /// Tile IR after the target-independent passes.
    TileOpt,
    /// Tile IR with layouts (GPUs).
    Layout,
    /// LLVM IR after optimisation.
    Llvm,
    /// PTX (NVIDIA).
    Ptx,
    /// Assembly.
    Asm,
    /// A code object (AMD) or native object (CPU).
    Object,
}

/// Arguments of `tegula opt`.
#[derive(Args, Debug)]
pub struct OptArgs {
    /// A file of Tile IR; `-` is standard input.
    #[arg(required_unless_present = "list")]
    pub file: Option<PathBuf>,
    /// List the passes and their options.
    #[arg(long, conflicts_with_all = ["file", "passes", "locations", "print_after", "dump", "timings"])]
    pub list: bool,
    /// Passes to run, in order; without it, those in the file's header.
    #[arg(long, value_name = "A,B,C")]
    pub passes: Option<String>,
    /// Print source locations.
    #[arg(long)]
    pub locations: bool,
    /// Print the IR after this pass to standard error; `*` for all. May be repeated.
    #[arg(long, value_name = "PASS")]
    pub print_after: Vec<String>,
    /// Write the IR after each pass into this folder.
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
    /// Where a pass fails, write the IR before it and the passes that are left into this folder, as a file for `tegula opt`.
    #[arg(long, value_name = "DIR")]
    pub reproducer: Option<PathBuf>,
    /// Print the time of each pass to standard error.
    #[arg(long)]
    pub timings: bool,
    /// Print JSON: the text, and what each pass did.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tegula session`.
#[derive(Args, Debug)]
pub struct SessionArgs {
    /// The device, such as cuda:0 or hip:0; without it, the fastest.
    #[arg(long)]
    pub device: Option<String>,
    /// Only kernels whose name contains this.
    #[arg(long, default_value = "")]
    pub filter: String,
    /// Small sizes: shows that everything works, and says nothing about speed.
    #[arg(long)]
    pub quick: bool,
    /// Only these sections; without it, all. May be repeated.
    #[arg(long, value_enum, value_name = "SECTION")]
    pub only: Vec<Section>,
    /// Kernels compiled ahead of time, as --pack writes them. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub kernels: Vec<PathBuf>,
    /// Launch nothing: compile what the session would launch, and write it there.
    #[cfg(feature = "compiler")]
    #[arg(long, value_name = "FILE")]
    pub pack: Option<PathBuf>,
    /// The GPU architectures to compile for with --pack; without it, all.
    #[cfg(feature = "compiler")]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', requires = "pack")]
    pub targets: Vec<String>,
    /// Launch nothing: print as JSON what is timed and how, for programs that time other systems.
    #[arg(long)]
    pub list: bool,
    /// Times of another system to print beside ours, as scripts/gpu-session-beside writes them. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub beside: Vec<PathBuf>,
    /// A system that there are no times of, with the reason; the report says so. May be repeated.
    #[arg(long, value_name = "TEXT")]
    pub missing: Vec<String>,
    /// Write the report there as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl SessionArgs {
    /// Whether a section is part of the session.
    pub fn wants(&self, section: Section) -> bool {
        self.only.is_empty() || self.only.contains(&section)
    }
}

/// Sections of a session.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// Every kernel against its reference.
    Check,
    /// What a launch costs the host.
    Launch,
    /// What a kernel costs that was compiled before.
    Cache,
    /// The headline kernels, timed by the device.
    Time,
}

/// Arguments of `tegula run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The kernel and what is chosen of it.
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The variant of the problem, where the kernel has several, such as `causal`.
    #[arg(long, default_value = "")]
    pub variant: String,
    /// Where to run it: cpu, interp, or a virtual GPU such as vgpu:sm_90a.
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// A size of the problem, such as M=1000. May be repeated.
    #[arg(long = "size", value_name = "NAME=N")]
    pub sizes: Vec<String>,
    /// An argument of a kernel that has no problem of its own: a tensor's extents, such as x=64x100, or a number. May be
    /// repeated.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<String>,
    /// Value of a build-time parameter of such a kernel, such as causal=true. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub comptime: Vec<String>,
    /// The grid of such a kernel, where its outputs do not give it.
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',')]
    pub grid: Vec<u32>,
    /// Seed of the data.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Compare with the reference (the interpreter, for a kernel without one); the exit status is 1 where the error is over
    /// the bound.
    #[arg(long)]
    pub check: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tegula check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Only kernels whose name contains this.
    #[arg(default_value = "")]
    pub filter: String,
    /// Only these targets; without it, all. `cpu` runs each kernel and compares it with its reference.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Compile every candidate of the tuning spaces as well.
    #[arg(long)]
    pub candidates: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tegula demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// Folder for the compiled GPU code.
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    pub output: PathBuf,
    /// Sizes divided by eight: for slow machines and tests.
    #[arg(long)]
    pub small: bool,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tegula cache`.
#[derive(Args, Debug)]
#[command(arg_required_else_help = false)]
pub struct CacheArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// The commands on the cache.
#[derive(Subcommand, Debug)]
pub enum CacheCommand {
    /// Where the cache is, and how large.
    Info(Json),
    /// Every compiled kernel, the least recently used first.
    List(Json),
    /// Read every file; the exit status is 1 where one is damaged.
    Verify(Json),
    /// Remove everything.
    Clear(Json),
    /// Remove the least recently used kernels beyond the bound of the size, and what killed processes left behind.
    Prune(PruneArgs),
}

/// Arguments of `tegula cache prune`.
#[derive(Args, Debug)]
pub struct PruneArgs {
    /// Keep at most this much, such as 500M; without it, the cache's own bound (TEGULA_CACHE_SIZE).
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<String>,
    /// Also remove damaged files, and kernels of other compilers than this program's.
    #[arg(long)]
    pub stale: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tegula tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// The kernel; dims, warps and stages that are chosen here are kept.
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Which of the kernel's problems, such as causal.
    #[arg(long, default_value = "")]
    pub variant: String,
    /// Size of the problem, such as M=1024. May be repeated.
    #[arg(long = "size", value_name = "NAME=SIZE")]
    pub sizes: Vec<String>,
    /// The device to measure on.
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// The file of records: begun if it is not there, else only what it lacks is measured.
    #[arg(long, value_name = "FILE", default_value = "tegula-tune.toml")]
    pub records: PathBuf,
    /// Launches timed of each candidate, and in each round of the best ones.
    #[arg(long, default_value_t = 20)]
    pub launches: usize,
    /// Seconds after which a candidate is given up.
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    pub deadline: f64,
    /// Seed of the data.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if seconds.is_finite() && seconds > 0.0 && seconds < 1e9 {
        Ok(seconds)
    } else {
        Err("it is not a time to wait".into())
    }
}

/// Arguments of `tegula export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The kernel and what is chosen of it.
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Value of a build-time parameter, such as causal=true. May be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub comptime: Vec<String>,
    /// What to compile for, separated by commas: cpu (or cpu:x86-64-v4 and its like), sm_80, sm_90a, gfx942.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', default_value = "cpu")]
    pub targets: Vec<String>,
    /// The language of the hosts.
    #[arg(long, value_enum, default_value_t = Language::C)]
    pub lang: Language,
    /// What may be promised of the arguments: any, contiguous, or aligned (see the book); each launch checks it.
    #[arg(long, default_value = "any")]
    pub class: String,
    /// The name of the functions; without it the kernel's, with the element type chosen.
    #[arg(long)]
    pub name: Option<String>,
    /// The folder to write to.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Languages of hosts.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C, and whatever can call it.
    C,
}
