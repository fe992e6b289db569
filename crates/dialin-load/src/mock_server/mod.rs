//! A mock server: it accepts every login and answers each command at once, with the answer that its creator chose.
//!
//! Tests and the self-test run load against it. It listens on a unix socket, on its own thread, and implements just enough of
//! the protocol for that. It does not support packets of 16 MiB and more: a client that sends one is disconnected.

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

/// A command of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The login.
    Login,
    /// Prepare a statement.
    Prepare(&'a str),
    /// Execute a statement that is sent as text.
    Query(&'a str),
    /// Execute a prepared statement.
    Execute(&'a str),
    /// Close a prepared statement. The client is not answered, whatever the answer.
    Close(&'a str),
    /// COM_PING.
    Ping,
    /// COM_RESET_CONNECTION.
    Reset,
}

impl<'a> Command<'a> {
    /// The statement; empty if the command has none.
    #[must_use]
    pub fn sql(&self) -> &'a str {
        match self {
            Command::Prepare(sql) | Command::Query(sql) | Command::Execute(sql) | Command::Close(sql) => sql,
            Command::Login | Command::Ping | Command::Reset => "",
        }
    }
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Success. A statement to be prepared has as many parameters as question marks, and no columns.
    Ok,
    /// Success, with this number of changed rows.
    Changed(u64),
    /// An error with this code and message.
    Error(u16, String),
    /// Rows. A statement to be prepared has their columns.
    Rows(Arc<Rows>),
    /// Rows without end, as fast as the client reads them. Meanwhile the server answers other connections.
    Endless,
    /// Another answer, after this time. Meanwhile the server answers other connections.
    After(Duration, Box<Answer>),
    /// Success, after the whole server has stalled for this time.
    Stall(Duration),
    /// No answer at all.
    Silence,
    /// The connection is closed.
    Close,
}

impl Answer {
    /// One row; its columns are named c1, c2 and so on.
    #[must_use]
    pub fn row(values: &[Option<&str>]) -> Self {
        let columns = (1..=values.len()).map(|number| format!("c{number}")).collect();
        let row = values.iter().map(|value| value.map(str::to_owned)).collect();
        Answer::Rows(Arc::new(Rows { columns, rows: vec![row] }))
    }

    /// The packets of the answer as this driver receives them: to a prepared statement if `binary`, else to a statement sent as
    /// text.
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
    /// The rows, with a value for each column; None is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A running mock server. When it is dropped, it ends and closes all connections.
#[derive(Debug)]
pub struct MockServer {
    path: PathBuf,
    answered: Arc<AtomicU64>,
    running: Option<(UnixStream, JoinHandle<Duration>)>,
}

impl MockServer {
    /// Listen on a unix socket at `path`; an existing file there is removed. `answers` is called on the thread of the server.
    ///
    /// # Errors
    ///
    /// The server cannot listen on the path.
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

    /// An account for this server, which accepts every account.
    #[must_use]
    pub fn account(&self) -> Account {
        Account {
            address: Address::Socket(self.path.clone()),
            user: "nobody".into(),
            password: String::new(),
            database: "nothing".into(),
            tls: Tls { mode: TlsMode::Disabled, ..Tls::default() },
            ..Account::default()
        }
    }

    /// The number of answered commands, including logins.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// End the server; return the CPU time of its thread.
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
