//! The kinds of oddities, by name.

/// Every kind with what it is. The names are those of `raw.csv`.
pub const KINDS: [(&str, &str); 43] = [
    // Categories.
    ("misspelt-category", "a common category with a letter missing, doubled or moved"),
    ("unseen-category", "a proper word that the column has nowhere else"),
    ("wrong-case", "a common category in capitals or in small letters"),
    ("trailing-blank", "a common category with a blank behind it"),
    // Numbers.
    ("stray-word", "a word in a column of numbers"),
    ("missing-cell", "an empty cell in a column that has no others"),
    ("extra-digit", "a number with one digit written twice"),
    ("sign-flipped", "a minus before a number of a positive column"),
    ("odd-for-category", "a number that is common in the column and never occurs with the row's category"),
    ("odd-by-itself", "a number several times larger than all others"),
    ("absurd-number", "999999999, 1e300 and the like"),
    ("out-of-range-age", "an age of 130 or −3"),
    ("out-of-scale", "an answer that the question does not offer"),
    ("decimal-shift", "a number a hundred times too large or too small"),
    ("wrong-unit", "a number in another unit than the column's"),
    ("foreign-number-format", "1,234.56 in a column of 1.234,56"),
    ("rate-above-100", "a share of more than 100 %"),
    // Pairs.
    ("currency-mismatch", "a currency that is not the country's"),
    ("city-mismatch", "a city, or a postcode, that is not in the state or country"),
    ("swapped-columns", "two cells that stand in each other's place"),
    ("department-mismatch", "a code or procedure of another department"),
    ("impossible-pair", "two common values that never go together"),
    ("unusual-country", "a user in a country that is not one of theirs"),
    ("rare-row", "several rare values, each of them valid, in one row"),
    // Dates and times.
    ("date-before", "a date before the one that it must follow"),
    ("date-far-past", "a date of 1823, or of 1970 in a log"),
    ("date-far-future", "a date of 2034"),
    ("weekend-posting", "an entry of a Saturday or Sunday in an office's books"),
    ("night-posting", "an entry of three o'clock at night in an office's books"),
    ("unusual-hour", "a user at an hour that is not one of theirs"),
    ("wrong-date-order", "a date with day and month exchanged, so that it is none"),
    ("long-stay", "a stay of more than a year where others stay for days"),
    // Identifiers and codes.
    ("duplicate-identifier", "the identifier of another row"),
    ("wrong-shape-identifier", "an identifier that is written unlike the others"),
    ("letters-in-zip", "a postcode with letters for digits"),
    ("wrong-shape-code", "a code that is written unlike the others"),
    ("free-text-in-code", "a sentence in a column of codes"),
    // Sensors and wide tables.
    ("flat-sensor", "a sensor that shows one value for hours"),
    ("sensor-spike", "one reading far from those before and after"),
    ("sensors-disagree", "two sensors that always agree, and do not"),
    ("wide-cell", "one cell of two hundred that is far from its column's others"),
    ("wide-number-pair", "one cell of two hundred that does not go with those it always goes with"),
    ("wide-category-pair", "two categories among two hundred cells that never go together"),
];
