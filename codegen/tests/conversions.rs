//! Conversions between element types, compiled for the host and compared with the virtual GPUs' number formats, which
//! share no code with the compiler.

use inkwell::OptimizationLevel;
use inkwell::attributes::AttributeLoc;
use inkwell::execution_engine::ExecutionEngine;
use tegula_codegen::elementwise::convert::convert;
use tegula_codegen::elementwise::{Conversion, Generic, register_type};
use tegula_codegen::emit::{Emitter, Val};
use tegula_codegen::session::{Machine, Session, Timings};
use tegula_ir::ops::Rounding;
use tegula_ir::types::{Elem, ScalarType};
use tegula_vgpu::numeric::{self, Format, Overflow};

/// Compiles `fn(x: bits) -> bits` for each conversion and calls `check` with the functions.
fn with_compiled(conversions: &[Conversion], mut check: impl FnMut(Conversion, &dyn Fn(u64) -> u64)) {
    let session = Session::new();
    let machine = Machine::host().unwrap();
    let module = session.module("conversions", &machine);
    let context = session.context();
    for (i, conversion) in conversions.iter().enumerate() {
        let i64 = context.i64_type();
        let function = module.add_function(&format!("f{i}"), i64.fn_type(&[i64.into()], false), None);
        // Without the host's own conversions LLVM would call a library that this process does not have.
        let features = context.create_string_attribute("target-features", &machine.spec().features);
        function.add_attribute(AttributeLoc::Function, features);
        let e = Emitter::new(context, &module, function);
        let bits = function.get_nth_param(0).unwrap();
        let x =
            e.bitcast(e.zext_or_trunc(bits, conversion.from.bits()), register_type(&e, Elem::Scalar(conversion.from)));
        let y: Val = convert(&e, &Generic, *conversion, x);
        assert_eq!(y.get_type(), register_type(&e, Elem::Scalar(conversion.to)));
        let y = e.zext_or_trunc(e.to_bits(y), 64);
        e.builder.build_return(Some(&y)).unwrap();
    }
    session.verify(&module, &mut Timings::default()).unwrap();
    let engine: ExecutionEngine = module.create_jit_execution_engine(OptimizationLevel::Default).unwrap();
    for (i, conversion) in conversions.iter().enumerate() {
        // SAFETY: the function was built above with this signature.
        let function = unsafe { engine.get_function::<unsafe extern "C" fn(u64) -> u64>(&format!("f{i}")).unwrap() };
        // SAFETY: it computes on its argument alone.
        check(*conversion, &|x| unsafe { function.call(x) });
    }
}

fn format(ty: ScalarType) -> Format {
    match ty {
        ScalarType::F64 => Format::F64,
        ScalarType::F32 => Format::F32,
        ScalarType::F16 => Format::F16,
        ScalarType::BF16 => Format::BF16,
        ScalarType::F8E4M3 => Format::E4M3,
        ScalarType::F8E5M2 => Format::E5M2,
        ScalarType::F8E4M3Fnuz => Format::E4M3_FNUZ,
        ScalarType::F8E5M2Fnuz => Format::E5M2_FNUZ,
        _ => panic!("{ty} is no float"),
    }
}

fn reference(c: Conversion, x: f64) -> u64 {
    let rounding = match c.rounding {
        Rounding::NearestEven => numeric::Rounding::NearestEven,
        Rounding::TowardZero => numeric::Rounding::TowardZero,
        Rounding::Up => numeric::Rounding::Up,
        Rounding::Down => numeric::Rounding::Down,
    };
    let overflow = if c.saturate { Overflow::Saturate } else { Overflow::Infinite };
    format(c.to).encode(x, rounding, overflow)
}

