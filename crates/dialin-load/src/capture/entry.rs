//! The entries of a log, in the same form for slow logs and general logs.

use super::timestamp::Clock;
use serde::Serialize;

/// An entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The server's number of the session; None if the log does not say.
    pub thread: Option<u64>,
    /// When the event began, in microseconds since 1970; None if the log has no time up to here.
    pub start: Option<i64>,
    /// The resolution of `start`.
    pub clock: Clock,
    /// What happened.
    pub event: Event<'a>,
}

/// What the entries of some logs lack. Their statements can be counted, but not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// The numbers of the sessions, as in slow logs of MySQL up to 5.5.
    Sessions,
    /// Times, as in parts of old logs, which have the time only where the second changes.
    Times,
}

impl Entry<'_> {
    /// The session and the start, in microseconds since 1970.
    ///
    /// # Errors
    /// The log does not say which session, or when.
    pub fn place(&self) -> Result<(u64, i64), Lack> {
        Ok((self.thread.ok_or(Lack::Sessions)?, self.start.ok_or(Lack::Times)?))
    }
}

/// The part of the statements that a server wrote to its slow log (`log_slow_rate_limit` of Percona Server).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sampling {
    /// Of how many it chose one.
    pub one_of: u64,
    /// What it chose.
    pub by: SampledBy,
}

/// What a server chooses when it writes only a part of the statements to its slow log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampledBy {
    /// Single statements: no transaction is whole.
    Query,
    /// Sessions, with all their statements.
    Session,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The session began, with a schema or without one.
    Connect {
        /// The default schema.
        schema: Option<&'a [u8]>,
    },
    /// The server refused the login.
    Refused,
    /// A statement ran.
    Statement(Statement<'a>),
    /// Another command of the protocol, such as `Quit`, `Init DB` or `Prepare`.
    Command {
        /// Its name in the log.
        name: &'a [u8],
        /// Its argument if it is needed, such as the schema of `Init DB`; else empty.
        argument: &'a [u8],
    },
}

/// A statement that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The text, in the client's character set, with the values of its parameters.
    pub sql: &'a [u8],
    /// The default schema, as far as the log says.
    pub schema: Schema<'a>,
    /// How it was sent.
    pub protocol: Protocol,
    /// Whether it ran within a stored routine. No client sent it then.
    pub in_routine: bool,
    /// What the server measured.
    pub figures: Figures,
}

/// The default schema of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema<'a> {
    /// The log names it; empty if there is none.
    Known(&'a [u8]),
    /// The log does not name it: the session still has the schema that it had before.
    Session,
}

/// How a statement was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// As text.
    Text,
    /// Prepared, with parameters in binary.
    Prepared,
    /// The log does not say.
    Unknown,
    /// The log has the size of the packet in bytes. Whether the statement was prepared also depends on what its
    /// session did before.
    Bytes(u64),
}

/// What the server measured. A value is None if the log does not have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// In microseconds.
    pub duration: Option<i64>,
    /// Rows sent to the client.
    pub rows_sent: Option<u64>,
    /// Rows examined.
    pub rows_examined: Option<u64>,
    /// Rows changed, inserted or deleted. Whether rows that an UPDATE matched and left as they were count depends on the client.
    pub rows_affected: Option<u64>,
    /// The error number; 0 if there was no error.
    pub error: Option<u64>,
}

/// What could not be read from a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Bytes of lines that belong to no entry.
    pub skipped_bytes: u64,
    /// Entries whose end is missing in the log.
    pub cut_off: u64,
    /// Statements longer than [`MAX_STATEMENT`].
    pub too_long: u64,
    /// Statements whose quoted text has no end.
    pub open_quotes: u64,
}

/// The longest statement that is read, in bytes: 64 MiB, the default `max_allowed_packet` of MySQL 8.0 and later.
pub const MAX_STATEMENT: usize = 64 * 1024 * 1024;

/// Facts about a log, collected while it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The server's version, from the lines at the top of a log.
    pub server: Option<String>,
    /// The coarsest resolution of the times so far; None before the first entry.
    pub clock: Option<Clock>,
    /// Whether entries have the error number of a statement (`log_slow_extra`, or Percona Server).
    pub has_errors: bool,
    /// Which part of the statements the server wrote to the log; None for all.
    pub sampling: Option<Sampling>,
    /// How many microseconds the server's time zone is ahead of UTC; None if the log does not show both times.
    pub zone: Option<i64>,
    /// What could not be read.
    pub unread: Unread,
}

impl About {
    /// Record that a time in the log has this resolution.
    pub(super) fn note_clock(&mut self, clock: Clock) {
        self.clock = Some(self.clock.map_or(clock, |coarsest| coarsest.min(clock)));
    }
}

/// The version in the line that ends with `started with:`, which servers write at the top of a log and after each flush.
pub(super) fn banner(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii_end().strip_suffix(b"started with:")?;
    let version = &line[memchr::memmem::find(line, b", Version: ")? + 11..];
    let end = version.iter().position(|byte| matches!(byte, b' ' | b'(')).unwrap_or(version.len());
    Some(String::from_utf8_lossy(&version[..end]).into_owned())
}

/// Whether a line is one of the two that follow a [`banner`].
pub(super) fn is_below_banner(line: &[u8]) -> bool {
    line.starts_with(b"Tcp port: ")
        || line.starts_with(b"TCP Port: ")
        || (line.starts_with(b"Time") && line.trim_ascii_end().ends_with(b"Argument"))
}
