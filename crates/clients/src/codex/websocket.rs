//! A WebSocket over a Unix socket: text messages both ways.

use std::io;
use std::path::Path;

use futures_util::{SinkExt, StreamExt};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::limits::CODEX_MESSAGE_MAX_BYTES;

pub struct WebSocket(WebSocketStream<UnixStream>);

impl WebSocket {
    pub async fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(std::fs::canonicalize(socket)?).await?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(CODEX_MESSAGE_MAX_BYTES))
            .max_frame_size(Some(CODEX_MESSAGE_MAX_BYTES));
        let connected = client_async_with_config("ws://localhost/", stream, Some(config)).await;
        let (stream, _) = connected.map_err(io_error)?;
        Ok(Self(stream))
    }

    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        self.0.send(Message::text(text)).await.map_err(io_error)
    }

    /// The next message. Pings are answered on the way.
    pub async fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            match self.0.next().await.transpose().map_err(io_error)? {
                Some(message @ (Message::Text(_) | Message::Binary(_))) => {
                    return Ok(message.into_data().into());
                }
                None | Some(Message::Close(_)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(_) => {}
            }
        }
    }
}

fn io_error(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::other(other),
    }
}
