//! Names of columns that occur twice: the later ones get a number.

use std::collections::{HashMap, HashSet};

/// Repeated names that a note lists.
const MOST_LISTED: usize = 3;

/// The names, all different, and a note if some were not: `a`, `b`, `a` become `a`, `b`, `a_2`.
pub(super) fn numbered(file: &str, names: Vec<String>) -> (Vec<String>, Option<String>) {
    let given: HashSet<String> = names.iter().cloned().collect();
    if given.len() == names.len() {
        return (names, None);
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut different = Vec::with_capacity(names.len());
    let mut renamed = Vec::new();
    for name in names {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 {
            different.push(name);
            continue;
        }
        while given.contains(&format!("{name}_{count}")) {
            *count += 1;
        }
        renamed.push(format!("`{name}` is `{name}_{count}`"));
        different.push(format!("{name}_{count}"));
    }
    let more = renamed.len().saturating_sub(MOST_LISTED);
    renamed.truncate(MOST_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let note = format!("{file}: columns have the same name; of those, a later {}{more}", renamed.join(", a later "));
    (different, Some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_names_get_a_number_that_is_free() {
        let names = |names: &[&str]| numbered("f", names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names(&["a", "b"]), (vec!["a".into(), "b".into()], None));
        let (different, note) = names(&["a", "b", "a", "a_2", "a"]);
        assert_eq!(different, ["a", "b", "a_3", "a_2", "a_4"]);
        let expected = "f: columns have the same name; of those, a later `a` is `a_3`, a later `a` is `a_4`";
        assert_eq!(note.as_deref(), Some(expected));
        let (different, note) = names(&["x"; 6]);
        assert_eq!(different, ["x", "x_2", "x_3", "x_4", "x_5", "x_6"]);
        assert!(note.is_some_and(|note| note.ends_with(" and 2 more")));
    }
}
