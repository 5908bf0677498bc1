//! The token that stands next, and small things made of tokens.

use super::super::error::{ParseError, ParseErrorKind};
use super::super::lex::{Lexer, Pos, Token};
use super::super::nearest;
use super::PResult;
use crate::loc::SourceLoc;

/// A place between two tokens, with the token after it.
pub(crate) struct Cursor<'t> {
    pub(super) lexer: Lexer<'t>,
    token: Token,
    pos: Pos,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str, file: &str) -> PResult<Self> {
        let mut lexer = Lexer::new(text, file);
        let (token, pos) = lexer.next()?;
        Ok(Self { lexer, token, pos })
    }

    /// The token that stands next.
    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// Where it starts.
    pub(crate) fn pos(&self) -> Pos {
        self.pos
    }

    pub(crate) fn source_loc(&self, pos: Pos) -> SourceLoc {
        self.lexer.source_loc(pos)
    }

    /// Takes the token.
    pub(crate) fn bump(&mut self) -> PResult<Token> {
        let (token, pos) = self.lexer.next()?;
        self.pos = pos;
        Ok(std::mem::replace(&mut self.token, token))
    }

    pub(crate) fn error(&self, kind: ParseErrorKind, pos: Pos) -> Box<ParseError> {
        ParseError::new(kind, self.source_loc(pos))
    }

    /// The error that something else belongs here.
    pub(crate) fn expected(&self, what: &str) -> Box<ParseError> {
        let kind = ParseErrorKind::Expected { expected: what.to_owned(), found: self.token.describe() };
        self.error(kind, self.pos)
    }

    /// Whether the punctuation stands here.
    pub(crate) fn at(&self, punct: char) -> bool {
        self.token == Token::Punct(punct)
    }

    /// Takes the punctuation if it stands here.
    pub(crate) fn eat(&mut self, punct: char) -> PResult<bool> {
        let found = self.at(punct);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    pub(crate) fn expect(&mut self, punct: char) -> PResult<()> {
        if self.eat(punct)? { Ok(()) } else { Err(self.expected(&format!("`{punct}`"))) }
    }

    /// Whether the word stands here.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(w) if w == word)
    }

    /// Takes the word if it stands here.
    pub(crate) fn eat_word(&mut self, word: &str) -> PResult<bool> {
        let found = self.at_word(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> PResult<()> {
        if self.eat_word(word)? { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Any word.
    pub(crate) fn word(&mut self, what: &str) -> PResult<String> {
        let Token::Word(word) = &self.token else { return Err(self.expected(what)) };
        let word = word.clone();
        self.bump()?;
        Ok(word)
    }

    /// A word or a string.
    pub(crate) fn name(&mut self, what: &str) -> PResult<String> {
        match &self.token {
            Token::Word(name) | Token::Str(name) => {
                let name = name.clone();
                self.bump()?;
                Ok(name)
            }
            _ => Err(self.expected(what)),
        }
    }

    pub(crate) fn string(&mut self, what: &str) -> PResult<String> {
        match &self.token {
            Token::Str(text) => {
                let text = text.clone();
                self.bump()?;
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A word that names one of a few things.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        what: &'static str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> PResult<T> {
        let pos = self.pos;
        let word = self.word(what)?;
        match all.iter().find(|&&t| name(t) == word) {
            Some(&t) => Ok(t),
            None => {
                let names: Vec<&str> = all.iter().map(|&t| name(t)).collect();
                Err(self.unknown(what, word, &names, pos))
            }
        }
    }

    /// The error that a word is not one of those that can stand here.
    pub(crate) fn unknown(&self, what: &'static str, name: String, names: &[&str], pos: Pos) -> Box<ParseError> {
        let help = match nearest(&name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => return self.error(ParseErrorKind::UnknownName { what, name }, pos),
            None => format!("one of {}", names.join(", ")),
        };
        self.error(ParseErrorKind::UnknownName { what, name }, pos).help(help)
    }

    /// An integer of type `T`.
    pub(crate) fn integer<T: TryFrom<i128>>(&mut self, what: &str) -> PResult<T> {
        let pos = self.pos;
        let Token::Number(text) = &self.token else { return Err(self.expected(what)) };
        let text = text.clone();
        let value = match text.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => text.parse::<i128>().ok(),
        };
        let Some(value) = value.and_then(|v| T::try_from(v).ok()) else {
            return Err(self.error(ParseErrorKind::Number(format!("{text} does not fit here, as {what}")), pos));
        };
        self.bump()?;
        Ok(value)
    }

    /// Integers in brackets, perhaps none.
    pub(crate) fn integers<T: TryFrom<i128>, C: FromIterator<T>>(&mut self, what: &str) -> PResult<C> {
        self.expect('[')?;
        let mut all = Vec::new();
        if !self.at(']') {
            loop {
                all.push(self.integer(what)?);
                if !self.eat(',')? {
                    break;
                }
            }
        }
        self.expect(']')?;
        Ok(all.into_iter().collect())
    }

    /// The names in `{name = value, flag}`, if a brace stands here; `f` reads what follows each name and says
    /// whether it knows it. `known` are the names for the error message.
    pub(crate) fn attributes(
        &mut self,
        known: &[&'static str],
        mut f: impl FnMut(&mut Self, &str) -> PResult<()>,
    ) -> PResult<()> {
        if !self.eat('{')? {
            return Ok(());
        }
        self.attribute_list('}', known, &mut f)
    }

    /// `name = value, flag` up to the closing punctuation.
    pub(crate) fn attribute_list(
        &mut self,
        close: char,
        known: &[&'static str],
        f: &mut impl FnMut(&mut Self, &str) -> PResult<()>,
    ) -> PResult<()> {
        let mut seen: Vec<String> = Vec::new();
        while !self.at(close) {
            let pos = self.pos;
            let name = self.word("an attribute")?;
            if !known.contains(&name.as_str()) {
                return Err(self.unknown("an attribute here", name, known, pos));
            }
            if seen.contains(&name) {
                return Err(self.error(ParseErrorKind::Redefined(format!("attribute {name}")), pos));
            }
            f(self, &name)?;
            seen.push(name);
            if !self.eat(',')? && !self.at(close) {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
        self.bump()?;
        Ok(())
    }

    /// `"file.rs":3:7`.
    pub(crate) fn place(&mut self) -> PResult<SourceLoc> {
        let file = self.string("the name of a file")?;
        self.expect(':')?;
        let line = self.integer("a line")?;
        self.expect(':')?;
        let column = self.integer("a column")?;
        Ok(SourceLoc { file: file.into(), line, column })
    }
}
