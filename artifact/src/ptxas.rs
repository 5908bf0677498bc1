//! NVIDIA's assembler `ptxas`, where there is one: it makes machine code of PTX, checks it, and tells what the code uses.
//!
//! Nothing in Tegula needs it: a driver has an assembler of its own. Where a CUDA toolkit is installed, programs find its
//! `ptxas`; for tests `scripts/fetch-ptxas` puts one into `.cache/ptxas`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use thiserror::Error;

/// Why PTX could not be assembled.
#[derive(Debug, Error)]
pub enum PtxasError {
    /// There is no `ptxas`.
    #[error("no ptxas found; run scripts/fetch-ptxas or set TEGULA_PTXAS")]
    Missing,
    /// It could not be run, or files could not be written.
    #[error("running ptxas: {0}")]
    Io(#[from] io::Error),
    /// It refused the text.
    #[error("ptxas: {0}")]
    Refused(String),
    /// It says that all went well, and left something else.
    #[error("what ptxas wrote is not machine code")]
    NotCode,
}

/// What `ptxas` made of a kernel.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The machine code.
    pub cubin: Vec<u8>,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes spilled (stores and loads together).
    pub spill_bytes: u32,
    /// What it warned about, a line each.
    pub warnings: Vec<String>,
}

/// The variable that names the `ptxas` to take.
pub const VARIABLE: &str = "TEGULA_PTXAS";

/// Where `ptxas` is, for tests and tools: [`find_tool`].
pub fn find() -> Option<PathBuf> {
    find_tool("ptxas", VARIABLE)
}

/// Where a tool of NVIDIA's is: what `variable` says, `.cache/ptxas` in this folder or one above, or [`installed`].
pub fn find_tool(name: &str, variable: &str) -> Option<PathBuf> {
    match chosen(variable) {
        Choice::Program(path) => return Some(path),
        Choice::Off => return None,
        Choice::None => {}
    }
    let here = std::env::current_dir().unwrap_or_default();
    let cached = here.ancestors().map(|folder| folder.join(".cache/ptxas").join(name)).find(|path| path.is_file());
    cached.or_else(|| installed(name))
}

/// What a variable chooses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Nothing.
    None,
    /// To go without.
    Off,
    /// This program.
    Program(PathBuf),
}

/// What a variable that names a program chooses; `off` and `0` are to go without.
pub fn chosen(variable: &str) -> Choice {
    match std::env::var_os(variable) {
        None => Choice::None,
        Some(value) if value == "off" || value == "0" => Choice::Off,
        Some(value) if value.is_empty() => Choice::None,
        Some(value) => Choice::Program(value.into()),
    }
}

/// Where a tool of an installed CUDA toolkit is: on the path, or in `bin` of `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`.
pub fn installed(name: &str) -> Option<PathBuf> {
    installed_in(name, |variable| std::env::var_os(variable))
}

fn installed_in(name: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(&variable).filter(|v| !v.is_empty());
    let toolkits = toolkits.map(PathBuf::from).chain([PathBuf::from("/usr/local/cuda")]);
    let folders = std::env::split_paths(&path).chain(toolkits.map(|folder| folder.join("bin")));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Tells a program from others, and from itself before an update, without running it: by its size and the time of its last
/// change.
///
/// # Errors
/// If it is not there.
pub fn identity(program: &Path) -> io::Result<String> {
    let metadata = program.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let changed = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(format!("ptxas of {} bytes, {}.{:09}", metadata.len(), changed.as_secs(), changed.subsec_nanos()))
}

/// Assembles PTX for an architecture with the `ptxas` at `program`.
///
/// # Errors
/// If `ptxas` refuses the text or cannot be run.
pub fn assemble(program: &Path, ptx: &str, architecture: &str) -> Result<Assembled, PtxasError> {
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join("kernel.ptx"), folder.path().join("kernel.cubin"));
    std::fs::write(&input, ptx)?;
    let result = Command::new(program).args(["-v", "-arch", architecture, "-o"]).arg(&output).arg(&input).output()?;
    let log = String::from_utf8_lossy(&result.stderr).into_owned() + &String::from_utf8_lossy(&result.stdout);
    if !result.status.success() {
        return Err(PtxasError::Refused(log.trim().to_owned()));
    }
    let cubin = std::fs::read(&output)?;
    if !cubin.starts_with(b"\x7fELF") {
        return Err(PtxasError::NotCode);
    }
    let number_before = |text: &str| {
        log.find(text)
            .and_then(|end| log[..end].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok())
            .unwrap_or(0)
    };
    Ok(Assembled {
        cubin,
        registers: number_before(" registers"),
        spill_bytes: number_before(" bytes spill stores") + number_before(" bytes spill loads"),
        warnings: log.lines().filter(|line| line.contains("warning")).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolkit_is_found_on_the_path_before_its_home() {
        let folder = tempfile::tempdir().expect("a folder");
        let tool = |toolkit: &str| {
            let bin = folder.path().join(toolkit).join("bin");
            std::fs::create_dir_all(&bin).expect("the folder is new");
            std::fs::write(bin.join("no-such-tool"), "").expect("the folder is new");
            bin
        };
        let (on_path, in_home) = (tool("a"), tool("b"));
        let empty = folder.path().join("empty");
        let find = |path: &Path, home: Option<&Path>| {
            installed_in("no-such-tool", |variable| match variable {
                "PATH" => Some(std::env::join_paths([&empty, path]).expect("no colon")),
                "CUDA_HOME" => home.map(Into::into),
                _ => None,
            })
        };
        let home = in_home.parent();
        assert_eq!(find(&on_path, home), Some(on_path.join("no-such-tool")));
        assert_eq!(find(&empty, home), Some(in_home.join("no-such-tool")));
        assert_eq!(find(&empty, None), None);
    }

    #[test]
    fn an_update_changes_the_identity() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("ptxas");
        assert!(identity(&program).is_err() && identity(folder.path()).is_err());
        std::fs::write(&program, "one").expect("the folder is new");
        let one = identity(&program).expect("it is there");
        assert_eq!(identity(&program).ok(), Some(one.clone()));
        let file = std::fs::File::options().write(true).open(&program).expect("it is ours");
        file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(5)).expect("it is ours");
        assert_ne!(identity(&program).ok(), Some(one));
        assert_eq!(identity(&program).ok().as_deref(), Some("ptxas of 3 bytes, 5.000000000"));
    }
}
