//! The text that `print` gives, the same on every executor.

use std::fmt::Write;

use crate::literal::Literal;
use crate::numeric::FloatFormat;
use crate::types::ScalarType;

/// Values on one line, at most. A GPU prints a line by one call of `printf`, whose arguments are limited to 32 (CUDA C++
/// Programming Guide, "Formatted Output"), so that the lines of programs that run at once do not mix.
pub const VALUES_PER_LINE: usize = 24;

/// What a `print` gives: `program (x, y, z): message v [v, v, v]`. A scalar argument is printed bare, a tile as the list of
/// its elements in row-major order. After every [`VALUES_PER_LINE`] values a new line begins, again with the program.
///
/// Integers are decimal; floats are what C's `%.*g` gives with [`significant_digits`], NaN of any sign `nan`; truth values
/// are `true` and `false`.
pub fn format_lines<'a>(
    program: [u32; 3],
    message: &str,
    args: impl IntoIterator<Item = (ScalarType, bool, Box<dyn Iterator<Item = Literal> + 'a>)>,
) -> String {
    let [x, y, z] = program;
    let head = format!("program ({x}, {y}, {z}): ");
    let mut text = format!("{head}{message}");
    let mut values = 0;
    let mut separate = |text: &mut String, separator: &str| {
        text.push_str(separator);
        if values == VALUES_PER_LINE {
            text.push('\n');
            text.push_str(&head);
            values = 0;
        } else {
            text.push(' ');
        }
        values += 1;
    };
    for (t, tile, elements) in args {
        for (i, element) in elements.enumerate() {
            separate(&mut text, if i == 0 { "" } else { "," });
            if tile && i == 0 {
                text.push('[');
            }
            write_element(&mut text, t, element);
        }
        if tile {
            text.push(']');
        }
    }
    text.push('\n');
    text
}

/// Decimal digits that tell all values of a float type apart (Goldberg 1991, theorem 15).
///
/// # Panics
/// If it is no float type.
pub fn significant_digits(t: ScalarType) -> usize {
    let bits = FloatFormat::of(t).mantissa_bits + 1;
    (1.0 + f64::from(bits) * std::f64::consts::LOG10_2).ceil() as usize
}

fn write_element(line: &mut String, t: ScalarType, value: Literal) {
    // Writing to a string cannot fail.
    let _ = match value {
        Literal::Bool(b) => write!(line, "{b}"),
        Literal::Int(v) if t == ScalarType::U64 => write!(line, "{}", v as u64),
        Literal::Int(v) => write!(line, "{v}"),
        Literal::Float(v) => write!(line, "{}", general(v, significant_digits(t))),
    };
}

/// C's `%.{digits}g` (C17, 7.21.6.1).
fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan".to_owned() } else { value.to_string() };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("a number in scientific notation");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    if (-4..digits as i32).contains(&exponent) {
        let decimals = digits as i32 - 1 - exponent;
        return trimmed(&format!("{value:.*}", decimals as usize)).to_owned();
    }
    format!("{}e{}{:02}", trimmed(mantissa), if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Without zeros at the end of the fraction.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &str, args: &[(ScalarType, bool, &[Literal])]) -> String {
        let args = args.iter().map(|&(t, tile, elements)| {
            let elements: Box<dyn Iterator<Item = Literal>> = Box::new(elements.iter().copied());
            (t, tile, elements)
        });
        format_lines([1, 0, 2], message, args)
    }

    #[test]
    fn floats_are_printed_as_in_c() {
        // By glibc's printf.
        for (value, digits, expected) in [
            (0.1f32.into(), 9, "0.100000001"),
            (1.0, 9, "1"),
            (-0.0, 9, "-0"),
            (1e-5, 9, "1e-05"),
            (0.0001, 9, "0.0001"),
            (999_999_999.0, 9, "999999999"),
            (1e9, 9, "1e+09"),
            (9.999_999_999_9, 9, "10"),
            (f64::MIN_POSITIVE, 17, "2.2250738585072014e-308"),
            (65504.0, 5, "65504"),
            (123_456.0, 4, "1.235e+05"),
            (f64::INFINITY, 9, "inf"),
            (f64::NEG_INFINITY, 9, "-inf"),
            (-f64::NAN, 9, "nan"),
        ] {
            assert_eq!(general(value, digits), expected);
        }
    }

    #[test]
    fn digits_tell_values_apart() {
        let digits = [ScalarType::F64, ScalarType::F32, ScalarType::F16, ScalarType::BF16].map(significant_digits);
        assert_eq!(digits, [17, 9, 5, 4]);
    }

    #[test]
    fn lines_are_broken_between_values() {
        let numbers: Vec<Literal> = (0..50).map(Literal::Int).collect();
        let list = |from: usize, to: usize| (from..to).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let one = [Literal::Bool(true)];
        assert_eq!(
            text("m", &[(ScalarType::I32, true, &numbers[..24]), (ScalarType::Bool, false, &one)]),
            format!("program (1, 0, 2): m [{}]\nprogram (1, 0, 2): true\n", list(0, 24))
        );
        assert_eq!(
            text("m", &[(ScalarType::Bool, false, &one), (ScalarType::I32, true, &numbers)]),
            format!(
                "program (1, 0, 2): m true [{},\nprogram (1, 0, 2): {},\nprogram (1, 0, 2): {}]\n",
                list(0, 23),
                list(23, 47),
                list(47, 50)
            )
        );
    }
}
