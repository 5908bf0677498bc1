//! The passes between Tile IR as written and the lowering.

use tegula_ir::function::Function;
use tegula_ir::layout::Dim;
use tegula_ir::layout::rules::{LaidOut, laid_out};
use tegula_ir::ops::UnaryOp;
use tegula_ir::pass::{PassManager, PassReport, Registry};

use crate::error::CodegenError;
use crate::target::Architecture;

/// The pass list that brings a function to the form that the lowering takes, in the syntax of `tegula opt`.
pub fn pass_list(architecture: &Architecture) -> String {
    let names = |ops: &[UnaryOp]| ops.iter().map(|op| op.name()).collect::<Vec<_>>().join("+");
    let mut options = Vec::new();
    if !architecture.native_math.is_empty() {
        options.push(format!("native={}", names(architecture.native_math)));
    }
    if !architecture.approximate_math.is_empty() {
        options.push(format!("approx={}", names(architecture.approximate_math)));
    }
    format!(
        "canonicalize,expand-math{{{}}},canonicalize,cse,dce,assign-layouts{{lanes={}}},dce",
        options.join(","),
        architecture.warp_size
    )
}

/// Runs [`pass_list`] on a function without layouts. A function that has them is taken to be prepared.
///
/// # Errors
/// If a pass refuses the function.
pub fn prepare(function: &mut Function, architecture: &Architecture) -> Result<Option<PassReport>, CodegenError> {
    if laid_out(function) != LaidOut::None {
        return Ok(None);
    }
    let list = pass_list(architecture);
    let pipeline = Registry::builtin()
        .pipeline(&list)
        .map_err(|error| CodegenError::InvalidInput { location: "pass list".to_owned(), message: error.to_string() })?;
    let report = PassManager::new(pipeline).run(function)?;
    check_registers(function, architecture)?;
    Ok(Some(report))
}

/// A tile that takes more registers of each thread than this is refused: no GPU has that many, so it could only live in
/// spilled memory; and unrolled over thousands of registers, LLVM would take minutes.
const MAX_TILE_REGISTERS: u32 = 512;

/// Refuses a kernel with a tile that is far too large for its threads.
fn check_registers(function: &Function, architecture: &Architecture) -> Result<(), CodegenError> {
    for op in function.ops_in_order() {
        for &result in &function.op(op).results {
            let Some(tile) = function.ty(result).tile() else { continue };
            let Some(layout) = &tile.layout else { continue };
            let words = tile.elem.scalar().map_or(64, |t| t.bits()).div_ceil(32).max(1);
            let registers = layout.in_size(Dim::Register) * words;
            if registers > MAX_TILE_REGISTERS {
                return Err(CodegenError::Unsupported {
                    location: function.locs.get(function.op(op).loc).to_string(),
                    op: function.kind(op).mnemonic().to_owned(),
                    what: format!(
                        "on {}, {registers} registers in each of the program's threads,",
                        function.ty(result)
                    ),
                    target: format!("{} (limit: {MAX_TILE_REGISTERS})", architecture.name),
                    way_out: "use more warps, or a smaller tile and a loop over it".to_owned(),
                });
            }
        }
    }
    Ok(())
}
