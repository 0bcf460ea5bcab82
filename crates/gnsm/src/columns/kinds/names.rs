//! What the name of a column says about it. No kind is decided by a name alone: the cells must have the form as well.

/// Words in the name of a key. Those that may also name a count must be the last word: `order_no`, and not `no_of_orders`.
const KEY_WORDS: [&str; 20] = [
    "id",
    "pid",
    "ppid",
    "tid",
    "gid",
    "inode",
    "key",
    "uuid",
    "guid",
    "index",
    "idx",
    "serial",
    "ref",
    "reference",
    "rownum",
    "matricola",
    "kennung",
    "matricule",
    "folio",
    "nif",
];
const LAST_KEY_WORDS: [&str; 11] =
    ["number", "no", "nr", "num", "nummer", "numero", "número", "numéro", "nro", "flight", "parent"];
/// Words in the name of a code.
pub(super) const CODE_WORDS: [&str; 31] = [
    "zip",
    "zipcode",
    "postal",
    "postcode",
    "plz",
    "postleitzahl",
    "phone",
    "telephone",
    "mobile",
    "msisdn",
    "fax",
    "tel",
    "telefon",
    "telefono",
    "teléfono",
    "téléphone",
    "handy",
    "code",
    "codice",
    "codigo",
    "código",
    "fips",
    "account",
    "konto",
    "kontonummer",
    "cuenta",
    "compte",
    "imei",
    "ean",
    "isbn",
    "iban",
];
/// Words in the name of a time.
pub(super) const TIME_WORDS: [&str; 12] =
    ["time", "timestamp", "ts", "date", "epoch", "at", "datetime", "created", "updated", "mtime", "ctime", "atime"];

/// Whether a name is one of keys.
pub(super) fn names_a_key(name: &str) -> bool {
    let is_last = |word: &String| LAST_KEY_WORDS.contains(&word.as_str()) || word.ends_with("nummer");
    says(name, &KEY_WORDS) || words_of(name).iter().rfind(|word| !word.is_empty()).is_some_and(is_last)
}

/// Whether one of these words stands in a name: `claim_id`, `ClaimID` and `claim no.` have `id` and `no`.
pub(super) fn says(name: &str, words: &[&str]) -> bool {
    words_of(name).iter().any(|part| words.contains(&part.as_str()))
}

/// The words of a name, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            parts.last_mut().into_iter().for_each(|part| part.extend(c.to_lowercase()));
        }
        before = c;
    }
    parts
}

pub(super) fn is_pandas_index(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    let unnamed = name.strip_prefix("Unnamed: ");
    level.or(unnamed).is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
