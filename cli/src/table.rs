//! Aligned tables for people.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

/// A table without lines: the first column is aligned to the left, the others as their first letter says.
pub struct Columns(Table);

impl Columns {
    /// Headings; one that starts with `>` stands over a column aligned to the right.
    pub fn new(headings: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(headings.iter().map(|h| Cell::new(h.trim_start_matches('>'))));
        for (column, heading) in table.column_iter_mut().zip(headings) {
            column.set_padding((0, 2));
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().collect::<Vec<_>>());
    }
}

impl std::fmt::Display for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in self.0.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A time for people: three digits with a fitting unit.
pub fn seconds(t: f64) -> String {
    match t {
        t if t < 1e-6 => format!("{:.0} ns", t * 1e9),
        t if t < 1e-3 => format!("{:.3} us", Digits(t * 1e6)),
        t if t < 1.0 => format!("{:.3} ms", Digits(t * 1e3)),
        t => format!("{:.3} s", Digits(t)),
    }
}

/// A size in bytes for people.
pub fn byte_size(n: usize) -> String {
    match n {
        n if n < 10_000 => format!("{n} B"),
        n if n < 10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        n => format!("{:.1} MB", n as f64 / 1e6),
    }
}

/// A positive number with about this many digits in all.
struct Digits(f64);

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = self.0.abs().max(1.0).log10().floor() as usize + 1;
        let decimals = f.precision().unwrap_or(3).saturating_sub(whole);
        write!(f, "{:.decimals$}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits() {
        assert_eq!(seconds(1.2345), "1.23 s");
        assert_eq!(seconds(0.123_45), "123 ms");
        assert_eq!(seconds(1.5e-5), "15.0 us");
        assert_eq!(seconds(2e-8), "20 ns");
    }

    #[test]
    fn columns_are_aligned() {
        let mut t = Columns::new(&["kernel", ">time"]);
        t.row(["add".into(), "1".into()]);
        t.row(["matmul".into(), "100".into()]);
        assert_eq!(t.to_string(), "kernel  time\nadd        1\nmatmul   100\n");
    }
}
