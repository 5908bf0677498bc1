//! Running a kernel on host data: the one interface that the interpreter, the CPU and the virtual GPUs share,
//! so that a test can run the same kernel on each and compare.

use crate::diag::Diagnostic;
use crate::function::{Function, Grid, ParamKind};
use crate::literal::Literal;
use crate::types::{ScalarType, Shape};

/// The largest extent that a tensor argument can have: no address space holds more. With it, sums and tile counts
/// of extents are known not to overflow.
pub const MAX_EXTENT: i64 = 1 << 48;

/// A tensor in host memory.
#[derive(Clone, PartialEq, Debug)]
pub struct HostTensor {
    /// Element type.
    pub elem: ScalarType,
    /// The whole allocation; elements are stored little-endian, `Bool` as one byte.
    pub data: Vec<u8>,
    /// Index of element zero in `data`, in elements.
    pub offset: usize,
    /// Extents in elements.
    pub extents: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
}

impl HostTensor {
    /// A row-major tensor of zeros.
    ///
    /// # Panics
    /// If the element type has no form in memory.
    pub fn zeros(elem: ScalarType, extents: &[i64]) -> Self {
        let count = extents.iter().product::<i64>().max(0) as usize;
        let bytes = elem.memory_bytes().expect("a type with a form in memory") as usize;
        Self::from_bytes(elem, extents, vec![0; count * bytes])
    }

    /// A row-major tensor over these bytes.
    pub fn from_bytes(elem: ScalarType, extents: &[i64], data: Vec<u8>) -> Self {
        Self { elem, data, offset: 0, extents: extents.to_vec(), strides: row_major_strides(extents) }
    }

    /// Number of elements that the extents span.
    pub fn count(&self) -> usize {
        self.extents.iter().product::<i64>().max(0) as usize
    }
}

/// Strides of a dense row-major tensor, in elements.
pub fn row_major_strides(extents: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for i in (1..extents.len()).rev() {
        strides[i - 1] = strides[i] * extents[i].max(1);
    }
    strides
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum HostArg {
    /// For a view parameter; outputs are changed in place.
    Tensor(HostTensor),
    /// For a scalar parameter.
    Scalar(Literal),
    /// For a pointer parameter: the address of the element at `offset`; the extents are those of the
    /// allocation that may be touched.
    Ptr(HostTensor),
}

/// Why a run did not end well.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ExecError {
    /// The arguments do not fit the parameters.
    #[error("{0}")]
    BadArguments(String),
    /// The kernel could not be compiled for this executor.
    #[error("{0}")]
    Compile(String),
    /// The kernel did something wrong: a failed assert, a fault.
    #[error("{0}")]
    Kernel(Diagnostic),
}

/// Something that runs kernels on host data.
pub trait Executor {
    /// A short name for tables and test output, such as `interp`, `cpu` or `vgpu:sm_90a`.
    fn name(&self) -> String;

    /// Runs all programs of the grid; outputs are changed in place. Gives what the kernel printed.
    ///
    /// # Errors
    /// If the arguments do not fit, the kernel does not compile, or it fails while it runs.
    fn run(&self, function: &Function, grid: [u32; 3], args: &mut [HostArg]) -> Result<String, ExecError>;
}

/// The grid that a kernel's partitioned outputs ask for, or `None` where the caller must give it.
///
/// # Errors
/// If the outputs disagree, an argument is missing or not a tensor, or the grid is too large (2³¹ - 1).
pub fn grid_of(function: &Function, args: &[HostArg]) -> Result<Option<[u32; 3]>, ExecError> {
    let Grid::Tiles { outputs } = &function.grid else { return Ok(None) };
    let name = |i: usize| function.params.get(i).map_or("?", |p| p.name.as_str());
    let extents = |i: usize| match args.get(i) {
        Some(HostArg::Tensor(t)) => Some(t.extents.as_slice()),
        _ => None,
    };
    programs_of(outputs, name, extents).map(|n| Some([n, 1, 1])).map_err(ExecError::BadArguments)
}

/// The number of programs that partitioned outputs ask for: the product over axes of `ceil(extent / tile)`, on which
/// all must agree. `name` and `extents` give the name and extents of a parameter's argument.
///
/// # Errors
/// Says which outputs disagree, which argument is not a tensor, or that the grid is too large (2³¹ - 1).
pub fn programs_of<'a>(
    outputs: &[(u32, Shape)],
    name: impl Fn(usize) -> &'a str,
    extents: impl Fn(usize) -> Option<&'a [i64]>,
) -> Result<u32, String> {
    let mut total: Option<(i64, &str)> = None;
    for (param, tile) in outputs {
        let name = name(*param as usize);
        let Some(extents) = extents(*param as usize) else {
            return Err(format!("argument {name} must be a tensor"));
        };
        let n =
            extents.iter().zip(tile).map(|(&e, &d)| (e + i64::from(d) - 1) / i64::from(d)).fold(1, i64::saturating_mul);
        match total {
            Some((m, other)) if m != n => {
                return Err(format!("outputs {other} and {name} ask for {m} and {n} programs"));
            }
            _ => total = Some((n, name)),
        }
    }
    let n = total.map_or(1, |(n, _)| n);
    match u32::try_from(n) {
        Ok(n) if n < 1 << 31 => Ok(n),
        _ => Err(format!("{n} programs are more than a grid can have")),
    }
}

/// Checks that arguments fit the parameters of a kernel in number, kind, element type and rank.
///
/// # Errors
/// Names the first parameter whose argument does not fit.
pub fn check_args(function: &Function, args: &[HostArg]) -> Result<(), ExecError> {
    let bad = |m: String| Err(ExecError::BadArguments(m));
    if args.len() != function.params.len() {
        return bad(format!("{} takes {} arguments, got {}", function.name, function.params.len(), args.len()));
    }
    for (p, a) in function.params.iter().zip(args) {
        match (&p.kind, a) {
            (ParamKind::View { elem, rank, .. }, HostArg::Tensor(t)) => {
                if t.elem != *elem {
                    return bad(format!("parameter {} has elements of {elem}, got {}", p.name, t.elem));
                }
                if t.extents.len() != usize::from(*rank) || t.strides.len() != usize::from(*rank) {
                    return bad(format!("parameter {} has rank {rank}, got {}", p.name, t.extents.len()));
                }
                if let Some(e) = t.extents.iter().find(|&&e| !(0..=MAX_EXTENT).contains(&e)) {
                    return bad(format!("parameter {} has an extent of {e}; extents are 0 to 2^48", p.name));
                }
            }
            (ParamKind::Scalar { elem, .. }, HostArg::Scalar(v)) if v.fits(*elem) => {}
            (ParamKind::Ptr { elem, .. }, HostArg::Ptr(t)) if t.elem == *elem => {}
            (kind, _) => return bad(format!("parameter {} is {}, got another kind of argument", p.name, kind.ty())),
        }
    }
    Ok(())
}
