//! What each op makes of what is known of its operands.

use super::AxisInfo;
use super::facts::{AxisFacts, Facts, LARGEST, power_of_two_divisor, whole};
use crate::function::{Function, Value};
use crate::literal::Literal;
use crate::ops::{BinaryOp, CmpOp, Fact, OpKind};
use crate::types::{Elem, ScalarType};

/// The facts of an op's only result, or `None` where nothing is known (or worth knowing).
pub(super) fn result_facts(info: &AxisInfo, f: &Function, kind: &OpKind) -> Option<Facts> {
    let of = |value: Value| info.value(f, value);
    match kind {
        OpKind::Constant { value, ty } => {
            let shape = ty.shape()?;
            match value {
                Literal::Int(value) => Some(Facts::constant(shape, *value)),
                Literal::Bool(value) => Some(Facts::constant(shape, i64::from(*value))),
                Literal::Float(_) => None,
            }
        }
        OpKind::Arange { shape, axis, start, .. } => {
            let divisibility = power_of_two_divisor(start.unsigned_abs());
            let along = |i: usize, extent: u32| {
                if i == usize::from(*axis) {
                    AxisFacts { contiguity: whole(extent), constancy: 1, divisibility }
                } else {
                    AxisFacts { contiguity: 1, constancy: whole(extent), divisibility: 1 }
                }
            };
            Some(Facts::of_axes(shape.iter().enumerate().map(|(i, &extent)| along(i, extent)).collect()))
        }
        OpKind::Splat { x, shape } => {
            let scalar = of(*x);
            Some(Facts::uniform(shape, scalar.divisibility, scalar.constant))
        }
        OpKind::Broadcast { x, shape } => {
            let from = f.ty(*x).shape()?;
            let facts = of(*x);
            let axes = (0..shape.len()).map(|i| {
                if from[i] == shape[i] {
                    facts.axes[i]
                } else {
                    AxisFacts { contiguity: 1, constancy: whole(shape[i]), divisibility: facts.divisibility }
                }
            });
            Some(with_all(Facts::of_axes(axes.collect()), &facts))
        }
        OpKind::Reshape { x, shape } => Some(reshape(f.ty(*x).shape()?, &of(*x), shape)),
        OpKind::Permute { x, perm } => {
            let facts = of(*x);
            let axes = perm.iter().map(|&from| facts.axes[usize::from(from)]).collect();
            Some(with_all(Facts::of_axes(axes), &facts))
        }
        OpKind::ExtractSlice { x, offsets, .. } => {
            let facts = of(*x);
            let axes = facts.axes.iter().zip(offsets).map(|(&axis, &offset)| starting_at(axis, offset)).collect();
            Some(with_all(Facts::of_axes(axes), &facts))
        }
        OpKind::Select { cond, a, b } => {
            let (cond, a, b) = (of(*cond), of(*a), of(*b));
            let mut facts = a.join(&b);
            if !cond.axes.is_empty() {
                for (axis, cond) in facts.axes.iter_mut().zip(&cond.axes) {
                    // Inside a run of one condition, a run is that of one of the two values.
                    let run = axis.contiguity.min(cond.constancy);
                    axis.divisibility = axis.divisibility_at(run);
                    axis.contiguity = run;
                    axis.constancy = axis.constancy.min(cond.constancy);
                }
            }
            facts.settle();
            Some(facts)
        }
        OpKind::Binary { op, a, b } => {
            let ty = f.ty(*a).elem_scalar()?;
            (!ty.is_float()).then(|| binary(*op, ty, &of(*a), &of(*b)))
        }
        OpKind::Compare { op, a, b } => {
            let ty = f.ty(*a).elem_scalar()?;
            (!ty.is_float()).then(|| compare(*op, &of(*a), &of(*b)))
        }
        OpKind::Fma { a, b, c } => {
            let ty = f.ty(*a).elem_scalar()?;
            (!ty.is_float()).then(|| {
                let product = binary(BinaryOp::Mul, ty, &of(*a), &of(*b));
                binary(BinaryOp::Add, ty, &product, &of(*c))
            })
        }
        OpKind::Unary { x, .. } => {
            // Equal values have equal images; nothing else is known of the functions.
            let ty = f.ty(*x).elem_scalar()?;
            (!ty.is_float()).then(|| constancy_only(&of(*x)))
        }
        OpKind::Cast { x, to, saturate, .. } => {
            let from = f.ty(*x).elem_scalar()?;
            // What is clamped keeps nothing but that equal values stay equal.
            let clamps = *saturate && !holds_all(*to, from);
            let kept = |facts| if clamps { constancy_only(&facts) } else { cast(facts, from, *to) };
            (from.is_int() && to.is_int()).then(|| kept(of(*x)))
        }
        OpKind::Bitcast { x, to } => {
            let facts = of(*x);
            match f.ty(*x).elem()? {
                // Runs of pointers count in elements, runs of integers in ones.
                Elem::Ptr(_) => Some(Facts { axes: without_runs(&facts), ..facts }),
                Elem::Scalar(from) if from.is_int() && to.is_int() => Some(Facts { constant: None, ..facts }),
                Elem::Scalar(_) => None,
            }
        }
        OpKind::PtrAdd { ptr, offset } => Some(pointer_add(f, *ptr, &of(*ptr), &of(*offset))),
        OpKind::Assume { x, fact } => Some(assume(of(*x), fact)),
        OpKind::ConvertLayout { x, .. } => Some(of(*x)),
        OpKind::ViewExtent { view, axis } => Some(info.view(f, *view).extents[usize::from(*axis)].clone()),
        OpKind::ViewStride { view, axis } => Some(info.view(f, *view).strides[usize::from(*axis)].clone()),
        OpKind::ViewBase { view } => Some(info.view(f, *view).base),
        _ => None,
    }
}

