//! What every request goes through: who may ask, and how it is counted and logged.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app::App;
use crate::lent::{Lent, throw_away};
use crate::log::log;
use crate::problem::Problem;

/// Headers of every answer, for browsers: they must not guess the type, show the answer within another page, or keep
/// it.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Of a body that is refused, so many times the size of the largest allowed body is taken in.
const PATIENCE: usize = 4;

/// What anyone may ask.
const OPEN: [&str; 4] = ["/", "/health", "/ready", "/openapi.json"];

/// Lets a request through or says why not, counts it, and adds the headers for browsers.
pub async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.filter(|origin| app.origins.iter().any(|known| known.as_bytes() == origin.as_bytes()));
    // A client that asks first (`Expect: 100-continue`) waits with its body for the answer.
    let waits = request.headers().contains_key(header::EXPECT) || request.body().is_end_stream();
    let (request, back) = if waits { (request, None) } else { lend(request) };
    let mut response = let_through(&app, request, next, allowed.is_some()).await;
    let status = response.status();
    if let Some(back) = back.filter(|_| !status.is_success() && status != StatusCode::REQUEST_TIMEOUT)
        && let Ok(body) = back.await
    {
        let _ = timeout(app.limits.time, throw_away(body, app.limits.body.saturating_mul(PATIENCE))).await;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
    }
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    let seconds = start.elapsed().as_secs_f64();
    app.metrics.request(&route, status.as_u16(), seconds);
    if app.log_requests || status.is_server_error() {
        let level = if status.is_server_error() { "error" } else { "info" };
        let (method, status) = (method.as_str(), status.as_u16());
        let milliseconds = (seconds * 1e6).round() / 1e3;
        let fields = json!({ "method": method, "path": path, "status": status, "milliseconds": milliseconds });
        log(level, "request", fields);
    }
    response
}

/// Answers a request, if its sender may ask. `allowed` says whether it comes from a page of an allowed origin.
async fn let_through(app: &App, request: Request, next: Next, allowed: bool) -> Response {
    let headers = request.headers();
    let stranger = headers.get(header::ORIGIN).is_some_and(|origin| !is_own(origin, headers));
    if !app.knows_host(headers) {
        let problem = "this server is not known by that name; ask for localhost, or name it with --allow-origin";
        return Problem::new(StatusCode::FORBIDDEN, problem).into_response();
    }
    if stranger && !allowed {
        let problem = "pages of other origins may not ask; --allow-origin lets them";
        return Problem::new(StatusCode::FORBIDDEN, problem).into_response();
    }
    if request.method() == Method::OPTIONS && allowed {
        return preflight();
    }
    if !OPEN.contains(&request.uri().path()) && !app.admits(headers) {
        let problem = "send the token as `Authorization: Bearer TOKEN`";
        return Problem::new(StatusCode::UNAUTHORIZED, problem).into_response();
    }
    next.run(request).await
}

fn lend(request: Request) -> (Request, Option<oneshot::Receiver<Body>>) {
    let (parts, body) = request.into_parts();
    let (lent, back) = Lent::new(body);
    (Request::from_parts(parts, Body::new(lent)), Some(back))
}

/// Whether a page of this same server asks.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| value.to_str().map(str::to_owned).unwrap_or_default();
    let host = headers.get(header::HOST).map(text).unwrap_or_default();
    let origin = text(origin);
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    !host.is_empty() && own == Some(host.as_str())
}

fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// The host without its port.
fn without_port(host: &str) -> &str {
    let port = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    port.map_or(host, |(name, _)| name)
}

impl App {
    /// Whether a request calls this server by one of its names. A page elsewhere can make its own name stand for this
    /// machine's address, and browsers would then take it for the same origin. With the token, any name will do.
    fn knows_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(header::HOST).filter(|_| self.is_local && self.token.is_none()) else {
            return true;
        };
        let Ok(host) = host.to_str() else { return false };
        let name = without_port(host).trim_start_matches('[').trim_end_matches(']');
        let origin_of = |origin: &String| origin.split_once("://").is_some_and(|(_, known)| known == host);
        name.eq_ignore_ascii_case("localhost")
            || name.parse::<std::net::IpAddr>().is_ok()
            || self.origins.iter().any(origin_of)
    }

    /// Whether a request has the token. The comparison of hashes takes the same time wherever they differ.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let sent = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        sent.strip_prefix(b"Bearer ").is_some_and(|sent| blake3::hash(sent) == *token)
    }
}

#[cfg(test)]
mod tests {
    use super::without_port;

    #[test]
    fn hosts_lose_their_ports() {
        assert_eq!(
            ["localhost:80", "localhost", "[::1]:8080", "[::1]", "a.example"].map(without_port),
            ["localhost", "localhost", "[::1]", "[::1]", "a.example"]
        );
    }
}
