//! Columns of a table on a terminal, aligned by display width.

use super::plain;

/// The widest cell, in columns.
const MAX_CELL: usize = 40;

/// Renders rows whose cells stand under each other. The last column is not padded.
#[must_use]
pub(super) fn render(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| plain::clipped_line(cell, MAX_CELL)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| plain::width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| plain::pad(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}
