//! Literals, strings and identifiers, both ways.

use crate::literal::Literal;
use crate::types::ScalarType;

/// The one NaN that is printed as `nan`; all others are printed by their bits.
pub(super) const CANONICAL_NAN: u64 = 0x7ff8_0000_0000_0000;

/// A literal as text. Floats are decimal, exact by Rust's shortest form; a NaN with another payload or sign is the
/// bits of the `f64`.
pub(super) fn literal_text(value: Literal, ty: Option<ScalarType>) -> String {
    match value {
        Literal::Bool(b) => b.to_string(),
        // Literals of u64 hold the bits.
        Literal::Int(v) if ty == Some(ScalarType::U64) => (v as u64).to_string(),
        Literal::Int(v) => v.to_string(),
        Literal::Float(v) if v.is_nan() && v.to_bits() != CANONICAL_NAN => format!("{:#018x}", v.to_bits()),
        Literal::Float(v) if v.is_nan() => "nan".to_owned(),
        Literal::Float(v) => format!("{v:?}"),
    }
}

/// The literal of type `ty` that a number token stands for.
pub(super) fn number_literal(text: &str, ty: ScalarType) -> Result<Literal, String> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if ty == ScalarType::Bool {
        return Err(format!("{text} is not a truth value; write true or false"));
    }
    if ty.is_float() {
        let value = match hex {
            Some(digits) => f64::from_bits(
                u64::from_str_radix(digits, 16).map_err(|_| format!("{text} does not fit the 64 bits of a float"))?,
            ),
            None => text.parse().map_err(|_| format!("{text} is not a number"))?,
        };
        if value.is_infinite() && hex.is_none() {
            return Err(format!("{text} is beyond all floats; write inf for infinity"));
        }
        return Ok(Literal::Float(value));
    }
    let value = match hex {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None if text.contains(['.', 'e', 'E']) => return Err(format!("{text} is not an integer, as {ty} needs")),
        None => text.parse().ok(),
    };
    let literal = value.and_then(|v| {
        if ty == ScalarType::U64 { u64::try_from(v).ok().map(|v| v as i64) } else { i64::try_from(v).ok() }
    });
    match literal.map(Literal::Int) {
        Some(literal) if literal.in_range(ty) => Ok(literal),
        _ => Err(format!("{text} does not fit {ty}")),
    }
}

/// Whether a name can be written without quotes.
pub(super) fn is_bare(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A name as it is written: bare, or quoted where it must be.
pub(super) fn name_text(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { quoted(name) }
}

/// A string in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
