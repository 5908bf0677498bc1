//! Reductions, scans and `dot`.

use super::sheet::{Data, Entry, Input, SHAPE, rows as sheet_rows, tile};
use super::{Row, arithmetic, is_arithmetic};
use crate::ops::{ArgReduceKind, DotPrecision, ReduceKind, ScanKind};
use crate::types::ScalarType;

pub(super) fn rows() -> Vec<Row> {
    ScalarType::ALL
        .into_iter()
        .flat_map(|t| [reduce(t), combine(t)].concat())
        .chain(arithmetic().flat_map(scan))
        .chain(dot())
        .collect()
}

/// Sums and products of these do not depend on their order; the extremes do not depend on it for any numbers.
fn inputs(t: ScalarType) -> [Input; 3] {
    [Input::new("whole", t, Data::Whole), Input::new("units", t, Data::Units), Input::new("edges", t, Data::Edges)]
}

fn has_reduce(kind: ReduceKind, t: ScalarType) -> bool {
    match kind {
        ReduceKind::MinNan | ReduceKind::MaxNan => t.is_float() && !t.is_fp8(),
        ReduceKind::And | ReduceKind::Or | ReduceKind::Xor => !t.is_float(),
        _ => is_arithmetic(t),
    }
}

fn reduce(t: ScalarType) -> Vec<Row> {
    let mut entries = Vec::new();
    for &kind in ReduceKind::ALL.iter().filter(|kind| has_reduce(**kind, t)) {
        let x = match kind {
            ReduceKind::Sum => "%whole",
            ReduceKind::Prod => "%units",
            _ => "%edges",
        };
        for (axes, shape) in [("0", &[37][..]), ("1", &[13]), ("0, 1", &[])] {
            entries.push(Entry::new(format!("%r$ = reduce {kind} {x} axes [{axes}]")).gives("%r$", t, shape));
        }
    }
    if is_arithmetic(t) {
        for &kind in ArgReduceKind::ALL {
            for (axis, extent) in [(0, 37), (1, 13)] {
                let entry = Entry::new(format!("%v$, %i$ = arg_reduce {kind} %edges axis {axis}"));
                entries.push(entry.gives("%v$", t, &[extent]).gives("%i$", ScalarType::I32, &[extent]));
            }
        }
    }
    sheet_rows(&format!("reduce {t}"), &inputs(t), entries)
}

fn scan(t: ScalarType) -> Vec<Row> {
    let mut entries = Vec::new();
    for &kind in ScanKind::ALL {
        let x = match kind {
            ScanKind::Sum => "%whole",
            ScanKind::Prod => "%units",
            _ => "%edges",
        };
        for (axis, reverse) in [(0, ""), (1, ""), (0, " reverse"), (1, " reverse")] {
            entries.push(Entry::new(format!("%r$ = scan {kind} {x} axis {axis}{reverse}")).gives("%r$", t, &SHAPE));
        }
    }
    sheet_rows(&format!("scan {t}"), &inputs(t), entries)
}

/// The last marked value and whether there is one: associative, but not commutative, on any type.
fn combine(t: ScalarType) -> Vec<Row> {
    let mut entries = Vec::new();
    let body = format!(
        "(%ml: i1, %xl: {t}, %mr: i1, %xr: {t}) {{\n    %m = or %ml, %mr\n    %x = select %mr, %xr, %xl\n    yield %m, %x\n  }}"
    );
    for (axis, rest) in [(0, 37), (1, 13)] {
        let entry = Entry::new(format!("%a$, %b$ = reduce_with %marks, %edges axis {axis} {body}"));
        entries.push(entry.gives("%a$", ScalarType::Bool, &[rest]).gives("%b$", t, &[rest]));
        for reverse in ["", " reverse"] {
            let entry = Entry::new(format!("%a$, %b$ = scan_with %marks, %edges axis {axis}{reverse} {body}"));
            entries.push(entry.gives("%a$", ScalarType::Bool, &SHAPE).gives("%b$", t, &SHAPE));
        }
    }
    let inputs = [Input::new("marks", ScalarType::Bool, Data::Edges), Input::new("edges", t, Data::Edges)];
    sheet_rows(&format!("combine {t}"), &inputs, entries)
}

/// Every pair of input types with every accumulator; sums of small whole numbers are exact in any order.
fn dot() -> Vec<Row> {
    const M: u32 = 17;
    const N: u32 = 9;
    const K: u32 = 21;
    let mut rows = Vec::new();
    for a in ScalarType::ALL {
        for b in ScalarType::ALL {
            let pair = (a == b && !matches!(a, ScalarType::Bool))
                || (a.is_fp8() && b.is_fp8())
                || (a.is_int() && b.is_int() && a.bits() == b.bits());
            if !pair || (a.is_int() && a.bits() > 8) {
                continue;
            }
            let accumulators: &[ScalarType] = match a {
                ScalarType::F64 => &[ScalarType::F64],
                ScalarType::F16 => &[ScalarType::F32, ScalarType::F16],
                ScalarType::BF16 => &[ScalarType::F32, ScalarType::BF16],
                t if t.is_float() => &[ScalarType::F32],
                _ => &[ScalarType::I32],
            };
            let precisions = if a == ScalarType::F32 { DotPrecision::ALL } else { &[DotPrecision::Ieee] };
            let mut entries = Vec::new();
            for (&acc, &precision) in accumulators.iter().flat_map(|acc| precisions.iter().map(move |p| (acc, p))) {
                let zero = if acc.is_float() { "0.0" } else { "0" };
                let attribute = if precision == DotPrecision::Ieee {
                    String::new()
                } else {
                    format!(" {{precision = {precision}}}")
                };
                let flat = format!("%z$ = constant {zero} : {}\n  ", tile(&[M, N], acc));
                let entry = Entry::new(format!("{flat}%r$ = dot %a, %b, %z${attribute}"));
                entries.push(entry.gives("%r$", acc, &[M, N]));
                let batched = format!(
                    "%s$ = cat %a, %a axis 0\n  %x$ = reshape %s$ : {}\n  %t$ = cat %b, %b axis 0\n  %y$ = reshape %t$ : {}\n  \
                     %z$ = constant {zero} : {}\n  %r$ = dot %x$, %y$, %z${attribute}",
                    tile(&[2, M, K], a),
                    tile(&[2, K, N], b),
                    tile(&[2, M, N], acc)
                );
                entries.push(Entry::new(batched).gives("%r$", acc, &[2, M, N]));
            }
            let inputs = [
                Input::new("a", a, Data::Units).shape(&[M, K]),
                Input::new("b", b, Data::Units).shape(&[K, N]).column_major(),
            ];
            rows.extend(sheet_rows(&format!("dot {a} {b}"), &inputs, entries));
        }
    }
    rows
}
