//! The text that `print` gives, the same on every executor.

use std::fmt::Write;

use crate::literal::Literal;
use crate::types::ScalarType;

/// One line of output: `program (x, y, z): message v [v, v, v]`. A scalar argument is printed bare, a tile as
/// the list of its elements in row-major order. Integers are decimal; floats are the shortest text that reads
/// back to the same `f32` (`f64` for `f64`); truth values are `true` and `false`.
pub fn format_line<'a>(
    program: [u32; 3],
    message: &str,
    args: impl IntoIterator<Item = (ScalarType, bool, Box<dyn Iterator<Item = Literal> + 'a>)>,
) -> String {
    let [x, y, z] = program;
    let mut line = format!("program ({x}, {y}, {z}): {message}");
    for (t, tile, elements) in args {
        line.push(' ');
        if tile {
            line.push('[');
        }
        for (i, element) in elements.enumerate() {
            if i > 0 {
                line.push_str(", ");
            }
            write_element(&mut line, t, element);
        }
        if tile {
            line.push(']');
        }
    }
    line.push('\n');
    line
}

fn write_element(line: &mut String, t: ScalarType, value: Literal) {
    // Writing to a string cannot fail.
    let _ = match value {
        Literal::Bool(b) => write!(line, "{b}"),
        Literal::Int(v) if t == ScalarType::U64 => write!(line, "{}", v as u64),
        Literal::Int(v) => write!(line, "{v}"),
        Literal::Float(v) if t == ScalarType::F64 => write!(line, "{v:?}"),
        Literal::Float(v) => write!(line, "{:?}", v as f32),
    };
}
