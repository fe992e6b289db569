//! Connections to servers: sockets, encryption, logging in, and a simple client.

pub mod client;
pub mod connect;
pub mod connect_error;
pub mod endpoint;
pub mod leftover;
pub mod opening;
pub mod session;
mod socket;
pub mod stream;
mod tls;

pub(crate) use socket::remaining;
