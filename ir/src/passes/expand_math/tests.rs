//! Errors of the expansions, measured on the host against `f64` functions; and the emitted IR against the host.

use super::bounds::{self, FastBound};
use super::ops::{MathOps, Width};
use super::{ExpandMath, binary, is_expanded, unary};
use crate::builder::Builder;
use crate::exec::{Executor, HostArg, HostTensor};
use crate::function::{Function, ParamKind, ViewAccess, ViewSpec};
use crate::interp::Interpreter;
use crate::numeric::{FloatFormat, float};
use crate::ops::{Access, Address, AxisSet, BinaryOp, CmpOp, OpKind, UnaryOp};
use crate::pass::{Pass, PassContext};
use crate::types::ScalarType;

/// Defines an evaluator of expansions on host numbers.
macro_rules! host {
    ($name:ident, $f:ty, $i:ty, $u:ty, $wide:ty, $width:expr) => {
        #[derive(Default)]
        struct $name {
            /// On which side the approximations err, a bit each.
            sides: u32,
        }

        impl MathOps for $name {
            type F = $f;
            type I = $i;
            type B = bool;

            fn width(&self) -> Width {
                $width
            }
            fn c(&mut self, v: f64) -> $f {
                v as $f
            }
            fn i(&mut self, v: i64) -> $i {
                v as $i
            }
            fn unary(&mut self, op: UnaryOp, x: $f) -> $f {
                match op {
                    UnaryOp::Neg => -x,
                    UnaryOp::Abs => x.abs(),
                    UnaryOp::Sqrt => x.sqrt(),
                    UnaryOp::Trunc => x.trunc(),
                    _ => panic!("{op}"),
                }
            }
            fn binary(&mut self, op: BinaryOp, a: $f, b: $f) -> $f {
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::CopySign => a.copysign(b),
                    _ => panic!("{op}"),
                }
            }
            fn fma(&mut self, a: $f, b: $f, c: $f) -> $f {
                a.mul_add(b, c)
            }
            fn cmp(&mut self, op: CmpOp, a: $f, b: $f) -> bool {
                float::compare(op, a.into(), b.into())
            }
            fn select(&mut self, c: bool, a: $f, b: $f) -> $f {
                if c { a } else { b }
            }
            fn iselect(&mut self, c: bool, a: $i, b: $i) -> $i {
                if c { a } else { b }
            }
            fn int(&mut self, op: BinaryOp, a: $i, b: $i) -> $i {
                match op {
                    BinaryOp::Add => a.wrapping_add(b),
                    BinaryOp::Sub => a.wrapping_sub(b),
                    BinaryOp::Div => a / b,
                    BinaryOp::And => a & b,
                    BinaryOp::Or => a | b,
                    BinaryOp::Xor => a ^ b,
                    BinaryOp::Shl => a << b,
                    BinaryOp::Shr => a >> b,
                    _ => panic!("{op}"),
                }
            }
            fn uint(&mut self, op: BinaryOp, a: $i, b: $i) -> $i {
                let (a, b) = (a as $u, b as $u);
                (match op {
                    BinaryOp::Mul => a.wrapping_mul(b),
                    BinaryOp::MulHi => ((a as $wide * b as $wide) >> <$u>::BITS) as $u,
                    BinaryOp::Shl => a << b,
                    BinaryOp::Shr => a >> b,
                    _ => panic!("{op}"),
                }) as $i
            }
            fn icmp(&mut self, op: CmpOp, a: $i, b: $i) -> bool {
                crate::numeric::int::compare(op, ScalarType::I64, a.into(), b.into())
            }
            fn ucmp(&mut self, op: CmpOp, a: $i, b: $i) -> bool {
                assert_eq!(op, CmpOp::Lt);
                (a as $u) < b as $u
            }
            fn logic(&mut self, op: BinaryOp, a: bool, b: bool) -> bool {
                if op == BinaryOp::And { a & b } else { a | b }
            }
            fn bits(&mut self, x: $f) -> $i {
                x.to_bits() as $i
            }
            fn float_of_bits(&mut self, x: $i) -> $f {
                <$f>::from_bits(x as $u)
            }
            fn float(&mut self, x: $i) -> $f {
                x as $f
            }
            fn native(&self, _: UnaryOp) -> bool {
                false
            }
            fn approximate(&mut self, op: UnaryOp, x: $f) -> $f {
                let up = self.sides & 1 != 0;
                self.sides >>= 1;
                instruction(op, x.into(), up) as $f
            }
        }
    };
}
host!(Host32, f32, i32, u32, u64, Width::W32);
host!(Host64, f64, i64, u64, u128, Width::W64);

