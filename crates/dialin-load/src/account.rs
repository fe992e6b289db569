//! How a server is reached and as whom.

use std::fmt;
use std::path::PathBuf;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Socket(PathBuf),
    /// A host, by name or address, and a port.
    Tcp(String, u16),
}

impl Default for Address {
    /// Nowhere.
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

/// What the standard client's `ssl-mode` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// Over TCP, where the server has it.
    #[default]
    Preferred,
    /// Or no connection.
    Required,
    /// With a certificate that `ca` signed.
    VerifyCa,
    /// With a certificate that `ca` signed for this host.
    VerifyIdentity,
}

/// How connections are encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// What is asked of the server.
    pub mode: TlsMode,
    /// The certificates that the server's must be signed by.
    pub ca: Option<PathBuf>,
    /// The client's certificate.
    pub certificate: Option<PathBuf>,
    /// The client's key.
    pub key: Option<PathBuf>,
    /// Whether the server's key for passwords may be asked for over TCP without encryption. Whoever can change what is sent there
    /// can put a key of his own in its place, and so learn the password.
    pub fetch_public_key: bool,
}

/// An account at a server. Its password never shows in its text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Where the server listens.
    pub address: Address,
    /// The user.
    pub user: String,
    /// The password; empty for none.
    pub password: String,
    /// The schema of the workload's tables.
    pub database: String,
    /// How connections are encrypted.
    pub tls: Tls,
}

impl fmt::Debug for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Account({} at {}, schema {})", self.user, self.address, self.database)
    }
}
