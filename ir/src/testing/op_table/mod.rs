//! A table of small programs: every op on every element type that it takes, at odd extents, with arguments that
//! meet the edges of the type. What runs kernels must give for each row what the interpreter gives.
//!
//! The types that an op takes are written out here once more, so that a type that an op loses by mistake is an error
//! of the table, not a row less.
//!
//! | file | subject |
//! |---|---|
//! | `sheet` | kernels as text, with their arguments |
//! | `elementwise`, `shape`, `reduce`, `memory`, `control` | the rows of the families of ops |

mod control;
mod elementwise;
mod memory;
mod reduce;
mod shape;
mod sheet;

use super::generate::Program;
use crate::exec::Executor;
use crate::interp::Interpreter;
use crate::types::ScalarType;

/// A few ops on one element type.
#[derive(Clone, Debug)]
pub struct Row {
    /// The family of the ops, the element type, and a number, such as `binary f32 0`.
    pub name: String,
    /// The kernel, with its arguments and how exact its results are.
    pub program: Program,
}

impl Row {
    /// Runs the row on an executor, and compares with the interpreter what it computes and prints.
    ///
    /// # Errors
    /// With what differs, or why the kernel does not run, and the kernel's text.
    pub fn check(&self, executor: &dyn Executor) -> Result<(), String> {
        let Program { function, grid, args, .. } = &self.program;
        let run = |executor: &dyn Executor| {
            let mut args = args.clone();
            let printed = executor.run(function, *grid, &mut args);
            printed.map(|printed| (printed, args)).map_err(|e| format!("{}: {e}\n{function}", executor.name()))
        };
        let (wanted_text, wanted) = run(&Interpreter::new())?;
        let (text, found) = run(executor)?;
        if text != wanted_text {
            return Err(format!("{} prints\n{text}\ninstead of\n{wanted_text}\n{function}", executor.name()));
        }
        self.program.compare(&wanted, &found).map_err(|e| format!("{}: {e}\n{function}", executor.name()))
    }
}

/// The whole table.
///
/// # Panics
/// If a row is not valid: an op has lost a type, or the table is wrong.
pub fn rows() -> Vec<Row> {
    [elementwise::rows(), shape::rows(), reduce::rows(), memory::rows(), control::rows()].concat()
}

/// The types that arithmetic is defined on.
fn arithmetic() -> impl Iterator<Item = ScalarType> {
    ScalarType::ALL.into_iter().filter(|t| is_arithmetic(*t))
}

fn is_arithmetic(t: ScalarType) -> bool {
    t != ScalarType::Bool && !t.is_fp8()
}

/// The floats that arithmetic is defined on.
fn floats() -> impl Iterator<Item = ScalarType> {
    arithmetic().filter(|t| t.is_float())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::types::Type;
    use crate::verify::verify;

    #[test]
    fn rows_are_valid_and_named_apart() {
        let rows = rows();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        for row in &rows {
            assert_eq!(verify(&row.program.function), Ok(()), "{}", row.name);
        }
    }

    #[test]
    fn the_interpreter_runs_every_row() {
        for row in rows() {
            row.check(&Interpreter::precise()).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        }
    }

    /// Every op is in the table, and every element type with each op that is for any type.
    #[test]
    fn the_table_is_whole() {
        let mut seen = BTreeSet::new();
        for row in rows() {
            let f = &row.program.function;
            f.walk(|_, op| {
                let kind = f.kind(op);
                let elem = |v| if matches!(f.ty(v), Type::View { .. }) { None } else { f.ty(v).elem_scalar() };
                let values = f.op(op).results.iter().copied().chain(kind.operands());
                seen.insert((kind.mnemonic(), None));
                seen.extend(values.map(|v| (kind.mnemonic(), elem(v))));
            });
        }
        // Layouts come with layout assignment.
        let has = |op: &str| seen.iter().any(|(name, _)| *name == op);
        let missing: Vec<_> = crate::text::mnemonics().filter(|op| *op != "convert_layout" && !has(op)).collect();
        assert!(missing.is_empty(), "no row has {missing:?}");
        let general = [
            "constant",
            "splat",
            "broadcast",
            "reshape",
            "permute",
            "flip",
            "cat",
            "join",
            "split",
            "extract_slice",
            "insert_slice",
            "gather_axis",
            "select",
            "cast",
            "bitcast",
            "reduce_with",
            "scan_with",
            "if",
            "print",
        ];
        let pairs = general.into_iter().flat_map(|op| ScalarType::ALL.map(|t| (op, Some(t))));
        let missing: Vec<_> = pairs.filter(|pair| !seen.contains(pair)).collect();
        assert!(missing.is_empty(), "no row has {missing:?}");
    }
}
