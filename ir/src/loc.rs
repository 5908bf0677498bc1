//! Source locations: where in the user's Rust program (or in a `.tile` file) an op comes from.

use std::fmt;
use std::sync::Arc;

use cranelift_entity::{PrimaryMap, entity_impl};

/// A location, an index into the function's [`LocTable`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc(u32);
entity_impl!(Loc, "loc");

impl Loc {
    /// The location of things that no source line stands for. Always entry 0 of the table.
    pub const UNKNOWN: Loc = Loc(0);
}

/// A position in a source file. Lines and columns count from 1, columns in characters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceLoc {
    /// Path as the compiler gave it (for Rust, relative to the workspace root).
    pub file: Arc<str>,
    /// Line, from 1; 0 where unknown.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
}

impl fmt::Display for SourceLoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 { f.write_str("<unknown>") } else { write!(f, "{}:{}:{}", self.file, self.line, self.column) }
    }
}

impl From<&std::panic::Location<'_>> for SourceLoc {
    fn from(l: &std::panic::Location<'_>) -> Self {
        Self { file: l.file().into(), line: l.line(), column: l.column() }
    }
}

/// The locations of one function, each stored once.
#[derive(Clone, Debug)]
pub struct LocTable {
    locs: PrimaryMap<Loc, SourceLoc>,
}

impl Default for LocTable {
    fn default() -> Self {
        let mut locs = PrimaryMap::new();
        locs.push(SourceLoc { file: "".into(), line: 0, column: 0 });
        Self { locs }
    }
}

impl LocTable {
    /// The entry for this position, made if it is new.
    pub fn intern(&mut self, loc: SourceLoc) -> Loc {
        // Consecutive ops mostly share a line: look from the back.
        match self.locs.iter().rev().find(|(_, l)| **l == loc) {
            Some((id, _)) => id,
            None => self.locs.push(loc),
        }
    }

    /// The position behind a location.
    pub fn get(&self, loc: Loc) -> &SourceLoc {
        &self.locs[loc]
    }

    /// All entries in order; the first is the unknown location.
    pub fn iter(&self) -> impl Iterator<Item = (Loc, &SourceLoc)> {
        self.locs.iter()
    }
}
