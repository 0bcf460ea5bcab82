//! Scores rows over HTTP, with the same core and so the same bits as the command line.
//!
//! ```no_run
//! let mut settings = gnsm_serve::Settings::new(["claims.gnsm"]);
//! settings.watch = true;
//! gnsm_serve::serve(settings, |address| println!("http://{address}"))?;
//! # Ok::<(), gnsm_serve::Error>(())
//! ```
//!
//! A request goes through `guard` (who may ask, how it is counted and logged), to a function of `routes` or `about`.
//! The body is taken in by `app` and read by `body` and `csv`. The threads of the library judge its rows (`judge`), and
//! the answer (`scores`, `repairs`, `drifts`) is written in the kind that was asked for (`media`, `sheet`). `models`
//! holds the models and replaces them when their files change; `recent` and `metrics` count. `server` accepts
//! connections and ends them in good order.

mod about;
mod app;
mod body;
mod csv;
mod drifts;
mod guard;
mod judge;
mod lent;
mod log;
mod media;
mod metrics;
mod models;
mod patience;
mod problem;
mod recent;
mod repairs;
mod routes;
mod scores;
mod server;
mod sheet;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use server::{Server, serve};

/// Why a server does not start, or ends.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What a server is told.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Model files. The name of a model is that of its file, without the ending.
    pub models: Vec<PathBuf>,
    /// Where to listen. Port 0 is any free one.
    pub address: SocketAddr,
    /// What a client has to send as `Authorization: Bearer TOKEN`, if anything.
    pub token: Option<String>,
    /// Other origins whose pages may ask, such as `https://example.org`.
    pub origins: Vec<String>,
    /// Whether to load a model again when its file is replaced.
    pub watch: bool,
    /// Whether to log every request, not only those that fail.
    pub log_requests: bool,
    /// What a client may ask for.
    pub limits: Limits,
}

impl Settings {
    /// These models on 127.0.0.1, port 8080.
    pub fn new(models: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            models: models.into_iter().map(Into::into).collect(),
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            token: None,
            origins: Vec::new(),
            watch: false,
            log_requests: false,
            limits: Limits::default(),
        }
    }
}

/// What a client may ask for. Beyond a limit, it gets the status code that is given for it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a body: 413.
    pub body: usize,
    /// Bytes of the bodies of all requests together: 503. At least as many as of one body.
    pub bodies: usize,
    /// Rows of a body: 413.
    pub rows: usize,
    /// Bytes of all headers: 431. At least 8 kB.
    pub header: usize,
    /// How long a client may take to send its headers or its body (408), how long it may have to wait for an answer
    /// (503), and how long it may take nothing of it.
    pub time: Duration,
    /// Requests that are worked on at a time: 429.
    pub concurrency: usize,
    /// Connections that are open at a time. More wait.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            bodies: 256 << 20,
            rows: 100_000,
            header: 16 << 10,
            time: Duration::from_secs(30),
            concurrency: 64,
            connections: 1024,
        }
    }
}
