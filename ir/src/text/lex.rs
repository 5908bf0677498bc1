//! Tokens.

use std::sync::Arc;

use super::error::{ParseError, ParseErrorKind};
use super::scalar::quoted;
use crate::loc::SourceLoc;

/// A place in the text: line and column from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pos {
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Token {
    /// A word: letters, digits and `_`; also `-inf`.
    Word(String),
    /// `%name`, `%name.1` or `%0`.
    Value(ValueName),
    /// `@name`.
    Symbol(String),
    /// `#name`.
    Alias(String),
    /// A number as written.
    Number(String),
    /// A string, without its quotes and escapes.
    Str(String),
    /// A punctuation character.
    Punct(char),
    /// `->`.
    Arrow,
    /// The end of the text.
    End,
}

/// The name of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ValueName {
    /// The name; `None` for a number.
    pub(crate) name: Option<String>,
    /// What tells apart values of one name (0 for the first), or the number of a value without a name.
    pub(crate) number: u64,
}

impl std::fmt::Display for ValueName {
    /// Without the `%`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.name, self.number) {
            (None, n) => write!(f, "{n}"),
            (Some(name), 0) => f.write_str(&super::scalar::name_text(name)),
            (Some(name), n) => write!(f, "{}.{n}", super::scalar::name_text(name)),
        }
    }
}