/// Whether a type has all the values of another.
fn holds_all(to: ScalarType, from: ScalarType) -> bool {
    let room = |t: ScalarType| t.bits() - u32::from(t.is_signed_int());
    room(to) >= room(from) && (to.is_signed_int() || from.is_unsigned_int())
}

fn cast(mut facts: Facts, from: ScalarType, to: ScalarType) -> Facts {
    if to.bits() > from.bits() && from.bits() < 32 {
        // Runs count modulo the narrow type: only aligned stretches shorter than half its range surely do not wrap.
        for axis in &mut facts.axes {
            let aligned = axis.divisibility.min(1 << (from.bits() - 1));
            let contiguity = u64::from(axis.contiguity).min(aligned) as u32;
            axis.divisibility = axis.divisibility_at(contiguity);
            axis.contiguity = contiguity;
        }
    }
    facts.constant = facts.constant.filter(|&value| representable(value, to));
    facts
}

/// Adds what is known of all elements of the operand, which the result shares.
fn with_all(mut facts: Facts, operand: &Facts) -> Facts {
    facts.divisibility = facts.divisibility.max(operand.divisibility);
    facts.constant = operand.constant;
    facts.settle();
    facts
}

/// An axis that starts `offset` positions later.
fn starting_at(axis: AxisFacts, offset: u32) -> AxisFacts {
    let aligned = power_of_two_divisor(u64::from(offset)).min(u64::from(u32::MAX / 2 + 1)) as u32;
    let contiguity = axis.contiguity.min(aligned);
    AxisFacts { contiguity, constancy: axis.constancy.min(aligned), divisibility: axis.divisibility_at(contiguity) }
}

/// Axes of extent 1 come and go without effect, and the last axis keeps its runs where its extent is kept. Other
/// reshapes keep only what holds of all elements.
fn reshape(from: &[u32], facts: &Facts, to: &[u32]) -> Facts {
    let long = |shape: &[u32]| (0..shape.len()).filter(|&i| shape[i] != 1).collect::<Vec<_>>();
    let (from_long, to_long) = (long(from), long(to));
    let mut axes: Vec<AxisFacts> =
        to.iter().map(|_| AxisFacts { divisibility: facts.divisibility, ..AxisFacts::UNKNOWN }).collect();
    let same = from_long.len() == to_long.len() && from_long.iter().zip(&to_long).all(|(&i, &j)| from[i] == to[j]);
    let kept = if same { from_long.len() } else { from_long.len().min(to_long.len()).min(1) };
    for (&i, &j) in from_long.iter().rev().zip(to_long.iter().rev()).take(kept) {
        if from[i] == to[j] {
            axes[j] = facts.axes[i];
        }
    }
    with_all(Facts::of_axes(axes.into_iter().collect()), facts)
}

