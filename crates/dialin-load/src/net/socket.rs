//! A connected socket. It stays in blocking mode; each call says whether it may wait.

use crate::account::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// A socket, and how long its blocking reads wait.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    timeout: Duration,
}

impl Socket {
    /// Connects, before the deadline.
    pub(super) fn connect(address: &Address, deadline: Instant) -> io::Result<Self> {
        let fd = match address {
            Address::Socket(path) => connect_unix(path, deadline)?,
            Address::Tcp(host, port) => connect_tcp(host, *port, deadline)?,
        };
        Ok(Self::from(fd))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Receives what is there; `WouldBlock` if that is nothing.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (read, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::DONTWAIT)?;
        Ok(read)
    }

    /// Receives, and waits for it; `WouldBlock` if nothing comes in that time.
    pub(super) fn read_within(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        // The kernel takes no time at all for ever.
        let timeout = timeout.max(Duration::from_micros(1));
        if timeout != self.timeout {
            set_socket_timeout(&self.fd, Timeout::Recv, Some(timeout))?;
            self.timeout = timeout;
        }
        let (read, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?;
        Ok(read)
    }

    /// Sends what there is room for; `WouldBlock` if there is none.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    /// Waits until there is room to send.
    pub(super) fn wait_writable(&self, deadline: Instant) -> io::Result<()> {
        let left = remaining(deadline)?;
        let left = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        poll(&mut [PollFd::new(&self.fd, PollFlags::OUT)], Some(&left))?;
        Ok(())
    }
}

impl From<OwnedFd> for Socket {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, timeout: Duration::ZERO }
    }
}

/// How much time is left; `TimedOut` if none is.
pub(crate) fn remaining(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

fn connect_unix(path: &Path, deadline: Instant) -> io::Result<OwnedFd> {
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // A server that does not accept, because it is stopped, must not hold the client for ever.
    set_socket_timeout(&fd, Timeout::Send, Some(remaining(deadline)?))?;
    rustix::net::connect(&fd, &SocketAddrUnix::new(path)?)?;
    Ok(fd)
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> io::Result<OwnedFd> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs()?.collect();
    for address in addresses {
        match TcpStream::connect_timeout(&address, remaining(deadline)?) {
            Ok(stream) => {
                set_tcp_nodelay(&stream, true)?;
                set_socket_keepalive(&stream, true)?;
                return Ok(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Calls again when a signal interrupted.
pub(super) fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
