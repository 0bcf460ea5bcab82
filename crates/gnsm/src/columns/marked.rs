//! Which cells of a table hold no value, by a list of texts or by a schema.

use std::borrow::Cow;
use std::sync::Arc;

use super::schema::{ColumnSchema, Kind, Schema};
use crate::table::{MissingTexts, Table, Values, is_default_missing};

/// The table with these texts as missing values: itself where that is so already, as it is by default.
pub(crate) fn marked<'a>(table: &'a Table, missing: Option<&[String]>) -> Cow<'a, Table> {
    let Some(texts) = missing.filter(|texts| !is_default_missing(texts)) else { return Cow::Borrowed(table) };
    let missing = MissingTexts::new(texts.to_vec());
    if table.is_marked(&missing) {
        return Cow::Borrowed(table);
    }
    let mut table = table.clone();
    table.mark_missing(&Arc::new(missing));
    Cow::Owned(table)
}

/// The table with the missing values of a schema. A text that is a category of its column is no missing value there: `None`
/// where it is one, and `?` of a format that declares its categories, once it is written as text.
pub(crate) fn marked_for<'a>(table: &'a Table, schema: &Schema) -> Cow<'a, Table> {
    let mut table = marked(table, Some(&schema.missing));
    let longest = schema.missing.iter().map(String::len).max().unwrap_or(0);
    for column in &schema.columns {
        let kept = kept(column, &schema.missing, longest);
        if kept.is_empty() {
            continue;
        }
        let others = schema.missing.iter().filter(|text| !kept.contains(text)).cloned();
        let missing = MissingTexts::new(others.collect());
        let Some(at) = table.columns.iter().position(|other| other.name == column.name) else { continue };
        if !matches!(&table.columns[at].values, Values::Text(cells) if cells.missing() != Some(&missing)) {
            continue;
        }
        if let Values::Text(cells) = &mut table.to_mut().columns[at].values {
            cells.set_missing(Arc::new(missing));
        }
    }
    table
}

/// The texts that mean "no value" elsewhere, and are categories of this column.
fn kept<'a>(column: &'a ColumnSchema, missing: &[String], longest: usize) -> Vec<&'a String> {
    let Kind::Categorical { categories, rare, .. } = &column.kind else { return Vec::new() };
    let all = categories.iter().chain(rare.iter().flatten());
    all.filter(|text| text.len() <= longest && !text.is_empty() && missing.contains(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::ColumnChoices;
    use crate::table::{Column, ReadOptions, TableReader};

    fn read(content: String) -> Table {
        let input = Box::new(std::io::Cursor::new(content.into_bytes()));
        let mut reader = TableReader::from_reader("t.csv", input, &ReadOptions::default()).expect("a table");
        reader.next_batch(usize::MAX).expect("rows").expect("rows")
    }

    fn learn(table: &Table) -> Schema {
        let rows: Vec<usize> = (0..table.n_rows()).collect();
        Schema::learn(table, &rows, &ColumnChoices::default()).expect("a schema")
    }

    /// How many cells of the column `damage` are missing, and whether `None` is a category.
    fn damage(cells: &[&str]) -> (usize, bool) {
        let rows: Vec<String> = cells.iter().map(|cell| format!("{cell},1\n")).collect();
        let table = read(format!("damage,n\n{}", rows.concat()));
        let schema = learn(&table);
        let marked = marked_for(&table, &schema);
        let missing = (0..table.n_rows()).filter(|row| marked.columns[0].values.text(*row).is_none()).count();
        let Kind::Categorical { categories, .. } = &schema.columns[0].kind else { panic!("categories") };
        (missing, categories.iter().any(|category| category == "None"))
    }

    #[test]
    fn none_is_a_category_where_it_is_common_or_others_are_missing() {
        assert_eq!(damage(&["None", "None", "minor", "major"]), (0, true), "the commonest");
        assert_eq!(damage(&["None", "minor", "minor", "major", ""]), (1, true), "another way to miss cells");
        assert_eq!(damage(&["None", "minor", "minor", "major"]), (1, false));
        assert_eq!(damage(&["None", "1", "1", "2", "2", ""]), (2, false), "among numbers it is no word");
        assert_eq!(damage(&["None", "None"]), (2, false), "there is nothing else");
    }

    #[test]
    fn a_declared_category_is_one_in_text_too() {
        let names = ["?", "a"].map(str::to_owned).to_vec();
        let column = Column { name: "c".into(), values: Values::Category { codes: vec![0, 1, 1, 0], names } };
        let mut table = read("c,n\nx,1\nx,1\nx,2\nx,2\n".into());
        table.columns[0] = column;
        let schema = learn(&table);
        let written = read("c,n\n?,1\na,1\nNA,2\n,2\n".into());
        let marked = marked_for(&written, &schema);
        let texts: Vec<_> = (0..4).map(|row| marked.columns[0].values.text(row)).collect();
        assert_eq!(texts, [Some("?".into()), Some("a".into()), None, None]);
        assert!(matches!(marked_for(&marked, &schema), Cow::Borrowed(_)), "nothing is marked twice");
    }
}
