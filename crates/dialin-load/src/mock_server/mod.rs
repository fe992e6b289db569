//! A server that does nothing: it greets, lets everybody in, and answers statements as it was told to, at once.
//!
//! Tests and the self-test drive load against it. It listens at a unix socket, on a thread of its own, and speaks just enough
//! of the protocol for that. It is no measure of what the driver can read: packets of 16 MiB and more end a connection.

mod packets;
mod serve;

use crate::account::{Account, Address, Tls, TlsMode};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// To be let in.
    Login,
    /// A statement, to be prepared.
    Prepare(&'a str),
    /// A statement, sent as text.
    Query(&'a str),
    /// A statement that was prepared.
    Execute(&'a str),
    /// A prepared statement is closed. It is not answered, whatever the answer.
    Close(&'a str),
    /// A sign of life.
    Ping,
}

impl<'a> Command<'a> {
    /// The statement; empty where it is about none.
    #[must_use]
    pub fn sql(&self) -> &'a str {
        match self {
            Command::Prepare(sql) | Command::Query(sql) | Command::Execute(sql) | Command::Close(sql) => sql,
            Command::Login | Command::Ping => "",
        }
    }
}

/// What a client is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It went well. A statement to be prepared has as many parameters as question marks, and no columns.
    Ok,
    /// It went well, and changed so many rows.
    Changed(u64),
    /// An error of the server.
    Error(u16, String),
    /// Rows. A statement to be prepared has their columns.
    Rows(Arc<Rows>),
    /// Rows without end, as fast as the client takes them. Other connections are answered meanwhile.
    Endless,
    /// Another answer, so much later. Other connections are answered meanwhile.
    After(Duration, Box<Answer>),
    /// It went well, but the whole server stands still for so long before it says so.
    Stall(Duration),
    /// Nothing, for ever.
    Silence,
    /// The connection is closed.
    Close,
}

impl Answer {
    /// One row of columns that are called c1, c2 and so on.
    #[must_use]
    pub fn row(values: &[Option<&str>]) -> Self {
        let columns = (1..=values.len()).map(|number| format!("c{number}")).collect();
        let row = values.iter().map(|value| value.map(str::to_owned)).collect();
        Answer::Rows(Arc::new(Rows { columns, rows: vec![row] }))
    }

    /// The packets in which this driver is sent it: to a prepared statement or to text.
    #[must_use]
    pub fn packets(&self, binary: bool) -> Vec<u8> {
        let mut out = Vec::new();
        packets::Packets::new(&mut out, 1).answer(self, packets::Form { binary, deprecate_eof: false });
        out
    }
}

/// A result. All columns are text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// A value for each column, None for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A running server that does nothing. It ends when it is dropped, and closes all connections.
#[derive(Debug)]
pub struct MockServer {
    path: PathBuf,
    answered: Arc<AtomicU64>,
    running: Option<(UnixStream, JoinHandle<Duration>)>,
}

impl MockServer {
    /// Listen at a path. `answers` is called on the server's only thread.
    ///
    /// # Errors
    ///
    /// The path cannot be listened at.
    pub fn listen(path: &Path, answers: impl Fn(Command<'_>) -> Answer + Send + 'static) -> io::Result<Self> {
        if path.exists() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let (ours, theirs) = UnixStream::pair()?;
        let answered = Arc::new(AtomicU64::new(0));
        let mut server = serve::Server::new(listener, theirs, answers, Arc::clone(&answered))?;
        let thread = thread::Builder::new().name("mock_server".into()).spawn(move || server.run())?;
        Ok(Self { path: path.to_owned(), answered, running: Some((ours, thread)) })
    }

    /// An account that it lets in.
    #[must_use]
    pub fn account(&self) -> Account {
        Account {
            address: Address::Socket(self.path.clone()),
            user: "nobody".into(),
            password: String::new(),
            database: "nothing".into(),
            tls: Tls { mode: TlsMode::Disabled, ..Tls::default() },
        }
    }

    /// How many commands it answered, logins included.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// End it, and tell the CPU time that its thread took.
    pub fn end(mut self) -> Duration {
        self.close()
    }

    fn close(&mut self) -> Duration {
        let Some((stop, thread)) = self.running.take() else { return Duration::ZERO };
        drop(stop);
        let took = thread.join().unwrap_or_default();
        let _ = std::fs::remove_file(&self.path);
        took
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        self.close();
    }
}
