//! What the connections of an account share: the addresses of the server, and the TLS configuration.

use super::connect_error::ConnectError;
use super::socket::{Socket, Target};
use super::stream::Stream;
use super::tls;
use crate::account::Account;
use crate::protocol::Malformed;
use rustix::io::Errno;
use rustls::ClientConfig;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the system says where this machine, not the server, is the reason that there is no connection.
const NO_ROOM: [Errno; 5] = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::ADDRNOTAVAIL];

/// An account and its server. The files for TLS are read once, the name of the host is resolved once, and TLS sessions are
/// resumed.
#[derive(Debug)]
pub struct Endpoint<'a> {
    pub(super) account: &'a Account,
    targets: OnceLock<Result<Vec<Target>, String>>,
    encryption: OnceLock<Result<Arc<ClientConfig>, String>>,
    sessions: OnceLock<Result<File, String>>,
}

impl<'a> Endpoint<'a> {
    /// The endpoint of an account; reads no file and resolves no name yet.
    pub(super) fn new(account: &'a Account) -> Self {
        Self { account, targets: OnceLock::new(), encryption: OnceLock::new(), sessions: OnceLock::new() }
    }

    /// Records a session in the account's file of sessions, if it has one: a line with the server's number for it and the Unix time.
    pub(super) fn record(&self, number: u32) -> Result<(), ConnectError> {
        let Some(path) = &self.account.sessions_file else { return Ok(()) };
        let opened = self
            .sessions
            .get_or_init(|| OpenOptions::new().create(true).append(true).open(path).map_err(|error| error.to_string()));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let written = match opened {
            Ok(file) => {
                let mut file: &File = file;
                file.write_all(format!("{number} {now:.3}\n").as_bytes()).map_err(|error| error.to_string())
            }
            Err(why) => Err(why.clone()),
        };
        written.map_err(|why| ConnectError::Unrecorded(format!("{}: {why}", path.display())))
    }

    /// Empties the account's file of sessions, because none of them executes anything any more.
    pub(super) fn forget_sessions(&self) {
        if let Some(path) = &self.account.sessions_file {
            // If that fails, sessions that are gone stay on record, which does no harm.
            let _ = OpenOptions::new().write(true).truncate(true).open(path);
        }
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

    /// The error of a stream: the server cannot be reached, unless this machine has no room for the stream.
    pub(super) fn unreachable(&self, error: &io::Error) -> ConnectError {
        if error.raw_os_error().is_some_and(|code| NO_ROOM.contains(&Errno::from_raw_os_error(code))) {
            return ConnectError::NoRoom(error.to_string());
        }
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
