//! Problems: a kernel together with inputs, expected outputs and tolerances, so that every executor can be
//! tested and timed on the same data.

use tegula::ir::exec::{ExecError, HostArg, HostTensor, grid_of};
use tegula::ir::literal::Literal;
use tegula::ir::numeric::eval;
use tegula::ir::ops::Rounding;
use tegula::ir::{Function, ScalarType};

/// Sizes of a problem by name, such as `M`, `N` and `K`, in the order the kernel documents them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes(pub Vec<(&'static str, i64)>);

impl Sizes {
    /// The size of this name.
    ///
    /// # Panics
    /// If the kernel has no such size; names come from the kernel itself.
    pub fn get(&self, name: &str) -> i64 {
        self.0.iter().find(|(n, _)| *n == name).map_or_else(|| panic!("no size {name} in {self:?}"), |(_, v)| *v)
    }

    /// Changes the size of this name; `false` if there is none.
    pub fn set(&mut self, name: &str, value: i64) -> bool {
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, v)) => {
                *v = value;
                true
            }
            None => false,
        }
    }
}

/// What an output must be.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Index of the argument that holds the output.
    pub arg: usize,
    /// The right values in row-major order, computed in `f64` from the rounded inputs.
    pub values: Vec<f64>,
    /// Largest error allowed, as a fraction of the output's largest magnitude. Zero asks for equality.
    pub tolerance: f64,
}

/// A grid that does not follow from the outputs. Along each axis, the product of numbers of tiles: how many of the kernel's
/// dim an extent has, or the extent itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grid(pub [Vec<(i64, Option<&'static str>)>; 3]);

impl Grid {
    /// The programs of a kernel along each axis.
    ///
    /// # Errors
    /// If there are more than a grid can have.
    pub fn of(&self, f: &Function) -> Result<[u32; 3], ExecError> {
        let tiles = |&(extent, dim): &(i64, Option<&str>)| {
            let size = dim.and_then(|dim| f.dims.iter().find(|(n, _)| n == dim)).map_or(1, |(_, size)| (*size).max(1));
            extent.max(0).cast_unsigned().div_ceil(size)
        };
        let mut grid = [1; 3];
        for (programs, axis) in grid.iter_mut().zip(&self.0) {
            let n = axis.iter().map(tiles).fold(1, u64::saturating_mul);
            *programs = u32::try_from(n)
                .map_err(|_| ExecError::BadArguments(format!("{n} programs are more than a grid can have")))?;
        }
        Ok(grid)
    }
}

/// A kernel's arguments and what it must make of them.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Arguments in order; outputs are filled with a NaN pattern, so that a missing store is seen.
    pub args: Vec<HostArg>,
    /// Grid, where it does not follow from the outputs.
    pub grid: Option<Grid>,
    /// What the outputs must be.
    pub expected: Vec<Expected>,
    /// Arithmetic operations of the whole problem (a fused multiply-add counts two).
    pub flops: f64,
    /// Bytes that must be read and written at least once.
    pub bytes: f64,
}

/// An output that is wrong.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error(
    "output {arg}: element {index} is {got}, expected {want} (error {error:.3e} of the largest magnitude, \
     allowed {tolerance:.1e})"
)]
pub struct Mismatch {
    /// Index of the argument.
    pub arg: usize,
    /// Row-major index of the worst element.
    pub index: usize,
    /// Its value.
    pub got: f64,
    /// What it should be.
    pub want: f64,
    /// The error as a fraction of the output's largest magnitude.
    pub error: f64,
    /// The largest such fraction allowed.
    pub tolerance: f64,
}

impl Problem {
    /// The grid of a kernel built for this problem.
    ///
    /// # Errors
    /// If there are more programs than a grid can have.
    pub fn grid(&self, f: &Function) -> Result<[u32; 3], ExecError> {
        match &self.grid {
            Some(grid) => grid.of(f),
            None => Ok(grid_of(f, &self.args)?.unwrap_or([1; 3])),
        }
    }

