//! Why a connection could not be made.

use crate::account::Address;
use crate::errors::Error;
use crate::protocol::Malformed;
use std::fmt;

/// Why a connection could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// No server answers at this address; with the reason.
    Unreachable(String, String),
    /// This machine has no room for another connection; with the reason.
    NoRoom(String),
    /// The server accepts no more connections: its error code and message.
    TooMany(u16, String),
    /// The server refuses the login: its error code and message.
    Refused(u16, String),
    /// The account needs this authentication plugin, which is not supported.
    Plugin(String),
    /// The password could only be sent with a key that the server sends without encryption, which was not allowed.
    NeedsKey,
    /// The connection could not be encrypted; with the reason.
    Tls(String),
    /// A file that is named for encryption cannot be used; with the reason.
    TlsFile(String),
    /// The session cannot be recorded; with the file and the reason.
    Unrecorded(String),
    /// The program that listens at this address does not speak the protocol of MySQL; with the reason.
    Protocol(String, Malformed),
}

impl ConnectError {
    /// Whether the error may be temporary, so that an account that could log in before should try again.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        // A server that stops in the middle of a handshake looks like one that cannot encrypt.
        matches!(self, Self::Unreachable(..) | Self::NoRoom(_) | Self::TooMany(..) | Self::Tls(_))
    }

    pub(super) fn of_server(address: &Address, code: u16, message: String) -> Self {
        match code {
            // Limits: max_connections (1040), threads (1135), max_user_connections (1203), resources of an account (1226).
            1040 | 1135 | 1203 | 1226 => Self::TooMany(code, message),
            // It is shutting down, killed the connection, or has not started up yet.
            1053 | 1927 | 3168 => Self::Unreachable(address.to_string(), message),
            _ => Self::Refused(code, message),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(address, why) => write!(out, "the server at {address} cannot be reached: {why}"),
            Self::NoRoom(why) => write!(out, "no connection can be opened on this machine: {why}"),
            Self::TooMany(code, message) => write!(out, "the server accepts no more connections: {message} ({code})"),
            Self::Refused(code, message) => write!(out, "the server refuses the login: {message} ({code})"),
            Self::Plugin(name) => write!(out, "the account's authentication plugin {name} is not supported by dialin-load"),
            Self::NeedsKey => out.write_str(
                "the account's password would have to be encrypted with a key that comes over an unencrypted connection",
            ),
            Self::Tls(why) => write!(out, "the connection cannot be encrypted: {why}"),
            Self::TlsFile(why) => out.write_str(why),
            Self::Unrecorded(why) => write!(out, "the numbers of sessions cannot be written to {why}"),
            Self::Protocol(address, why) => write!(out, "what listens at {address} is not a MySQL or MariaDB server: {why}"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        let what = error.to_string();
        match error {
            ConnectError::Unreachable(..) => Self::connection(what, "Check that the server runs, and where it listens"),
            ConnectError::NoRoom(_) => Self::machine(what, "Check the limit of open files (ulimit -n), memory and free ports"),
            ConnectError::TooMany(..) => {
                Self::server(what, "Use fewer connections, or raise max_connections (or the account's limit)")
            }
            ConnectError::Refused(1049, _) => Self::server(what, "Create the schema, or name another one with --database"),
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
                "Encrypt the connection (--ssl-mode required); or allow it with --get-server-public-key, if nobody can change \
                 what is sent on the way to the server",
            ),
            ConnectError::Tls(_) => Self::server(
                what,
                "Give the server TLS 1.2 or 1.3 and a certificate that passes, or connect without encryption: --ssl-mode disabled",
            ),
            ConnectError::TlsFile(_) => Self::user(what, "Check the files that --ssl-ca, --ssl-cert and --ssl-key name"),
            ConnectError::Unrecorded(_) => Self::user(what, "Check the path of --sessions-file and the space on its disk"),
            ConnectError::Protocol(..) => Self::server(what, "Check the host and the port"),
        }
    }
}
