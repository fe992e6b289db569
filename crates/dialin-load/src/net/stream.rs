//! The byte stream of a connection, encrypted or not.

use super::socket::{Connected, Socket, Target, retry_interrupted};
use super::tls::Tls;
use crate::account::Address;
use rustls::ClientConfig;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A byte stream. Once connected, the socket is in blocking mode; methods that must not block say so in each system call.
#[derive(Debug)]
pub struct Stream {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Plain(Socket),
    Tls(Box<Tls>),
}

impl Stream {
    pub(super) fn plain(socket: Socket) -> Self {
        Self { inner: Inner::Plain(socket) }
    }

    /// A session over a socket that is connected and logged in already.
    #[cfg(test)]
    pub(crate) fn session_over(socket: std::os::unix::net::UnixStream) -> super::session::Session {
        super::session::Session {
            stream: Self::plain(Socket::from(std::os::fd::OwnedFd::from(socket))),
            capabilities: 0,
            dialect: crate::protocol::response::Dialect::default(),
            server: super::session::Server { version: String::new(), mariadb: false },
            id: crate::account::SessionId { number: 1, port: None, opened: Instant::now() },
            status: 2,
        }
    }

    /// Connects, or continues to connect, without blocking.
    pub(super) fn connect(&self, target: &Target) -> io::Result<Connected> {
        self.socket().connect(target)
    }

    /// The same connection, which is encrypted once the [handshake](Self::handshake) is done.
    pub(super) fn encrypted(self, config: Arc<ClientConfig>, address: &Address) -> Result<Self, String> {
        match self.inner {
            Inner::Plain(socket) => Tls::over(socket, config, address).map(|tls| Self { inner: Inner::Tls(Box::new(tls)) }),
            Inner::Tls(_) => Ok(self),
        }
    }

    /// Continues the TLS handshake without blocking; returns whether it is done.
    pub(super) fn handshake(&mut self) -> io::Result<bool> {
        match &mut self.inner {
            Inner::Plain(_) => Ok(true),
            Inner::Tls(tls) => tls.handshake(),
        }
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self.inner, Inner::Tls(_))
    }

    /// Whether the TLS session of an earlier connection was resumed, without another exchange of certificates.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        matches!(&self.inner, Inner::Tls(tls) if tls.is_resumed())
    }

    /// The port of this host that the connection comes from; None for a unix socket.
    #[must_use]
    pub fn local_port(&self) -> Option<u16> {
        self.socket().local_port()
    }

    /// The socket to wait for.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }

    /// Reads the bytes that have arrived, without blocking; 0 at the end, `WouldBlock` if there are none. A single receive on a
    /// plain socket.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(socket) => retry_interrupted(|| socket.read(buffer)),
            Inner::Tls(tls) => tls.read(buffer),
        }
    }

    /// Reads, and waits for the first byte up to `timeout`; `WouldBlock` if none arrives in that time.
    pub fn read_within(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(socket) => retry_interrupted(|| socket.read_within(buffer, timeout)),
            Inner::Tls(tls) => tls.read_within(buffer, timeout),
        }
    }

    /// Writes without blocking; returns the number of bytes accepted, `WouldBlock` if none were. See [`Self::flush`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(socket) => retry_interrupted(|| socket.write(bytes)),
            Inner::Tls(tls) => tls.write(bytes),
        }
    }

    /// Sends bytes that were accepted but not sent, without blocking; returns whether none are left. A plain socket has none.
    pub fn flush(&mut self) -> io::Result<bool> {
        match &mut self.inner {
            Inner::Plain(_) => Ok(true),
            Inner::Tls(tls) => tls.flush(),
        }
    }

    /// Writes and sends all bytes, and waits until that is done.
    pub fn write_all(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        loop {
            match self.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(true, deadline)?,
                Err(error) => return Err(error),
            }
            if bytes.is_empty() && self.flush()? {
                return Ok(());
            }
            if bytes.is_empty() {
                self.wait(true, deadline)?;
            }
        }
    }

    /// Waits until the socket is writable if `for_room`, else until it is readable.
    pub(super) fn wait(&self, for_room: bool, deadline: Instant) -> io::Result<()> {
        self.socket().wait(for_room, deadline)
    }

    fn socket(&self) -> &Socket {
        match &self.inner {
            Inner::Plain(socket) => socket,
            Inner::Tls(tls) => tls.socket(),
        }
    }
}
