//! Diagnostics: what is wrong, where in the user's source, and the way out.
//!
//! | file | subject |
//! |---|---|
//! | `render` | the snippet with a caret |
//! | `sources` | finding the text of source files |

mod render;
mod sources;

use std::fmt;

pub use render::RenderStyle;
pub use sources::Sources;

use crate::loc::SourceLoc;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Worth knowing; the result stands.
    Warning,
    /// The input is refused.
    Error,
}

/// One problem, located in source. [`fmt::Display`] gives one line; [`Diagnostic::render`]
/// the snippet with a caret.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub loc: Option<SourceLoc>,
    /// Further facts, each with its own place where it has one.
    pub notes: Vec<(Option<SourceLoc>, String)>,
    /// What to write instead.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, message: message.into(), loc: None, notes: Vec::new(), help: Vec::new() }
    }

    /// Puts the problem at a place; an unknown place is no place.
    #[must_use]
    pub fn at(mut self, loc: &SourceLoc) -> Self {
        self.loc = (loc.line != 0).then(|| loc.clone());
        self
    }

    /// A warning without a place.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// Adds a fact about another place.
    #[must_use]
    pub fn note_at(mut self, loc: &SourceLoc, note: impl Into<String>) -> Self {
        self.notes.push(((loc.line != 0).then(|| loc.clone()), note.into()));
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push((None, note.into()));
        self
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(loc) = &self.loc {
            write!(f, "{loc}: ")?;
        }
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}", self.message)?;
        for help in &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
