//! Control flow that carries each type, loops over each integer type, facts, and printing.

use super::Row;
use super::sheet::{Data, Entry, Input, SHAPE, rows as sheet_rows, tile};
use crate::types::ScalarType;

pub(super) fn rows() -> Vec<Row> {
    let carried = ScalarType::ALL.into_iter().flat_map(|t| [carried(t), printed(t)].concat());
    carried.chain(ScalarType::ALL.into_iter().filter(|t| t.is_int()).flat_map(counted)).collect()
}

/// Tiles and scalars that go around loops and out of branches.
fn carried(t: ScalarType) -> Vec<Row> {
    let ty = tile(&SHAPE, t);
    let scalars = format!(
        "%a$ = extract_slice %x [2, 3] : {one}\n  %b$ = extract_slice %y [9, 30] : {one}\n  %s$ = reshape %a$ : {t}\n  \
         %t$ = reshape %b$ : {t}\n  %n$ = constant 5 : i64",
        one = tile(&[1, 1], t)
    );
    let loops = [(ty.as_str(), "%x", "%y", &SHAPE[..]), (t.name(), "%s$", "%t$", &[])];
    let mut entries = Vec::new();
    for (ty, x, y, shape) in loops {
        // Two values that change places.
        let line = format!(
            "{scalars}\n  %r$, %q$ = for %i = %zero to %n$ step %one iter(%c = {x}, %d = {y}) -> {ty}, {ty} {{\n    yield %d, %c\n  }}"
        );
        entries.push(Entry::new(line).gives("%r$", t, shape).gives("%q$", t, shape));
        let line = format!(
            "{scalars}\n  %k$, %r$, %q$ = while (%i = %zero, %c = {x}, %d = {y}) -> i64, {ty}, {ty} {{\n    %go = cmp lt %i, %n$\n    \
             condition %go(%i, %d, %c)\n  }} do (%i: i64, %c: {ty}, %d: {ty}) {{\n    %next = add %i, %one\n    yield %next, %c, %d\n  }}"
        );
        entries.push(Entry::new(line).gives("%r$", t, shape).gives("%q$", t, shape).gives("%k$", ScalarType::I64, &[]));
        for condition in ["true", "false"] {
            let line = format!(
                "{scalars}\n  %p$ = num_programs 0\n  %id$ = program_id 2\n  %same$ = cmp gt %p$, %id$\n  %want$ = constant {condition} : i1\n  \
                 %if$ = xor %same$, %want$\n  %r$ = if %if$ -> {ty} {{\n    yield {x}\n  }} else {{\n    yield {y}\n  }}"
            );
            entries.push(Entry::new(line).gives("%r$", t, shape));
        }
    }
    let line = "%f$ = for %i = %zero to %one step %one iter(%c = %x) -> TYPE {\n    barrier\n    %m = flip %c axis 1\n    yield %m\n  }";
    entries.push(Entry::new(line.replace("TYPE", &ty)).gives("%f$", t, &SHAPE));
    sheet_rows(&format!("carried {t}"), &[Input::new("x", t, Data::Edges), Input::new("y", t, Data::Edges)], entries)
}

/// Loops whose bounds have the type, up to its greatest value.
fn counted(t: ScalarType) -> Vec<Row> {
    let top: i128 = (1 << (t.bits() - u32::from(t.is_signed_int()))) - 1;
    let count = |lower: i128, upper: i128, step: i128| {
        let line = format!(
            "%lo$ = constant {lower} : {t}\n  %hi$ = constant {upper} : {t}\n  %by$ = constant {step} : {t}\n  \
             %n$, %last$ = for %i = %lo$ to %hi$ step %by$ iter(%c = %zero, %l = %lo$) -> i64, {t} {{\n    \
             %next = add %c, %one\n    yield %next, %i\n  }}"
        );
        Entry::new(line).gives("%n$", ScalarType::I64, &[]).gives("%last$", t, &[])
    };
    let entries = vec![
        count(0, 5, 1),
        count(1, 7, 3),
        // The last step would pass the end of the type.
        count(top - 5, top, 3),
        count(top - 1, top, top),
        count(5, 2, 1),
        count(if t.is_signed_int() { -top - 1 } else { 0 }, if t.is_signed_int() { -top + 3 } else { 4 }, 2),
        Entry::new(format!(
            "%c$ = constant 6 : {t}\n  %d$ = assume %c$ divisible 2\n  %r$ = assume %d$ bounded 0 to 7\n  \
             %ok$ = cmp eq %r$, %c$\n  assert %ok$, \"six\""
        ))
        .gives("%r$", t, &[]),
        Entry::new(format!(
            "%a$ = arange axis 1 : {}\n  %r$ = assume %a$ contiguous axis 1 length 4",
            tile(&[2, 4], t)
        ))
        .gives("%r$", t, &[2, 4]),
    ];
    sheet_rows(&format!("counted {t}"), &[], entries)
}

fn printed(t: ScalarType) -> Vec<Row> {
    let line = format!(
        "%a$ = extract_slice %x [2, 3] : {}\n  %s$ = reshape %a$ : {t}\n  %t$ = extract_slice %x [0, 0] : {}\n  \
         print \"scalar and tile\", %s$, %t$\n  print \"nothing\"",
        tile(&[1, 1], t),
        tile(&[3, 5], t)
    );
    sheet_rows(&format!("printed {t}"), &[Input::new("x", t, Data::Numbers)], vec![Entry::new(line)])
}
