//! What a log says, one entry at a time, whichever log it is.

use super::timestamp::Clock;
use serde::Serialize;

/// An entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The number of the session, as the server gives it.
    pub thread: u64,
    /// When it began, in microseconds since 1970.
    pub start: i64,
    /// How exactly that is known.
    pub clock: Clock,
    /// What happened.
    pub event: Event<'a>,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// It began, with a schema or without one.
    Connect {
        /// The default schema.
        schema: Option<&'a [u8]>,
    },
    /// The server refused the login.
    Refused,
    /// A statement ran.
    Statement(Statement<'a>),
    /// Another command of the protocol, such as `Quit`, `Init DB` or `Prepare`, and its argument where the log has it.
    Command {
        /// Its name as logs have it.
        name: &'a [u8],
        /// Such as the schema of `Init DB`.
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
    /// It ran within a stored routine: no client sent it.
    pub in_routine: bool,
    /// What the server measured.
    pub figures: Figures,
}

/// The default schema of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema<'a> {
    /// The log says.
    Known(&'a [u8]),
    /// The one that its session had before.
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
    /// Such a packet had so many bytes: what that means depends on what its session did before.
    Bytes(u64),
}

/// What the server measured; None where its log does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Microseconds.
    pub duration: Option<i64>,
    /// Rows sent to the client.
    pub rows_sent: Option<u64>,
    /// Rows that were read.
    pub rows_examined: Option<u64>,
    /// The number of the error; 0 without one.
    pub error: Option<u64>,
}

/// What of a log could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Bytes of lines that belong to no entry.
    pub skipped_bytes: u64,
    /// Entries whose end the log does not have.
    pub cut_off: u64,
    /// Statements longer than [`MAX_STATEMENT`].
    pub too_long: u64,
    /// Statements whose quoted text has no end.
    pub open_quotes: u64,
}

/// The longest statement that is read, in bytes: the default `max_allowed_packet` of servers.
pub const MAX_STATEMENT: usize = 64 * 1024 * 1024;

/// What is known of a log once it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The server's version, from the lines at the top of a log.
    pub server: Option<String>,
    /// The coarsest clock that was seen; None before the first entry.
    pub clock: Option<Clock>,
    /// Entries say which error a statement ended with (`log_slow_extra`).
    pub has_errors: bool,
    /// How many microseconds the server's time zone is ahead of UTC, where its log shows both.
    pub zone: Option<i64>,
    /// What could not be read.
    pub unread: Unread,
}

/// A path, a version and `started with:`, at the top of a log and wherever it was flushed; the version.
pub(super) fn banner(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii_end().strip_suffix(b"started with:")?;
    let version = &line[memchr::memmem::find(line, b", Version: ")? + 11..];
    let end = version.iter().position(|byte| matches!(byte, b' ' | b'(')).unwrap_or(version.len());
    Some(String::from_utf8_lossy(&version[..end]).into_owned())
}

/// Whether a line is one of the two that follow a [`banner`].
pub(super) fn is_below_banner(line: &[u8]) -> bool {
    line.starts_with(b"Tcp port: ") || (line.starts_with(b"Time") && line.trim_ascii_end().ends_with(b"Argument"))
}
