//! Writing, one piece after the other. A piece is written whole and flushed before the next one,
//! also when the turn that wrote it has been cancelled meanwhile: half a line would spoil the next.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

#[derive(Debug, Clone)]
pub struct Out(mpsc::UnboundedSender<Piece>);

#[derive(Debug)]
struct Piece {
    text: String,
    written: Option<oneshot::Sender<()>>,
}

impl Out {
    /// The task ends when the sink takes no more, or when the last `Out` is dropped and all is
    /// written.
    pub fn open(sink: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (pieces, waiting) = mpsc::unbounded_channel();
        (Self(pieces), tokio::spawn(write(sink, waiting)))
    }

    /// Queues a line with its end without waiting, because the reader of our input must go on.
    pub fn post(&self, line: String) {
        // A closed sink is noticed by whoever opened it.
        let _ = self.0.send(Piece { text: line, written: None });
    }

    /// Writes a line with its end and returns when it has left, so that a turn is no faster than
    /// its reader, and all is read before a crash.
    pub async fn line(&self, line: String) {
        let (tell, written) = oneshot::channel();
        let _ = self.0.send(Piece { text: line, written: Some(tell) });
        let _ = written.await;
    }
}

async fn write(mut sink: impl AsyncWrite + Unpin, mut waiting: mpsc::UnboundedReceiver<Piece>) {
    while let Some(Piece { text, written }) = waiting.recv().await {
        if sink.write_all(text.as_bytes()).await.is_err() || sink.flush().await.is_err() {
            return;
        }
        if let Some(written) = written {
            // A cancelled turn does not wait for it any more.
            let _ = written.send(());
        }
    }
}
