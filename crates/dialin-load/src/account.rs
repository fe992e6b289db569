//! The server that connections go to, the account that they log in with, and their TLS settings.

use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// A host, by name or address, and a port.
    Tcp(String, u16),
}

impl Default for Address {
    /// An empty socket path, at which no server listens.
    fn default() -> Self {
        Address::Socket(PathBuf::new())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(out, "{}", path.display()),
            Address::Tcp(host, port) => write!(out, "{host}:{port}"),
        }
    }
}

/// Whether connections use TLS, and what they verify: `ssl-mode` of the MySQL client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Do not use TLS.
    Disabled,
    /// Use TLS over TCP if the server offers it, and not over a unix socket.
    #[default]
    Preferred,
    /// Use TLS, or do not connect.
    Required,
    /// As `Required`, and verify that an authority of `ca` signed the server's certificate.
    VerifyCa,
    /// As `VerifyCa`, and verify that the certificate was issued for this host.
    VerifyIdentity,
}

/// The TLS settings of connections. Files are in PEM format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether connections use TLS, and what they verify.
    pub mode: TlsMode,
    /// The file with the certificates of the authorities (CA) that may sign the server's certificate.
    pub ca: Option<PathBuf>,
    /// The file with the client's certificate.
    pub certificate: Option<PathBuf>,
    /// The file with the private key of the client's certificate.
    pub key: Option<PathBuf>,
    /// Whether to request the server's public key for passwords over TCP without encryption. An attacker who can change the
    /// traffic could replace that key with his own and so learn the password.
    pub fetch_public_key: bool,
}

/// What identifies a session on its server, until the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    /// The server's number for it, as used by KILL.
    pub number: u32,
    /// The port of this host that it comes from; None over a unix socket.
    pub port: Option<u16>,
    /// When the server accepted it.
    pub opened: Instant,
}

/// Receives the sessions that an account opens, each before it executes anything.
#[derive(Clone, Debug, Default)]
pub struct Listener(Option<Sender<SessionId>>);

impl Listener {
    /// A listener, and where its sessions arrive.
    #[must_use]
    pub fn new() -> (Self, Receiver<SessionId>) {
        let (sender, receiver) = channel();
        (Self(Some(sender)), receiver)
    }

    /// Tells of a session.
    pub fn tell(&self, session: SessionId) {
        // Whoever listened may have stopped.
        let _ = self.0.as_ref().map(|sender| sender.send(session));
    }
}

impl PartialEq for Listener {
    /// Who listens makes no difference to an account.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Listener {}

/// An account on a server. Its `Debug` output does not contain the password.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Where the server listens.
    pub address: Address,
    /// The user name.
    pub user: String,
    /// The password; empty if there is none.
    pub password: String,
    /// The schema of the workload's tables.
    pub database: String,
    /// The TLS settings.
    pub tls: Tls,
    /// The file to which each session is appended before it executes anything; None for no record.
    pub sessions_file: Option<PathBuf>,
    /// Who is told of each session before it executes anything.
    pub listener: Listener,
}

impl fmt::Debug for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Account({} at {}, schema {})", self.user, self.address, self.database)
    }
}
