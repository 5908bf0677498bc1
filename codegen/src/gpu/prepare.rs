//! The passes between Tile IR as written and the lowering.

use tegula_ir::function::Function;
use tegula_ir::layout::rules::{LaidOut, laid_out};
use tegula_ir::ops::UnaryOp;
use tegula_ir::pass::{PassError, PassManager, PassReport, Registry};
use tegula_ir::passes::{OptLevel, default_pass_list};
use tegula_ir::verify::verify;

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
        "{},expand-math{{{}}},canonicalize,cse,licm,dce,assign-layouts{{lanes={}}},dce",
        default_pass_list(OptLevel::Default),
        options.join(","),
        architecture.warp_size
    )
}

/// Runs [`pass_list`] on a function without layouts. A function that has them is taken to be prepared, and is only verified.
///
/// # Errors
/// If the function is not valid, or a pass refuses it.
pub fn prepare(function: &mut Function, architecture: &Architecture) -> Result<Option<PassReport>, CodegenError> {
    if laid_out(function) != LaidOut::None {
        let invalid = |diagnostics| PassError::Invalid { after: None, diagnostics, reproducer: None };
        verify(function).map_err(invalid)?;
        return Ok(None);
    }
    let list = pass_list(architecture);
    let pipeline = Registry::builtin()
        .pipeline(&list)
        .map_err(|error| CodegenError::InvalidInput { location: "pass list".to_owned(), message: error.to_string() })?;
    let report = PassManager::new(pipeline).run(function)?;
    Ok(Some(report))
}
