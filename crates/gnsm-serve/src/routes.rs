//! What can be asked: the routes, and the document that describes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body as HttpBody;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, middleware};
use gnsm::{Kind, Model, Rule};
use gnsm_report::Collector;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use utoipa::{IntoParams, OpenApi};

use crate::Limits;
use crate::answer::{self, Answer};
use crate::body::{Body, Media, Wanted};
use crate::guard::guard;
use crate::judge::{check, judge};
use crate::log::log;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::problem::Problem;

/// The share of usual rows that is flagged where a request does not say: as with `gnsm score`.
const CONTAMINATION: f64 = 0.01;
/// The quantiles of the calibration scores that are told.
const QUANTILES: [f64; 6] = [0.0, 0.25, 0.5, 0.9, 0.99, 1.0];
/// Categories of a column that are listed.
const MOST_CATEGORIES: usize = 1000;

/// What all requests share.
#[derive(Debug)]
pub struct App {
    pub models: Models,
    pub metrics: Metrics,
    pub limits: Limits,
    pub token: Option<blake3::Hash>,
    pub origins: Vec<String>,
    pub log_requests: bool,
    pub stopping: AtomicBool,
    pub permits: Arc<Semaphore>,
}

/// What a request may say about flags and reasons.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wishes {
    /// How many reasons a row gets.
    explain: Option<usize>,
    /// Flag rows with a p-value of at most this; 0.01 where nothing is said.
    contamination: Option<f64>,
    /// Flag as many rows as possible with at most this share of false alarms among them.
    fdr: Option<f64>,
    /// Flag rows with a score of at least this.
    threshold: Option<f64>,
}

impl Wishes {
    fn rule(&self) -> Result<Rule, Problem> {
        let rule = match (self.contamination, self.fdr, self.threshold) {
            (None, None, None) => Rule::Contamination(CONTAMINATION),
            (Some(part), None, None) => Rule::Contamination(part),
            (None, Some(part), None) => Rule::Fdr(part),
            (None, None, Some(score)) => Rule::Threshold(score),
            _ => return Err(Problem::bad("say one of contamination, fdr and threshold")),
        };
        rule.validate().map_err(|error| Problem::bad(error.to_string()))?;
        Ok(rule)
    }
}

#[derive(OpenApi)]
#[openapi(
    info(title = "gnsm", description = "Scores rows of tables, and says why they are odd."),
    paths(score, explain, report, models, model, health, ready, metrics),
    components(schemas(Answer<'static>, Problem))
)]
struct Document;

/// All routes.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(document))
        .route("/v1/models", get(models))
        .route("/v1/models/{name}", get(model))
        .route("/v1/models/{name}/score", post(score))
        .route("/v1/models/{name}/explain", post(explain))
        .route("/v1/models/{name}/report", post(report))
        .fallback(async || {
            Problem::new(StatusCode::NOT_FOUND, "there is nothing here; /openapi.json says what there is")
        })
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method; /openapi.json says with which")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard))
        .with_state(app)
}

type Shared = State<Arc<App>>;
type Asked = Result<Query<Wishes>, QueryRejection>;

/// Score rows.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/score",
    params(("name" = String, Path, description = "The model"), Wishes),
    request_body(content = Vec<serde_json::Value>, description = "Rows: an object or a list of objects, objects by line, CSV, or an Arrow stream, by the content type", content_type = "application/json"),
    responses(
        (status = 200, description = "What is said of each row, as JSON, lines of JSON, CSV or an Arrow stream, by the header Accept", body = Answer<'static>),
        (status = 400, description = "The body cannot be read", body = Problem),
        (status = 401, description = "The token is missing or wrong", body = Problem),
        (status = 404, description = "There is no such model", body = Problem),
        (status = 408, description = "The body takes too long to arrive", body = Problem),
        (status = 413, description = "Too many bytes or rows", body = Problem),
        (status = 415, description = "The content type is not read", body = Problem),
        (status = 422, description = "The rows do not fit the model", body = Problem),
        (status = 429, description = "Too many requests at a time", body = Problem),
        (status = 503, description = "The answer takes too long", body = Problem),
    )
)]
async fn score(
    State(app): Shared,
    Path(name): Path<String>,
    wishes: Asked,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    answer_rows(app, name, wishes, headers, body, 0).await
}