fn expanded() -> impl Iterator<Item = UnaryOp> {
    UnaryOp::ALL.iter().copied().filter(|&op| is_expanded(op))
}

/// Arguments of a function of `f32` that are measured, besides the delicate ones.
const F32_POINTS: u64 = 10_000_000;
/// The same of `f64`, whose reference is hardly more exact than what is measured.
const F64_POINTS: u64 = 500_000;

/// Bit patterns spread over all of `bits` bits: an odd stride with a start that differs by function.
fn patterns(bits: u32, n: u64, salt: u64) -> impl Iterator<Item = u64> {
    let stride = ((u64::MAX >> (64 - bits)) / n) | 1;
    (0..n).map(move |i| (i.wrapping_mul(stride).wrapping_add(salt * 7919)) & (u64::MAX >> (64 - bits)))
}

/// Arguments around which functions change their formula or are delicate.
fn corners() -> Vec<f64> {
    let mut v =
        vec![0.0, 1.0, 0.5, 2.0, 88.7, 103.9, 127.9, 150.0, 710.0, 745.2, 1024.0, 65536.0, 1048576.0, f64::INFINITY];
    v.extend((-30..200).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_4));
    v.extend((1..400).map(|i| f64::from(i) * 0.03));
    v.extend((-150..128).map(|i| 2f64.powi(i)));
    v.extend((0..40).map(|i| 1.0 + f64::from(i) * 2f64.powi(-22)));
    v.iter().flat_map(|&x| [x, -x, x + x * 1.2e-7, x - x * 1.2e-7]).chain([f64::NAN]).collect()
}

/// The error of a result in units in the last place; 0 where both are NaN or the same infinity.
fn error(format: FloatFormat, got: f64, exact: f64) -> f64 {
    let rounded = format.round(exact);
    if got.to_bits() == rounded.to_bits() || (got.is_nan() && exact.is_nan()) {
        return if got.is_finite() { (got - exact).abs() / unit(format, exact) } else { 0.0 };
    }
    if got.is_nan() || exact.is_nan() || (got == 0.0 && exact == 0.0) {
        return f64::INFINITY;
    }
    // Infinity stands one unit above the largest number.
    let finite = |v: f64| {
        if v.is_infinite() {
            (format.max_finite() * (1.0 + 2f64.powi(-(format.mantissa_bits as i32) - 1))).copysign(v)
        } else {
            v
        }
    };
    (finite(got) - finite(exact)).abs() / unit(format, exact)
}

fn unit(format: FloatFormat, exact: f64) -> f64 {
    let magnitude = exact.abs().clamp(format.min_normal(), format.max_finite());
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    libm::scalbn(1.0, exponent - format.mantissa_bits as i32)
}

struct Worst {
    error: f64,
    at: Vec<f64>,
    got: f64,
    exact: f64,
}

impl Worst {
    fn new() -> Self {
        Worst { error: 0.0, at: vec![], got: 0.0, exact: 0.0 }
    }

    fn see(&mut self, error: f64, at: &[f64], got: f64, exact: f64) {
        if error > self.error || error.is_nan() {
            *self = Worst { error, at: at.to_vec(), got, exact };
        }
    }

    fn check(&self, what: &str, bound: f64) -> bool {
        println!("{what:16} {:8.3} of {bound} at {:?}: {:e} for {:e}", self.error, self.at, self.got, self.exact);
        self.error <= bound
    }
}

