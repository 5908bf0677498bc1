//! Loads, stores and atomics, on every type that memory holds.

use super::sheet::{Data, Entry, Input, SHAPE, rows as sheet_rows, tile};
use super::{Row, is_arithmetic};
use crate::ops::{AtomicOp, CacheHint, Ordering, Scope};
use crate::types::ScalarType;

pub(super) fn rows() -> Vec<Row> {
    let stored = ScalarType::ALL.into_iter().filter(|t| t.memory_bytes().is_some());
    stored.flat_map(|t| [loads(t), stores(t), atomics(t)].concat()).collect()
}

/// Tiles, masks and indices that the lines use.
fn inputs(t: ScalarType, data: Data) -> [Input; 5] {
    [
        Input::new("x", t, data),
        Input::new("f", t, data).column_major(),
        Input::new("m", ScalarType::Bool, Data::Edges),
        Input::new("rows", ScalarType::I32, Data::Positions(13)),
        Input::new("columns", ScalarType::I64, Data::Positions(37)),
    ]
}

/// Positions of the elements of a dense tensor of [`SHAPE`], from the last to the first.
const BACKWARDS: &str = "%i$ = arange axis 0 : tile<13x37xi32>\n  %j$ = arange axis 1 : tile<13x37xi32>\n  \
     %w$ = constant 37 : tile<13x37xi32>\n  %l$ = constant 480 : tile<13x37xi32>\n  %at$ = fma %i$, %w$, %j$\n  \
     %back$ = sub %l$, %at$";

fn loads(t: ScalarType) -> Vec<Row> {
    const AROUND: [u32; 2] = [17, 45];
    let around = tile(&AROUND, t);
    let corner = "%at$ = constant -3 : i64\n  %two$ = constant 2 : i64";
    let pad = format!("%s$ = extract_slice %x [1, 1] : {}\n  %pad$ = reshape %s$ : {t}", tile(&[1, 1], t));
    let whole = tile(&SHAPE, t);
    let pointers = format!("%b$ = view_base %x_view\n  {BACKWARDS}\n  %p$ = ptr_add %b$, %back$");
    let mut entries = vec![
        Entry::new(format!("{corner}\n  %r$ = load %x_view[%at$, %two$] : {around}")).gives("%r$", t, &AROUND),
        Entry::new(format!("{corner}\n  %r$ = load %f_view[%two$, %at$] : {around}")).gives("%r$", t, &AROUND),
        Entry::new(format!("{corner}\n  {pad}\n  %r$ = load %x_view[%two$, %at$] pad %pad$ : {around}"))
            .gives("%r$", t, &AROUND),
        Entry::new(format!("{pad}\n  %r$ = load %x_view[%zero, %one] mask %m pad %pad$ : {whole}"))
            .gives("%r$", t, &SHAPE),
        Entry::new(format!("%r$ = load %x_view gather [%rows, %columns] : {whole}")).gives("%r$", t, &SHAPE),
        Entry::new(format!("{pad}\n  %r$ = load %f_view gather [%rows, %columns] mask %m pad %pad$ : {whole}"))
            .gives("%r$", t, &SHAPE),
        Entry::new(format!("{pointers}\n  %r$ = load %p$")).gives("%r$", t, &SHAPE),
        Entry::new(format!("{pointers}\n  {pad}\n  %r$ = load %p$ mask %m pad %pad$")).gives("%r$", t, &SHAPE),
        Entry::new(format!("%r$ = load %x_view gather [%one, %one] : {t}")).gives("%r$", t, &[]),
        Entry::new("%p$ = view_base %x_view\n  %q$ = ptr_add %p$, %one\n  %r$ = load %q$").gives("%r$", t, &[]),
    ];
    for (i, cache) in CacheHint::ALL.iter().enumerate() {
        let volatile = if i.is_multiple_of(2) { ", volatile" } else { "" };
        let line = format!("%r$ = load %f_view[%one, %zero] {{cache = {cache}{volatile}}} : {whole}");
        entries.push(Entry::new(line).gives("%r$", t, &SHAPE));
    }
    // A view made of the parts of another.
    let made = "%h$ = view_extent %f_view axis 0\n  %w$ = view_extent %f_view axis 1\n  %u$ = view_stride %f_view axis 0\n  \
         %v$ = view_stride %f_view axis 1\n  %p$ = view_base %f_view\n  \
         %made$ = make_view %p$ extents [%w$, %h$] strides [%v$, %u$]";
    let transposed = tile(&[37, 13], t);
    entries.push(Entry::new(format!("{made}\n  %r$ = load %made$[%zero, %zero] : {transposed}")).gives(
        "%r$",
        t,
        &[37, 13],
    ));
    sheet_rows(&format!("load {t}"), &inputs(t, Data::Edges), entries)
}

