//! `gnsm serve`: scores rows over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use gnsm_serve::Settings;

use super::Outcome;
use crate::arguments::ServeArguments;
use crate::console::Console;

/// Runs the command.
pub fn run(arguments: &ServeArguments, console: Console) -> Result<Outcome> {
    let mut settings = Settings::new(&arguments.models);
    settings.address = SocketAddr::new(arguments.host, arguments.port);
    settings.watch = arguments.watch;
    settings.log_requests = arguments.log_requests;
    settings.origins.clone_from(&arguments.allow_origin);
    settings.limits.body = arguments.max_body.get();
    settings.limits.bodies = arguments.max_bodies.get();
    settings.limits.rows = arguments.max_rows.get();
    settings.limits.header = arguments.max_header.get();
    settings.limits.time = Duration::from_secs_f64(arguments.max_seconds.min(86_400.0));
    settings.limits.concurrency = arguments.max_requests.get();
    settings.limits.connections = arguments.max_connections.get();
    if let Some(path) = &arguments.token_file {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let token = text.trim();
        if token.is_empty() {
            bail!("{}: holds no token; write one into it", path.display());
        }
        settings.token = Some(token.to_owned());
    } else if !arguments.host.is_loopback() {
        console.warn("anyone who can reach this address may ask; --token-file makes them show a token");
    }
    gnsm_serve::serve(settings, |address| console.note(format_args!("http://{address}/ is a page to try it")))
        .map_err(|error| anyhow!(error))?;
    Ok(Outcome::Done)
}