/// Constancy alone.
fn constancy_only(facts: &Facts) -> Facts {
    let axis = |axis: &AxisFacts| AxisFacts { constancy: axis.constancy, ..AxisFacts::UNKNOWN };
    Facts::of_axes(facts.axes.iter().map(axis).collect())
}

fn without_runs(facts: &Facts) -> smallvec::SmallVec<[AxisFacts; 5]> {
    let axis = |axis: &AxisFacts| AxisFacts {
        contiguity: 1,
        constancy: axis.constancy,
        divisibility: facts.divisibility.max(axis.divisibility_at(1)),
    };
    facts.axes.iter().map(axis).collect()
}

fn representable(value: i64, to: ScalarType) -> bool {
    match to {
        ScalarType::I64 => true,
        t if t.is_signed_int() => (-(1i64 << (t.bits() - 1))..1i64 << (t.bits() - 1)).contains(&value),
        ScalarType::U64 => value >= 0,
        t => (0..1i64 << t.bits()).contains(&value),
    }
}

/// Combines two operands axis by axis, and their divisors of all elements.
fn combine(
    a: &Facts,
    b: &Facts,
    axis: impl Fn(AxisFacts, AxisFacts) -> AxisFacts,
    all: impl Fn(u64, u64) -> u64,
) -> Facts {
    let mut facts = Facts::of_axes(a.axes.iter().zip(&b.axes).map(|(&a, &b)| axis(a, b)).collect());
    facts.divisibility = facts.divisibility.max(all(a.divisibility, b.divisibility));
    facts.settle();
    facts
}

fn times(a: u64, b: u64) -> u64 {
    a.saturating_mul(b).min(LARGEST)
}

fn binary(op: BinaryOp, ty: ScalarType, a: &Facts, b: &Facts) -> Facts {
    let constants = a.constant.zip(b.constant);
    let mut facts = match op {
        BinaryOp::Add | BinaryOp::Sub => combine(
            a,
            b,
            |x, y| {
                // A run plus an equal run of constants; and, for a sum, the other way round.
                let kept = x.contiguity.min(y.constancy);
                let other = if op == BinaryOp::Add { y.contiguity.min(x.constancy) } else { 1 };
                let contiguity = kept.max(other);
                AxisFacts {
                    contiguity,
                    constancy: x.constancy.min(y.constancy),
                    divisibility: x.divisibility_at(contiguity).min(y.divisibility_at(contiguity)),
                }
            },
            u64::min,
        ),
        BinaryOp::Mul if a.constant == Some(1) => b.clone(),
        BinaryOp::Mul if b.constant == Some(1) => a.clone(),
        BinaryOp::Mul => combine(
            a,
            b,
            |x, y| AxisFacts {
                contiguity: 1,
                constancy: x.constancy.min(y.constancy),
                divisibility: times(x.divisibility_at(1), y.divisibility_at(1)),
            },
            times,
        ),
        BinaryOp::Shl => match b.constant {
            Some(bits @ 0..=62) => binary(BinaryOp::Mul, ty, a, &Facts { constant: Some(1 << bits), ..power(a, bits) }),
            _ => combine(
                a,
                b,
                |x, y| AxisFacts { constancy: x.constancy.min(y.constancy), ..AxisFacts::UNKNOWN },
                |_, _| 1,
            ),
        },
        BinaryOp::Shr => match b.constant {
            Some(bits @ 0..=62) => divided(a, 1 << bits),
            _ => equal_operands(a, b),
        },
        BinaryOp::FloorDiv => quotient(a, b),
        // Truncated division agrees with division rounded down where nothing is negative, and where it is exact.
        BinaryOp::Div if ty.is_unsigned_int() => quotient(a, b),
        BinaryOp::Div => exact_part(a, b, quotient(a, b)),
        BinaryOp::FloorRem => remainder(a, b),
        BinaryOp::Rem if ty.is_unsigned_int() => remainder(a, b),
        BinaryOp::Rem => exact_part(a, b, remainder(a, b)),
        BinaryOp::And => match (a.constant, b.constant) {
            (_, Some(mask)) if mask >= 0 && (mask as u64 + 1).is_power_of_two() => remainder_of(a, mask as u64 + 1),
            (Some(mask), _) if mask >= 0 && (mask as u64 + 1).is_power_of_two() => remainder_of(b, mask as u64 + 1),
            // Low bits that are 0 in either operand are 0.
            _ => combine(a, b, both_constant, u64::max),
        },
        BinaryOp::Or | BinaryOp::Xor => combine(a, b, both_constant, u64::min),
        BinaryOp::Min | BinaryOp::Max => combine(a, b, both_constant, u64::min),
        _ => equal_operands(a, b),
    };
    facts.constant = constants.and_then(|(x, y)| match op {
        BinaryOp::Add => x.checked_add(y),
        BinaryOp::Sub => x.checked_sub(y),
        BinaryOp::Mul => x.checked_mul(y),
        _ => None,
    });
    facts.constant = facts.constant.filter(|&value| representable(value, ty));
    facts
}

