//! Lists of images: one name per line, as the segmentation sets have them.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Place, Result};

/// The names of a list, in its order. Blank lines are skipped. It is an error if a name occurs twice, or if there is
/// none.
pub fn read_list(path: impl AsRef<Path>) -> Result<Vec<String>> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    let place = |line| Place { file: path.display().to_string(), line, column: None };
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::data(place(None), "is not text", "give a file with one name a line"))?;
    let mut lines: HashMap<&str, u64> = HashMap::new();
    let mut names = Vec::new();
    for (name, line) in text.trim_start_matches('\u{feff}').lines().map(str::trim).zip(1..) {
        if name.is_empty() {
            continue;
        }
        if let Some(first) = lines.insert(name, line) {
            return Err(Error::data(
                place(Some(line)),
                format!("`{name}` stands in line {first} already"),
                "leave one of them",
            ));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        return Err(Error::data(place(None), "names nothing", "give a file with the name of one image a line"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> std::result::Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("val.txt");
        std::fs::write(&path, content).expect("written");
        read_list(&path).map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""))
    }

    #[test]
    fn names_come_in_order_without_what_surrounds_them() {
        assert_eq!(read("\u{feff}b\r\n\n  a \nsub/c".as_bytes()), Ok(vec!["b".into(), "a".into(), "sub/c".into()]));
    }

    #[test]
    fn lists_that_say_nothing_or_too_much_are_refused() {
        let nothing = "/val.txt: names nothing; give a file with the name of one image a line";
        assert_eq!(read(b""), Err(nothing.into()));
        assert_eq!(read(b"\n \n"), Err(nothing.into()));
        assert_eq!(
            read(b"a\nb\n\na\n"),
            Err("/val.txt, line 4: `a` stands in line 1 already; leave one of them".into())
        );
        assert_eq!(read(b"\xff\xfe"), Err("/val.txt: is not text; give a file with one name a line".into()));
        let error = read_list(Path::new("not-there.txt")).expect_err("missing").to_string();
        assert!(error.starts_with("not-there.txt: No such file"), "{error}");
    }
}
