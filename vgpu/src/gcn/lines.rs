//! Line information: which source line an instruction was compiled from, from the DWARF sections of a code object.

use gimli::{EndianSlice, LittleEndian, SectionId};

/// One row of the line table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The first address it holds for.
    pub address: u64,
    /// The file.
    pub file: String,
    /// The line, 0 where there is none.
    pub line: u32,
    /// The column, 0 where unknown.
    pub column: u32,
}

/// Reads all line tables, sorted by address. Malformed or missing sections give no rows: reports then go without lines.
pub fn read<'a>(section: impl Fn(&str) -> Option<&'a [u8]>) -> Vec<LineRow> {
    let mut rows = Vec::new();
    // A broken table is no reason to refuse the code; what was read until then is kept.
    let _ = collect(section, &mut rows);
    rows.sort_by_key(|row: &LineRow| row.address);
    rows
}

fn collect<'a>(section: impl Fn(&str) -> Option<&'a [u8]>, rows: &mut Vec<LineRow>) -> gimli::Result<()> {
    let load =
        |id: SectionId| -> gimli::Result<_> { Ok(EndianSlice::new(section(id.name()).unwrap_or(&[]), LittleEndian)) };
    let dwarf = gimli::Dwarf::load(load)?;
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = unit.line_program.clone() else { continue };
        let mut cursor = program.rows();
        while let Some((header, row)) = cursor.next_row()? {
            if row.end_sequence() {
                continue;
            }
            let file = match row.file(header) {
                Some(file) => {
                    let name = dwarf.attr_string(&unit, file.path_name())?.to_string_lossy().into_owned();
                    match file.directory(header) {
                        Some(directory) if !name.starts_with('/') => {
                            let directory = dwarf.attr_string(&unit, directory)?.to_string_lossy().into_owned();
                            if directory.is_empty() { name } else { format!("{directory}/{name}") }
                        }
                        _ => name,
                    }
                }
                None => continue,
            };
            rows.push(LineRow {
                address: row.address(),
                file,
                line: row.line().map_or(0, |line| line.get() as u32),
                column: match row.column() {
                    gimli::ColumnType::LeftEdge => 0,
                    gimli::ColumnType::Column(column) => column.get() as u32,
                },
            });
        }
    }
    Ok(())
}
