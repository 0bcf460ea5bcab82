//! What can be asked about rows, and the list of all routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body as HttpBody;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gnsm::{Decision, Rule};
use gnsm_report::Collector;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::about;
use crate::app::App;
use crate::drifts::Drifts;
use crate::guard::guard;
use crate::judge::{Question, check, judge, judge_without};
use crate::media::Media;
use crate::problem::Problem;
use crate::repairs::Repairs;
use crate::scores::Scores;
use crate::sheet::respond;

/// The share of usual rows that is flagged where a request does not say: as with `gnsm score`.
const CONTAMINATION: f64 = 0.01;
/// How sure a change has to be where a request does not say: as with `gnsm repair`.
const AT_LEAST: f64 = 0.9;

/// All routes.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(about::page))
        .route("/health", get(about::health))
        .route("/ready", get(about::ready))
        .route("/metrics", get(about::metrics))
        .route("/openapi.json", get(about::document))
        .route("/v1/models", get(about::models))
        .route("/v1/models/{name}", get(about::model))
        .route("/v1/models/{name}/score", post(score))
        .route("/v1/models/{name}/explain", post(explain))
        .route("/v1/models/{name}/repair", post(repair))
        .route("/v1/models/{name}/drift", post(drift))
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
    /// Whether what is new in more than half of at least 20 rows is set aside, as `gnsm score` does with a file; true
    /// where nothing is said.
    drift: Option<bool>,
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

/// What a request may say about repairs.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Sureness {
    /// How sure a change has to be: a probability; 0.9 where nothing is said.
    at_least: Option<f64>,
}

/// A request that may say nothing.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

type Shared = State<Arc<App>>;
type Asked<T> = Result<Query<T>, QueryRejection>;

fn wishes<T>(asked: Asked<T>) -> Result<T, Problem> {
    asked.map(|Query(wishes)| wishes).map_err(|error| {
        let text = error.body_text();
        let why = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        Problem::bad(format!("the query cannot be read: {why}"))
    })
}

/// Score rows.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/score",
    params(("name" = String, Path, description = "The model"), Wishes),
    responses((status = 200, description = "What is said of each row", body = Scores<'static>))
)]
pub async fn score(
    State(app): Shared,
    Path(name): Path<String>,
    asked: Asked<Wishes>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    answer_scores(app, name, wishes(asked)?, headers, body, 0).await
}

/// Score rows and say why: all reasons, unless the request asks for fewer.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/explain",
    params(("name" = String, Path, description = "The model"), Wishes),
    responses((status = 200, description = "What is said of each row, with reasons", body = Scores<'static>))
)]
pub async fn explain(
    State(app): Shared,
    Path(name): Path<String>,
    asked: Asked<Wishes>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    answer_scores(app, name, wishes(asked)?, headers, body, usize::MAX).await
}

async fn answer_scores(
    app: Arc<App>,
    name: String,
    wishes: Wishes,
    headers: HeaderMap,
    body: HttpBody,
    reasons: usize,
) -> Result<Response, Problem> {
    let (rule, to) = (wishes.rule()?, Media::of_answer(&headers)?);
    let sent = app.receive(name, &headers, body).await?;
    let (all, is_small) = (Arc::clone(&app), sent.is_small());
    let work = move || {
        let model = &sent.served.model;
        let reasons = wishes.explain.unwrap_or(reasons).min(model.encoder().features().len());
        let question = Question { rule, reasons, set_aside: wishes.drift.unwrap_or(true) };
        let judged = judge(&sent.served, sent.read()?, question)?;
        all.metrics.rows(&sent.name, judged.rows.len() as u64 - judged.bad, judged.flagged, judged.bad);
        respond(to, &Scores::new(&sent.name, model.hash(), &judged, reasons))
    };
    if is_small { app.compute_here(work) } else { app.compute(work).await }
}

/// Find cells that are near certainly wrong, and what belongs there.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/repair",
    params(("name" = String, Path, description = "The model"), Sureness),
    responses((status = 200, description = "Cells to replace, the surest first", body = Repairs<'static>))
)]
pub async fn repair(
    State(app): Shared,
    Path(name): Path<String>,
    asked: Asked<Sureness>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    let at_least = wishes(asked)?.at_least.unwrap_or(AT_LEAST);
    if !(at_least > 0.0 && at_least <= 1.0) {
        return Err(Problem::bad("at_least is a probability above 0 and up to 1, such as 0.9"));
    }
    let to = Media::of_answer(&headers)?;
    let sent = app.receive(name, &headers, body).await?;
    app.compute(move || respond(to, &Repairs::find(&sent.name, &sent.served.model, sent.read()?, at_least)?)).await
}

/// Tell how rows differ from those that the model learned from, column by column.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/drift",
    params(("name" = String, Path, description = "The model")),
    responses((status = 200, description = "Figures and words for each column", body = Drifts<'static>))
)]
pub async fn drift(
    State(app): Shared,
    Path(name): Path<String>,
    asked: Asked<Nothing>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    let Nothing {} = wishes(asked)?;
    let to = Media::of_answer(&headers)?;
    let sent = app.receive(name, &headers, body).await?;
    app.compute(move || respond(to, &Drifts::find(&sent.name, &sent.served.model, &sent.read()?)?)).await
}

/// Make the page with the odd rows.
#[utoipa::path(
    post,
    path = "/v1/models/{name}/report",
    params(("name" = String, Path, description = "The model"), Wishes),
    responses((status = 200, description = "A page", content_type = "text/html"))
)]
pub async fn report(
    State(app): Shared,
    Path(name): Path<String>,
    asked: Asked<Wishes>,
    headers: HeaderMap,
    body: HttpBody,
) -> Result<Response, Problem> {
    let asked = wishes(asked)?;
    let rule = asked.rule()?;
    let sent = app.receive(name, &headers, body).await?;
    let work = move || {
        let (model, body) = (&sent.served.model, sent.read()?);
        let table = body.table()?;
        check(model, table)?;
        let mut drift = model.drift();
        drift.add(table).map_err(Problem::unfit)?;
        let drift = asked.drift.unwrap_or(true).then(|| drift.report());
        let judge = judge_without(model, drift.as_ref());
        let mut decision = Decision::new(rule).map_err(Problem::unfit)?;
        let mut collector = Collector::new(&judge).compared(drift);
        let batch = judge.read(table).map_err(Problem::unfit)?;
        decision.add(batch.scores());
        collector.add(&batch).map_err(Problem::unfit)?;
        collector.leave_out(body.bad.len() as u64);
        let html = collector.finish(decision.finish(), "rows that were sent", &sent.name).html();
        Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
    };
    app.compute(work).await
}
