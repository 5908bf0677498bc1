//! Elementwise ops, and creation.

use super::sheet::{Data, Entry, Input, SHAPE, rows as sheet_rows, tile};
use super::{Row, floats, is_arithmetic};
use crate::numeric::FloatFormat;
use crate::ops::{BinaryOp, CmpOp, Rounding, UnaryOp};
use crate::passes::expand_math::bounds;
use crate::testing::generate::Info;
use crate::types::ScalarType;

pub(super) fn rows() -> Vec<Row> {
    ScalarType::ALL
        .into_iter()
        .flat_map(|t| [unary(t), binary(t), choices(t), casts(t), bitcasts(t), creation(t)].concat())
        .chain(floats().flat_map(fast))
        .collect()
}

/// Whether a function is defined on a type.
fn has_unary(op: UnaryOp, t: ScalarType) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => (t.is_float() && !t.is_fp8()) || t.is_signed_int(),
        UnaryOp::Not => t.is_int() || t == ScalarType::Bool,
        UnaryOp::Popcount | UnaryOp::Clz | UnaryOp::Ctz | UnaryOp::BitReverse => t.is_int(),
        _ => t.is_float() && !t.is_fp8(),
    }
}

/// How far two executors may differ that are each off by so many units in the last place.
fn units(t: ScalarType, units: f64) -> Info {
    let format = FloatFormat::of(t);
    let unit = 2f64.powi(-(format.mantissa_bits as i32));
    Info { rel: units * unit, abs: units * unit * format.min_normal(), ..Info::ANY }
}

/// Of a function of floats, against the interpreter, which rounds the exact result.
fn function_info(bound: Option<bounds::Bound>, t: ScalarType) -> Info {
    match (bound, t) {
        (None, _) => Info::ANY,
        (Some(bound), ScalarType::F64) => units(t, bound.f64 + 0.5),
        (Some(bound), ScalarType::F32) => units(t, bound.f32 + 0.5),
        (Some(_), _) => units(t, bounds::SIXTEEN_BIT + 0.5),
    }
}

fn unary(t: ScalarType) -> Vec<Row> {
    let ops = UnaryOp::ALL.iter().filter(|op| has_unary(**op, t));
    let entries = ops.map(|&op| {
        let out = if op.is_predicate() { ScalarType::Bool } else { t };
        let info = function_info(bounds::unary(op), t);
        Entry::new(format!("%r$ = {op} %x")).gives_about("%r$", out, &SHAPE, info)
    });
    sheet_rows(&format!("unary {t}"), &[Input::new("x", t, Data::Edges)], entries.collect())
}

/// The variants with looser bounds.
fn fast(t: ScalarType) -> Vec<Row> {
    let ops = UnaryOp::ALL.iter().filter_map(|&op| Some((op, bounds::fast(op)?)));
    let entries = ops.map(|(op, bound)| {
        let rounding = units(t, 1.0);
        let info = if t == ScalarType::F64 && op == UnaryOp::Gelu {
            Info { rel: 1e-12, abs: f64::MIN_POSITIVE, ..Info::ANY }
        } else if t == ScalarType::F64 {
            function_info(bounds::unary(op), t)
        } else {
            let f32_units = bound.units * 2f64.powi(-23);
            Info { rel: rounding.rel + f32_units, abs: rounding.abs + bound.absolute, ..Info::ANY }
        };
        // Within the domain that the bound is stated for: subnormal arguments may count as zero.
        let format = FloatFormat::of(t);
        let lines = format!(
            "%size$ = abs %x\n  %most$ = constant {:e} : {ty}\n  %least$ = constant {:e} : {ty}\n  %a$ = cmp le %size$, %most$\n  \
             %b$ = cmp ge %size$, %least$\n  %inside$ = and %a$, %b$\n  %y$ = {op} %x {{fast}}\n  \
             %z$ = constant 0.0 : {ty}\n  %r$ = select %inside$, %y$, %z$",
            bound.domain.min(format.max_finite()),
            format.min_normal(),
            ty = tile(&SHAPE, t)
        );
        Entry::new(lines).gives_about("%r$", t, &SHAPE, info)
    });
    sheet_rows(&format!("fast {t}"), &[Input::new("x", t, Data::Numbers)], entries.collect())
}

