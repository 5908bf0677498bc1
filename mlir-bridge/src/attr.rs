//! The few MLIR attribute forms that the interchange form uses, as text: `3 : i64`, `true`, `"text"`,
//! `array<i64: 1, 2>` and `[.., ..]`.

use std::fmt;

use crate::Error;

/// An attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attr {
    /// `3 : i64`, or `true` and `false` as 1 and 0.
    Int(i64),
    /// `"text"`.
    Str(String),
    /// `array<i64: 1, 2>`.
    Ints(Vec<i64>),
    /// `[.., ..]`.
    List(Vec<Attr>),
}

impl Attr {
    /// A truth value, as an integer.
    pub fn flag(v: bool) -> Self {
        Self::Int(v.into())
    }

    /// A list of small integers.
    pub fn ints<T: Copy + Into<i64>>(v: &[T]) -> Self {
        Self::Ints(v.iter().map(|&x| x.into()).collect())
    }

    /// A string.
    pub fn str(v: &str) -> Self {
        Self::Str(v.into())
    }

    /// Reads an attribute as MLIR prints it.
    ///
    /// # Errors
    /// If it is of another form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut p = Parser { rest: text.trim() };
        let attr = p.attr()?;
        p.skip(|c| c.is_whitespace());
        if p.rest.is_empty() { Ok(attr) } else { Err(p.bad()) }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(v) => write!(f, "{v} : i64"),
            Self::Str(s) => {
                f.write_str("\"")?;
                for b in s.bytes() {
                    match b {
                        b'"' | b'\\' | 0..=0x1f | 0x7f.. => write!(f, "\\{b:02X}")?,
                        _ => write!(f, "{}", b as char)?,
                    }
                }
                f.write_str("\"")
            }
            Self::Ints(v) if v.is_empty() => f.write_str("array<i64>"),
            Self::Ints(v) => {
                write!(f, "array<i64: {}>", v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::List(v) => write!(f, "[{}]", v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn bad(&self) -> Error {
        Error::Import(format!("unexpected attribute text: {}", self.rest))
    }

    fn skip(&mut self, f: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(f);
    }

    fn eat(&mut self, text: &str) -> bool {
        self.skip(char::is_whitespace);
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn int(&mut self) -> Result<i64, Error> {
        self.skip(char::is_whitespace);
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let v = digits.parse().map_err(|_| self.bad())?;
        self.rest = rest;
        Ok(v)
    }

    fn attr(&mut self) -> Result<Attr, Error> {
        if self.eat("true") {
            return Ok(Attr::Int(1));
        }
        if self.eat("false") {
            return Ok(Attr::Int(0));
        }
        if self.eat("array<i64") {
            let mut v = Vec::new();
            if self.eat(":") {
                loop {
                    v.push(self.int()?);
                    if !self.eat(",") {
                        break;
                    }
                }
            }
            return if self.eat(">") { Ok(Attr::Ints(v)) } else { Err(self.bad()) };
        }
        if self.eat("[") {
            let mut v = Vec::new();
            while !self.eat("]") {
                v.push(self.attr()?);
                if !self.eat(",") && !self.rest.trim_start().starts_with(']') {
                    return Err(self.bad());
                }
            }
            return Ok(Attr::List(v));
        }
        if self.eat("\"") {
            return self.string();
        }
        let v = self.int()?;
        if self.eat(":") {
            self.skip(char::is_whitespace);
            self.skip(|c| c.is_ascii_alphanumeric());
        }
        Ok(Attr::Int(v))
    }

    fn string(&mut self) -> Result<Attr, Error> {
        let mut bytes = Vec::new();
        let source = self.rest.as_bytes();
        let mut i = 0;
        while i < source.len() {
            match source[i] {
                b'"' => {
                    self.rest = &self.rest[i + 1..];
                    return String::from_utf8(bytes).map(Attr::Str).map_err(|_| self.bad());
                }
                b'\\' => match source.get(i + 1) {
                    Some(b'n') => (bytes.push(b'\n'), i += 2).1,
                    Some(b't') => (bytes.push(b'\t'), i += 2).1,
                    Some(&c @ (b'"' | b'\\')) => (bytes.push(c), i += 2).1,
                    _ => {
                        let hex = self.rest.get(i + 1..i + 3).and_then(|h| u8::from_str_radix(h, 16).ok());
                        bytes.push(hex.ok_or_else(|| self.bad())?);
                        i += 3;
                    }
                },
                b => {
                    bytes.push(b);
                    i += 1;
                }
            }
        }
        Err(self.bad())
    }
}
