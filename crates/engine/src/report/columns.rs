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
    // By display width: a CJK letter or an emoji takes two columns, a combining mark none.
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| plain::width(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| plain::pad(cell, *width)).collect();
        // Without blanks at the end, which a terminal would wrap into empty lines.
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The same within a width: where the rows are wider, each is told as a block, its first cell above the others.
#[must_use]
pub(super) fn render_within(rows: &[Vec<String>], columns: Option<usize>) -> String {
    let table = render(rows);
    let fits = |most: usize| table.lines().all(|line| plain::width(line) <= most);
    match (columns, rows.split_first()) {
        // A table that wraps is harder to read than none.
        (Some(most), Some((head, rows))) if !fits(most) => rows.iter().map(|row| block(head, row)).collect(),
        (_, _) => table,
    }
}

fn block(head: &[String], row: &[String]) -> String {
    let mut cells =
        head.iter().zip(row).map(|(name, cell)| format!("{name}: {}\n", plain::clipped_line(cell, MAX_CELL)));
    let first = cells.next().unwrap_or_default();
    first + &cells.map(|cell| format!("  {cell}")).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_wider_than_the_terminal_are_told_as_blocks() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["RUN", "OUTCOME", "COST"]), row(["1a2b", "fixed", "$0.01"]), row(["3c4d", "parked", "$0.02"])];
        assert_eq!(render_within(&rows, Some(22)), "RUN   OUTCOME  COST\n1a2b  fixed    $0.01\n3c4d  parked   $0.02\n");
        let blocks = "RUN: 1a2b\n  OUTCOME: fixed\n  COST: $0.01\nRUN: 3c4d\n  OUTCOME: parked\n  COST: $0.02\n";
        assert_eq!(render_within(&rows, Some(19)), blocks);
        assert_eq!(render_within(&rows, None), render(&rows));
    }
}
