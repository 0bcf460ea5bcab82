//! A table of plain cells, and its CSV.

/// A table as it would be typed: every cell is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// The columns' names.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
    /// What stands between cells in a file.
    pub separator: char,
}

impl Plain {
    /// A table without rows.
    pub fn new(header: &[&str], separator: char) -> Self {
        Self { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new(), separator }
    }

    /// The place of a column.
    pub fn place(&self, column: &str) -> Option<usize> {
        self.header.iter().position(|name| name == column)
    }

    /// The table as CSV, with a header. Cells that need quotes have them.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        for cells in std::iter::once(&self.header).chain(&self.rows) {
            for (place, cell) in cells.iter().enumerate() {
                if place > 0 {
                    text.push(self.separator);
                }
                if cell.contains([self.separator, '"', '\n', '\r']) {
                    text.push('"');
                    text.push_str(&cell.replace('"', "\"\""));
                    text.push('"');
                } else {
                    text.push_str(cell);
                }
            }
            text.push('\n');
        }
        text
    }

    /// The first rows up to a share of all, and the others.
    pub fn cut(&self, share: f64) -> [Self; 2] {
        let (first, rest) = self.rows.split_at((share.clamp(0.0, 1.0) * self.rows.len() as f64) as usize);
        [first, rest].map(|rows| Self { rows: rows.to_vec(), header: self.header.clone(), separator: self.separator })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut table = Plain::new(&["a", "b"], ',');
        table.rows.push(vec!["$1,000.00".into(), "12\" pipe".into()]);
        assert_eq!(table.to_csv(), "a,b\n\"$1,000.00\",\"12\"\" pipe\"\n");
        table.separator = ';';
        table.rows[0][1] = " x ".into();
        assert_eq!(table.to_csv(), "a;b\n$1,000.00; x \n");
    }

    #[test]
    fn cutting_loses_no_row() {
        let mut table = Plain::new(&["a"], ',');
        table.rows = (0..10).map(|i| vec![i.to_string()]).collect();
        let [older, newer] = table.cut(0.8);
        assert_eq!((older.rows.len(), newer.rows.len(), newer.rows[0][0].as_str()), (8, 2, "8"));
    }
}
