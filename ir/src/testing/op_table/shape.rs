//! Ops that move elements.

use super::Row;
use super::sheet::{Data, Entry, Input, SHAPE, rows as sheet_rows, tile};
use crate::types::ScalarType;

pub(super) fn rows() -> Vec<Row> {
    ScalarType::ALL.into_iter().flat_map(of_type).collect()
}

fn of_type(t: ScalarType) -> Vec<Row> {
    let ty = |shape: &[u32]| tile(shape, t);
    let column = format!("%c$ = extract_slice %x [0, 5] : {}\n  ", ty(&[13, 1]));
    let row = format!("%c$ = extract_slice %x [4, 0] : {}\n  ", ty(&[1, 37]));
    let box5 = format!("%c$ = reshape %x : {}\n  ", ty(&[1, 13, 1, 37, 1]));
    let entry = |lines: String, shape: &[u32]| Entry::new(lines).gives("%r$", t, shape);
    let entries = vec![
        entry(format!("{column}%r$ = broadcast %c$ : {}", ty(&SHAPE)), &SHAPE),
        entry(format!("{row}%r$ = broadcast %c$ : {}", ty(&SHAPE)), &SHAPE),
        entry(format!("%r$ = reshape %x : {}", ty(&[481])), &[481]),
        entry(format!("%r$ = reshape %x : {}", ty(&[37, 1, 13])), &[37, 1, 13]),
        entry("%r$ = permute %x [1, 0]".into(), &[37, 13]),
        entry(format!("{box5}%r$ = permute %c$ [3, 0, 4, 1, 2]"), &[37, 1, 1, 13, 1]),
        entry("%r$ = flip %x axis 0".into(), &SHAPE),
        entry("%r$ = flip %x axis 1".into(), &SHAPE),
        entry("%r$ = cat %x, %y axis 0".into(), &[26, 37]),
        entry("%r$ = cat %y, %x, %y axis 1".into(), &[13, 111]),
        entry("%r$ = join %x, %y".into(), &[13, 37, 2]),
        Entry::new("%j$ = join %x, %y\n  %a$, %b$ = split %j$").gives("%a$", t, &SHAPE).gives("%b$", t, &SHAPE),
        entry(format!("%r$ = extract_slice %x [3, 8] : {}", ty(&[7, 17])), &[7, 17]),
        entry(
            format!("%c$ = extract_slice %y [0, 1] : {}\n  %r$ = insert_slice %c$ into %x [5, 9]", ty(&[8, 19])),
            &SHAPE,
        ),
        entry("%r$ = gather_axis %x, %rows axis 0".into(), &SHAPE),
        entry("%r$ = gather_axis %x, %columns axis 1".into(), &SHAPE),
        // From columns to rows and back, in memory and in registers.
        entry("%p$ = permute %f [1, 0]\n  %q$ = flip %p$ axis 0\n  %r$ = permute %q$ [1, 0]".into(), &SHAPE),
    ];
    let inputs = [
        Input::new("x", t, Data::Edges),
        Input::new("y", t, Data::Edges),
        Input::new("f", t, Data::Edges).column_major(),
        Input::new("rows", ScalarType::I32, Data::Positions(13)),
        Input::new("columns", ScalarType::I16, Data::Positions(37)),
    ];
    sheet_rows(&format!("shape {t}"), &inputs, entries)
}
