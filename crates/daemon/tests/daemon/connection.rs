//! One end of a connection to the daemon: lines as JSON, written and read one by one.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use legwork_protocol::line::LINE_VERSION;
use serde_json::{Value, json};

use crate::local_host::PATIENCE;

pub struct Connection {
    write: UnixStream,
    read: BufReader<UnixStream>,
}

impl Connection {
    pub fn connect(socket: &Path) -> Self {
        let write = UnixStream::connect(socket).unwrap();
        write.set_read_timeout(Some(PATIENCE)).unwrap();
        write.set_write_timeout(Some(PATIENCE)).unwrap();
        let read = BufReader::new(write.try_clone().unwrap());
        Self { write, read }
    }

    /// Writes that nobody reads end after this time.
    pub fn give_up_after(&mut self, time: std::time::Duration) {
        self.write.set_write_timeout(Some(time)).unwrap();
    }

    pub fn hello_as_client(&mut self) -> Value {
        self.hello(json!({ "is": "client" }), "0.0.1")
    }

    pub fn hello(&mut self, role: Value, build: &str) -> Value {
        self.send(json!({
            "type": "hello", "version": LINE_VERSION, "build": build, "role": role,
        }));
        self.next()
    }

    pub fn send(&mut self, line: Value) {
        self.send_raw(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn send_raw(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write.write_all(bytes)
    }

    /// The next line.
    pub fn next(&mut self) -> Value {
        self.read_line().expect("the daemon closed the connection")
    }

    /// The next line, if the connection is not closed.
    pub fn read_line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.read.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("nothing came: {error}"),
        }
    }

    pub fn is_closed(&mut self) -> bool {
        self.read_line().is_none()
    }

    /// The line that answers a request.
    pub fn request(&mut self, request: Value) -> Value {
        self.send(json!({ "type": "request", "id": 77, "key": "k", "request": request }));
        loop {
            let line = self.next();
            if line["id"] == 77 {
                return line;
            }
        }
    }

    /// What comes of a request that is not refused.
    pub fn data(&mut self, request: Value) -> Value {
        let line = self.request(request);
        assert_eq!(line["type"], "data", "{line}");
        line["data"]["of"].clone()
    }

    pub fn view(&mut self) -> Value {
        self.data(json!({ "what": "status" }))
    }
}
