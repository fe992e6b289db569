//! The client's side of the MySQL and MariaDB protocol, without any input or output of its own.
//!
//! Commands are written into a buffer ([`command`], [`text`]); what the server sends is read by [`response::Response`], piece
//! by piece, however it arrives. [`login::Login`] is the conversation before the first command.

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

/// What the server sent is no protocol, and why. The connection is of no use any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}