    /// Compares the outputs in `args` with what they must be: the largest error, as a fraction of each output's
    /// largest magnitude.
    ///
    /// # Errors
    /// Gives the worst element of the first output that is out of tolerance.
    pub fn check(&self, args: &[HostArg]) -> Result<f64, Mismatch> {
        let mut largest: f64 = 0.0;
        for expected in &self.expected {
            let got = match &args[expected.arg] {
                HostArg::Tensor(t) | HostArg::Ptr(t) => decode(t),
                HostArg::Scalar(_) => unreachable!("outputs are tensors"),
            };
            let finite = expected.values.iter().map(|v| v.abs()).filter(|v| v.is_finite());
            let scale = finite.fold(f64::MIN_POSITIVE, f64::max);
            let (mut worst, mut at) = (0.0, 0);
            for (i, (&g, &w)) in got.iter().zip(&expected.values).enumerate() {
                let error = if g == w || (g.is_nan() && w.is_nan()) { 0.0 } else { ((g - w) / scale).abs() };
                // A NaN error must not be passed over.
                if error > worst || error.is_nan() {
                    (worst, at) = (if error.is_nan() { f64::INFINITY } else { error }, i);
                }
            }
            if worst > expected.tolerance || got.len() != expected.values.len() {
                return Err(Mismatch {
                    arg: expected.arg,
                    index: at,
                    got: got.get(at).copied().unwrap_or(f64::NAN),
                    want: expected.values.get(at).copied().unwrap_or(f64::NAN),
                    error: worst,
                    tolerance: expected.tolerance,
                });
            }
            largest = largest.max(worst);
        }
        Ok(largest)
    }
}

/// Reproducible test data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream that depends on the seed only.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `-1..1`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Uniform in `0..n`.
    pub fn below(&mut self, n: i64) -> i64 {
        (self.bits() % n.max(1) as u64) as i64
    }

    /// A tensor of uniform values in `-scale..scale`, rounded to the element type (integers: to the nearest).
    pub fn tensor(&mut self, elem: ScalarType, extents: &[i64], scale: f64) -> HostTensor {
        let n = extents.iter().product::<i64>().max(0) as usize;
        encode(elem, extents, &(0..n).map(|_| self.unit() * scale).collect::<Vec<_>>())
    }

    /// A tensor of uniform integers in `0..n`.
    pub fn indices(&mut self, elem: ScalarType, extents: &[i64], n: i64) -> HostTensor {
        let count = extents.iter().product::<i64>().max(0) as usize;
        encode(elem, extents, &(0..count).map(|_| self.below(n) as f64).collect::<Vec<_>>())
    }
}

/// A dense row-major tensor of these values, each rounded to the element type.
pub fn encode(elem: ScalarType, extents: &[i64], values: &[f64]) -> HostTensor {
    let size = elem.memory_bytes().expect("tensors have element types with a form in memory") as usize;
    let mut data = Vec::with_capacity(values.len() * size);
    for &v in values {
        let rounded = eval::cast(ScalarType::F64, elem, Rounding::NearestEven, false, Literal::Float(v));
        data.extend_from_slice(&eval::to_bits(elem, rounded).to_le_bytes()[..size]);
    }
    HostTensor::from_bytes(elem, extents, data)
}

/// The elements of a tensor in row-major order.
pub fn decode(t: &HostTensor) -> Vec<f64> {
    let size = t.elem.memory_bytes().expect("tensors have element types with a form in memory") as usize;
    let mut values = Vec::with_capacity(t.count());
    let mut index = vec![0i64; t.extents.len()];
    for _ in 0..t.count() {
        let at = t.offset as i64 + index.iter().zip(&t.strides).map(|(i, s)| i * s).sum::<i64>();
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&t.data[at as usize * size..][..size]);
        values.push(match eval::from_bits(t.elem, u64::from_le_bytes(bytes)) {
            Literal::Bool(b) => f64::from(u8::from(b)),
            Literal::Int(v) if t.elem == ScalarType::U64 => v as u64 as f64,
            Literal::Int(v) => v as f64,
            Literal::Float(v) => v,
        });
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < t.extents[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    values
}

/// An output to be written: every byte 0xff, which is NaN in each float format but AMD's fp8, and -1 or the
/// largest value in integers.
pub fn output(elem: ScalarType, extents: &[i64]) -> HostTensor {
    let mut t = HostTensor::zeros(elem, extents);
    t.data.fill(if elem == ScalarType::Bool { 1 } else { 0xff });
    t
}

/// The relative tolerance that results of this type are held to, for sums of about `terms` products.
pub fn tolerance(elem: ScalarType, terms: i64) -> f64 {
    let growth = (terms.max(1) as f64).sqrt();
    match elem {
        ScalarType::F64 => 1e-15 * growth + 1e-14,
        ScalarType::F32 => 2e-7 * growth + 1e-6,
        ScalarType::F16 => 1e-3,
        ScalarType::BF16 => 8e-3,
        ScalarType::F8E4M3 | ScalarType::F8E4M3Fnuz => 0.07,
        ScalarType::F8E5M2 | ScalarType::F8E5M2Fnuz => 0.14,
        _ => 0.0,
    }
}
