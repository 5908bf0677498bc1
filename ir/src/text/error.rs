//! What can be wrong with a text.

use std::fmt;

use crate::diag::Diagnostic;
use crate::loc::SourceLoc;
use crate::ops::infer::OpError;
use crate::types::Type;

/// The kinds of errors.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseErrorKind {
    /// The text cannot be split into tokens.
    #[error("{0}")]
    Token(String),
    /// Another token belongs here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What belongs here.
        expected: String,
        /// What stands here.
        found: String,
    },
    /// No op has this name.
    #[error("there is no op `{0}`")]
    UnknownOp(String),
    /// A keyword or attribute value that does not exist.
    #[error("`{name}` is not {what}")]
    UnknownName {
        /// What was expected, such as `an element type`.
        what: &'static str,
        /// What stands there.
        name: String,
    },
    /// A value is used where none of this name is visible.
    #[error("no value %{0} is visible here")]
    UndefinedValue(String),
    /// A `#name` that is not defined before its use.
    #[error("#{0} is not defined")]
    UndefinedAlias(String),
    /// A name is given twice.
    #[error("{0} is defined twice")]
    Redefined(String),
    /// A number that does not fit its type or place.
    #[error("{0}")]
    Number(String),
    /// An op has another number of results than there are names or types.
    #[error("{op} has {results}, but {written}")]
    ResultCount {
        /// The op.
        op: &'static str,
        /// How many results it has, in words.
        results: String,
        /// What is written, in words.
        written: String,
    },
    /// The written type of a result is not the one that follows from the operands.
    #[error("{op} gives {inferred}, but {written} is written")]
    ResultType {
        /// The op.
        op: &'static str,
        /// The type that follows.
        inferred: Type,
        /// The type written.
        written: Type,
    },
    /// The op breaks its typing rules, or a type is not one that can be.
    #[error("{0}")]
    Typing(OpError),
    /// A layout's text is malformed.
    #[error("malformed layout: {0}")]
    Layout(String),
    /// Blocks are nested too deep.
    #[error("blocks are nested more than {0} deep")]
    TooDeep(usize),
}

/// An error in a text, with its place.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Where.
    pub loc: SourceLoc,
    /// Further facts, each with its place where it has one.
    pub notes: Vec<(Option<SourceLoc>, String)>,
    /// The way out, where there is one.
    pub help: Option<String>,
}

impl ParseError {
    pub(super) fn new(kind: ParseErrorKind, loc: SourceLoc) -> Box<Self> {
        Box::new(Self { kind, loc, notes: Vec::new(), help: None })
    }

    pub(super) fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    pub(super) fn note(mut self: Box<Self>, loc: SourceLoc, note: impl Into<String>) -> Box<Self> {
        self.notes.push((Some(loc), note.into()));
        self
    }

    /// The error as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.kind.to_string()).at(&self.loc);
        diagnostic.notes = self.notes.clone();
        diagnostic.help.extend(self.help.clone());
        diagnostic
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic().fmt(f)
    }
}

impl From<Box<ParseError>> for Diagnostic {
    fn from(error: Box<ParseError>) -> Self {
        error.diagnostic()
    }
}
