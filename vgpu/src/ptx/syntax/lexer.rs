//! PTX tokens.

use super::ast::{Number, Position};
use crate::error::{Error, Location};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// An identifier: letters, digits, `_`, `$`, `%`.
    Name(&'a str),
    Number(Number),
    /// A string, without its quotes; escapes are left as they are.
    Text(&'a str),
    /// One character of punctuation, or `::`.
    Punctuation(&'a str),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(text) | Self::Punctuation(text) => write!(f, "`{text}`"),
            Self::Number(_) => f.write_str("a number"),
            Self::Text(_) => f.write_str("a string"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Spanned<'a> {
    pub token: Token<'a>,
    pub position: Position,
}

/// Tokens, and the registers named in `implicit-def` comments with the number of the token that follows.
pub(super) struct Tokens<'a> {
    pub tokens: Vec<Spanned<'a>>,
    pub implicit: Vec<(usize, &'a str)>,
}

pub(super) fn error(position: Position, message: impl Into<String>) -> Error {
    Error::Parse { location: Location::text(position.line, position.column), message: message.into() }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn position(&self) -> Position {
        Position { line: self.line, column: (self.at - self.line_start + 1) as u32 }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
    }

    /// Skips blanks and comments, and returns the registers that an `implicit-def` comment names.
    fn skip(&mut self) -> Result<Vec<&'a str>, Error> {
        let mut implicit = Vec::new();
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => self.newline(),
                (b'/', b'/') => {
                    let start = self.at;
                    while self.at < self.text.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                    let comment = &self.bytes()[start..self.at];
                    if let Ok(comment) = std::str::from_utf8(comment)
                        && let Some((_, names)) = comment.split_once("implicit-def:")
                    {
                        implicit.extend(names.split_whitespace().filter(|name| name.starts_with('%')));
                    }
                }
                (b'/', b'*') => {
                    let start = self.position();
                    self.at += 2;
                    while !(self.peek(0) == b'*' && self.peek(1) == b'/') {
                        if self.at >= self.text.len() {
                            return Err(error(start, "this comment is not closed"));
                        }
                        if self.peek(0) == b'\n' { self.newline() } else { self.at += 1 }
                    }
                    self.at += 2;
                }
                (byte, _) if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        Ok(implicit)
    }

    fn token(&mut self) -> Result<Token<'a>, Error> {
        let start = self.at;
        let position = self.position();
        let byte = self.peek(0);
        if self.at >= self.text.len() {
            return Ok(Token::End);
        }
        // After a dot of its own or `::` a digit starts a word: `.2d`, `.im2col::w::128`.
        let before = &self.bytes()[..start];
        let modifier = before.ends_with(b".") || before.ends_with(b"::");
        if byte.is_ascii_digit() && !modifier {
            return self.number(position);
        }
        if is_name(byte) {
            while is_name(self.peek(0)) {
                self.at += 1;
            }
            return Ok(Token::Name(&self.text[start..self.at]));
        }
        match byte {
            b'"' => {
                self.at += 1;
                while self.peek(0) != b'"' {
                    if self.at >= self.text.len() || self.peek(0) == b'\n' {
                        return Err(error(position, "this string is not closed"));
                    }
                    self.at += if self.peek(0) == b'\\' && self.at + 1 < self.text.len() { 2 } else { 1 };
                    self.at = self.at.min(self.text.len());
                }
                self.at += 1;
                match self.text.get(start + 1..self.at - 1) {
                    Some(text) => Ok(Token::Text(text)),
                    None => Err(error(position, "a string with a broken character")),
                }
            }
            b':' if self.peek(1) == b':' => {
                self.at += 2;
                Ok(Token::Punctuation("::"))
            }
            byte if byte.is_ascii_punctuation() => {
                self.at += 1;
                Ok(Token::Punctuation(&self.text[start..self.at]))
            }
            _ => Err(error(
                position,
                format!("unexpected character {:?}", self.text[start..].chars().next().unwrap_or(' ')),
            )),
        }
    }

    fn number(&mut self, position: Position) -> Result<Token<'a>, Error> {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() {
            self.at += 1;
        }
        let mut word = &self.text[start..self.at];
        let bad = |what: &str| error(position, format!("`{what}` is not a number"));
        if let Some(bits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F"))
            && bits.len() == 8
        {
            return u32::from_str_radix(bits, 16)
                .map(|bits| Token::Number(Number::Single(bits)))
                .map_err(|_| bad(word));
        }
        if let Some(bits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D"))
            && bits.len() == 16
        {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| bad(word))?;
            return Ok(Token::Number(Number::Double(f64::from_bits(bits))));
        }
        let hexadecimal = word.starts_with("0x") || word.starts_with("0X");
        let decimal = word.bytes().all(|b| b.is_ascii_digit());
        let fraction = decimal && self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        if fraction || (!hexadecimal && word.contains(['e', 'E'])) {
            if fraction {
                self.at += 1;
                while self.peek(0).is_ascii_alphanumeric() {
                    self.at += 1;
                }
            }
            let exponent = self.text[start..self.at].ends_with(['e', 'E']);
            if exponent && matches!(self.peek(0), b'+' | b'-') && self.peek(1).is_ascii_digit() {
                self.at += 1;
                while self.peek(0).is_ascii_digit() {
                    self.at += 1;
                }
            }
            word = &self.text[start..self.at];
            return word.parse().map(|value| Token::Number(Number::Double(value))).map_err(|_| bad(word));
        }
        let digits = word.strip_suffix('U').unwrap_or(word);
        let value = if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            u64::from_str_radix(digits, 16)
        } else if let Some(digits) = digits.strip_prefix("0b").or_else(|| digits.strip_prefix("0B")) {
            u64::from_str_radix(digits, 2)
        } else if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(&digits[1..], 8)
        } else {
            digits.parse()
        };
        value.map(|value| Token::Number(Number::Integer(value.into()))).map_err(|_| bad(word))
    }
}

