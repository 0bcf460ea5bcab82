//! What can be asked about the server and its models, and the document that describes it all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gnsm::internals::columns::{Aspect, Feature};
use gnsm::{Kind, Model};
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::app::App;
use crate::drifts::Drifts;
use crate::media::Media;
use crate::models::Served;
use crate::problem::{Problem, REFUSALS};
use crate::repairs::{BadRow, Repairs, Replaced};
use crate::routes;
use crate::scores::{Said, Scores};

/// The quantiles of the calibration scores that are told.
const QUANTILES: [f64; 6] = [0.0, 0.25, 0.5, 0.9, 0.99, 1.0];
/// Categories of a column that are listed.
const MOST_CATEGORIES: usize = 1000;

type Shared = State<Arc<App>>;

/// List the models.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, description = "Names, hashes, methods and numbers of columns")))]
pub async fn models(State(app): Shared) -> Json<Value> {
    let told = |(name, served): (&str, Arc<Served>)| {
        let (hash, method) = (served.model.hash(), served.model.method().name());
        json!({ "name": name, "hash": hash, "method": method, "columns": served.model.schema().used().count() })
    };
    Json(json!({ "models": app.models.all().map(told).collect::<Vec<_>>() }))
}

/// Show what a model knows: its columns, hash and calibration.
#[utoipa::path(
    get,
    path = "/v1/models/{name}",
    params(("name" = String, Path, description = "The model")),
    responses((status = 200, description = "Columns with their kinds, hash, calibration"), (status = 404, body = Problem))
)]
pub async fn model(State(app): Shared, Path(name): Path<String>) -> Result<Json<Value>, Problem> {
    let served = app.served(&name)?;
    let model = &served.model;
    let calibration = model.calibration();
    let columns: Vec<Value> = model.schema().columns.iter().map(|schema| column(model, schema)).collect();
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

/// The most common category of a column.
fn common<'a>(model: &Model, column: &gnsm::ColumnSchema, categories: &'a [String]) -> Option<&'a String> {
    let (encoder, codes) = (model.encoder(), model.reference().codes());
    let is_value =
        |feature: &&Feature| feature.aspect == Aspect::Value && encoder.schema_of(feature).name == column.name;
    let group = encoder.features().iter().find(is_value)?.group;
    let start = encoder.layout().group(group).start - encoder.layout().n_numbers();
    let counted = categories.iter().zip(codes.get(start..)?);
    counted.max_by_key(|(_, rows)| **rows).map(|(name, _)| name)
}

fn column(model: &Model, column: &gnsm::ColumnSchema) -> Value {
    let mut value = json!({ "name": column.name, "kind": column.kind.name(), "reason": column.reason });
    match &column.kind {
        Kind::Categorical { categories, .. } => {
            value["categories"] = categories.iter().take(MOST_CATEGORIES).cloned().collect();
            value["common"] = common(model, column, categories).cloned().into();
        }
        // A shape, such as `A-99999`, is a text of that shape.
        Kind::Identifier { shapes, .. } => value["shape"] = shapes.first().cloned().into(),
        Kind::Numeric { scale, .. } => value["usual"] = json!([-2.0, 0.0, 2.0].map(|z| scale.unscaled(z))),
        _ => {}
    }
    value
}

/// Say that the process lives.
#[utoipa::path(get, path = "/health", responses((status = 200, description = "It does")))]
pub async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Say whether requests are taken.
#[utoipa::path(get, path = "/ready", responses((status = 200, description = "Yes"), (status = 503, description = "The server is ending")))]
pub async fn ready(State(app): Shared) -> Result<Json<Value>, Problem> {
    if app.stopping.load(Ordering::Relaxed) {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending"));
    }
    Ok(Json(json!({ "status": "ready" })))
}

/// Counts for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, description = "Text", content_type = "text/plain")))]
pub async fn metrics(State(app): Shared) -> Response {
    let text = app.metrics.text(app.models.all());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The page to try it.
pub async fn page() -> Response {
    let (html, policy) = gnsm_report::serving_page();
    let mut response = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    if let Ok(policy) = HeaderValue::from_str(&format!("{policy}; frame-ancestors 'none'")) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

#[derive(OpenApi)]
#[openapi(
    info(title = "gnsm", description = "Scores rows of tables, and says why they are odd."),
    paths(
        routes::score,
        routes::explain,
        routes::repair,
        routes::drift,
        routes::report,
        models,
        model,
        health,
        ready,
        metrics
    ),
    components(schemas(Scores<'static>, Said<'static>, Repairs<'static>, Replaced, BadRow, Drifts<'static>, Problem))
)]
struct Document;

/// The document that describes all this.
pub async fn document() -> Result<Json<Value>, Problem> {
    let failed = |error: serde_json::Error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut document = serde_json::to_value(Document::openapi()).map_err(failed)?;
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    // Without a token file, none has to be sent.
    document["security"] = json!([{ "token": [] }, {}]);
    for path in document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
        if let Some(post) = path.get_mut("post") {
            describe(post);
        }
    }
    Ok(Json(document))
}

/// What all requests with rows have in common: the kinds of bodies and answers, and refusals.
fn describe(post: &mut Value) {
    let row =
        json!({ "type": "object", "description": "A row: the names of columns with texts, numbers, booleans or null" });
    let schema = |media| match media {
        Media::Json => json!({ "oneOf": [row, { "type": "array", "items": row }] }),
        Media::Lines | Media::Csv => json!({ "type": "string" }),
        Media::Arrow => json!({ "type": "string", "format": "binary" }),
    };
    let bodies = Media::ALL.map(|media| (media.name().to_owned(), json!({ "schema": schema(media) })));
    post["requestBody"] = json!({ "required": true, "content": serde_json::Map::from_iter(bodies) });
    let answer = &mut post["responses"]["200"]["content"];
    if answer.get(Media::Json.name()).is_some() {
        for media in [Media::Lines, Media::Csv, Media::Arrow] {
            answer[media.name()] = json!({ "schema": schema(media) });
        }
    }
    for (status, when) in REFUSALS {
        let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
        post["responses"][status] = json!({ "description": when, "content": content });
    }
}
