//! Accepts connections, and ends them in good order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{interval, sleep, timeout};

use crate::app::App;
use crate::log::log;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::patience::Patience;
use crate::routes::router;
use crate::{Error, Settings};

/// How often the files of models are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How long open requests may still take when the server ends.
const GRACE: Duration = Duration::from_secs(30);
/// The smallest buffer for headers that hyper takes.
const SMALLEST_HEADER: usize = 8192;

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    watch: bool,
}

/// Serves until Ctrl-C or a request to terminate. `ready` is told the address as soon as the server listens.
pub fn serve(settings: Settings, ready: impl FnOnce(SocketAddr)) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Server::bind(settings).await?;
        ready(server.address());
        server.run(signal()).await
    })
}

async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

impl Server {
    /// Loads the models and listens.
    pub async fn bind(settings: Settings) -> Result<Self, Error> {
        let metrics = Metrics::default();
        let models = Models::load(&settings.models, &metrics)?;
        let listener = TcpListener::bind(settings.address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {}: {error}", settings.address))?;
        let address = listener.local_addr()?;
        let permits = |most: usize| Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        let app = App {
            models,
            metrics,
            limits: settings.limits,
            token: settings.token.map(|token| blake3::hash(token.as_bytes())),
            origins: settings.origins,
            is_local: settings.address.ip().is_loopback(),
            log_requests: settings.log_requests,
            stopping: AtomicBool::new(false),
            permits: permits(settings.limits.concurrency),
            room: permits(settings.limits.bodies.max(settings.limits.body)),
            threads: rayon::ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build()?,
        };
        Ok(Self { listener, address, app: Arc::new(app), watch: settings.watch })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `end`, then finishes what is in flight.
    pub async fn run(self, end: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { listener, address, app, watch } = self;
        let names: Vec<String> = app.models.all().map(|(name, _)| name.to_owned()).collect();
        log("info", "listening", json!({ "address": address.to_string(), "models": names }));
        let watcher = watch.then(|| tokio::spawn(look(Arc::clone(&app))));
        let limits = app.limits;
        let router = router(Arc::clone(&app));
        let connections = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        let graceful = GracefulShutdown::new();
        tokio::pin!(end);
        loop {
            // If there are too many connections, one waits here, and all others in the operating system's queue.
            let next = async {
                let accepted = listener.accept().await;
                (Arc::clone(&connections).acquire_owned().await, accepted)
            };
            let (permit, accepted) = tokio::select! {
                next = next => next,
                () = &mut end => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, mostly: some will be free soon.
                    log("error", "accept", json!({ "error": error.to_string() }));
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(limits.time);
            builder.max_buf_size(limits.header.max(SMALLEST_HEADER));
            let service = TowerToHyperService::new(router.clone());
            let stream = TokioIo::new(Patience::new(stream, limits.time));
            let connection = graceful.watch(builder.serve_connection(stream, service));
            tokio::spawn(async move {
                // A client that goes away is no event.
                let _ = connection.await;
                drop(permit);
            });
        }
        app.stopping.store(true, Ordering::Relaxed);
        drop(listener);
        if let Some(watcher) = watcher {
            watcher.abort();
        }
        log("info", "ending", json!({ "open": graceful.count() }));
        if timeout(GRACE, graceful.shutdown()).await.is_err() {
            log("warning", "ended with requests open", json!({}));
        }
        Ok(())
    }
}

/// Looks at the files of models now and then.
async fn look(app: Arc<App>) {
    let mut ticks = interval(LOOK);
    loop {
        ticks.tick().await;
        let app = Arc::clone(&app);
        let _ = tokio::task::spawn_blocking(move || app.models.refresh(&app.metrics)).await;
    }
}