/// Score rows and say why: all reasons, unless the request asks for fewer.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/explain",
    params(("name" = String, Path, description = "The model"), Wishes),
    request_body(content = Vec<serde_json::Value>, description = "As for score", content_type = "application/json"),
    responses((status = 200, description = "As for score, with reasons", body = Answer<'static>))
)]
async fn explain(
    State(app): Shared,
    Path(name): Path<String>,
    wishes: Asked,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    answer_rows(app, name, wishes, headers, body, usize::MAX).await
}

async fn answer_rows(
    app: Arc<App>,
    name: String,
    wishes: Asked,
    headers: HeaderMap,
    body: HttpBody,
    reasons: usize,
) -> Result<Response, Problem> {
    let model = app.model(&name)?;
    let Query(wishes) = wishes.map_err(|error| Problem::bad(error.body_text()))?;
    let (rule, reasons) = (wishes.rule()?, wishes.explain.unwrap_or(reasons));
    let (media, to) = (Media::of_body(&headers)?, Media::of_answer(&headers)?);
    let bytes = app.bytes(&headers, body).await?;
    let (most, all) = (app.limits.rows, Arc::clone(&app));
    let work = move || {
        let body = read(&model, &bytes, media, most)?;
        let judged = judge(&model, body, rule, reasons)?;
        let (flagged, bad) = answer::counts(&judged);
        all.metrics.rows(&name, judged.len() as u64 - bad, flagged, bad);
        answer::write(to, &name, model.hash(), &judged, reasons)
    };
    app.compute(work).await
}

/// Make the page with the odd rows.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/report",
    params(("name" = String, Path, description = "The model"), Wishes),
    request_body(content = Vec<serde_json::Value>, description = "As for score", content_type = "application/json"),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
async fn report(
    State(app): Shared,
    Path(name): Path<String>,
    wishes: Asked,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    let model = app.model(&name)?;
    let Query(wishes) = wishes.map_err(|error| Problem::bad(error.body_text()))?;
    let (rule, media) = (wishes.rule()?, Media::of_body(&headers)?);
    let bytes = app.bytes(&headers, body).await?;
    let most = app.limits.rows;
    let work = move || {
        let body = read(&model, &bytes, media, most)?;
        let unfit = |error: gnsm::Error| Problem::unfit(error.to_string());
        let mut collector = Collector::new(&model, rule).map_err(unfit)?;
        for (table, _) in &body.tables {
            check(&model, table)?;
            collector.add(table).map_err(unfit)?;
        }
        if body.tables.is_empty() {
            let problem = body.bad.first().map_or("", |(_, problem)| problem.as_str());
            return Err(Problem::bad(format!("no row can be read; {problem}")));
        }
        collector.leave_out(body.bad.len() as u64);
        let html = collector.finish("rows that were sent", &name).html();
        Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
    };
    app.compute(work).await
}

/// List the models.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, description = "Names, hashes and methods")))]
async fn models(State(app): Shared) -> Json<Value> {
    let model = |(name, model): (&str, Arc<Model>)| json!({ "name": name, "hash": model.hash(), "method": model.method().name(), "columns": model.schema().used().count() });
    Json(json!({ "models": app.models.all().map(model).collect::<Vec<_>>() }))
}

/// Show what a model knows: its columns, hash and calibration.
#[utoipa::path(
    get,
    path = "/v1/models/{name}",
    params(("name" = String, Path, description = "The model")),
    responses((status = 200, description = "Columns with their kinds, hash, calibration"), (status = 404, body = Problem))
)]
async fn model(State(app): Shared, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let model = app.model(&name)?;
    let calibration = model.calibration();
    let columns: Vec<Value> = model.schema().columns.iter().map(column).collect();
    Ok(Json(json!({
        "name": name,
        "hash": model.hash(),
        "method": model.method().name(),
        "seed": model.report().seed,
        "rows": model.report().rows.iter().sum::<u64>(),
        "columns": columns,
        "calibration": {
            "rows": calibration.rows(),
            "smallest_p": calibration.smallest_p(),
            "quantiles": QUANTILES.map(|part| json!({ "part": part, "score": calibration.quantile(part) })),
        },
    })))
}