pub(super) fn tokens(text: &str) -> Result<Tokens<'_>, Error> {
    let mut lexer = Lexer { text, at: 0, line: 1, line_start: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut implicit = Vec::new();
    loop {
        for name in lexer.skip()? {
            implicit.push((tokens.len(), name));
        }
        let position = lexer.position();
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push(Spanned { token, position });
        if end {
            return Ok(Tokens { tokens, implicit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token<'_>> {
        tokens(text).unwrap().tokens.into_iter().map(|t| t.token).collect()
    }

    #[test]
    fn numbers() {
        let number = |text| match &all(text)[0] {
            Token::Number(number) => *number,
            other => panic!("{other}"),
        };
        assert_eq!(number("0f3F800000"), Number::Single(0x3F80_0000));
        assert_eq!(number("0d3FF0000000000000"), Number::Double(1.0));
        assert_eq!(number("0x10"), Number::Integer(16));
        assert_eq!(number("017"), Number::Integer(15));
        assert_eq!(number("0b101"), Number::Integer(5));
        assert_eq!(number("42U"), Number::Integer(42));
        assert_eq!(number("1.5e-3"), Number::Double(0.0015));
        assert_eq!(number("0xFFFFFFFFFFFFFFFF"), Number::Integer(u64::MAX.into()));
    }

    #[test]
    fn comments_and_positions() {
        let tokens = tokens("/* a\n b */ ld // implicit-def: %r1\n\t[%r2];").unwrap();
        assert_eq!(tokens.tokens[0].position, Position { line: 2, column: 7 });
        assert_eq!(tokens.tokens[2].token, Token::Name("%r2"));
        assert_eq!(tokens.tokens[2].position, Position { line: 3, column: 3 });
        assert_eq!(tokens.implicit, [(1, "%r1")]);
    }

    #[test]
    fn broken_text_is_an_error() {
        for text in ["\"abc", "/* ", "0f123G5678", "99999999999999999999", "\u{e9}"] {
            assert!(super::tokens(text).is_err(), "{text}");
        }
    }
}
