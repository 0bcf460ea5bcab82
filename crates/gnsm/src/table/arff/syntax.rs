//! Splits an ARFF line into words.
//!
//! A word is quoted with `'` or `"`, with backslash escapes, or it is bare. A bare word runs to the next comma, tab or
//! brace, and is trimmed. It may hold spaces, which is more than Weka allows, but common. `%` begins a comment at the
//! start of a line, at the start of a word, and after a space. Inside a bare word, as in `50%`, it is text.

use std::borrow::Cow;

/// What is left of a line.
#[derive(Clone, Copy)]
pub(in crate::table) struct Words<'a> {
    rest: &'a str,
    /// Whether a tab, which separates like a comma, stood between the last word and the rest.
    after_tab: bool,
}

/// A word, and whether it was quoted: only a bare `?` is a missing value.
#[derive(Debug, PartialEq)]
pub(in crate::table) struct Word<'a> {
    pub(in crate::table) text: Cow<'a, str>,
    pub(in crate::table) quoted: bool,
}

impl Word<'_> {
    /// Whether the word stands for a missing value.
    pub(in crate::table) fn is_missing(&self) -> bool {
        !self.quoted && self.text == "?"
    }
}

impl<'a> Words<'a> {
    pub(in crate::table) fn new(line: &'a str) -> Self {
        let mut words = Self { rest: line, after_tab: false };
        words.go_on(line);
        words
    }

    fn go_on(&mut self, rest: &'a str) {
        self.rest = rest.trim_ascii_start();
        self.after_tab = rest[..rest.len() - self.rest.len()].contains('\t');
    }

    /// Takes what separates two values; `false` if there is nothing of the kind.
    pub(in crate::table) fn take_separator(&mut self) -> bool {
        let after_tab = self.after_tab;
        self.take(',') || after_tab
    }

    /// Whether nothing is left but a comment.
    pub(in crate::table) fn is_at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with('%')
    }

    /// What is left, for messages.
    pub(in crate::table) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Takes `mark`, if it comes next.
    pub(in crate::table) fn take(&mut self, mark: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else {
            return false;
        };
        self.go_on(rest);
        true
    }

    /// A value of a row: bare up to a comma or tab.
    pub(in crate::table) fn value(&mut self) -> Result<Word<'a>, String> {
        self.word(|b| matches!(b, b',' | b'\t'))
    }

    /// A value inside braces: bare up to a comma, tab or closing brace.
    pub(in crate::table) fn item(&mut self) -> Result<Word<'a>, String> {
        self.word(|b| matches!(b, b',' | b'\t' | b'}'))
    }

    /// A name or type: bare up to white space or an opening brace.
    pub(in crate::table) fn name(&mut self) -> Result<Word<'a>, String> {
        self.word(|b| b.is_ascii_whitespace() || b == b'{')
    }

    fn word(&mut self, ends: impl Fn(u8) -> bool) -> Result<Word<'a>, String> {
        if let Some(quote) = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            let (text, rest) = unquote(&self.rest[1..], quote)?;
            self.go_on(rest);
            return Ok(Word { text, quoted: true });
        }
        let mut after_space = true;
        // Every mark is ASCII, so bytes will do.
        let end = self.rest.bytes().position(|b| {
            let found = ends(b) || (b == b'%' && after_space);
            after_space = b == b' ';
            found
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.go_on(rest);
        Ok(Word { text: Cow::Borrowed(word.trim_ascii_end()), quoted: false })
    }
}

/// The text up to the closing quote, and what follows.
fn unquote(text: &str, quote: char) -> Result<(Cow<'_, str>, &str), String> {
    let plain_end = text.find([quote, '\\']);
    if let Some(end) = plain_end
        && text[end..].starts_with(quote)
    {
        return Ok((Cow::Borrowed(&text[..end]), &text[end + 1..]));
    }
    let mut unescaped = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            return Ok((Cow::Owned(unescaped), chars.as_str()));
        }
        if c != '\\' {
            unescaped.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => unescaped.push('\n'),
            Some('r') => unescaped.push('\r'),
            Some('t') => unescaped.push('\t'),
            // Weka writes one control character this way, `\u001E`.
            Some('u') => {
                let rest = chars.as_str();
                let code =
                    rest.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
                match code {
                    Some(code) => {
                        unescaped.push(code);
                        chars = rest[4..].chars();
                    }
                    None => unescaped.push('u'),
                }
            }
            Some(other) => unescaped.push(other),
            None => break,
        }
    }
    Err(format!("the quote {quote} is not closed on this line"))
}

/// The names most like `wanted`, best first: at most three, none that differ in more than half their letters.
pub(in crate::table) fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    /// Longer texts are compared by their beginning only.
    const MAX_LETTERS: usize = 64;
    let letters = |text: &str| text.to_lowercase().chars().take(MAX_LETTERS).collect::<Vec<char>>();
    let wanted = letters(wanted);
    let mut found: Vec<(usize, &str)> = names
        .map(|name| (letters(name), name))
        .map(|(candidate, name)| (edits(&wanted, &candidate), wanted.len().max(candidate.len()), name))
        .filter(|(distance, longest, _)| distance * 2 <= *longest)
        .map(|(distance, _, name)| (distance, name))
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein's distance.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(line: &str) -> Vec<String> {
        let mut words = Words::new(line);
        let mut found = Vec::new();
        while !words.is_at_end() {
            found.push(words.value().unwrap().text.into_owned());
            words.take_separator();
        }
        found
    }

    #[test]
    fn words_of_a_row() {
        assert_eq!(values("a, 'b, c' ,\"d\",New York % comment"), ["a", "b, c", "d", "New York"]);
        assert_eq!(values("50%,5 %x"), ["50%", "5"]);
        assert_eq!(values("a\tb\t,c,\td"), ["a", "b", "c", "d"]);
        assert_eq!(
            values(r#"'it\'s','a\\b','\n\t\r','\u001E\%\"','x"y'"#),
            ["it's", r"a\b", "\n\t\r", "\u{1e}%\"", "x\"y"]
        );
        assert_eq!(values(r"a\b,'\u00'"), [r"a\b", "u00"]);
        assert!(Words::new("'abc").value().unwrap_err().contains("not closed"));
        assert!(Words::new(r"'abc\").value().is_err());
        assert_eq!(Words::new("Wifes_now_working? {0,1}").name().unwrap().text, "Wifes_now_working?");
        assert_eq!(Words::new("size{0,1}").name().unwrap().text, "size");
        assert!(Words::new("?").value().unwrap().is_missing());
        assert!(!Words::new("'?'").value().unwrap().is_missing());
    }

    #[test]
    fn likely_meant() {
        let names = ["married", "single", "divorced", "unknown"];
        assert_eq!(closest("Maried", names.into_iter()), ["married"]);
        assert!(closest("xyzzy", names.into_iter()).is_empty());
    }
}
