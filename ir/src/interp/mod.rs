//! The reference interpreter: Tile IR executed directly, one op at a time, the definition of its meaning.
//!
//! | module | subject |
//! |---|---|
//! | `machine` | runs the programs of a grid: control flow, and which function serves which op |
//! | `buf` | values while running |
//! | `elementwise`, `shape`, `reduce`, `dot` | tile arithmetic |
//! | `memory` | allocations, addresses, bounds |
//! | `print` | the text of `print` |
//!
//! What is fixed here beyond the ops' own documentation:
//! - Only valid functions run: a function is verified first.
//! - Programs run one after another, axis 0 of the grid fastest. Races are not found here.
//! - Elements of one op are handled in row-major order: of duplicate stores the last wins.
//! - A function of floats is evaluated in `f64` and rounded once to the element type ([`crate::numeric`]).
//!   Reductions, scans and `dot` add from the lowest index up, rounding each partial sum to the accumulation
//!   type, or, in precise mode, once at the end.
//! - `dot` rounds to tf32 to the nearest even.
//! - Launch promises ([`crate::function::ViewSpec`]), `assume` and in-bounds marks are checked, and so is every
//!   access against its argument's allocation: breaking one is an error at the op's source line.
//! - Work is bounded, so that every run ends ([`Interpreter::with_work_limit`]).

mod buf;
mod dot;
mod elementwise;
mod machine;
mod memory;
mod print;
mod reduce;
mod shape;

pub use print::{VALUES_PER_LINE, format_lines, significant_digits};

use std::rc::Rc;

use self::buf::{Buf, Val, ViewVal};
use self::machine::{Limits, Machine};
use self::memory::Memory;
use crate::exec::{ExecError, Executor, HostArg, HostTensor, check_args};
use crate::function::{Function, ParamKind, ViewSpec};

/// Runs kernels by interpreting their IR.
#[derive(Clone, Debug)]
pub struct Interpreter {
    precise: bool,
    work_limit: u64,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new()
    }
}

impl Interpreter {
    /// Work that a run may do unless told otherwise: minutes.
    pub const DEFAULT_WORK_LIMIT: u64 = 1 << 37;

    /// Accumulates in the accumulation type, as the targets do.
    pub fn new() -> Self {
        Self { precise: false, work_limit: Self::DEFAULT_WORK_LIMIT }
    }

    /// Accumulates reductions, scans and `dot` in `f64`: the oracle to compare others with.
    pub fn precise() -> Self {
        Self { precise: true, ..Self::new() }
    }

    /// Stops a run with an error after this much work. An op costs 16 and one per element that it makes;
    /// `dot` costs a quarter per product.
    #[must_use]
    pub fn with_work_limit(self, work_limit: u64) -> Self {
        Self { work_limit, ..self }
    }
}

impl Executor for Interpreter {
    fn name(&self) -> String {
        if self.precise { "interp-precise".into() } else { "interp".into() }
    }

    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError> {
        if let Err(errors) = crate::verify::verify(function) {
            return Err(ExecError::Compile(errors[0].to_string()));
        }
        check_args(function, args)?;
        for (param, arg) in function.params.iter().zip(&*args) {
            if let (ParamKind::View { spec, .. }, HostArg::Tensor(t)) = (&param.kind, arg) {
                check_spec(spec, t).map_err(|e| ExecError::BadArguments(format!("parameter {} {e}", param.name)))?;
            }
            if let (ParamKind::Scalar { divisor, .. }, HostArg::Scalar(v)) = (&param.kind, arg)
                && let Some(v) = v.as_int()
                && *divisor > 1
                && v % i64::from(*divisor) != 0
            {
                return Err(ExecError::BadArguments(format!(
                    "parameter {} is promised to be a multiple of {divisor}, got {v}",
                    param.name
                )));
            }
        }
        let mut memory = Memory::default();
        let values: Vec<Val> = args.iter_mut().map(|arg| adopt(&mut memory, arg)).collect();
        let limits = Limits { precise: self.precise, work: self.work_limit };
        let mut machine = Machine::new(function, grid, memory, limits);
        let result = machine.run_grid(&values);
        let (memory, printed) = machine.finish();
        let mut blocks = memory.release().into_iter();
        for arg in args {
            if let HostArg::Tensor(t) | HostArg::Ptr(t) = arg {
                t.data = blocks.next().expect("one allocation for each tensor");
            }
        }
        result.map_err(|d| ExecError::Kernel(*d))?;
        Ok(printed)
    }
}

/// Moves an argument's data into the memory and gives the parameter's value.
fn adopt(memory: &mut Memory, arg: &mut HostArg) -> Val {
    let mut base = |t: &mut HostTensor| {
        let bytes = memory::element_bytes(t.elem) as i64;
        memory.adopt(std::mem::take(&mut t.data)).wrapping_add((t.offset as i64).wrapping_mul(bytes))
    };
    match arg {
        HostArg::Tensor(t) => {
            let base = base(t);
            let (extents, strides) = (t.extents.as_slice().into(), t.strides.as_slice().into());
            Val::View(Rc::new(ViewVal { base, extents, strides }))
        }
        HostArg::Ptr(t) => Buf::Int([base(t)].into()).into(),
        HostArg::Scalar(v) => Buf::splat(*v, 1).into(),
    }
}

/// Whether a tensor keeps the promises made of it. The base address is the allocator's affair: only the
/// offset of element zero is checked against the alignment.
fn check_spec(spec: &ViewSpec, t: &HostTensor) -> Result<(), String> {
    let bytes = memory::element_bytes(t.elem);
    if spec.align > 1 && !(t.offset * bytes).is_multiple_of(spec.align as usize) {
        return Err(format!(
            "is promised to be aligned to {} bytes, element zero is at byte {}",
            spec.align,
            t.offset * bytes
        ));
    }
    if spec.unit_inner && t.strides.last().is_some_and(|&s| s != 1) {
        return Err(format!("is promised to be contiguous in its last axis, its strides are {:?}", t.strides));
    }
    let promises = [("extent", &t.extents, &spec.extent_divisor), ("stride", &t.strides, &spec.stride_divisor)];
    for (what, values, divisors) in promises {
        for (axis, (&v, &d)) in values.iter().zip(divisors).enumerate() {
            if d > 1 && v % i64::from(d) != 0 {
                return Err(format!("is promised to have an {what} divisible by {d} on axis {axis}, got {v}"));
            }
        }
    }
    if spec.fits_32 {
        if t.extents.iter().zip(&t.strides).any(|(&e, &s)| e > 1 && s < 0) {
            return Err(format!("is promised to have offsets that are not negative, its strides are {:?}", t.strides));
        }
        let last: i128 =
            t.extents.iter().zip(&t.strides).map(|(&e, &s)| i128::from(e.max(1) - 1) * i128::from(s.max(0))).sum();
        if last * bytes as i128 > i32::MAX.into() {
            return Err("is promised to have offsets of 31 bits, but it is larger".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
