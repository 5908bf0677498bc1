//! C's `printf`: a format filled in with the arguments that a kernel left.

/// Where the arguments come from, in order.
pub(crate) trait Arguments {
    /// The next argument, of 4 or 8 bytes.
    fn number(&mut self, bytes: u64) -> u64;

    /// The next argument, a string.
    fn text(&mut self) -> String;
}

/// The text that a format and its arguments give.
pub(crate) fn format(format: &str, from: &mut dyn Arguments) -> String {
    let mut out = String::new();
    let mut rest = format;
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
        let wide = spec.contains("l") || spec.contains(['z', 'j', 't']);
        let flags: String = spec.chars().filter(|c| !c.is_ascii_alphabetic()).collect();
        let spec = Spec::parse(&flags, || from.number(4) as i32);
        let text = match conversion {
            b'd' | b'i' => {
                let value = if wide { from.number(8) as i64 } else { i64::from(from.number(4) as i32) };
                spec.number(value < 0, value.unsigned_abs().to_string())
            }
            b'u' => spec.number(false, from.number(if wide { 8 } else { 4 }).to_string()),
            b'x' | b'X' | b'o' => {
                let value = from.number(if wide { 8 } else { 4 });
                let (digits, prefix) = match conversion {
                    b'x' => (format!("{value:x}"), "0x"),
                    b'X' => (format!("{value:X}"), "0X"),
                    _ => (format!("{value:o}"), "0"),
                };
                spec.number(false, if spec.alternate && value != 0 { format!("{prefix}{digits}") } else { digits })
            }
            b'c' => char::from(from.number(4) as u8).to_string(),
            b'p' => format!("0x{:x}", from.number(8)),
            b's' => {
                let mut text = from.text();
                if let Some(precision) = spec.precision {
                    text.truncate(text.char_indices().nth(precision).map_or(text.len(), |(at, _)| at));
                }
                text
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(from.number(8));
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
    out
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
    fn parse(text: &str, mut star: impl FnMut() -> i32) -> Self {
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
        let mut number = |rest: &mut std::iter::Peekable<std::str::Chars>| {
            if rest.next_if_eq(&'*').is_some() {
                return star().clamp(0, 4096) as usize;
            }
            let mut value = 0_usize;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                value = (value * 10 + digit as usize).min(4096);
                rest.next();
            }
            value
        };
        spec.width = number(&mut rest);
        if rest.next_if_eq(&'.').is_some() {
            spec.precision = Some(number(&mut rest));
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
