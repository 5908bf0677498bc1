//! Runs a kernel on the interpreter and on the CPU, fused and not, and compares.

use tegula_codegen_cpu::{CpuExecutor, CpuOptions};
use tegula_ir::exec::{Executor, HostArg, HostTensor};
use tegula_ir::function::Function;
use tegula_ir::interp::Interpreter;
use tegula_ir::literal::Literal;
use tegula_ir::numeric::eval;
use tegula_ir::text::parse_function;
use tegula_ir::types::ScalarType;

/// Parses a kernel, or shows what is wrong with it.
pub fn parse(text: &str) -> Function {
    parse_function(text, "test.tile").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A generator of test values: xorshift, the same everywhere.
pub struct Values(u64);

impl Values {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A small value of a type: integers of a few digits, floats around 1.
    pub fn small(&mut self, t: ScalarType) -> Literal {
        let r = self.next();
        match t {
            ScalarType::Bool => Literal::Bool(r & 1 != 0),
            t if t.is_float() => Literal::Float((r % 4001) as f64 / 1000.0 - 2.0),
            t if t.is_signed_int() => Literal::Int((r % 15) as i64 - 7),
            _ => Literal::Int((r % 15) as i64),
        }
    }
}

/// A row-major tensor of given values.
pub fn tensor_of(t: ScalarType, extents: &[i64], mut value: impl FnMut() -> Literal) -> HostArg {
    let mut x = HostTensor::zeros(t, extents);
    let bytes = t.memory_bytes().unwrap() as usize;
    for chunk in x.data.chunks_exact_mut(bytes) {
        chunk.copy_from_slice(&eval::to_bits(t, eval_round(t, value())).to_le_bytes()[..bytes]);
    }
    HostArg::Tensor(x)
}

fn eval_round(t: ScalarType, v: Literal) -> Literal {
    eval::normalise(t, v)
}

/// A row-major tensor of small values.
pub fn tensor(t: ScalarType, extents: &[i64], seed: u64) -> HostArg {
    let mut values = Values::new(seed);
    tensor_of(t, extents, || values.small(t))
}

/// A tensor of zeros.
pub fn zeros(t: ScalarType, extents: &[i64]) -> HostArg {
    HostArg::Tensor(HostTensor::zeros(t, extents))
}

/// The elements of a tensor's allocation.
pub fn elements(arg: &HostArg) -> Vec<Literal> {
    let (HostArg::Tensor(t) | HostArg::Ptr(t)) = arg else { return Vec::new() };
    let bytes = t.elem.memory_bytes().unwrap() as usize;
    t.data
        .chunks_exact(bytes)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(chunk);
            eval::from_bits(t.elem, u64::from_le_bytes(word))
        })
        .collect()
}

/// Largest relative difference that counts as rounding for a type.
fn tolerance(t: ScalarType) -> f64 {
    match t {
        ScalarType::F64 => 1e-12,
        ScalarType::F32 => 2e-5,
        ScalarType::F16 => 4e-3,
        ScalarType::BF16 => 2e-2,
        _ => 0.3,
    }
}

fn same(t: ScalarType, a: Literal, b: Literal, exact: bool) -> bool {
    match (a, b) {
        (Literal::Float(x), Literal::Float(y)) => {
            if exact {
                x == y && (x != 0.0 || x.is_sign_negative() == y.is_sign_negative()) || (x.is_nan() && y.is_nan())
            } else {
                x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance(t) * x.abs().max(y.abs()).max(1.0)
            }
        }
        (a, b) => a == b,
    }
}

fn compare(what: &str, text: &Function, want: &[HostArg], got: &[HostArg], exact: bool) {
    for (i, (w, g)) in want.iter().zip(got).enumerate() {
        let (HostArg::Tensor(t) | HostArg::Ptr(t)) = w else { continue };
        for (j, (a, b)) in elements(w).into_iter().zip(elements(g)).enumerate() {
            assert!(
                same(t.elem, a, b, exact),
                "{what}: argument {i} ({}), element {j}: interpreter {a:?}, cpu {b:?}\nextents {:?}\n{}",
                t.elem,
                t.extents,
                tegula_ir::text::print_function(text, &Default::default()),
            );
        }
    }
}

/// Runs on the interpreter and on the CPU; gives the interpreter's arguments afterwards.
pub fn check_with(func: &Function, grid: [u32; 3], args: &[HostArg], exact: bool) -> Vec<HostArg> {
    let mut want = args.to_vec();
    let printed = Interpreter::new().run(func, grid, &mut want).unwrap_or_else(|e| panic!("interpreter: {e}"));
    for (fuse, threads) in [(false, 1), (true, 3)] {
        let what = format!("fuse {fuse}, threads {threads}");
        let mut got = args.to_vec();
        let cpu = CpuExecutor::new(CpuOptions { fuse, ..CpuOptions::default() }, threads);
        let text = cpu.run(func, grid, &mut got).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(printed, text, "{what}");
        compare(&what, func, &want, &got, exact);
    }
    want
}

/// As [`check_with`], up to rounding.
pub fn check(text: &str, grid: [u32; 3], args: &[HostArg]) -> Vec<HostArg> {
    check_with(&parse(text), grid, args, false)
}

/// As [`check_with`], bit for bit (any NaN equals any).
pub fn check_exact(text: &str, grid: [u32; 3], args: &[HostArg]) -> Vec<HostArg> {
    check_with(&parse(text), grid, args, true)
}
