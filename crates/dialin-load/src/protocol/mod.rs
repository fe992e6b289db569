//! The client side of the MySQL and MariaDB protocol, without input or output: callers read and write the sockets.
//!
//! Commands are written into a buffer ([`command`], [`text`]). [`response::Response`] reads what the server sends, in pieces of any size.
//! [`login::Login`] handles the login before the first command.

pub mod auth;
pub mod command;
pub mod cursor;
pub mod handshake;
pub mod login;
pub mod outcome;
pub mod packet;
pub mod parameters;
pub mod response;
pub mod sink;
pub mod text;
pub mod value;

use std::fmt;

/// The server sent data that violates the protocol; the text says how. The connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}