#[test]
fn f32_errors_are_within_their_bounds() {
    let mut good = true;
    for (salt, op) in expanded().enumerate() {
        let mut worst = Worst::new();
        let reference = float::unary(op, false);
        let inputs = patterns(32, F32_POINTS, salt as u64).map(|b| f32::from_bits(b as u32));
        for x in inputs.chain(corners().into_iter().map(|v| v as f32)) {
            let got = unary(&mut Host32::default(), op, x, false, &[], false);
            let exact = reference(x.into());
            worst.see(error(FloatFormat::F32, got.into(), exact), &[x.into()], got.into(), exact);
        }
        good &= worst.check(op.name(), bounds::unary(op).map_or(0.0, |b| b.f32));
    }
    assert!(good, "see the output for the functions above their bounds");
}

/// Not expanded: a square root and a division, both correctly rounded on every target.
#[test]
fn rsqrt_is_two_roundings() {
    let reference = float::unary(UnaryOp::Rsqrt, false);
    let mut worst = Worst::new();
    for x in patterns(32, F32_POINTS, 0).map(|b| f32::from_bits(b as u32)) {
        let (got, exact) = (1.0 / x.sqrt(), reference(x.into()));
        worst.see(error(FloatFormat::F32, got.into(), exact), &[x.into()], got.into(), exact);
    }
    assert!(worst.check("rsqrt", bounds::unary(UnaryOp::Rsqrt).map_or(0.0, |b| b.f32)));
}

#[test]
fn f64_errors_are_within_their_bounds() {
    let mut good = true;
    for (salt, op) in expanded().enumerate() {
        let mut worst = Worst::new();
        let reference = float::unary(op, false);
        let inputs = patterns(64, F64_POINTS / 4, salt as u64).map(f64::from_bits);
        let middle =
            patterns(52, F64_POINTS / 4, salt as u64).map(|b| f64::from_bits((b << 12 >> 4) + (0x3b0u64 << 52)));
        for x in inputs.chain(middle).chain(corners()) {
            for x in [x, -x] {
                let got = unary(&mut Host64::default(), op, x, false, &[], false);
                let exact = reference(x);
                worst.see(error(FloatFormat::F64, got, exact), &[x], got, exact);
            }
        }
        good &= worst.check(op.name(), bounds::unary(op).map_or(0.0, |b| b.f64));
    }
    assert!(good, "see the output for the functions above their bounds");
}

#[test]
fn every_f16_argument_gives_nearly_the_correctly_rounded_result() {
    for t in [ScalarType::F16, ScalarType::BF16] {
        let format = FloatFormat::of(t);
        for op in expanded() {
            let reference = float::unary(op, false);
            let mut worst = Worst::new();
            for bits in 0..=u64::from(u16::MAX) {
                let x = format.decode(bits);
                let got = format.round(unary(&mut Host32::default(), op, x as f32, false, &[], false).into());
                let exact = reference(x);
                worst.see(error(format, got, exact), &[x], got, exact);
            }
            assert!(worst.check(&format!("{op} {t}"), bounds::SIXTEEN_BIT));
        }
    }
}

/// What an instruction may give that errs as far as its vendor allows: the sections of the PTX ISA that
/// [`bounds::fast`] names; AMD's are within one unit.
fn instruction(op: UnaryOp, x: f64, up: bool) -> f64 {
    let exact = float::unary(op, false)(x);
    let error = match op {
        UnaryOp::Exp2 => 2.0 * unit(FloatFormat::F32, exact),
        UnaryOp::Log2 => 2f64.powi(-22) * exact.abs().max(1.0),
        UnaryOp::Recip => unit(FloatFormat::F32, exact),
        UnaryOp::Sin | UnaryOp::Cos if x.abs() <= std::f64::consts::TAU => 2f64.powf(-20.5),
        UnaryOp::Sin | UnaryOp::Cos => 2f64.powf(-14.7),
        UnaryOp::Tanh => 2f64.powi(-11) * exact.abs(),
        _ => panic!("{op}"),
    };
    if !exact.is_finite() || (exact == 0.0 && !matches!(op, UnaryOp::Log2 | UnaryOp::Sin | UnaryOp::Cos)) {
        return exact;
    }
    if up { exact + error } else { exact - error }
}

