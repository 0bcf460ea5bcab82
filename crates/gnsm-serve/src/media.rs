//! The kinds of bodies and answers, as headers name them.

use axum::http::{HeaderMap, StatusCode, header};

use crate::problem::Problem;

/// A kind of body or answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// One object, or a list of objects.
    Json,
    /// One object a line.
    Lines,
    /// Comma-separated values with a header.
    Csv,
    /// An Arrow IPC stream; as a body, also a file.
    Arrow,
}

impl Media {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Json, Self::Lines, Self::Csv, Self::Arrow];

    /// The content type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Lines => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    fn of(text: &str) -> Option<Self> {
        let name = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "application/jsonl" | "application/ndjson" | "application/jsonlines" => Some(Self::Lines),
            "application/csv" | "text/tab-separated-values" => Some(Self::Csv),
            "application/vnd.apache.arrow.file" => Some(Self::Arrow),
            name => Self::ALL.into_iter().find(|media| media.name() == name),
        }
    }

    /// The kind of a request's body.
    pub fn of_body(headers: &HeaderMap) -> Result<Self, Problem> {
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Err(compressed());
        }
        let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let problem = || {
            let names = Self::ALL.map(Self::name).join(", ");
            let sent = match text {
                "" => "there is no content type".to_owned(),
                text => format!("the content type `{}` is not read", gnsm_report::shown(text, 80)),
            };
            Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!("{sent}; send the header Content-Type with one of {names}"),
            )
        };
        Self::of(text).ok_or_else(problem)
    }

    /// The kind of answer that a request asks for: the first that it accepts and that there is; JSON if it does not
    /// say.
    pub fn of_answer(headers: &HeaderMap) -> Result<Self, Problem> {
        let texts: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if texts.is_empty() {
            return Ok(Self::Json);
        }
        let kinds = texts.iter().flat_map(|text| text.split(','));
        let kind = |text: &str| match text.split(';').next().unwrap_or_default().trim() {
            "*/*" | "application/*" | "" => Some(Self::Json),
            "text/*" => Some(Self::Csv),
            _ => Self::of(text),
        };
        let names = Self::ALL.map(Self::name).join(", ");
        let none = || Problem::new(StatusCode::NOT_ACCEPTABLE, format!("an answer can be one of {names}"));
        kinds.into_iter().find_map(kind).ok_or_else(none)
    }
}

/// A few bytes may unpack to any number of them.
pub fn compressed() -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed bodies are not read; send it as it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_headers() {
        let headers =
            |name, value: &'static str| HeaderMap::from_iter([(name, axum::http::HeaderValue::from_static(value))]);
        let body = |value| Media::of_body(&headers(header::CONTENT_TYPE, value)).ok();
        assert_eq!(body("application/json; charset=utf-8"), Some(Media::Json));
        assert_eq!(body("Text/CSV"), Some(Media::Csv));
        assert_eq!(body("text/html"), None);
        let answer = |value| Media::of_answer(&headers(header::ACCEPT, value)).ok();
        assert_eq!(answer("text/html, text/csv;q=0.5"), Some(Media::Csv));
        assert_eq!(answer("*/*"), Some(Media::Json));
        assert_eq!(answer("text/html"), None);
        assert_eq!(Media::of_answer(&HeaderMap::new()).ok(), Some(Media::Json));
    }
}
