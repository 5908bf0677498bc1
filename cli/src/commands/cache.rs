//! `tegula cache`: the compiled kernels on disk: what there is, whether it is sound, and removing it.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use tegula::runtime::cache::DiskCache;
use tegula::runtime::cache::folder::{self, NoCache};
use tegula::runtime::cache::key::{COMPILER, llvm_version};
use tegula::runtime::cache::maintenance::{Listed, Removed};

use crate::args::{CacheArgs, CacheCommand, PruneArgs};
use crate::error::{CliError, Result};
use crate::table::{Columns, byte_size, seconds};

/// Where the cache is. `tegula cache info --json` prints this.
#[derive(Serialize)]
struct Info {
    /// The folder; `null` where there is none.
    folder: Option<String>,
    /// Why there is no cache; `null` where there is one.
    problem: Option<String>,
    entries: usize,
    bytes: u64,
    /// The bound of `bytes`.
    max_bytes: u64,
    /// Files that are being written, or were when their process was killed.
    unfinished: usize,
    /// This program's compiler; only its kernels are used.
    compiler: &'static str,
    llvm: &'static str,
}

/// A compiled kernel. `tegula cache list --json` prints an array of these.
#[derive(Serialize)]
struct Kernel {
    key: Option<String>,
    /// What is wrong with the file; `null` where nothing is, and only then the fields below are there.
    problem: Option<String>,
    kernel: Option<String>,
    target: Option<String>,
    format: Option<&'static str>,
    dims: Vec<(String, u64)>,
    /// Size of the file.
    bytes: u64,
    /// Size of the code in it.
    code_bytes: Option<usize>,
    /// Seconds since 1970.
    created: Option<u64>,
    /// Seconds since 1970.
    used: u64,
    /// Seconds that it took to compile.
    seconds: Option<f64>,
    compiler: Option<String>,
    llvm: Option<String>,
    /// Whether this program's compiler made it.
    current: bool,
}

/// `tegula cache verify --json` prints this.
#[derive(Serialize)]
struct Verified {
    entries: usize,
    damaged: Vec<Damaged>,
}

#[derive(Serialize)]
struct Damaged {
    path: String,
    problem: String,
}

/// `tegula cache clear --json` and `tegula cache prune --json` print this.
#[derive(Serialize)]
struct Gone {
    files: usize,
    bytes: u64,
}

/// Runs a command on the cache.
pub fn run(args: &CacheArgs) -> Result<()> {
    match &args.command {
        CacheCommand::Info(args) => info(args.json),
        CacheCommand::List(args) => list(args.json),
        CacheCommand::Verify(args) => verify(args.json),
        CacheCommand::Clear(args) => removed(open()?.clear(), args.json),
        CacheCommand::Prune(args) => prune(args),
    }
}

fn open() -> Result<DiskCache> {
    DiskCache::from_environment().map_err(|e| CliError::Failed(format!("there is no kernel cache: {e}")))
}

fn unreadable(e: std::io::Error) -> CliError {
    CliError::Failed(format!("the kernel cache cannot be read: {e}"))
}

fn print_json(value: &impl Serialize) {
    println!("{}", serde_json::to_string_pretty(value).expect("it is plain data"));
}

fn info(json: bool) -> Result<()> {
    let chosen = folder::from_environment();
    let opened = chosen.clone().and_then(|(folder, size)| DiskCache::open(folder, size));
    let usage = match &opened {
        Ok(cache) => cache.usage().map_err(unreadable)?,
        Err(_) => Default::default(),
    };
    let info = Info {
        folder: chosen.as_ref().ok().map(|(folder, _)| folder.display().to_string()),
        problem: opened.as_ref().err().map(NoCache::to_string),
        entries: usage.entries,
        bytes: usage.bytes,
        max_bytes: chosen.map_or(0, |(_, size)| size),
        unfinished: usage.unfinished,
        compiler: COMPILER,
        llvm: llvm_version(),
    };
    if json {
        print_json(&info);
        return Ok(());
    }
    println!("folder    {}", info.folder.as_deref().unwrap_or("-"));
    if let Some(problem) = &info.problem {
        println!("not used  {problem}");
    }
    println!("kernels   {}", info.entries);
    println!("size      {} of {}", byte_size(info.bytes as usize), byte_size(info.max_bytes as usize));
    if info.unfinished > 0 {
        println!("          and {} unfinished files", info.unfinished);
    }
    println!("compiler  {} with LLVM {}", info.compiler, info.llvm);
    Ok(())
}

