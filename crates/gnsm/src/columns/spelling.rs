//! The shape of a code, and how near two spellings are.

/// The shape of a text: `S4711` is `A9999`, `Berlin-Mitte` is `Aa-Aa`.
///
/// Letters become `A` or `a`, however many follow each other; digits become `9`, one for each; everything else stays.
pub fn shape(text: &str) -> String {
    let mut shape = String::new();
    for c in text.chars() {
        let class = match c {
            _ if c.is_numeric() => '9',
            _ if c.is_uppercase() => 'A',
            _ if c.is_alphabetic() => 'a',
            _ => c,
        };
        if class == '9' || !matches!(class, 'A' | 'a') || !shape.ends_with(class) {
            shape.push(class);
        }
    }
    shape
}

/// The class of digits and of the letters a to f in a shape of hexadecimal numbers.
const HEX: char = 'x';

/// The shape of a key. With `hex`, a digit and a letter from a to f are of one class: `3fa5-07` is `xxxx-xx`. With
/// `loose`, the number of digits is left out, for columns whose numbers have any length: `INV-99` and `INV-100` are
/// both `A-9`.
pub fn key_shape(text: &str, hex: bool, loose: bool) -> String {
    if !hex {
        let mut shape = shape(text);
        if loose {
            drop_repeated(&mut shape, '9');
        }
        return shape;
    }
    // The texts between hexadecimal digits are shaped one by one, so that letters before and after digits are not taken
    // for one run.
    let mut made = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c.is_ascii_hexdigit() {
            made.push(HEX);
            rest = &rest[1..];
        } else {
            let end = rest.find(|c: char| c.is_ascii_hexdigit()).unwrap_or(rest.len());
            made += &shape(&rest[..end]);
            rest = &rest[end..];
        }
    }
    if loose {
        drop_repeated(&mut made, HEX);
    }
    made
}

/// Leaves one of those that follow each other.
fn drop_repeated(shape: &mut String, class: char) {
    let mut before = None;
    shape.retain(|c| before.replace(c) != Some(c) || c != class);
}

/// Whether digits and letters from a to f stand in a text, and no other letters.
pub fn is_mixed_hex(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.contains(char::is_alphabetic) && is_hex(text)
}

/// Whether all letters of a text are digits of hexadecimal numbers.
pub fn is_hex(text: &str) -> bool {
    text.chars().all(|c| !c.is_alphabetic() || c.is_ascii_hexdigit())
}

/// What a code begins with: its first letters (`INC` of `INC0046143`), or the digits before a point or dash (`172` of
/// `172.16.0.1`), or the first two of nothing but digits (`75` of `75798`). Empty where it begins with anything else.
pub fn lead(text: &str) -> &str {
    let letters = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    if letters > 0 {
        return &text[..letters];
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    match text[digits..].chars().next() {
        None if digits >= 4 => &text[..2],
        Some('.' | '-' | '/' | ':' | '_') => &text[..digits],
        _ => "",
    }
}

/// The number of typing errors between two texts: a letter replaced, left out or added, or two swapped (the restricted
/// Damerau-Levenshtein distance). `None` if it is more than `most`.
pub fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().all(|steps| *steps > most) {
            return None;
        }
        before = last;
        last = row;
    }
    last.last().copied().filter(|steps| *steps <= most)
}

/// The nearest of some spellings: at most one error for each four letters, and no two equally near.
pub fn nearest<'a>(text: &str, others: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let trimmed = text.trim();
    let most = (trimmed.chars().count() / 4).clamp(1, 4);
    let mut best: Option<(usize, &str)> = None;
    let mut tied = false;
    for other in others.filter(|other| *other != text) {
        let limit = best.map_or(most, |(steps, _)| steps);
        // A difference only in blanks or in case counts as the smallest of all.
        let steps = if other.trim().eq_ignore_ascii_case(trimmed) { Some(0) } else { distance(trimmed, other, limit) };
        if let Some(steps) = steps {
            tied = best.is_some_and(|(least, _)| steps == least);
            best = Some((steps, other));
        }
    }
    best.filter(|_| !tied && trimmed.chars().count() > 2).map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_keep_what_codes_are_made_of() {
        for (text, expected) in
            [("12345", "99999"), ("S4711", "A9999"), ("ab-123", "a-999"), ("Gemany ", "Aa "), ("ABCDE", "A"), ("", "")]
        {
            assert_eq!(shape(text), expected);
        }
        assert_eq!(key_shape("INV-100231", false, true), "A-9");
        assert_eq!(key_shape("3fa5daeb-07", true, false), "xxxxxxxx-xx");
        assert_eq!(key_shape("3fa5daeb-07", true, true), "x-x");
        assert_eq!(key_shape("test call", true, false), "axa xxa", "no number");
        assert!(is_mixed_hex("0c24-f0b7") && !is_mixed_hex("0024-00") && !is_mixed_hex("req-0c"));
        assert!(is_hex("0024-00") && !is_hex("0x24"));
    }

    #[test]
    fn codes_begin_with_letters_or_digits() {
        for (code, expected) in [
            ("INC0046143", "INC"),
            ("A07-4-M", "A"),
            ("172.16.0.1", "172"),
            ("75798", "75"),
            ("123", ""),
            ("1EMH00", ""),
            ("-5", ""),
            ("", ""),
            ("Ärzte", "Ärzte"),
        ] {
            assert_eq!(lead(code), expected, "{code}");
        }
    }

    #[test]
    fn distances_count_typing_errors() {
        assert_eq!(distance("Gemany", "Germany", 2), Some(1));
        assert_eq!(distance("Gremany", "Germany", 2), Some(1));
        assert_eq!(distance("birminghxm", "birmingham", 2), Some(1));
        assert_eq!(distance("kitten", "sitting", 3), Some(3));
        assert_eq!(distance("kitten", "sitting", 2), None);
    }

    #[test]
    fn the_nearest_is_named_where_there_is_one() {
        let countries = ["Germany", "France", "Norway"];
        assert_eq!(nearest("Gemany", countries.into_iter()), Some("Germany"));
        assert_eq!(nearest("germany ", countries.into_iter()), Some("Germany"));
        assert_eq!(nearest("Peru", countries.into_iter()), None);
        assert_eq!(nearest("cab", ["cat", "car"].into_iter()), None, "both are as near");
    }
}
