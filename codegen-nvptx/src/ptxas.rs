//! NVIDIA's assembler `ptxas`, where there is one: it checks PTX and tells what the code uses.
//!
//! Nothing in Tegula needs it. `scripts/fetch-ptxas` puts one into `.cache/ptxas`.

use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Why PTX could not be assembled.
#[derive(Debug, Error)]
pub enum PtxasError {
    /// There is no `ptxas`.
    #[error("no ptxas found; run scripts/fetch-ptxas or set TEGULA_PTXAS")]
    Missing,
    /// It could not be run, or files could not be written.
    #[error("running ptxas: {0}")]
    Io(#[from] std::io::Error),
    /// It refused the text.
    #[error("ptxas: {0}")]
    Refused(String),
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

/// Where `ptxas` is: `TEGULA_PTXAS`, `.cache/ptxas/ptxas` in this folder or one above, or on the path.
pub fn find() -> Option<PathBuf> {
    find_tool("ptxas", "TEGULA_PTXAS")
}

/// Where a tool of NVIDIA's is, as [`find`] looks for `ptxas`: `variable`, `.cache/ptxas`, or on the path.
pub fn find_tool(name: &str, variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let here = std::env::current_dir().unwrap_or_default();
    let cached = here.ancestors().map(|folder| folder.join(".cache/ptxas").join(name)).find(|path| path.is_file());
    let on_path = || {
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
            .map(|folder| folder.join(name))
            .find(|path| path.is_file())
    };
    cached.or_else(on_path)
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
    let number_before = |text: &str| {
        log.find(text)
            .and_then(|end| log[..end].trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok())
            .unwrap_or(0)
    };
    Ok(Assembled {
        cubin: std::fs::read(&output)?,
        registers: number_before(" registers"),
        spill_bytes: number_before(" bytes spill stores") + number_before(" bytes spill loads"),
        warnings: log.lines().filter(|line| line.contains("warning")).map(str::to_owned).collect(),
    })
}