/// A power of two as an operand beside `a`.
fn power(a: &Facts, bits: i64) -> Facts {
    let axis = |_: &AxisFacts| AxisFacts { contiguity: 1, constancy: 1 << 31, divisibility: 1 << bits };
    Facts { axes: a.axes.iter().map(axis).collect(), divisibility: 1 << bits, constant: Some(1 << bits) }
}

fn both_constant(x: AxisFacts, y: AxisFacts) -> AxisFacts {
    AxisFacts {
        contiguity: 1,
        constancy: x.constancy.min(y.constancy),
        divisibility: x.divisibility_at(1).min(y.divisibility_at(1)),
    }
}

/// Equal operands give equal results; nothing else is known.
fn equal_operands(a: &Facts, b: &Facts) -> Facts {
    let axis = |x: AxisFacts, y: AxisFacts| AxisFacts { constancy: x.constancy.min(y.constancy), ..AxisFacts::UNKNOWN };
    combine(a, b, axis, |_, _| 1)
}

/// Of what is known of a division rounded down, what also holds of the truncated one: what divides all elements. A
/// quotient has a divisor to show only where it is exact, and remainders of the two differ by the divisor itself.
fn exact_part(a: &Facts, b: &Facts, rounded_down: Facts) -> Facts {
    let mut facts = equal_operands(a, b);
    facts.divisibility = rounded_down.divisibility;
    facts.settle();
    facts
}

fn quotient(a: &Facts, b: &Facts) -> Facts {
    match b.constant.and_then(|divisor| u64::try_from(divisor).ok()).filter(|divisor| divisor.is_power_of_two()) {
        Some(divisor) => divided(a, divisor),
        None => equal_operands(a, b),
    }
}

fn remainder(a: &Facts, b: &Facts) -> Facts {
    match b.constant.and_then(|divisor| u64::try_from(divisor).ok()).filter(|divisor| divisor.is_power_of_two()) {
        Some(divisor) => remainder_of(a, divisor),
        None => equal_operands(a, b),
    }
}

/// Division, rounded down, by a power of two.
fn divided(a: &Facts, divisor: u64) -> Facts {
    let axis = |x: &AxisFacts| {
        // A run that starts at a multiple of its own length, or of the divisor, stays within one quotient.
        let within = u64::from(x.contiguity).min(x.divisibility).min(divisor) as u32;
        AxisFacts {
            contiguity: if divisor == 1 { x.contiguity } else { 1 },
            constancy: x.constancy.max(within),
            divisibility: if divisor == 1 { x.divisibility } else { (x.divisibility_at(1) / divisor).max(1) },
        }
    };
    let mut facts = Facts::of_axes(a.axes.iter().map(axis).collect());
    facts.divisibility = facts.divisibility.max(a.divisibility / divisor).max(1);
    facts.settle();
    facts
}