impl Token {
    /// The token for an error message.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Word(w) => format!("`{w}`"),
            Token::Value(v) => format!("`%{v}`"),
            Token::Symbol(s) => format!("`@{s}`"),
            Token::Alias(a) => format!("`#{a}`"),
            Token::Number(n) => format!("`{n}`"),
            Token::Str(s) => quoted(s),
            Token::Punct(c) => format!("`{c}`"),
            Token::Arrow => "`->`".to_owned(),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

/// Splits a text into tokens, one at a time.
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    pos: Pos,
    file: Arc<str>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, file: &str) -> Self {
        Self { rest: text, pos: Pos { line: 1, column: 1 }, file: file.into() }
    }

    /// Where in the text a position is, as a source location.
    pub(super) fn source_loc(&self, pos: Pos) -> SourceLoc {
        SourceLoc { file: self.file.clone(), line: pos.line, column: pos.column }
    }

    fn error(&self, pos: Pos, message: impl Into<String>) -> Box<ParseError> {
        ParseError::new(ParseErrorKind::Token(message.into()), self.source_loc(pos))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.chars().nth(1)
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, column: 1 };
        } else {
            self.pos.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest;
        while self.peek().is_some_and(&f) {
            self.bump();
        }
        &text[..text.len() - self.rest.len()]
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with(';') || self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else {
                return;
            }
        }
    }

    /// The next token and where it starts.
    pub(super) fn next(&mut self) -> Result<(Token, Pos), Box<ParseError>> {
        self.skip_space();
        let pos = self.pos;
        let Some(c) = self.peek() else { return Ok((Token::End, pos)) };
        let token = match c {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.word().to_owned()),
            '0'..='9' => self.number(),
            '-' => match self.peek_second() {
                Some('>') => {
                    self.bump();
                    self.bump();
                    Token::Arrow
                }
                Some('0'..='9') => self.number(),
                Some('i') => {
                    self.bump();
                    Token::Word(format!("-{}", self.word()))
                }
                _ => return Err(self.error(pos, "a lone `-`")),
            },
            '"' => Token::Str(self.string()?),
            '%' => {
                self.bump();
                Token::Value(self.value_name(pos)?)
            }
            '@' => {
                self.bump();
                match self.peek() {
                    Some('"') => Token::Symbol(self.string()?),
                    _ => match self.word() {
                        "" => return Err(self.error(pos, "`@` without a name")),
                        name => Token::Symbol(name.to_owned()),
                    },
                }
            }
            '#' => {
                self.bump();
                match self.take_while(is_word) {
                    "" => return Err(self.error(pos, "`#` without a name")),
                    name => Token::Alias(name.to_owned()),
                }
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ':' | ',' | '=' => {
                self.bump();
                Token::Punct(c)
            }
            c => return Err(self.error(pos, format!("unexpected character {c:?}"))),
        };
        Ok((token, pos))
    }

    fn word(&mut self) -> &'a str {
        if self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return "";
        }
        self.take_while(is_word)
    }

    /// A number: decimal with fraction and exponent, or hexadecimal. What it means depends on the type beside it.
    fn number(&mut self) -> Token {
        let start = self.rest;
        if self.peek() == Some('-') {
            self.bump();
        }
        if self.rest.starts_with("0x") || self.rest.starts_with("0X") {
            self.bump();
            self.bump();
            self.take_while(|c| c.is_ascii_hexdigit());
        } else {
            self.take_while(|c| c.is_ascii_digit());
            if self.peek() == Some('.') && self.peek_second().is_some_and(|c| c.is_ascii_digit()) {
                self.bump();
                self.take_while(|c| c.is_ascii_digit());
            }
            let mut ahead = self.rest.chars();
            if matches!(ahead.next(), Some('e' | 'E')) {
                let signed = ahead.clone().next().is_some_and(|c| c == '+' || c == '-');
                if signed {
                    ahead.next();
                }
                if ahead.next().is_some_and(|c| c.is_ascii_digit()) {
                    self.bump();
                    if signed {
                        self.bump();
                    }
                    self.take_while(|c| c.is_ascii_digit());
                }
            }
        }
        Token::Number(start[..start.len() - self.rest.len()].to_owned())
    }

    fn string(&mut self) -> Result<String, Box<ParseError>> {
        let start = self.pos;
        self.bump();
        let mut text = String::new();
        loop {
            let pos = self.pos;
            match self.bump() {
                None | Some('\n') => return Err(self.error(start, "this string does not end on its line")),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(pos)?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, pos: Pos) -> Result<char, Box<ParseError>> {
        match self.bump() {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') if self.peek() == Some('{') => {
                self.bump();
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                match (c, self.bump()) {
                    (Some(c), Some('}')) => Ok(c),
                    _ => Err(self.error(pos, "`\\u{...}` needs the number of a character")),
                }
            }
            _ => Err(self.error(pos, "unknown escape; there are \\n \\t \\\" \\\\ \\u{...}")),
        }
    }

    fn value_name(&mut self, start: Pos) -> Result<ValueName, Box<ParseError>> {
        let name = match self.peek() {
            Some('0'..='9') => {
                let digits = self.take_while(|c| c.is_ascii_digit());
                let number = digits.parse().map_err(|_| self.error(start, "this number is too large"))?;
                return Ok(ValueName { name: None, number });
            }
            Some('"') => self.string()?,
            _ => match self.word() {
                "" => return Err(self.error(start, "`%` without a name")),
                name => name.to_owned(),
            },
        };
        let mut number = 0;
        if self.peek() == Some('.') {
            self.bump();
            let digits = self.take_while(|c| c.is_ascii_digit());
            number = digits.parse().map_err(|_| {
                self.error(start, "the `.` in the name of a value is followed by a number; quote other names")
            })?;
        }
        Ok(ValueName { name: Some(name), number })
    }

    /// The extents at the start of a tile type's inside, up to the element type: `128x64x`.
    pub(super) fn extents(&mut self) -> Result<Vec<u32>, Box<ParseError>> {
        let mut extents = Vec::new();
        loop {
            self.skip_space();
            let pos = self.pos;
            let digits = self.take_while(|c| c.is_ascii_digit());
            if digits.is_empty() {
                return Ok(extents);
            }
            let extent = digits.parse().map_err(|_| self.error(pos, format!("{digits} is too large for an extent")))?;
            extents.push(extent);
            self.skip_space();
            if self.peek() != Some('x') {
                return Err(self.error(self.pos, "expected `x` after an extent"));
            }
            self.bump();
        }
    }

    /// The text up to `>`, which is taken too: the inside of `layout<...>`.
    pub(super) fn until_close(&mut self) -> Result<(&'a str, Pos), Box<ParseError>> {
        let pos = self.pos;
        let text = self.take_while(|c| c != '>' && c != '\n');
        if self.bump() != Some('>') {
            return Err(self.error(pos, "expected `>` at the end of the layout"));
        }
        Ok((text, pos))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
