//! A simple blocking client for everything but the load itself: filling tables, checks, queries about the server.

use super::connect::Connector;
use super::session::{Server, Session};
use super::socket::remaining;
use crate::account::SessionId;
use crate::errors::{self, Error};
use crate::protocol::cursor::Cursor;
use crate::protocol::response::{Expect, Outcome, Response};
use crate::protocol::sink::{Nothing, Sink};
use crate::protocol::{Malformed, command};
use std::fmt;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// The timeout for connecting.
const PATIENCE: Duration = Duration::from_secs(10);

/// The timeout for sending a command. A response is awaited without a limit, in waits of this length.
const LONG: Duration = Duration::from_secs(3600);

/// The limit for the rows of one result, in bytes.
const LARGEST: usize = 64 << 20;

/// The error code of client libraries for a lost connection (CR_SERVER_LOST).
const LOST: u16 = 2013;

/// The effect of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// The number of rows that were changed or returned.
    pub rows: u64,
    /// The first value that AUTO_INCREMENT generated; 0 if none.
    pub insert_id: u64,
    /// The number of warnings; 0 for a statement that returns rows.
    pub warnings: u16,
}

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The server's error code; 2013 if the connection is lost.
    pub code: u16,
    /// The server's message, or why the connection is lost.
    pub message: String,
}

impl SqlError {
    /// Whether the connection is lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.code == LOST
    }

    fn lost(why: impl fmt::Display) -> Self {
        Self { code: LOST, message: format!("the connection to the server is lost: {why}") }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}

impl From<SqlError> for Error {
    fn from(error: SqlError) -> Self {
        if error.is_lost() {
            Self::server(error.to_string(), "See the server's error log")
        } else {
            Self::workload(
                format!("the server refuses a statement: {error}"),
                "Check the schema, its tables and the account's rights",
            )
        }
    }
}

/// A connection that runs one statement after the other.
#[derive(Debug)]
pub struct Client {
    session: Session,
    response: Response,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    max_allowed_packet: usize,
    /// When the client gives up; None for never.
    deadline: Option<Instant>,
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`](super::connect_error::ConnectError).
    pub fn connect(connector: &Connector<'_>) -> errors::Result<Self> {
        let mut client = Self::over(connector.connect(PATIENCE)?, None);
        let rows = client.rows(b"SELECT @@max_allowed_packet")?;
        let first = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
        client.max_allowed_packet = first.ok_or_else(|| SqlError::lost("it does not report max_allowed_packet"))?;
        Ok(client)
    }

    /// Connects and logs in; gives up at the deadline, then and later.
    pub(super) fn connect_until(connector: &Connector<'_>, deadline: Instant) -> errors::Result<Self> {
        let session = connector.connect(deadline.saturating_duration_since(Instant::now()))?;
        Ok(Self::over(session, Some(deadline)))
    }

    fn over(session: Session, deadline: Option<Instant>) -> Self {
        let (response, incoming) = (Response::new(session.dialect), vec![0; 64 * 1024]);
        Self { session, response, outgoing: Vec::new(), incoming, max_allowed_packet: 0, deadline }
    }

    /// What identifies its session on the server.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.session.id
    }

    /// The server, as it reported itself at the login.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.session.server
    }

    /// The server's `max_allowed_packet`: the length of the longest command, in bytes.
    #[must_use]
    pub fn max_allowed_packet(&self) -> usize {
        self.max_allowed_packet
    }

    /// Runs a statement; rows that it returns are counted and discarded.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the connection is lost.
    pub fn run(&mut self, sql: &[u8]) -> Result<Affected, SqlError> {
        self.ask(sql, &mut Nothing)
    }

    /// Runs a statement and returns its rows; None is NULL.
    ///
    /// # Errors
    ///
    /// The server refuses it, or the connection is lost.
    pub fn rows(&mut self, sql: &[u8]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let mut table = Table::default();
        self.ask(sql, &mut table)?;
        Ok(table.rows)
    }

    fn ask(&mut self, sql: &[u8], sink: &mut impl Sink) -> Result<Affected, SqlError> {
        self.outgoing.clear();
        let sequence = command::query(&mut self.outgoing, sql);
        self.response.expect(Expect::Text, sequence);
        let deadline = self.deadline.unwrap_or_else(|| Instant::now() + LONG);
        self.session.stream.write_all(&self.outgoing, deadline).map_err(SqlError::lost)?;
        match self.outcome(sink)? {
            Outcome::Ok { affected, insert_id, warnings, .. } => Ok(Affected { rows: affected, insert_id, warnings }),
            Outcome::Rows { count, .. } => Ok(Affected { rows: count, ..Affected::default() }),
            Outcome::Error { code, message, .. } => Err(SqlError { code, message }),
            Outcome::Prepared { .. } => Err(SqlError::lost(Malformed("an unexpected answer: a prepared statement"))),
        }
    }

    fn outcome(&mut self, sink: &mut impl Sink) -> Result<Outcome, SqlError> {
        loop {
            let read = self.receive().map_err(SqlError::lost)?;
            let feed = self.response.feed(&self.incoming[..read], sink).map_err(SqlError::lost)?;
            match feed.done {
                Some(outcome) if feed.consumed == read => return Ok(outcome),
                Some(_) => return Err(SqlError::lost(Malformed("more than a response"))),
                None => {}
            }
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        loop {
            let longest = self.deadline.map_or(Ok(LONG), remaining)?;
            match self.session.stream.read_within(&mut self.incoming, longest) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

impl Drop for Client {
    /// Sends COM_QUIT, so that the server does not count the connection as aborted.
    fn drop(&mut self) {
        self.outgoing.clear();
        command::quit(&mut self.outgoing);
        // An error no longer matters.
        let _ = self.session.stream.write(&self.outgoing);
    }
}

/// All rows of a result sent as text.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<Option<String>>>,
    bytes: usize,
}

impl Sink for Table {
    fn wants_columns(&self) -> bool {
        false
    }

    fn wants_row(&self, _index: u64) -> bool {
        true
    }

    fn column(&mut self, _index: usize, _definition: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    fn row(&mut self, row: &[u8], _binary: bool) -> Result<(), Malformed> {
        self.bytes = self.bytes.saturating_add(row.len());
        if self.bytes > LARGEST {
            return Err(Malformed("a result of more than 64 MiB"));
        }
        let mut fields = Cursor::new(row);
        let mut values = Vec::new();
        while !fields.rest().is_empty() {
            values.push(fields.bytes()?.map(|field| String::from_utf8_lossy(field).into_owned()));
        }
        self.rows.push(values);
        Ok(())
    }
}
