//! Writing, one piece after the other. A piece is written whole and flushed before the next one,
//! also when whoever asked for it has been cancelled meanwhile: half a line would spoil the next.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

#[derive(Debug, Clone)]
pub struct Out(mpsc::UnboundedSender<Piece>);

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    times: u64,
    end: &'static [u8],
    written: Option<oneshot::Sender<()>>,
}

impl Out {
    /// The second ends when the sink takes no more, or when the last `Out` is gone and all is
    /// written.
    pub fn open(sink: impl AsyncWrite + Send + Unpin + 'static) -> (Self, JoinHandle<()>) {
        let (pieces, waiting) = mpsc::unbounded_channel();
        (Self(pieces), tokio::spawn(write(sink, waiting)))
    }

    /// Hands over a line with its end, for the one who reads our input and must go on reading.
    pub fn post(&self, line: String) {
        // Whoever opened the sink sees that it is closed.
        let _ = self.0.send(Piece { bytes: line.into(), times: 1, end: b"", written: None });
    }

    /// Writes a line with its end. Returns when it has left, so that who writes much goes no faster
    /// than its reader, and who dies next has been heard.
    pub async fn line(&self, line: String) {
        self.piece(line.into(), 1, b"").await;
    }

    /// Writes one line that is the same bytes again and again.
    pub async fn long_line(&self, bytes: Vec<u8>, times: u64) {
        self.piece(bytes, times, b"\n").await;
    }

    async fn piece(&self, bytes: Vec<u8>, times: u64, end: &'static [u8]) {
        let (tell, written) = oneshot::channel();
        let _ = self.0.send(Piece { bytes, times, end, written: Some(tell) });
        let _ = written.await;
    }
}

async fn write(mut sink: impl AsyncWrite + Unpin, mut waiting: mpsc::UnboundedReceiver<Piece>) {
    while let Some(Piece { bytes, times, end, written }) = waiting.recv().await {
        for _ in 0..times {
            if sink.write_all(&bytes).await.is_err() {
                return;
            }
        }
        if sink.write_all(end).await.is_err() || sink.flush().await.is_err() {
            return;
        }
        if let Some(written) = written {
            // A turn that was cancelled does not wait for it any more.
            let _ = written.send(());
        }
    }
}