fn stores(t: ScalarType) -> Vec<Row> {
    let corner = "%at$ = constant -3 : i64\n  %two$ = constant 2 : i64";
    let entry = |lines: String| Entry::new(lines).tensor("o$", t, &SHAPE, Data::Whole);
    let scatter = format!("{BACKWARDS}\n  %row$ = div %back$, %w$\n  %column$ = rem %back$, %w$");
    let mut entries = vec![
        entry(format!("{corner}\n  store %x, %o$[%at$, %two$]")),
        entry(format!("{corner}\n  store %f, %o$[%two$, %at$]")),
        entry("store %x, %o$[%zero, %one] mask %m".into()),
        entry(format!("{scatter}\n  store %x, %o$ gather [%row$, %column$]")),
        entry(format!("{scatter}\n  store %f, %o$ gather [%row$, %column$] mask %m")),
        entry(format!("{BACKWARDS}\n  %b$ = view_base %o$\n  %p$ = ptr_add %b$, %back$\n  store %x, %p$")),
        entry(format!("{BACKWARDS}\n  %b$ = view_base %o$\n  %p$ = ptr_add %b$, %back$\n  store %x, %p$ mask %m")),
        entry("%r$ = permute %x [1, 0]\n  %s$ = permute %r$ [1, 0]\n  store %s$, %o$[%zero, %zero]".into()),
    ];
    for (i, cache) in CacheHint::ALL.iter().enumerate() {
        let volatile = if i % 2 == 1 { ", volatile" } else { "" };
        entries.push(entry(format!("store %x, %o$[%one, %zero] {{cache = {cache}{volatile}}}")));
    }
    sheet_rows(&format!("store {t}"), &inputs(t, Data::Edges), entries)
}

fn has_atomic(op: AtomicOp, t: ScalarType) -> bool {
    let float = t.is_float() && !t.is_fp8();
    let wide_int = t.is_int() && t.bits() >= 32;
    match op {
        AtomicOp::Add | AtomicOp::Min | AtomicOp::Max => float || wide_int,
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => wide_int,
        AtomicOp::Xchg => t.bits() >= 32,
    }
}

fn atomics(t: ScalarType) -> Vec<Row> {
    // The instructions of some targets add subnormal numbers as zeros.
    let data = if t.is_float() { Data::Whole } else { Data::Numbers };
    let how = |i: usize| {
        let (ordering, scope) = (Ordering::ALL[i % Ordering::ALL.len()], Scope::ALL[i % Scope::ALL.len()]);
        format!("{{ordering = {ordering}, scope = {scope}}}")
    };
    let mut entries = Vec::new();
    for (i, &op) in AtomicOp::ALL.iter().enumerate().filter(|(_, op)| has_atomic(**op, t)) {
        let (a, b, c) = (how(i), how(i + 1), how(i + 2));
        // Each element once: the old values are defined.
        let boxed = Entry::new(format!("%r$ = atomic_rmw {op} %x, %o$[%one, %zero] mask %m {a}"));
        entries.push(boxed.tensor("o$", t, &SHAPE, data).gives("%r$", t, &SHAPE));
        let scattered = format!("{BACKWARDS}\n  %b$ = view_base %o$\n  %p$ = ptr_add %b$, %back$");
        let pointers = Entry::new(format!("{scattered}\n  %r$ = atomic_rmw {op} %x, %p$ {b}"));
        entries.push(pointers.tensor("o$", t, &SHAPE, data).gives("%r$", t, &SHAPE));
        // Many lanes on one element: only the end is, where the order does not matter.
        if op != AtomicOp::Xchg {
            let line = format!(
                "%n$ = constant 7 : tile<13x37xi32>\n  %j$ = arange axis 1 : tile<13x37xi32>\n  %at$ = rem %j$, %n$\n  \
                 %r$ = atomic_rmw {op} %units, %o$ gather [%at$] {c}"
            );
            entries.push(Entry::new(line).tensor("o$", t, &[7], Data::Units));
        }
    }
    if t.bits() >= 32 {
        // What stands there is expected by some and not by others.
        let line = format!(
            "%e$ = load %o$[%zero, %zero] : {}\n  %c$ = select %m, %e$, %x\n  %r$ = atomic_cas %c$, %units, %o$[%zero, %zero] {}",
            tile(&SHAPE, t),
            how(3)
        );
        entries.push(Entry::new(line).tensor("o$", t, &SHAPE, Data::Whole).gives("%r$", t, &SHAPE));
    }
    if is_arithmetic(t) && t.is_int() && t.bits() == 32 {
        let line =
            format!("%r$ = atomic_rmw add %one$, %o$ gather [%one] {}\n  %s$ = load %o$ gather [%one] : {t}", how(0));
        let line = format!("%one$ = constant 1 : {t}\n  {line}");
        entries.push(Entry::new(line).tensor("o$", t, &[3], Data::Whole).gives("%s$", t, &[]));
    }
    let mut inputs = inputs(t, data).to_vec();
    inputs.push(Input::new("units", t, Data::Units));
    sheet_rows(&format!("atomic {t}"), &inputs, entries)
}
