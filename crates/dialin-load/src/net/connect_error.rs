//! Why a connection is not there.

use crate::account::Address;
use crate::errors::Error;
use crate::protocol::Malformed;
use std::fmt;

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
