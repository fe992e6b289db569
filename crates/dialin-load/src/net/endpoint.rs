//! What the connections of an account share: the addresses of the server, and the TLS configuration.

use super::connect_error::ConnectError;
use super::socket::{Socket, Target};
use super::stream::Stream;
use super::tls;
use crate::account::Account;
use crate::protocol::Malformed;
use rustls::ClientConfig;
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};

/// An account and its server. The files for TLS are read once, the name of the host is resolved once, and TLS sessions are
/// resumed.
#[derive(Debug)]
pub struct Endpoint<'a> {
    pub(super) account: &'a Account,
    targets: OnceLock<Result<Vec<Target>, String>>,
    encryption: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl<'a> Endpoint<'a> {
    /// The endpoint of an account; reads no file and resolves no name yet.
    pub(super) fn new(account: &'a Account) -> Self {
        Self { account, targets: OnceLock::new(), encryption: OnceLock::new() }
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