/// The bits of interesting values of a float type: all of the narrow types; of the wide ones those around every
/// rounding boundary of a narrow type, and random ones.
fn inputs(ty: ScalarType) -> Vec<u64> {
    if ty.bits() <= 16 {
        return (0..1 << ty.bits()).collect();
    }
    let mut all = Vec::new();
    for narrow in [ScalarType::F16, ScalarType::F8E4M3, ScalarType::F8E5M2, ScalarType::F8E4M3Fnuz, ScalarType::BF16] {
        let f = format(narrow);
        for code in (0..1u64 << narrow.bits()).step_by(if narrow.bits() == 16 { 7 } else { 1 }) {
            let (low, high) = (f.decode(code), f.decode((code + 1) & f.largest()));
            for x in [low, (low + high) / 2.0] {
                let bits = if ty == ScalarType::F64 { x.to_bits() } else { (x as f32).to_bits().into() };
                all.extend([bits, bits.wrapping_add(1), bits.wrapping_sub(1)]);
            }
        }
    }
    let mut state = 1u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.push(state ^ state >> 29);
    }
    let mask = if ty == ScalarType::F32 { 0xffff_ffff } else { u64::MAX };
    all.iter().map(|b| b & mask).collect()
}

fn is_nan(ty: ScalarType, bits: u64) -> bool {
    format(ty).decode(bits).is_nan()
}

const FLOATS: [ScalarType; 8] = [
    ScalarType::F8E4M3,
    ScalarType::F8E5M2,
    ScalarType::F8E4M3Fnuz,
    ScalarType::F8E5M2Fnuz,
    ScalarType::F16,
    ScalarType::BF16,
    ScalarType::F32,
    ScalarType::F64,
];

#[test]
fn floats_to_floats_round_and_saturate_exactly() {
    let mut all = Vec::new();
    for from in FLOATS {
        for to in FLOATS {
            for &rounding in Rounding::ALL {
                for saturate in [false, true] {
                    all.push(Conversion { from, to, rounding, saturate });
                }
            }
        }
    }
    all.retain(|c| c.from != c.to);
    with_compiled(&all, |c, f| {
        for x in inputs(c.from) {
            let value = format(c.from).decode(x);
            let (got, want) = (f(x), reference(c, value));
            let same = got == want || (is_nan(c.to, got) && is_nan(c.to, want));
            assert!(same, "{c:?}: {value:e} ({x:#x}) gave {got:#x}, expected {want:#x}");
        }
    });
}

#[test]
fn integers_to_floats_round_once() {
    let mut all = Vec::new();
    for from in [ScalarType::I8, ScalarType::U16, ScalarType::I32, ScalarType::U32] {
        for to in FLOATS {
            for &rounding in Rounding::ALL {
                all.push(Conversion { from, to, rounding, saturate: false });
            }
        }
    }
    let integers = |bits: u32| {
        let mut v: Vec<u64> = Vec::new();
        for shift in 0..bits {
            for offset in [-3i64, -1, 0, 1, 2, 5] {
                for base in [1u64, 3, 0x101, 0x1_0001, 0xffff] {
                    v.push((base << shift).wrapping_add_signed(offset) & (u64::MAX >> (64 - bits)));
                }
            }
        }
        v
    };
    with_compiled(&all, |c, f| {
        for x in integers(c.from.bits()) {
            let shift = 64 - c.from.bits();
            let value = if c.from.is_signed_int() { ((x << shift) as i64 >> shift) as f64 } else { x as f64 };
            let (got, want) = (f(x), reference(c, value));
            assert_eq!(got, want, "{c:?}: {value} gave {got:#x}, expected {want:#x}");
        }
    });
}

