//! Plain lines, whole in the buffer and without line breaks or quotes within cells: they go straight into the columns.

use std::ops::Range;

use crate::table::TextCells;
use crate::table::input::encoding::{Foreign, as_windows_1252};
use crate::table::input::lines::n_lines;

/// Bytes of a block that one thread splits at a time.
pub(super) const PIECE: usize = 1 << 17;

/// A block cut at line ends into its first piece and the others; one piece where it is small or may hold more than `most` rows.
pub(super) fn pieces(block: &[u8], most: usize) -> (&[u8], Vec<&[u8]>) {
    if block.len() < 2 * PIECE || rayon::current_num_threads() == 1 || n_lines(block) > most {
        return (block, Vec::new());
    }
    let line_end = |from: usize| block[from..].iter().position(|&b| b == b'\n').map(|length| from + length + 1);
    let mut cuts: Vec<usize> = (PIECE..block.len() - PIECE / 2).step_by(PIECE).filter_map(line_end).collect();
    cuts.dedup();
    let ends = cuts.iter().skip(1).copied().chain([block.len()]);
    let rest = cuts.iter().zip(ends).map(|(start, end)| &block[*start..end]).collect();
    (&block[..cuts.first().copied().unwrap_or(block.len())], rest)
}

/// Takes up to `most` rows into `columns` for as long as their lines are plain; how many they are, and their length in
/// bytes. Those that are not UTF-8 are noted in `foreign`. `marks` are the delimiter and the sign of a comment.
pub(super) fn plain_rows(
    block: &[u8],
    marks: (u8, Option<u8>),
    columns: &mut [TextCells],
    most: usize,
    foreign: &mut Foreign,
) -> (usize, usize) {
    let (mut n_rows, mut n_bytes) = (0, 0);
    let mut cells = Vec::with_capacity(columns.len());
    while n_rows < most
        && let Some(length) = plain_line(&block[n_bytes..], marks, &mut cells)
        && cells.len() == columns.len()
    {
        let bytes = &block[n_bytes..n_bytes + length];
        if let Ok(line) = std::str::from_utf8(bytes) {
            for (column, cell) in columns.iter_mut().zip(&cells) {
                column.push(&line[cell.clone()]);
            }
        } else if as_windows_1252(bytes).is_some() {
            for (column, cell) in columns.iter_mut().zip(&cells) {
                column.push(&as_windows_1252(&bytes[cell.clone()]).unwrap_or_default());
            }
            foreign.add(n_rows as u64 + 1);
        } else {
            break;
        }
        n_rows += 1;
        n_bytes += length;
    }
    (n_rows, n_bytes)
}

/// Finds the cells of a plain line, and its length with its ending; `None` if the line is blank, a comment, cut or not
/// plain.
fn plain_line(bytes: &[u8], (delimiter, comment): (u8, Option<u8>), cells: &mut Vec<Range<usize>>) -> Option<usize> {
    cells.clear();
    let first = bytes.first()?;
    if matches!(first, b'\n' | b'\r') || Some(*first) == comment {
        return None;
    }
    let mut at = 0;
    loop {
        let is_quoted = bytes.get(at) == Some(&b'"');
        let start = at + usize::from(is_quoted);
        let ends = |&b: &u8| matches!(b, b'"' | b'\n' | b'\r' | 0) || (b == delimiter && !is_quoted);
        let end = start + bytes.get(start..)?.iter().position(ends)?;
        cells.push(start..end);
        at = end;
        if is_quoted {
            if bytes[at] != b'"' {
                return None;
            }
            at += 1;
        }
        match bytes.get(at)? {
            b'\n' => return Some(at + 1),
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => return Some(at + 2),
            &b if b == delimiter => at += 1,
            _ => return None,
        }
    }
}