fn binary(t: ScalarType) -> Vec<Row> {
    let ops = BinaryOp::ALL.iter().filter(|op| match op {
        BinaryOp::MulHi | BinaryOp::Shl | BinaryOp::Shr => t.is_int(),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => t.is_int() || t == ScalarType::Bool,
        BinaryOp::MinNan | BinaryOp::MaxNan | BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::CopySign => {
            t.is_float() && !t.is_fp8()
        }
        _ => is_arithmetic(t),
    });
    let entries = ops.map(|&op| {
        // The sign of a NaN is not defined.
        let b = if op == BinaryOp::CopySign { "%n" } else { "%y" };
        let info = function_info(bounds::binary(op), t);
        Entry::new(format!("%r$ = {op} %x, {b}")).gives_about("%r$", t, &SHAPE, info)
    });
    let inputs = [Input::new("x", t, Data::Edges), Input::new("y", t, Data::Edges), Input::new("n", t, Data::Numbers)];
    sheet_rows(&format!("binary {t}"), &inputs, entries.collect())
}

/// Comparisons, choices and fused multiplication.
fn choices(t: ScalarType) -> Vec<Row> {
    let mut entries = vec![
        Entry::new("%r$ = select %m, %x, %y").gives("%r$", t, &SHAPE),
        Entry::new("%c$ = reduce xor %m axes [0, 1]\n  %r$ = select %c$, %x, %y").gives("%r$", t, &SHAPE),
    ];
    if !t.is_fp8() {
        let compare = |op: &CmpOp| Entry::new(format!("%r$ = cmp {op} %x, %y")).gives("%r$", ScalarType::Bool, &SHAPE);
        entries.extend(CmpOp::ALL.iter().map(compare));
    }
    if is_arithmetic(t) {
        entries.push(Entry::new("%r$ = fma %x, %y, %z").gives("%r$", t, &SHAPE));
    }
    let mask = Input::new("m", ScalarType::Bool, Data::Edges);
    let inputs =
        [Input::new("x", t, Data::Edges), Input::new("y", t, Data::Edges), Input::new("z", t, Data::Edges), mask];
    sheet_rows(&format!("choices {t}"), &inputs, entries)
}

fn casts(t: ScalarType) -> Vec<Row> {
    let mut entries = Vec::new();
    for (i, to) in ScalarType::ALL.into_iter().enumerate() {
        let ty = tile(&SHAPE, to);
        entries.push(Entry::new(format!("%r$ = cast %x : {ty}")).gives("%r$", to, &SHAPE));
        entries.push(Entry::new(format!("%r$ = cast %x {{saturate}} : {ty}")).gives("%r$", to, &SHAPE));
        // One other rounding for each pair: that all of them agree with the software conversion is tested elsewhere.
        let rounding = Rounding::ALL[1 + i % 3];
        let also = if i.is_multiple_of(2) { ", saturate" } else { "" };
        let line = format!("%r$ = cast %x {{rounding = {rounding}{also}}} : {ty}");
        entries.push(Entry::new(line).gives("%r$", to, &SHAPE));
    }
    sheet_rows(&format!("cast {t}"), &[Input::new("x", t, Data::Edges)], entries)
}

fn bitcasts(t: ScalarType) -> Vec<Row> {
    let same = ScalarType::ALL.into_iter().filter(|to| to.bits() == t.bits());
    let entries = same.map(|to| {
        let line = format!("%r$ = bitcast %x : {}", tile(&SHAPE, to));
        Entry::new(line).gives("%r$", to, &SHAPE)
    });
    sheet_rows(&format!("bitcast {t}"), &[Input::new("x", t, Data::Numbers)], entries.collect())
}

fn creation(t: ScalarType) -> Vec<Row> {
    let literals: &[&str] = match t {
        ScalarType::Bool => &["true", "false"],
        t if t.is_float() => &["0.0", "-0.0", "1.5", "-inf", "nan"],
        t if t.is_signed_int() => &["0", "-1", "7"],
        _ => &["0", "1", "15"],
    };
    // Formats without infinities or a negative zero read what they have instead.
    let literals = literals.iter().filter(|l| !(t.is_fp8() && ["-inf", "-0.0"].contains(l)));
    let constant = |literal: &&str| {
        let line = format!("%r$ = constant {literal} : {}", tile(&SHAPE, t));
        Entry::new(line).gives("%r$", t, &SHAPE)
    };
    let mut entries: Vec<Entry> = literals.map(constant).collect();
    let scalar = format!("%s$ = extract_slice %x [7, 11] : {}\n  %t$ = reshape %s$ : {t}", tile(&[1, 1], t));
    entries.push(Entry::new(format!("{scalar}\n  %r$ = splat %t$ : {}", tile(&[5, 3], t))).gives("%r$", t, &[5, 3]));
    if t.is_int() {
        for (axis, start) in [(0, 0), (1, 3)] {
            let line = format!("%r$ = arange axis {axis} from {start} : {}", tile(&SHAPE, t));
            entries.push(Entry::new(line).gives("%r$", t, &SHAPE));
        }
    }
    sheet_rows(&format!("creation {t}"), &[Input::new("x", t, Data::Edges)], entries)
}