fn column(column: &gnsm::ColumnSchema) -> Value {
    let mut value = json!({ "name": column.name, "kind": column.kind.name(), "reason": column.reason });
    match &column.kind {
        Kind::Categorical { categories, .. } => {
            value["categories"] = categories.iter().take(MOST_CATEGORIES).cloned().collect();
        }
        Kind::Numeric { scale, .. } => value["usual"] = json!([-2.0, 0.0, 2.0].map(|z| scale.unscaled(z))),
        _ => {}
    }
    value
}

/// Say that the process lives.
#[utoipa::path(get, path = "/health", responses((status = 200, description = "It does")))]
async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Say whether requests are taken.
#[utoipa::path(get, path = "/ready", responses((status = 200, description = "Yes"), (status = 503, description = "The server is ending")))]
async fn ready(State(app): Shared) -> Result<Json<Value>, Problem> {
    if app.stopping.load(Ordering::Relaxed) {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending"));
    }
    Ok(Json(json!({ "status": "ready" })))
}

/// Counts for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Text", content_type = "text/plain")))]
async fn metrics(State(app): Shared) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.text()).into_response()
}

async fn document() -> Result<Json<Value>, Problem> {
    let document = serde_json::to_value(Document::openapi());
    document.map(Json).map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

async fn page() -> Response {
    let (html, policy) = gnsm_report::serving_page();
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    if let Ok(policy) = HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'")) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn read(model: &Model, bytes: &[u8], media: Media, most: usize) -> Result<Body, Problem> {
    let used = |name: &str| model.schema().used().any(|column| column.name == name);
    Body::read(bytes, media, Wanted { most, used: &used, missing: &model.schema().missing })
}

impl App {
    fn model(&self, name: &str) -> Result<Arc<Model>, Problem> {
        let missing = || {
            let names: Vec<&str> = self.models.all().map(|(name, _)| name).collect();
            Problem::new(StatusCode::NOT_FOUND, format!("there is no such model; there are {}", names.join(", ")))
        };
        self.models.get(name).ok_or_else(missing)
    }

    /// The whole body, if it is not too large and does not take too long.
    async fn bytes(&self, headers: &HeaderMap, body: HttpBody) -> Result<Vec<u8>, Problem> {
        let most = self.limits.body;
        let large = || {
            let problem = format!("the body has more than {most} bytes; send the rows in several requests");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
        };
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > most as u64) {
            return Err(large());
        }
        match timeout(self.limits.time, axum::body::to_bytes(body, most)).await {
            Ok(Ok(bytes)) => Ok(bytes.into()),
            // Without a length before it, a body that is too large and one that is cut off are told apart by the cause.
            Ok(Err(error))
                if std::error::Error::source(&error).is_some_and(|cause| cause.to_string().contains("limit")) =>
            {
                Err(large())
            }
            Ok(Err(error)) => Err(Problem::bad(format!("the body was cut off: {error}"))),
            Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body takes too long to arrive")),
        }
    }

    /// Runs `work` on the threads of the library, if not too much else is running.
    async fn compute(
        &self,
        work: impl FnOnce() -> Result<Response, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many requests at a time; ask again later"));
        };
        let (send, receive) = oneshot::channel();
        rayon::spawn(move || {
            // No input is known to panic. Should one, its sender alone is to know.
            let done = catch_unwind(AssertUnwindSafe(work));
            drop(permit);
            let _ = send.send(done);
        });
        match timeout(self.limits.time, receive).await {
            Ok(Ok(Ok(done))) => done,
            Ok(_) => {
                log("error", "panic", json!({}));
                Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a defect of gnsm; please report it"))
            }
            Err(_) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the answer takes too long; send fewer rows")),
        }
    }
}
