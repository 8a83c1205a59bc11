//! Server-sent events: what a tab reads as it comes. A tab that reads slowly holds up only itself:
//! the next page is asked for when there is room for it, and it then has what is so by that time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::page::limits::EVENTS_AHEAD;
use crate::page::server::Seat;

/// The body of a stream. Its seat is free again when the tab is gone.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<Bytes>,
    _seat: Seat,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The tab is gone.
#[derive(Debug, Clone, Copy)]
pub struct Closed;

/// Where events for a tab are put.
#[derive(Debug, Clone)]
pub struct Tab(mpsc::Sender<Bytes>);

impl Tab {
    pub async fn event(&self, name: &str, data: &impl Serialize) -> Result<(), Closed> {
        // Plain values; JSON has no line break in it.
        let data = serde_json::to_string(data).unwrap_or_default();
        self.send(format!("event: {name}\ndata: {data}\n\n")).await
    }

    /// A sign of life.
    pub async fn comment(&self) -> Result<(), Closed> {
        self.send(":\n\n".to_owned()).await
    }

    async fn send(&self, text: String) -> Result<(), Closed> {
        self.0.send(text.into()).await.map_err(|_| Closed)
    }
}

/// A stream that this fills, until it ends or the tab is gone.
pub fn stream<F, W>(seat: Seat, fill: F) -> Events
where
    F: FnOnce(Tab) -> W,
    W: Future<Output = Result<(), Closed>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(EVENTS_AHEAD);
    let filling = fill(Tab(sender.clone()));
    tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            _ = filling => {}
        }
    });
    Events { receiver, _seat: seat }
}
