//! An open connection, and what its server says of itself.

use super::stream::Stream;
use crate::protocol::response::Dialect;

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
