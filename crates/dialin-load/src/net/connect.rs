//! Connecting to a server and logging in.

use super::opening::{Opening, Progress};
use super::socket::{Socket, Target, remaining};
use super::stream::Stream;
use super::tls;
use crate::account::{Account, Address};
use crate::errors::Error;
use crate::protocol::Malformed;
use crate::protocol::handshake;
use crate::protocol::response::Dialect;
use rustls::ClientConfig;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

const A_DAY: Duration = Duration::from_secs(86_400);

/// How long until a server is asked again whose queue of connections is full.
pub const QUEUE_FULL: Duration = Duration::from_millis(1);

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its version, as `version()` says it.
    pub version: String,
    /// Whether it is MariaDB.
    pub mariadb: bool,
    /// The number of this connection, as KILL takes it.
    pub connection_id: u32,
}

/// An open connection of an account that was let in.
#[derive(Debug)]
pub struct Session {
    /// What commands are written to and responses read from.
    pub stream: Stream,
    /// What client and server agreed on, see [`capability`].
    pub capabilities: u64,
    /// How results look by that.
    pub dialect: Dialect,
    /// The server.
    pub server: Server,
    /// The server's status flags.
    pub status: u16,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Nobody listens, or does not answer, at this address.
    Unreachable(String, String),
    /// The server has no room for another connection: its code and message.
    TooMany(u16, String),
    /// The server refuses the account: its code and message.
    Refused(u16, String),
    /// The account needs a way of authentication that is not known here.
    Plugin(String),
    /// The password could only be sent with a key that the server sends without encryption, which was not allowed.
    NeedsKey,
    /// There is no encrypted connection, and why.
    Tls(String),
    /// A file that is named for encryption is of no use, and why.
    TlsFile(String),
    /// What listens at this address speaks another protocol.
    Protocol(String, Malformed),
}

impl ConnectError {
    /// Whether it may go away by itself, so that trying again makes sense for an account that was let in before.
    #[must_use]
    pub fn heals(&self) -> bool {
        // A server that goes away in the middle of a handshake looks like one that cannot encrypt.
        matches!(self, Self::Unreachable(..) | Self::TooMany(..) | Self::Tls(_))
    }

    pub(super) fn of_server(address: &Address, code: u16, message: String) -> Self {
        match code {
            // Connections of all, of the account, of the account in an hour; threads.
            1040 | 1135 | 1203 | 1226 => Self::TooMany(code, message),
            // It shuts down, or has not started up.
            1053 | 1927 | 3168 => Self::Unreachable(address.to_string(), message),
            _ => Self::Refused(code, message),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(address, why) => write!(out, "the server at {address} cannot be reached: {why}"),
            Self::TooMany(code, message) => write!(out, "the server takes no more connections: {message} ({code})"),
            Self::Refused(code, message) => write!(out, "the server refuses the login: {message} ({code})"),
            Self::Plugin(name) => write!(out, "the account authenticates by {name}, which dialin-load does not know"),
            Self::NeedsKey => out.write_str(
                "the account's password would have to be encrypted with a key that comes over an unencrypted connection",
            ),
            Self::Tls(why) => write!(out, "there is no encrypted connection: {why}"),
            Self::TlsFile(why) => out.write_str(why),
            Self::Protocol(address, why) => write!(out, "what listens at {address} is no MySQL or MariaDB server: {why}"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        let what = error.to_string();
        match error {
            ConnectError::Unreachable(..) => Self::server(what, "Check that the server runs, and where it listens"),
            ConnectError::TooMany(..) => {
                Self::server(what, "Ask for fewer connections, or raise max_connections (or the account's limit)")
            }
            ConnectError::Refused(1049, _) => Self::server(what, "Create the schema, or name another by --database"),
            ConnectError::Refused(1129, _) => {
                Self::server(what, "Run FLUSH HOSTS (TRUNCATE performance_schema.host_cache) on the server")
            }
            ConnectError::Refused(..) => {
                Self::server(what, "Check the user, the password and the account's rights on the schema")
            }
            ConnectError::Plugin(_) => Self::server(
                what,
                "Use an account with mysql_native_password, caching_sha2_password, sha256_password or ed25519",
            ),
            ConnectError::NeedsKey => Self::server(
                what,
                "Encrypt the connection (--ssl-mode required); or allow it by --get-server-public-key, if nobody can change what \
                 is sent on the way to the server",
            ),
            ConnectError::Tls(_) => Self::server(
                what,
                "Give the server TLS 1.2 or 1.3 and a certificate that passes, or connect without encryption: --ssl-mode disabled",
            ),
            ConnectError::TlsFile(_) => Self::user(what, "Check the files that --ssl-ca, --ssl-cert and --ssl-key name"),
            ConnectError::Protocol(..) => Self::server(what, "Check the host and the port"),
        }
    }
}

/// Makes the connections of an account. The files that are named for encryption are read once, the addresses of the host are asked
/// for once, and TLS sessions are resumed.
#[derive(Debug)]
pub struct Connector<'a> {
    pub(super) account: &'a Account,
    targets: OnceLock<Result<Vec<Target>, String>>,
    encryption: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl<'a> Connector<'a> {
    /// For an account; nothing is read yet.
    #[must_use]
    pub fn new(account: &'a Account) -> Self {
        Self { account, targets: OnceLock::new(), encryption: OnceLock::new() }
    }

    /// Connects and logs in, within so much time.
    ///
    /// Over TCP a connection is encrypted where the server offers that, as the standard client does it. A handshake that fails is
    /// an error also where encryption is only preferred: whoever can break it must not get the password and the data instead.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect(&self, timeout: Duration) -> Result<Session, ConnectError> {
        self.connect_wanting(timeout, handshake::WANTED)
    }

    /// Connects and logs in with these capabilities instead of the usual, see [`capability`].
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

    /// Begins to connect and to log in, as [`Self::connect`] does, without waiting for anything but, the first time, for the addresses
    /// of the host.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn open(&self) -> Result<Opening<'_>, ConnectError> {
        self.open_wanting(handshake::WANTED)
    }

    fn open_wanting(&self, wanted: u64) -> Result<Opening<'_>, ConnectError> {
        Ok(Opening::new(self, self.stream(0)?, wanted))
    }

    /// A stream that has yet to connect to one of the server's addresses.
    pub(super) fn stream(&self, target: usize) -> Result<Stream, ConnectError> {
        let socket = Socket::new(&self.targets()?[target]).map_err(|error| self.unreachable(&error))?;
        Ok(Stream::plain(socket))
    }

    pub(super) fn targets(&self) -> Result<&[Target], ConnectError> {
        let targets = self.targets.get_or_init(|| Target::all(&self.account.address).map_err(|error| error.to_string()));
        match targets {
            Ok(targets) => Ok(targets),
            Err(why) => Err(ConnectError::Unreachable(self.account.address.to_string(), why.clone())),
        }
    }

    pub(super) fn unreachable(&self, error: &io::Error) -> ConnectError {
        let why = match error.kind() {
            ErrorKind::UnexpectedEof => "it closed the connection during the login".into(),
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "it does not answer".into(),
            _ => error.to_string(),
        };
        ConnectError::Unreachable(self.account.address.to_string(), why)
    }

    pub(super) fn protocol(&self, malformed: Malformed) -> ConnectError {
        ConnectError::Protocol(self.account.address.to_string(), malformed)
    }

    pub(super) fn encryption(&self) -> Result<Arc<ClientConfig>, ConnectError> {
        let config = self.encryption.get_or_init(|| tls::config(&self.account.tls));
        config.clone().map_err(ConnectError::TlsFile)
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
