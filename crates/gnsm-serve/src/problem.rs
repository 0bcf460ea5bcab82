//! Why a request gets no answer: a status code and a sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// Which refusals a request with rows may get.
pub const REFUSALS: [(&str, &str); 11] = [
    ("400", "The request, or every row of its body, cannot be read"),
    ("401", "The token is missing or wrong"),
    ("403", "A page of another origin asks"),
    ("404", "There is no such model"),
    ("406", "None of the kinds of answers that there are is accepted"),
    ("408", "The body takes too long to arrive"),
    ("413", "Too many bytes, rows or columns"),
    ("415", "The content type is not read"),
    ("422", "The rows do not fit the model"),
    ("429", "Too many requests at a time"),
    ("503", "The answer takes too long, or too much is being sent at a time"),
];

/// What a client is told.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// The status code.
    #[serde(skip)]
    #[schema(ignore)]
    pub status: StatusCode,
    /// What is wrong, and what to do.
    pub error: String,
}

impl Problem {
    /// A problem of this status.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }

    /// The body cannot be read.
    pub fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// The rows do not fit the model.
    pub fn unfit(error: impl ToString) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