/// What a target approximates: nothing (the CPU), AMD GPUs, NVIDIA GPUs. Those that differ for the function.
fn approximations(op: UnaryOp) -> &'static [&'static [UnaryOp]] {
    use UnaryOp::{Cos, Exp2, Gelu, Log2, Recip, Sin, Tan, Tanh};
    const AMD: &[UnaryOp] = &[Exp2, Log2, Recip, Sin, Cos];
    const NVIDIA: &[UnaryOp] = &[Exp2, Log2, Recip, Sin, Cos, Tanh];
    match op {
        Tanh => &[AMD, NVIDIA],
        Sin | Cos | Tan | Gelu => &[&[], NVIDIA],
        _ => &[NVIDIA],
    }
}

/// The error of a fast variant in units in the last place, where it is beyond the absolute error allowed.
fn fast_error(bound: FastBound, got: f64, exact: f64) -> f64 {
    if (got - exact).abs() <= bound.absolute { 0.0 } else { error(FloatFormat::F32, got, exact) }
}

#[test]
fn fast_variants_are_within_their_bounds() {
    let mut good = true;
    for (salt, op) in expanded().enumerate() {
        let bound = bounds::fast(op).unwrap();
        let reference = float::unary(op, true);
        // Those without a variant are the same, and measured above.
        let points = if bounds::has_fast(op) { F32_POINTS } else { 1000 };
        for approx in approximations(op) {
            let mut worst = Worst::new();
            let inputs = patterns(32, points, salt as u64).map(|b| f32::from_bits(b as u32));
            let halves = (0..=u16::MAX).map(|b| half::f16::from_bits(b).to_f32());
            let corners = corners().into_iter().map(|v| v as f32);
            for (i, x) in inputs.chain(halves).chain(corners).enumerate() {
                // Subnormal arguments may count as zero.
                if x.is_subnormal() || f64::from(x.abs()) > bound.domain {
                    continue;
                }
                let exact = reference(x.into());
                // Each approximation errs to either side.
                let got = unary(&mut Host32 { sides: i as u32 }, op, x, true, approx, true);
                worst.see(fast_error(bound, got.into(), exact), &[x.into()], got.into(), exact);
                if !bounds::has_fast(op) {
                    let plain = unary(&mut Host32::default(), op, x, false, &[], false);
                    assert!(got.to_bits() == plain.to_bits() || got.is_nan() && plain.is_nan(), "{op}({x:e})");
                }
            }
            good &= worst.check(&format!("{op} fast"), bound.units);
        }
    }
    assert!(good, "see the output for the functions above their bounds");
}

#[test]
fn functions_of_two_arguments_are_within_their_bounds() {
    let mut good = true;
    for op in [BinaryOp::Pow, BinaryOp::Atan2] {
        let reference = float::binary(op);
        let (mut w32, mut w64) = (Worst::new(), Worst::new());
        let special = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1e-40, 1e30, 16777217.0, f64::INFINITY, f64::NAN];
        let special = special.into_iter().flat_map(|x| [x, -x]).collect::<Vec<_>>();
        let pairs = special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b)));
        // Powers near 1 with large exponents and the like: moderate numbers of either sign.
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(11);
            state >> 11
        };
        let moderate = (0..F32_POINTS).map(move |_| {
            let spread = 1 << (random() % 8);
            let mut number = || {
                let exponent = 1023 + random() % (2 * spread) - spread;
                f64::from_bits(random() << 63 | exponent << 52 | random() >> 1 & ((1 << 52) - 1))
            };
            (number(), number())
        });
        for (i, (a, b)) in pairs.chain(moderate).enumerate() {
            let (x, y) = (a as f32, b as f32);
            let (got, exact) = (binary(&mut Host32::default(), op, x, y), reference(x.into(), y.into()));
            w32.see(error(FloatFormat::F32, got.into(), exact), &[x.into(), y.into()], got.into(), exact);
            if i as u64 >= F64_POINTS {
                continue;
            }
            let (got, exact) = (binary(&mut Host64::default(), op, a, b), reference(a, b));
            w64.see(error(FloatFormat::F64, got, exact), &[a, b], got, exact);
        }
        let bound = bounds::binary(op).unwrap();
        good &= w32.check(&format!("{op} f32"), bound.f32) & w64.check(&format!("{op} f64"), bound.f64);
    }
    assert!(good, "see the output for the functions above their bounds");
}

