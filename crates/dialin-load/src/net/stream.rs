//! What a connection is read from and written to.

use super::socket::{Connected, Socket, Target, retry_interrupted};
use super::tls::Tls;
use crate::account::Address;
use rustls::ClientConfig;
use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connected stream. The socket is in blocking mode; what may not wait says so with each call.
#[derive(Debug)]
pub struct Stream {
    way: Way,
}

#[derive(Debug)]
enum Way {
    Plain(Socket),
    Tls(Box<Tls>),
}

impl Stream {
    pub(super) fn plain(socket: Socket) -> Self {
        Self { way: Way::Plain(socket) }
    }

    /// Over a socket that is connected already.
    #[cfg(test)]
    pub(crate) fn over(socket: std::os::unix::net::UnixStream) -> Self {
        Self::plain(Socket::from(std::os::fd::OwnedFd::from(socket)))
    }

    /// Connects, or goes on with that, without waiting.
    pub(super) fn connect(&self, target: &Target) -> io::Result<Connected> {
        self.socket().connect(target)
    }

    /// The same connection, encrypted from here on, once the [handshake](Self::shake) is done.
    pub(super) fn encrypted(self, config: Arc<ClientConfig>, address: &Address) -> Result<Self, String> {
        match self.way {
            Way::Plain(socket) => Tls::over(socket, config, address).map(|tls| Self { way: Way::Tls(Box::new(tls)) }),
            Way::Tls(_) => Ok(self),
        }
    }

    /// Greets and agrees on keys, without waiting; whether that is done.
    pub(super) fn shake(&mut self) -> io::Result<bool> {
        match &mut self.way {
            Way::Plain(_) => Ok(true),
            Way::Tls(tls) => tls.shake(),
        }
    }

    /// Whether what is sent is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        matches!(self.way, Way::Tls(_))
    }

    /// Whether it is encrypted with keys of an earlier connection, without another exchange of certificates.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        matches!(&self.way, Way::Tls(tls) if tls.is_resumed())
    }

    /// The socket, to wait for.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }

    /// Reads what is there without waiting; 0 at the end, `WouldBlock` if nothing is there. One receive on a plain socket.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.way {
            Way::Plain(socket) => retry_interrupted(|| socket.read(buffer)),
            Way::Tls(tls) => tls.read(buffer),
        }
    }

    /// Reads, and waits for it; `WouldBlock` if nothing comes in that time.
    pub fn read_within(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        match &mut self.way {
            Way::Plain(socket) => retry_interrupted(|| socket.read_within(buffer, timeout)),
            Way::Tls(tls) => tls.read_within(buffer, timeout),
        }
    }

    /// Writes what there is room for without waiting; gives how much was taken, `WouldBlock` if nothing was. See [`Self::flush`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.way {
            Way::Plain(socket) => retry_interrupted(|| socket.write(bytes)),
            Way::Tls(tls) => tls.write(bytes),
        }
    }

    /// Sends what has been taken but not sent, without waiting; whether nothing is left of it. On a plain socket nothing ever is.
    pub fn flush(&mut self) -> io::Result<bool> {
        match &mut self.way {
            Way::Plain(_) => Ok(true),
            Way::Tls(tls) => tls.flush(),
        }
    }

    /// Writes all of it, and waits for that.
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

    /// Waits until there is room to send, or something to receive.
    pub(super) fn wait(&self, for_room: bool, deadline: Instant) -> io::Result<()> {
        self.socket().wait(for_room, deadline)
    }

    fn socket(&self) -> &Socket {
        match &self.way {
            Way::Plain(socket) => socket,
            Way::Tls(tls) => tls.socket(),
        }
    }
}
