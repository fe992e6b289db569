//! An open connection, and what its server reported about itself.

use super::stream::Stream;
use crate::account::SessionId;
use crate::protocol::response::Dialect;

/// What a server reported about itself when a connection was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its version, as `version()` returns it.
    pub version: String,
    /// Whether it is MariaDB.
    pub mariadb: bool,
}

/// An open connection that has logged in.
#[derive(Debug)]
pub struct Session {
    /// The stream of commands and responses.
    pub stream: Stream,
    /// The capabilities that client and server agreed on; see [`capability`](crate::protocol::handshake::capability).
    pub capabilities: u64,
    /// The format of results that follows from the capabilities.
    pub dialect: Dialect,
    /// The server.
    pub server: Server,
    /// What identifies the session on the server.
    pub id: SessionId,
    /// The server's status flags after the login.
    pub status: u16,
}