/// The emitted IR, interpreted, gives bit for bit what the host evaluation gives: what is measured is what runs.
#[test]
fn the_emitted_code_computes_what_is_measured() {
    let n = 4096u32;
    for op in expanded() {
        let mut b = Builder::new(Function::new("test"));
        let (access, spec) = (ViewAccess::ReadWrite, ViewSpec::default());
        let view = b.func.add_param("x", ParamKind::View { elem: ScalarType::F32, rank: 1, access, spec });
        let zero = b.index(0);
        let addr = Address::Tile {
            view,
            offsets: [zero].into_iter().collect(),
            shape: [n].into_iter().collect(),
            in_bounds: AxisSet::NONE,
        };
        let access = Access::default();
        let x = b.value(OpKind::Load { addr: addr.clone(), mask: None, pad: None, access }).unwrap();
        let value = b.value(OpKind::Unary { op, x, fast: false }).unwrap();
        b.op(OpKind::Store { addr, value, mask: None, access }).unwrap();
        b.op(OpKind::Return).unwrap();
        let mut f = b.finish();
        ExpandMath::default().run(&mut f, &mut PassContext::new()).unwrap();
        f.walk(|_, op| assert!(!matches!(f.kind(op), OpKind::Unary { op, .. } if is_expanded(*op))));

        let inputs: Vec<f32> = patterns(32, n.into(), 3).map(|b| f32::from_bits(b as u32)).collect();
        let data = inputs.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut args = [HostArg::Tensor(HostTensor::from_bytes(ScalarType::F32, &[n.into()], data))];
        Interpreter::new().run(&f, [1; 3], &mut args).unwrap();
        let HostArg::Tensor(out) = &args[0] else { unreachable!() };
        for (x, bytes) in inputs.iter().zip(out.data.chunks(4)) {
            let got = f32::from_le_bytes(bytes.try_into().unwrap());
            let host = unary(&mut Host32::default(), op, *x, false, &[], false);
            assert!(
                got.to_bits() == host.to_bits() || (got.is_nan() && host.is_nan()),
                "{op}({x:e}): {got:e}, {host:e}"
            );
        }
    }
}

#[test]
fn the_documented_table_is_the_measured_one() {
    assert_eq!(bounds::markdown(), include_str!("bounds.md"), "write the left side to bounds.md");
}

#[test]
fn approximations_of_the_target_are_kept_where_allowed() {
    let run = |list: &str, op: UnaryOp, fast: bool| {
        let mut b = Builder::new(Function::new("test"));
        let x = b.func.add_param("x", ParamKind::Scalar { elem: ScalarType::F32, divisor: 1 });
        b.value(OpKind::Unary { op, x, fast }).unwrap();
        b.op(OpKind::Return).unwrap();
        let mut f = b.finish();
        let pipeline = crate::pass::Registry::builtin().pipeline(list).unwrap();
        pipeline.stages[0].pass.run(&mut f, &mut PassContext::new()).unwrap();
        let names = f.ops_in_order().into_iter().filter_map(|op| match f.kind(op) {
            OpKind::Unary { op, fast, .. } if is_expanded(*op) || *op == UnaryOp::Recip => Some((op.name(), *fast)),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let list = "expand-math{native=exp2, approx=exp2+recip+log2}";
    assert_eq!(run(list, UnaryOp::Exp2, false), [("exp2", false)]);
    assert_eq!(run(list, UnaryOp::Exp, false), [("exp2", false)]);
    assert_eq!(run(list, UnaryOp::Exp, true), [("exp2", true)]);
    assert_eq!(run(list, UnaryOp::Sigmoid, true), [("exp2", true), ("recip", true)]);
    assert_eq!(run(list, UnaryOp::Log, true), [("log2", true)]);
    assert_eq!(run(list, UnaryOp::Log, false), []);
    assert_eq!(run("expand-math", UnaryOp::Exp, true), []);
    let error = crate::pass::Registry::builtin().pipeline("expand-math{native=expo}").unwrap_err().to_string();
    assert_eq!(error, "`expo` is not a value for option `native` of pass `expand-math`");
}
