//! Keeps hold of a body, in case its request is refused before it was read. A client that is still sending would find
//! the connection closed, and never read the refusal. So the rest is taken in and thrown away.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::sync::oneshot;

/// A body, and who wants it back.
#[derive(Debug)]
pub struct Lent {
    body: Body,
    back: Option<oneshot::Sender<Body>>,
}

impl Lent {
    /// Lends a body. It comes back when the loan is dropped.
    pub fn new(body: Body) -> (Self, oneshot::Receiver<Body>) {
        let (send, receive) = oneshot::channel();
        (Self { body, back: Some(send) }, receive)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(back) = self.back.take() {
            let _ = back.send(std::mem::take(&mut self.body));
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Takes in what is left of a body, up to `most` bytes.
pub async fn throw_away(mut body: Body, most: usize) {
    let mut taken = 0;
    while let Some(Ok(frame)) = body.frame().await {
        taken += frame.data_ref().map_or(0, Bytes::len);
        if taken > most {
            return;
        }
    }
}
