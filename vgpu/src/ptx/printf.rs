//! `vprintf`: the format string and the packed arguments that the driver's convention passes.

use super::decode::Space;
use super::exec::Cx;
use super::exec::launch::lock;
use super::isa::memory::bytes_at;

/// Longer strings are cut off: the end may be missing.
const MAX_STRING: usize = 64 << 10;

/// A zero-terminated string at a generic address.
pub(crate) fn string(cx: &mut Cx, address: u64, lane: usize) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_STRING {
        match bytes_at::<1>(cx, Space::Generic, address.wrapping_add(bytes.len() as u64), lane) {
            None | Some([0]) => break,
            Some([byte]) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Prints what a lane asks for; returns how many arguments it took.
pub(crate) fn print(cx: &mut Cx, format: u64, arguments: u64, lane: usize) -> u32 {
    let format = string(cx, format, lane);
    let mut out = String::new();
    let mut offset = 0_u64;
    let mut taken = 0;
    let mut rest = format.as_str();
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'l' | 'h' | 'z' | 'j' | 't' | 'L'));
        let Some(end) = end else { break };
        let (spec, conversion) = (&rest[..end], rest.as_bytes()[end]);
        rest = &rest[end + 1..];
        let mut next = |cx: &mut Cx, size: u64| {
            offset = offset.next_multiple_of(size);
            let at = arguments.wrapping_add(offset);
            offset += size;
            taken += 1;
            match size {
                4 => {
                    bytes_at::<4>(cx, Space::Generic, at, lane).map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)))
                }
                _ => bytes_at::<8>(cx, Space::Generic, at, lane).map_or(0, u64::from_le_bytes),
            }
        };
        let wide = spec.contains("l") || spec.contains(['z', 'j', 't']);
        let flags: String = spec.chars().filter(|c| !c.is_ascii_alphabetic()).collect();
        let spec = Spec::parse(&flags, |cx| next(cx, 4) as i32, cx);
        let text = match conversion {
            b'd' | b'i' => {
                let value = if wide { next(cx, 8) as i64 } else { i64::from(next(cx, 4) as i32) };
                spec.number(value < 0, value.unsigned_abs().to_string())
            }
            b'u' => spec.number(false, next(cx, if wide { 8 } else { 4 }).to_string()),
            b'x' | b'X' | b'o' => {
                let value = next(cx, if wide { 8 } else { 4 });
                let (digits, prefix) = match conversion {
                    b'x' => (format!("{value:x}"), "0x"),
                    b'X' => (format!("{value:X}"), "0X"),
                    _ => (format!("{value:o}"), "0"),
                };
                spec.number(false, if spec.alternate && value != 0 { format!("{prefix}{digits}") } else { digits })
            }
            b'c' => char::from(next(cx, 4) as u8).to_string(),
            b'p' => format!("0x{:x}", next(cx, 8)),
            b's' => {
                let address = next(cx, 8);
                let mut text = string(cx, address, lane);
                if let Some(precision) = spec.precision {
                    text.truncate(text.char_indices().nth(precision).map_or(text.len(), |(at, _)| at));
                }
                text
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(next(cx, 8));
                let magnitude = value.abs();
                let precision = spec.precision.unwrap_or(6);
                let text = match conversion.to_ascii_lowercase() {
                    _ if value.is_nan() => "nan".to_owned(),
                    _ if magnitude.is_infinite() => "inf".to_owned(),
                    b'f' => format!("{magnitude:.precision$}"),
                    b'e' => exponent(magnitude, precision),
                    _ => general(magnitude, precision.max(1)),
                };
                let text = if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
                spec.number(value.is_sign_negative() && !value.is_nan(), text)
            }
            _ => String::new(),
        };
        out.push_str(&spec.pad(text));
    }
    out.push_str(rest);
    lock(&cx.l.printed).push_str(&out);
    taken
}

/// C's `%e`: at least two digits of exponent, with a sign.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

/// C's `%g`: the shorter of the two, without trailing zeros.
fn general(value: f64, precision: usize) -> String {
    let strip = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = exponent(value, precision - 1);
    let power: i32 = scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    if power < -4 || power >= precision as i32 {
        let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        format!("{}e{power}", strip(mantissa.to_owned()))
    } else {
        strip(format!("{value:.*}", (precision as i32 - 1 - power).max(0) as usize))
    }
}

/// Flags, width and precision of a conversion.
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

impl Spec {
    fn parse(text: &str, mut star: impl FnMut(&mut Cx) -> i32, cx: &mut Cx) -> Self {
        let mut spec =
            Self { left: false, plus: false, space: false, zero: false, alternate: false, width: 0, precision: None };
        let mut rest = text.chars().peekable();
        while let Some(&c) = rest.peek() {
            match c {
                '-' => spec.left = true,
                '+' => spec.plus = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                '#' => spec.alternate = true,
                _ => break,
            }
            rest.next();
        }
        let mut number = |cx: &mut Cx, rest: &mut std::iter::Peekable<std::str::Chars>| {
            if rest.next_if_eq(&'*').is_some() {
                return star(cx).clamp(0, 4096) as usize;
            }
            let mut value = 0_usize;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                value = (value * 10 + digit as usize).min(4096);
                rest.next();
            }
            value
        };
        spec.width = number(cx, &mut rest);
        if rest.next_if_eq(&'.').is_some() {
            spec.precision = Some(number(cx, &mut rest));
        }
        spec
    }

    /// A number with its sign, and zeroes where they are asked for.
    fn number(&self, negative: bool, digits: String) -> String {
        let sign = match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        if self.zero && !self.left {
            let width = self.width.saturating_sub(sign.len());
            return format!("{sign}{digits:0>width$}");
        }
        format!("{sign}{digits}")
    }

    fn pad(&self, text: String) -> String {
        let width = self.width;
        if self.left { format!("{text:<width$}") } else { format!("{text:>width$}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_c_prints_them() {
        assert_eq!(exponent(1234.5, 2), "1.23e+03");
        assert_eq!(exponent(0.00012, 3), "1.200e-04");
        assert_eq!(general(100_000.0, 6), "100000");
        assert_eq!(general(1_000_000.0, 6), "1e+06");
        assert_eq!(general(0.5, 6), "0.5");
        assert_eq!(general(0.00001, 6), "1e-05");
    }
}