/// 64-bit integers do not fit in `f64`: the reference compares in integers.
#[test]
fn wide_integers_to_floats_round_once() {
    let mut all = Vec::new();
    for from in [ScalarType::I64, ScalarType::U64] {
        for to in [ScalarType::BF16, ScalarType::F16, ScalarType::F32, ScalarType::F64] {
            for &rounding in Rounding::ALL {
                all.push(Conversion { from, to, rounding, saturate: false });
            }
        }
    }
    with_compiled(&all, |c, f| {
        let format = format(c.to);
        for shift in 0..64 {
            for base in [1u64, 0x101, 0x1_0001, 0x2000_0001, 0x3f_ffff_ffff_ffff, 0x40_0000_0000_0001, u64::MAX] {
                for offset in [0i64, 1, -1, 0x400, 0x401] {
                    let x = (base << shift).wrapping_add_signed(offset);
                    let value = if c.from == ScalarType::I64 { i128::from(x as i64) } else { i128::from(x) };
                    let got = format.decode(f(x));
                    if got.is_infinite() {
                        assert!(value.unsigned_abs() > 65504, "{c:?}: {value} overflowed");
                        continue;
                    }
                    let error = got as i128 - value;
                    match c.rounding {
                        Rounding::TowardZero => {
                            assert!(error == 0 || (error < 0) == (value > 0), "{c:?}: {value} {got}")
                        }
                        Rounding::Up => assert!(error >= 0, "{c:?}: {value} {got}"),
                        Rounding::Down => assert!(error <= 0, "{c:?}: {value} {got}"),
                        Rounding::NearestEven => {}
                    }
                    // No neighbour is nearer (or, in a directed rounding, still on the right side and nearer).
                    for neighbour in [f(x).wrapping_add(1), f(x).wrapping_sub(1)] {
                        let other = format.decode(neighbour);
                        if !other.is_finite() {
                            continue;
                        }
                        let other_error = other as i128 - value;
                        let allowed = match c.rounding {
                            Rounding::NearestEven => true,
                            Rounding::TowardZero => (other_error <= 0) == (value > 0) || other_error == 0,
                            Rounding::Up => other_error >= 0,
                            Rounding::Down => other_error <= 0,
                        };
                        assert!(
                            !allowed || other_error.unsigned_abs() >= error.unsigned_abs(),
                            "{c:?}: {value} gave {got}, but {other} is nearer"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn floats_to_integers_truncate_and_saturate() {
    let mut all = Vec::new();
    for from in FLOATS {
        for to in [ScalarType::I4, ScalarType::I8, ScalarType::U8, ScalarType::I32, ScalarType::U64, ScalarType::Bool] {
            all.push(Conversion::nearest(from, to));
        }
    }
    with_compiled(&all, |c, f| {
        for x in inputs(c.from) {
            let value = format(c.from).decode(x);
            let want = match c.to {
                ScalarType::I4 => (value as i8).clamp(-8, 7) as u64 & 0xf,
                ScalarType::I8 => u64::from(value as i8 as u8),
                ScalarType::U8 => u64::from(value as u8),
                ScalarType::I32 => u64::from(value as i32 as u32),
                ScalarType::U64 => value as u64,
                _ => u64::from(value != 0.0),
            };
            assert_eq!(f(x), want, "{c:?}: {value}");
        }
    });
}

#[test]
fn integers_to_integers_wrap_or_saturate() {
    let types = [ScalarType::I4, ScalarType::U4, ScalarType::I8, ScalarType::U8, ScalarType::I64, ScalarType::U64];
    let mut all = Vec::new();
    for from in types {
        for to in types {
            for saturate in [false, true] {
                all.push(Conversion { from, to, rounding: Rounding::NearestEven, saturate });
            }
        }
    }
    let value = |ty: ScalarType, bits: u64| {
        let shift = 64 - ty.bits();
        if ty.is_signed_int() {
            i128::from((bits << shift) as i64 >> shift)
        } else {
            i128::from(bits << shift >> shift)
        }
    };
    with_compiled(&all, |c, f| {
        for x in (0..256).chain([u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 40]) {
            let x = x & (u64::MAX >> (64 - c.from.bits()));
            let mask = u64::MAX >> (64 - c.to.bits());
            let (low, high) = if c.to.is_signed_int() {
                (value(c.to, (mask >> 1) + 1), value(c.to, mask >> 1))
            } else {
                (0, value(c.to, mask))
            };
            let v = value(c.from, x);
            let want = if c.saturate { v.clamp(low, high) } else { v } as u64 & mask;
            assert_eq!(f(x), want, "{c:?}: {v}");
        }
    });
}
