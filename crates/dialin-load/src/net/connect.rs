//! Connecting to a server and logging in.

use super::connect_error::ConnectError;
use super::endpoint::Endpoint;
use super::opening::{Opening, Progress};
use super::session::Session;
use super::socket::remaining;
use crate::account::Account;
use crate::protocol::handshake;
use std::time::{Duration, Instant};

const A_DAY: Duration = Duration::from_secs(86_400);

/// The pause before the next attempt if the server's queue of connections is full.
pub const QUEUE_FULL: Duration = Duration::from_millis(1);

/// Makes connections for an account; they share its [`Endpoint`].
#[derive(Debug)]
pub struct Connector<'a> {
    endpoint: Endpoint<'a>,
}

impl<'a> Connector<'a> {
    /// A connector for an account; reads no file and resolves no name yet.
    #[must_use]
    pub fn new(account: &'a Account) -> Self {
        Self { endpoint: Endpoint::new(account) }
    }

    /// Connects and logs in, within `timeout`.
    ///
    /// By default a TCP connection is encrypted if the server offers TLS, as with the MySQL client. A failed handshake is an
    /// error even if encryption is only preferred: an attacker who breaks the handshake must not get the password and the data
    /// instead.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect(&self, timeout: Duration) -> Result<Session, ConnectError> {
        self.connect_wanting(timeout, handshake::WANTED)
    }

    /// Connects and logs in with these capabilities instead of the default ones; see [`handshake::capability`].
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect_wanting(&self, timeout: Duration, wanted: u64) -> Result<Session, ConnectError> {
        let deadline = Instant::now() + timeout.min(A_DAY);
        let mut opening = self.open_wanting(wanted)?;
        loop {
            opening = match opening.advance()? {
                Progress::Open(session) => return Ok(session),
                Progress::Moves(opening) => opening,
                Progress::Waits(opening) => opening.wait(deadline)?,
                Progress::Retries(opening) => {
                    if remaining(deadline).is_err() {
                        return Err(opening.timed_out());
                    }
                    std::thread::sleep(QUEUE_FULL);
                    opening
                }
            };
        }
    }

    /// Begins to connect and log in as [`Self::connect`] does, but does not block, except that the first call resolves the
    /// host's name.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn open(&self) -> Result<Opening<'_>, ConnectError> {
        self.open_wanting(handshake::WANTED)
    }

    /// Records a session that another host opened, by the server's number for it, in the account's file of sessions.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Unrecorded`]: the file cannot be written.
    pub fn record(&self, number: u32) -> Result<(), ConnectError> {
        self.endpoint.record(number)
    }

    /// Empties the account's file of sessions: call this once all its sessions have ended.
    pub fn forget_sessions(&self) {
        self.endpoint.forget_sessions();
    }

    fn open_wanting(&self, wanted: u64) -> Result<Opening<'_>, ConnectError> {
        Ok(Opening::new(&self.endpoint, self.endpoint.stream(0)?, wanted))
    }
}

/// Connects and logs in once, as [`Connector::connect`] does.
///
/// # Errors
///
/// See [`ConnectError`].
pub fn connect(account: &Account, timeout: Duration) -> Result<Session, ConnectError> {
    Connector::new(account).connect(timeout)
}

#[cfg(test)]
mod tests;
