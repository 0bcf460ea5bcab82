//! The kinds of reasons, by which the page can filter rows.

use gnsm::{ColumnSchema, Kind, Reason};
use serde::Serialize;

/// The kinds, in the order in which they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    /// A value that training rows never had.
    New,
    /// A known value that does not go with the rest of the row, or is rare.
    Together,
    /// A number outside of what was expected.
    Number,
    /// A date or a time.
    Date,
    /// A cell without a value.
    Missing,
    /// Something else than a number or a date where one belongs.
    Stray,
    /// The length or the shape of a text.
    Shape,
    /// A key that occurs more than once.
    Repeated,
}

impl ReasonKind {
    /// All kinds.
    pub const ALL: [Self; 8] =
        [Self::New, Self::Together, Self::Number, Self::Date, Self::Missing, Self::Stray, Self::Shape, Self::Repeated];

    /// The kind of a reason about this column.
    pub fn of(reason: &Reason, schema: Option<&ColumnSchema>) -> Self {
        let note = reason.note.as_deref().unwrap_or_default();
        let kind = schema.map(|schema| &schema.kind);
        match note {
            _ if reason.saw == "(missing)" => Self::Missing,
            "not a number" | "not a date" | "not text" => Self::Stray,
            "occurs more than once" => Self::Repeated,
            "a shape never seen" | "an unusual shape" => Self::Shape,
            _ if matches!(kind, Some(Kind::Text { .. } | Kind::Identifier { .. })) => Self::Shape,
            _ if reason.other.is_some() || matches!(kind, Some(Kind::Date { .. })) => Self::Date,
            "never seen" => Self::New,
            _ if matches!(kind, Some(Kind::Numeric { .. })) => Self::Number,
            _ => Self::Together,
        }
    }

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "a value never seen",
            Self::Together => "does not go with the rest",
            Self::Number => "a number out of its range",
            Self::Date => "a date or a time",
            Self::Missing => "a missing value",
            Self::Stray => "not a number or date",
            Self::Shape => "an odd length or shape",
            Self::Repeated => "a key that repeats",
        }
    }
}
