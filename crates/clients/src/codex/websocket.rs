//! A WebSocket client over a Unix socket (RFC 6455): text frames both ways, and what keeps a server
//! content. By hand, because nothing else here needs one and its server is a program of the user's.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::Path;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::limits::CODEX_MESSAGE_MAX_BYTES;

/// The lines of an answer to the handshake; no server sends more.
const HEAD_MAX_LINES: usize = 100;
const HEAD_LINE_MAX_BYTES: u64 = 8 << 10;

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

pub struct WebSocket(BufReader<UnixStream>);

impl WebSocket {
    pub async fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(std::fs::canonicalize(socket)?).await?;
        let mut stream = BufReader::new(stream);
        // Any 16 bytes do: nobody but the server reads the key, and we know whom we have reached.
        let hello = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\
            Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: bGVnd29yay1sZWd3b3JrLg==\r\n\r\n";
        stream.write_all(hello.as_bytes()).await?;
        let status = head_line(&mut stream).await?;
        if status.split(' ').nth(1) != Some("101") {
            return Err(io::Error::other(format!("no WebSocket: {status}")));
        }
        for _ in 0..HEAD_MAX_LINES {
            if head_line(&mut stream).await?.is_empty() {
                return Ok(Self(stream));
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }

    pub async fn send(&mut self, text: &str) -> io::Result<()> {
        self.write(TEXT, text.as_bytes()).await
    }

    /// The next message. Answers pings on the way.
    pub async fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::new();
        loop {
            let [first, second] = [self.0.read_u8().await?, self.0.read_u8().await?];
            let (is_last, code) = (first & 0x80 != 0, first & 0x0f);
            let length = match second & 0x7f {
                126 => usize::from(self.0.read_u16().await?),
                127 => usize::try_from(self.0.read_u64().await?).unwrap_or(usize::MAX),
                short => usize::from(short),
            };
            // A server never masks, and bounds are ours.
            let fits = length.saturating_add(message.len()) <= CODEX_MESSAGE_MAX_BYTES;
            if second & 0x80 != 0 || !fits {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).await?;
            match code {
                CLOSE => return Err(io::ErrorKind::UnexpectedEof.into()),
                PING => self.write(PONG, &body).await?,
                PONG => {}
                _ => {
                    message.append(&mut body);
                    if is_last {
                        return Ok(message);
                    }
                }
            }
        }
    }

    async fn write(&mut self, code: u8, body: &[u8]) -> io::Result<()> {
        let mut frame = vec![0x80 | code];
        match body.len() {
            length @ 0..=125 => frame.push(0x80 | length as u8),
            length @ 126..=0xffff => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        let mask = (RandomState::new().build_hasher().finish() as u32).to_be_bytes();
        frame.extend_from_slice(&mask);
        frame.extend(body.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.0.write_all(&frame).await?;
        self.0.flush().await
    }
}

async fn head_line(stream: &mut BufReader<UnixStream>) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(HEAD_LINE_MAX_BYTES).read_until(b'\n', &mut line).await?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    async fn frame(stream: &mut BufReader<UnixStream>) -> (u8, Vec<u8>) {
        let code = stream.read_u8().await.unwrap() & 0x0f;
        let length = match stream.read_u8().await.unwrap() & 0x7f {
            126 => usize::from(stream.read_u16().await.unwrap()),
            127 => stream.read_u64().await.unwrap() as usize,
            short => usize::from(short),
        };
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await.unwrap();
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        body.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        (code, body)
    }

    async fn serve(listener: UnixListener, frames: Vec<u8>, expected: usize) -> Vec<(u8, Vec<u8>)> {
        let mut stream = BufReader::new(listener.accept().await.unwrap().0);
        while !head_line(&mut stream).await.unwrap().is_empty() {}
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        stream.write_all(&frames).await.unwrap();
        let mut heard = Vec::new();
        for _ in 0..expected {
            heard.push(frame(&mut stream).await);
        }
        heard
    }

    #[tokio::test]
    async fn m4_messages_of_every_length_and_in_pieces_cross() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut frames = vec![0x89, 2, b'h', b'i', 0x01, 2, b'a', b'b', 0x80, 1, b'c'];
        frames.extend_from_slice(&[0x81, 126, 0x01, 0x00]);
        frames.extend(vec![b'x'; 256]);
        frames.extend_from_slice(&[0x88, 0]);
        let texts = ["short".to_owned(), "m".repeat(300), "l".repeat(70_000)];
        let server = tokio::spawn(serve(listener, frames, 4));
        let mut client = WebSocket::connect(&path).await.unwrap();
        assert_eq!(client.next().await.unwrap(), b"abc");
        assert_eq!(client.next().await.unwrap(), vec![b'x'; 256]);
        assert!(client.next().await.is_err(), "it was closed");
        for text in &texts {
            client.send(text).await.unwrap();
        }
        let heard = server.await.unwrap();
        assert_eq!(heard[0], (PONG, b"hi".to_vec()));
        for (heard, text) in heard[1..].iter().zip(&texts) {
            assert_eq!(heard, &(TEXT, text.clone().into_bytes()));
        }
    }

    #[tokio::test]
    async fn g2_a_server_that_is_none_or_floods_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let flood = vec![0x81, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let server = tokio::spawn(serve(listener, flood, 0));
        let mut client = WebSocket::connect(&path).await.unwrap();
        assert!(client.next().await.is_err());
        server.await.unwrap();
        assert!(WebSocket::connect(&folder.path().join("none")).await.is_err());
    }
}
