//! A socket. Once connected, it is in blocking mode, but each call chooses whether it blocks.

use crate::account::Address;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What a socket connects to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A unix socket.
    Unix(SocketAddrUnix),
    /// An address of a host.
    Tcp(SocketAddr),
}

impl Target {
    /// The targets of an address, in the order in which to try them. Resolves the name of a host, which may take some time.
    pub(super) fn all(address: &Address) -> io::Result<Vec<Self>> {
        match address {
            Address::Socket(path) => Ok(vec![Self::Unix(SocketAddrUnix::new(path)?)]),
            Address::Tcp(host, port) => {
                let addresses: Vec<Self> = (host.as_str(), *port).to_socket_addrs()?.map(Self::Tcp).collect();
                if addresses.is_empty() {
                    return Err(io::Error::new(ErrorKind::NotFound, "the host has no address"));
                }
                Ok(addresses)
            }
        }
    }
}

/// The state of a socket that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connected {
    /// It is connected.
    Yes,
    /// It is connecting; it will be writable when it is connected.
    Soon,
    /// The server's queue of connections is full: call [`Socket::connect`] again later.
    QueueFull,
}

/// A socket, and the timeout of its blocking reads as last set.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    timeout: Duration,
}

impl Socket {
    /// A socket that has yet to [connect](Self::connect).
    pub(super) fn new(target: &Target) -> io::Result<Self> {
        let family = match target {
            Target::Unix(_) => AddressFamily::UNIX,
            Target::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Target::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        if matches!(target, Target::Tcp(_)) {
            set_tcp_nodelay(&fd, true)?;
            set_socket_keepalive(&fd, true)?;
        }
        Ok(Self::from(fd))
    }

    /// Connects, or continues to connect, without blocking.
    pub(super) fn connect(&self, target: &Target) -> io::Result<Connected> {
        let tried = match target {
            Target::Unix(path) => rustix::net::connect(&self.fd, path),
            Target::Tcp(address) => rustix::net::connect(&self.fd, address),
        };
        match tried {
            Ok(()) | Err(Errno::ISCONN) => {
                rustix::io::ioctl_fionbio(&self.fd, false)?;
                Ok(Connected::Yes)
            }
            Err(Errno::INPROGRESS | Errno::ALREADY) => Ok(Connected::Soon),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Connected::QueueFull),
            Err(error) => Err(error.into()),
        }
    }

    /// The local port of a TCP connection.
    pub(super) fn local_port(&self) -> Option<u16> {
        SocketAddr::try_from(rustix::net::getsockname(&self.fd).ok()?).ok().map(|address| address.port())
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Receives the bytes that have arrived; `WouldBlock` if there are none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (read, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::DONTWAIT)?;
        Ok(read)
    }

    /// Receives, and waits for the first byte up to `timeout`; `WouldBlock` if none arrives in that time.
    pub(super) fn read_within(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        // For the kernel, 0 means no timeout.
        let timeout = timeout.max(Duration::from_micros(1));
        if timeout != self.timeout {
            set_socket_timeout(&self.fd, Timeout::Recv, Some(timeout))?;
            self.timeout = timeout;
        }
        let (read, _) = rustix::net::recv(&self.fd, buffer, RecvFlags::empty())?;
        Ok(read)
    }

    /// Sends as many bytes as the socket accepts at once; `WouldBlock` if it accepts none.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(&self.fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    /// Waits until the socket is writable if `for_room`, else until it is readable.
    pub(super) fn wait(&self, for_room: bool, deadline: Instant) -> io::Result<()> {
        let left = remaining(deadline)?;
        let left = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
        let flags = if for_room { PollFlags::OUT } else { PollFlags::IN };
        match poll(&mut [PollFd::new(&self.fd, flags)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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

/// Repeats a call that was interrupted by a signal.
pub(super) fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
