//! Connections to servers: sockets, encryption, logging in, and a simple client.

pub mod client;
pub mod connect;
pub mod opening;
mod socket;
pub mod stream;
mod tls;

pub(crate) use socket::remaining;