/// The remainder, not negative, by a power of two.
fn remainder_of(a: &Facts, divisor: u64) -> Facts {
    let axis = |x: &AxisFacts| {
        let contiguity = u64::from(x.contiguity).min(x.divisibility).min(divisor) as u32;
        AxisFacts {
            contiguity,
            constancy: x.constancy,
            divisibility: remaining(x.divisibility_at(contiguity), divisor),
        }
    };
    let mut facts = Facts::of_axes(a.axes.iter().map(axis).collect());
    facts.divisibility = facts.divisibility.max(remaining(a.divisibility, divisor));
    facts.settle();
    facts
}

/// What divides the remainder by `divisor` of a multiple of `divisibility`.
fn remaining(divisibility: u64, divisor: u64) -> u64 {
    if divisibility >= divisor { LARGEST } else { divisibility }
}

fn compare(op: CmpOp, a: &Facts, b: &Facts) -> Facts {
    // `run < bound`: the run and the bound are multiples of a length, so all of such a stretch is on one side.
    let stretch = |run: AxisFacts, bound: AxisFacts| {
        let aligned = run.divisibility.min(bound.divisibility).min(u64::from(run.contiguity));
        (aligned as u32).min(bound.constancy)
    };
    let axis = |x: AxisFacts, y: AxisFacts| {
        let along = match op {
            CmpOp::Lt | CmpOp::Ge => stretch(x, y),
            CmpOp::Gt | CmpOp::Le => stretch(y, x),
            CmpOp::Eq | CmpOp::Ne => 1,
        };
        AxisFacts { constancy: x.constancy.min(y.constancy).max(along), ..AxisFacts::UNKNOWN }
    };
    combine(a, b, axis, |_, _| 1)
}

/// Pointer arithmetic in elements; pointers divide in bytes.
fn pointer_add(f: &Function, ptr: Value, base: &Facts, offset: &Facts) -> Facts {
    let bytes = f.ty(ptr).elem().and_then(Elem::pointee).and_then(ScalarType::memory_bytes).unwrap_or(1);
    let bytes = u64::from(bytes);
    let shape = |facts: &Facts, like: &Facts| match facts.axes.is_empty() {
        true => like
            .axes
            .iter()
            .map(|_| AxisFacts { constancy: 1 << 31, contiguity: 1, divisibility: facts.divisibility })
            .collect(),
        false => facts.axes.clone(),
    };
    let (base_axes, offset_axes) = (shape(base, offset), shape(offset, base));
    let axis = |(p, o): (&AxisFacts, &AxisFacts)| {
        let contiguity = p.contiguity.min(o.constancy).max(o.contiguity.min(p.constancy));
        // Inside a run of pointers, those at multiples of a shorter length are that many elements on.
        let pointer = if contiguity < p.contiguity {
            p.divisibility.min(times(u64::from(contiguity), bytes))
        } else {
            p.divisibility
        };
        AxisFacts {
            contiguity,
            constancy: p.constancy.min(o.constancy),
            divisibility: pointer.min(times(o.divisibility_at(contiguity), bytes)),
        }
    };
    let axes: smallvec::SmallVec<[AxisFacts; 5]> = base_axes.iter().zip(&offset_axes).map(axis).collect();
    let divisibility = base.divisibility.min(times(offset.divisibility, bytes));
    let mut facts = Facts { axes, divisibility, constant: None };
    facts.settle();
    facts
}

fn assume(mut facts: Facts, fact: &Fact) -> Facts {
    match *fact {
        Fact::Divisible(divisor) => {
            facts.divisibility = facts.divisibility.max(power_of_two_divisor(divisor));
            facts.settle();
        }
        Fact::Contiguous { axis, n } => {
            if let Some(axis) = facts.axes.get_mut(usize::from(axis)) {
                // Runs start at multiples of a power of two that divides the promised length.
                axis.contiguity = axis.contiguity.max(power_of_two_divisor(u64::from(n)) as u32);
            }
        }
        Fact::Bounded { min, max } if min == max => facts.constant = Some(min),
        Fact::Bounded { .. } => {}
    }
    facts
}
