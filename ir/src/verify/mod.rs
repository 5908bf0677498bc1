//! The verifier: whether a function is valid, and where it is not.
//!
//! What one op's operands and attributes must be stands in [`crate::ops::infer`]; here it is held against the
//! recorded types, and everything is checked that a single op cannot see:
//!
//! * every block belongs to one op and every op stands in one block;
//! * a block ends in its one terminator, of the kind that its owner asks for;
//! * a value is used only where it is visible: after its definition, in its block and the blocks nested there;
//! * the arguments of nested blocks and what they yield have the types that the owner asks for;
//! * the function combined by `reduce_with` and `scan_with` is straight-line and works on scalars;
//! * a layout is one of its tile's padded shape, and reaches every element; where all tiles have layouts, those of
//!   each op keep the [`crate::layout::rules`];
//! * tensors that are only read are not written, and the reverse;
//! * parameters and the grid are consistent.
//!
//! | file | subject |
//! |---|---|
//! | `header` | parameters, grid, launch defaults |
//! | `body` | blocks, visibility, each op by itself |
//! | `regions` | ops with nested blocks |

mod body;
mod header;
mod regions;
#[cfg(test)]
mod tests;

use crate::diag::Diagnostic;
use crate::function::{Function, Module, Op};
use crate::layout::rules::{self, LaidOut};
use crate::loc::Loc;

/// Checks a function.
///
/// # Errors
/// All problems found, in program order, each at the source location of its op. At least one.
pub fn verify(function: &Function) -> Result<(), Vec<Diagnostic>> {
    let mut v = Verifier { f: function, errors: Vec::new() };
    v.header();
    v.body();
    if v.errors.is_empty() && rules::laid_out(function) == LaidOut::All {
        v.errors.extend(rules::check(function).err().unwrap_or_default());
    }
    if v.errors.is_empty() { Ok(()) } else { Err(v.errors) }
}

/// Checks each function of a module, and that their names are distinct.
///
/// # Errors
/// As [`verify`].
pub fn verify_module(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for (i, f) in module.functions.iter().enumerate() {
        if module.functions[..i].iter().any(|other| other.name == f.name) {
            errors.push(Diagnostic::error(format!("two kernels are named {}", f.name)).at(f.locs.get(f.loc)));
        }
        errors.extend(verify(f).err().unwrap_or_default());
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

struct Verifier<'a> {
    f: &'a Function,
    errors: Vec<Diagnostic>,
}

impl Verifier<'_> {
    fn error_at(&mut self, loc: Loc, message: impl Into<String>) {
        self.errors.push(Diagnostic::error(message).at(self.f.locs.get(loc)));
    }

    fn error(&mut self, op: Op, message: impl Into<String>) {
        self.error_at(self.f.op(op).loc, message);
    }

    fn error_help(&mut self, op: Op, message: impl Into<String>, help: impl Into<String>) {
        let loc = self.f.op(op).loc;
        self.errors.push(Diagnostic::error(message).at(self.f.locs.get(loc)).help(help));
    }
}
