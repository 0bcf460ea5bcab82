//! What all requests share, and what they all do: find the model, take in the body, and let the threads of the library
//! work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::Limits;
use crate::body::{Body, Wanted};
use crate::log::log;
use crate::media::Media;
use crate::metrics::Metrics;
use crate::models::{Models, Served};
use crate::problem::Problem;

/// Bodies of at most this many bytes hold a few rows, which are judged in less time than another thread takes to wake
/// up.
const SMALL: usize = 4096;

thread_local! {
    /// A pool of this thread alone. What runs on it never waits for other threads, which may be busy for long.
    static ALONE: Option<rayon::ThreadPool> =
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok();
}

/// What all requests share.
#[derive(Debug)]
pub struct App {
    pub models: Models,
    pub metrics: Metrics,
    pub limits: Limits,
    pub token: Option<blake3::Hash>,
    pub origins: Vec<String>,
    /// Whether only this machine can reach the server.
    pub is_local: bool,
    pub log_requests: bool,
    pub stopping: AtomicBool,
    /// One for each request that may be worked on at a time.
    pub permits: Arc<Semaphore>,
    /// One for each byte that bodies may have together.
    pub room: Arc<Semaphore>,
    /// Where many rows are judged.
    pub threads: rayon::ThreadPool,
}

/// A request for a model to look at rows, with its body taken in.
#[derive(Debug)]
pub struct Sent {
    /// The model's name.
    pub name: String,
    /// The model.
    pub served: Arc<Served>,
    media: Media,
    bytes: Bytes,
    most: usize,
    /// The room of the body, given back when the request is done.
    _room: OwnedSemaphorePermit,
}

impl Sent {
    /// Whether it holds a few rows at the most.
    pub fn is_small(&self) -> bool {
        self.bytes.len() <= SMALL
    }

    /// The rows.
    pub fn read(&self) -> Result<Body, Problem> {
        let schema = self.served.model.schema();
        let used = |name: &str| schema.used().any(|column| column.name == name);
        Body::read(&self.bytes, self.media, Wanted { most: self.most, used: &used, missing: &schema.missing })
    }
}

/// What is said after a panic.
fn defect() -> Problem {
    log("error", "panic", json!({}));
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a defect of gnsm; please report it")
}

impl App {
    /// The model of that name.
    pub fn served(&self, name: &str) -> Result<Arc<Served>, Problem> {
        let missing = || {
            let names: Vec<&str> = self.models.all().map(|(name, _)| name).collect();
            Problem::new(StatusCode::NOT_FOUND, format!("there is no such model; there is {}", names.join(", ")))
        };
        self.models.get(name).ok_or_else(missing)
    }

    /// Takes in a request for this model.
    pub async fn receive(&self, name: String, headers: &HeaderMap, body: HttpBody) -> Result<Sent, Problem> {
        let (served, media) = (self.served(&name)?, Media::of_body(headers)?);
        let (bytes, room) = self.bytes(headers, body).await?;
        Ok(Sent { name, served, media, bytes, most: self.limits.rows, _room: room })
    }

    /// The whole body, if it is not too large and does not take too long.
    async fn bytes(&self, headers: &HeaderMap, body: HttpBody) -> Result<(Bytes, OwnedSemaphorePermit), Problem> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > self.limits.body as u64) {
            return Err(self.too_large());
        }
        match timeout(self.limits.time, self.collect(body)).await {
            Ok(taken) => taken,
            Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body takes too long to arrive")),
        }
    }

    /// Takes in a body. Memory is reserved as it arrives, so a body that is announced and never sent takes none.
    async fn collect(&self, mut body: HttpBody) -> Result<(Bytes, OwnedSemaphorePermit), Problem> {
        let full =
            || Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too much is being sent at a time; ask again later");
        let more = |n: usize| Arc::clone(&self.room).try_acquire_many_owned(u32::try_from(n).unwrap_or(u32::MAX)).ok();
        let mut room = more(0).ok_or_else(full)?;
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Problem::bad(format!("the body was cut off: {error}")))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > self.limits.body {
                return Err(self.too_large());
            }
            room.merge(more(data.len()).ok_or_else(full)?);
            bytes.extend_from_slice(&data);
        }
        Ok((bytes.into(), room))
    }

    fn too_large(&self) -> Problem {
        let problem = format!("the body has more than {} bytes; send the rows in several requests", self.limits.body);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, problem)
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let full = |_| Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many requests at a time; ask again later");
        Arc::clone(&self.permits).try_acquire_owned().map_err(full)
    }

    /// Runs `work` on this thread, for a body of so few rows that handing it over would take longer.
    pub fn compute_here(&self, work: impl FnOnce() -> Result<Response, Problem>) -> Result<Response, Problem> {
        let _permit = self.permit()?;
        ALONE.with(|_| catch_unwind(AssertUnwindSafe(work))).unwrap_or_else(|_| Err(defect()))
    }

    /// Runs `work` on the threads of the library, if not too much else is running.
    pub async fn compute(
        &self,
        work: impl FnOnce() -> Result<Response, Problem> + Send + 'static,
    ) -> Result<Response, Problem> {
        let permit = self.permit()?;
        let (send, receive) = oneshot::channel();
        self.threads.spawn(move || {
            // Nobody waits for the answer any more if the client has gone.
            if !send.is_closed() {
                // No input is known to cause a panic. Should one do so, only its sender gets an error.
                let _ = send.send(catch_unwind(AssertUnwindSafe(work)));
            }
            drop(permit);
        });
        match timeout(self.limits.time, receive).await {
            Ok(Ok(Ok(done))) => done,
            Ok(_) => Err(defect()),
            Err(_) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the answer takes too long; send fewer rows")),
        }
    }
}