impl From<&Listed> for Kernel {
    fn from(l: &Listed) -> Self {
        let entry = l.entry.as_ref().ok();
        let metadata = entry.map(|e| &e.metadata);
        Self {
            key: l.key.map(|k| k.to_string()),
            problem: l.entry.as_ref().err().cloned(),
            kernel: entry.map(|e| e.artifact.kernel.clone()),
            target: entry.map(|e| e.artifact.target.clone()),
            format: entry.map(|e| e.artifact.format.name()),
            dims: metadata.map(|m| m.dims.clone()).unwrap_or_default(),
            bytes: l.bytes,
            code_bytes: entry.map(|e| e.artifact.code.len()),
            created: metadata.map(|m| m.created),
            used: l.used.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs(),
            seconds: metadata.map(|m| m.seconds),
            compiler: metadata.map(|m| m.compiler.clone()),
            llvm: metadata.map(|m| m.llvm.clone()),
            current: l.is_current(),
        }
    }
}

fn list(json: bool) -> Result<()> {
    let listed = open()?.list().map_err(unreadable)?;
    let kernels: Vec<Kernel> = listed.iter().map(Kernel::from).collect();
    if json {
        print_json(&kernels);
        return Ok(());
    }
    let mut table = Columns::new(&["key", "kernel", "target", "format", "dims", ">size", ">compiled in", ">used", ""]);
    let now = SystemTime::now();
    for (k, l) in kernels.iter().zip(&listed) {
        let text = |o: &Option<String>| o.clone().unwrap_or_else(|| "-".into());
        let dims: Vec<String> = k.dims.iter().map(|(n, s)| format!("{n}={s}")).collect();
        table.row([
            k.key.as_deref().map_or("-", |key| &key[..12]).to_owned(),
            text(&k.kernel),
            text(&k.target),
            k.format.unwrap_or("-").to_owned(),
            dims.join(" "),
            byte_size(k.bytes as usize),
            k.seconds.map_or_else(|| "-".into(), seconds),
            ago(now.duration_since(l.used).unwrap_or_default()),
            k.problem.clone().unwrap_or_else(|| if k.current { String::new() } else { "another compiler's".into() }),
        ]);
    }
    print!("{table}");
    Ok(())
}

/// A time span for people, in its largest unit.
fn ago(span: Duration) -> String {
    let s = span.as_secs();
    match s {
        0..=119 => format!("{s} s ago"),
        120..=7199 => format!("{} min ago", s / 60),
        7200..=172_799 => format!("{} h ago", s / 3600),
        _ => format!("{} days ago", s / 86400),
    }
}

fn verify(json: bool) -> Result<()> {
    let listed = open()?.list().map_err(unreadable)?;
    let damaged: Vec<Damaged> = listed
        .iter()
        .filter_map(|l| {
            let problem = l.entry.as_ref().err()?.clone();
            Some(Damaged { path: l.path.display().to_string(), problem })
        })
        .collect();
    let verified = Verified { entries: listed.len(), damaged };
    if json {
        print_json(&verified);
    } else {
        for d in &verified.damaged {
            println!("{}: {}", d.path, d.problem);
        }
        println!("{} of {} kernels are sound", verified.entries - verified.damaged.len(), verified.entries);
    }
    match verified.damaged.len() {
        0 => Ok(()),
        n => {
            Err(CliError::Failed(format!("{n} damaged in the kernel cache; `tegula cache prune --stale` removes them")))
        }
    }
}

fn prune(args: &PruneArgs) -> Result<()> {
    let size = match &args.max_size {
        None => None,
        Some(text) => Some(
            folder::parse_size(text)
                .ok_or_else(|| CliError::Usage(format!("--max-size {text}: expected a size, as in --max-size 500M")))?,
        ),
    };
    let cache = open()?;
    let mut gone = Removed::default();
    let mut add = |r: Removed| {
        gone.files += r.files;
        gone.bytes += r.bytes;
    };
    if args.stale {
        add(cache.prune_stale().map_err(unreadable)?);
    }
    add(cache.prune(size.unwrap_or(cache.max_bytes())).map_err(unreadable)?);
    removed(Ok(gone), args.json)
}

fn removed(result: std::io::Result<Removed>, json: bool) -> Result<()> {
    let Removed { files, bytes } = result.map_err(unreadable)?;
    if json {
        print_json(&Gone { files, bytes });
    } else {
        println!("removed {files} files, {}", byte_size(bytes as usize));
    }
    Ok(())
}
