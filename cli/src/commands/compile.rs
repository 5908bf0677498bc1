//! `tegula compile`: a kernel for a target, at one stage of compilation.

use std::io::IsTerminal;

use serde::Serialize;
use tegula::runtime::compiler::{Compilation, Target};

use crate::Library;
use crate::args::{CompileArgs, Emit};
use crate::error::{CliError, Result};
use crate::output;
use crate::select::{Selection, target};

/// What is known of a compiled kernel. `--json` prints this.
#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    target: String,
    dims: Vec<(String, u64)>,
    /// Threads per program; absent on the CPU.
    threads: Option<u32>,
    /// Bytes of shared memory per program; absent on the CPU.
    shared_bytes: Option<u32>,
    /// Bytes of the code that is shown or written.
    bytes: usize,
    /// Seconds from the kernel's source to that.
    seconds: f64,
}

/// Compiles.
pub fn run(library: &Library, args: &CompileArgs) -> Result<()> {
    let target = target(&args.target)?;
    check_emit(target, args.emit)?;
    if args.emit == Emit::Object && args.output.is_none() && !args.json && std::io::stdout().is_terminal() {
        return Err(CliError::Usage("an object is not text for a terminal; write it to a file with -o FILE".into()));
    }
    let mut selection = Selection::new(library, &args.kernel)?.set(&args.comptime)?;
    selection.options = selection.options.target(&args.target);
    let start = std::time::Instant::now();
    let function = selection.build()?;
    let compilation = Compilation::new(function, target);
    let failed = |e: tegula::runtime::Error| CliError::Failed(e.to_string());
    let (bytes, info) = match args.emit {
        Emit::Tile => (compilation.tile().into_bytes(), None),
        Emit::TileOpt => (compilation.tile_optimized().map_err(failed)?.into_bytes(), None),
        Emit::Layout => (compilation.tile_laid_out().map_err(failed)?.into_bytes(), None),
        Emit::Llvm => {
            let code = compilation.code(true).map_err(failed)?;
            (code.llvm.clone().unwrap_or_default().into_bytes(), Some(code))
        }
        Emit::Ptx | Emit::Asm => {
            let code = compilation.code(false).map_err(failed)?;
            (code.assembly.clone().into_bytes(), Some(code))
        }
        Emit::Object => {
            let code = compilation.code(false).map_err(failed)?;
            (code.object.clone().unwrap_or_default(), Some(code))
        }
    };
    let elapsed = start.elapsed().as_secs_f64();
    match &args.output {
        Some(path) => std::fs::write(path, &bytes)
            .map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))?,
        None if args.json => {}
        None => output::write_bytes(&bytes),
    }
    if args.json {
        let report = Report {
            kernel: selection.info.name,
            target: args.target.clone(),
            dims: compilation.dims(),
            threads: info.as_ref().and_then(|i| i.threads),
            shared_bytes: info.as_ref().and_then(|i| i.shared_bytes),
            bytes: bytes.len(),
            seconds: elapsed,
        };
        println!("{}", serde_json::to_string_pretty(&report).expect("the report is plain data"));
    }
    Ok(())
}

/// Refuses a stage that the target does not have.
fn check_emit(target: Target, emit: Emit) -> Result<()> {
    let name = target.name();
    match (emit, target.is_gpu(), target.is_nvidia()) {
        (Emit::Ptx, _, false) => Err(CliError::Usage(format!("{name} has no PTX; use --emit asm"))),
        (Emit::Layout, false, _) => Err(CliError::Usage(format!("{name} has no layouts; use --emit tile-opt"))),
        (Emit::Object, _, true) => {
            Err(CliError::Usage(format!("{name} is compiled to PTX, which the driver assembles; use --emit ptx")))
        }
        _ => Ok(()),
    }
}
