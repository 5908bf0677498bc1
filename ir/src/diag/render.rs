//! Rendering a diagnostic as rustc does: the source line with a caret, notes and help.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Severity, Sources};
use crate::loc::SourceLoc;

/// How a diagnostic looks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RenderStyle {
    /// Text only, for logs, tests and files.
    #[default]
    Plain,
    /// With the colour codes of a terminal.
    Colour,
}

impl Diagnostic {
    /// The problem with its source line and a caret, in plain text. Source files are searched on disk; where one
    /// cannot be had, the place is named.
    pub fn render(&self) -> String {
        self.render_with(&Sources::new(), RenderStyle::Plain)
    }

    /// As [`Diagnostic::render`], with these sources and in this style.
    pub fn render_with(&self, sources: &Sources, style: RenderStyle) -> String {
        let level = match self.severity {
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let mut groups = vec![Group::with_title(level.primary_title(self.message.as_str()))];
        if let Some(loc) = &self.loc {
            groups = place(groups, sources, loc, AnnotationKind::Primary);
        }
        for (loc, note) in &self.notes {
            if loc.is_none() {
                groups = last(groups, Level::NOTE.message(note.as_str()));
            }
        }
        for help in &self.help {
            groups = last(groups, Level::HELP.message(help.as_str()));
        }
        // A note about another place has a snippet of its own, after all that is said about this one.
        for (loc, note) in &self.notes {
            if let Some(loc) = loc {
                groups.push(Group::with_title(Level::NOTE.secondary_title(note.as_str())));
                groups = place(groups, sources, loc, AnnotationKind::Context);
            }
        }
        let renderer = match style {
            RenderStyle::Plain => Renderer::plain(),
            RenderStyle::Colour => Renderer::styled(),
        };
        renderer.decor_style(DecorStyle::Ascii).render(&groups)
    }
}

/// Adds an element to the last group.
fn last<'a>(mut groups: Vec<Group<'a>>, element: impl Into<Element<'a>>) -> Vec<Group<'a>> {
    let group = groups.pop().map(|group| group.element(element));
    groups.extend(group);
    groups
}

/// Adds the source line of a place, or its name where the line cannot be had, to the last group.
fn place<'a>(groups: Vec<Group<'a>>, sources: &Sources, loc: &'a SourceLoc, kind: AnnotationKind) -> Vec<Group<'a>> {
    match sources.line(&loc.file, loc.line) {
        Some(line) => {
            let span = token(&line, loc.column);
            let snippet = Snippet::source(line).line_start(loc.line as usize).path(loc.file.as_ref());
            last(groups, snippet.annotation(kind.span(span)))
        }
        None => {
            let origin = Origin::path(loc.file.as_ref()).line(loc.line as usize).char_column(loc.column as usize);
            last(groups, origin)
        }
    }
}

/// The bytes of the token at a column: a word, or one character. An empty range at the end of a shorter line.
fn token(line: &str, column: u32) -> std::ops::Range<usize> {
    let start = line.char_indices().nth(column.saturating_sub(1) as usize).map_or(line.len(), |(at, _)| at);
    let rest = &line[start..];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // In a `.tile` text the sigil belongs to the name.
    let sigil = rest.chars().next().filter(|c| "%@#".contains(*c)).map_or(0, char::len_utf8);
    let word = rest[sigil..].find(|c| !is_word(c)).unwrap_or(rest.len() - sigil);
    let one = rest.chars().next().map_or(0, char::len_utf8);
    start..start + (sigil + word).max(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loc(file: &str, line: u32, column: u32) -> SourceLoc {
        SourceLoc { file: file.into(), line, column }
    }

    #[test]
    fn a_snippet_with_notes_and_help() {
        let sources = Sources::in_memory().with("src/k.rs", "fn k() {\n    let y = x.reshape::<(N,)>();\n}\n");
        let d = Diagnostic::error("cannot reshape [4, 8] (32 elements) to [31] (31 elements)")
            .at(&loc("src/k.rs", 2, 15))
            .note("N is 31")
            .note_at(&loc("src/k.rs", 1, 4), "in this kernel")
            .help("choose N = 32");
        assert_eq!(
            d.render_with(&sources, RenderStyle::Plain),
            "\
error: cannot reshape [4, 8] (32 elements) to [31] (31 elements)
 --> src/k.rs:2:15
  |
2 |     let y = x.reshape::<(N,)>();
  |               ^^^^^^^
  |
  = note: N is 31
  = help: choose N = 32
note: in this kernel
 --> src/k.rs:1:4
  |
1 | fn k() {
  |    -"
        );
        let colour = d.render_with(&sources, RenderStyle::Colour);
        assert!(colour.contains('\u{1b}') && colour.contains("reshape"), "{colour}");
    }

    #[test]
    fn without_the_file_or_a_place() {
        let d = Diagnostic::warning("slow").at(&loc("gone.rs", 7, 3)).help("go faster");
        let shown = d.render_with(&Sources::in_memory(), RenderStyle::Plain);
        assert_eq!(shown, "warning: slow\n--> gone.rs:7:3\n = help: go faster");
        assert_eq!(Diagnostic::error("bad").render(), "error: bad");
    }

    #[test]
    fn odd_places_do_not_panic() {
        let sources = Sources::in_memory().with("f", "é\u{1}%name1 x\n\n");
        for (line, column) in [(1, 0), (1, 1), (1, 3), (1, 99), (2, 1), (2, 5), (3, 1), (u32::MAX, u32::MAX)] {
            let d = Diagnostic::error("e").at(&loc("f", line, column));
            assert!(d.render_with(&sources, RenderStyle::Plain).contains("f:"), "{line} {column}");
        }
        assert_eq!(token("a = %name1 x", 5), 4..10);
        assert_eq!(token("a = b", 3), 2..3);
    }

    #[test]
    fn files_on_disk_are_found_from_the_workspace_root() {
        let here = loc(file!(), 1, 1);
        let d = Diagnostic::error("here").at(&here);
        assert!(d.render().contains("//! Rendering a diagnostic"), "{}", d.render());
    }
}
