//! Connecting and logging in step by step, without blocking.

use super::connect_error::ConnectError;
use super::endpoint::Endpoint;
use super::session::{Server, Session};
use super::socket::Connected;
use super::stream::Stream;
use super::tls;
use crate::account::{Account, Address, SessionId, TlsMode};
use crate::protocol::handshake::{self, Greeting, capability};
use crate::protocol::login::{Channel, Login, Refusal, Step};
use crate::protocol::{Malformed, packet, response};
use rsa::rand_core::OsRng;
use std::io::ErrorKind;
use std::mem;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The longest packet of a login, in bytes.
const LONGEST: usize = 64 * 1024;

/// The state of an attempt to connect.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It can continue once its socket is readable or, if it is connecting or sending, writable.
    Waits(Opening<'a>),
    /// The server's queue of connections is full: continue after [`QUEUE_FULL`](super::connect::QUEUE_FULL).
    Retries(Opening<'a>),
    /// The host has another address: it continues at once, with another socket.
    Moves(Opening<'a>),
    /// It is open.
    Open(Session),
}

/// An attempt to connect: [`Self::advance`] connects and logs in as far as the socket allows, and never blocks.
#[derive(Debug)]
pub struct Opening<'a> {
    endpoint: &'a Endpoint<'a>,
    wanted: u64,
    stream: Stream,
    stage: Stage<'a>,
    sequence: u8,
    /// Bytes that were received and not parsed yet.
    input: Vec<u8>,
    /// Bytes that are not sent yet.
    output: Vec<u8>,
}

#[derive(Debug)]
enum Stage<'a> {
    /// It connects to the server's address with this index.
    Connects(usize),
    /// It waits for the server's greeting.
    Greets,
    /// It shakes hands for TLS; with the greeting and the agreed capabilities.
    Encrypts(Greeting, u64),
    /// It authenticates; with the server, the session and the agreed capabilities.
    LogsIn(Login<'a>, Server, SessionId, u64),
}

impl<'a> Opening<'a> {
    /// An attempt on a stream that has yet to connect to the first of the server's addresses, with these capabilities.
    pub(super) fn new(endpoint: &'a Endpoint<'a>, stream: Stream, wanted: u64) -> Self {
        let (stage, input, output) = (Stage::Connects(0), Vec::new(), Vec::new());
        Self { endpoint, wanted, stream, stage, sequence: 0, input, output }
    }

    /// The socket to wait for.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The error for an attempt that took too long.
    #[must_use]
    pub fn timed_out(&self) -> ConnectError {
        let error = ErrorKind::TimedOut.into();
        match self.stage {
            Stage::Encrypts(..) => ConnectError::Tls(tls::describe_handshake_error(&error)),
            _ => self.endpoint.unreachable(&error),
        }
    }

    /// Waits until it can continue.
    pub(super) fn wait(self, deadline: Instant) -> Result<Self, ConnectError> {
        let for_room = matches!(self.stage, Stage::Connects(_)) || !self.output.is_empty();
        match self.stream.wait(for_room, deadline) {
            Ok(()) => Ok(self),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(self.timed_out()),
            Err(error) => Err(self.endpoint.unreachable(&error)),
        }
    }

    /// Continues as far as the socket allows without blocking.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn advance(mut self) -> Result<Progress<'a>, ConnectError> {
        if let Stage::Connects(target) = self.stage {
            let targets = self.endpoint.targets()?;
            match self.stream.connect(&targets[target]) {
                Ok(Connected::Yes) => self.stage = Stage::Greets,
                Ok(Connected::Soon) => return Ok(Progress::Waits(self)),
                Ok(Connected::QueueFull) => return Ok(Progress::Retries(self)),
                Err(_) if target + 1 < targets.len() => {
                    let stream = self.endpoint.stream(target + 1)?;
                    return Ok(Progress::Moves(Self { stream, stage: Stage::Connects(target + 1), ..self }));
                }
                Err(error) => return Err(self.endpoint.unreachable(&error)),
            }
        }
        loop {
            if !self.send()? {
                return Ok(Progress::Waits(self));
            }
            if let Stage::Encrypts(..) = self.stage {
                if !self.stream.is_encrypted() {
                    let config = self.endpoint.encryption()?;
                    let address = &self.endpoint.account.address;
                    self.stream = self.stream.encrypted(config, address).map_err(ConnectError::Tls)?;
                }
                match self.stream.handshake() {
                    Ok(true) => self.log_in()?,
                    Ok(false) => return Ok(Progress::Waits(self)),
                    Err(error) => return Err(ConnectError::Tls(tls::describe_handshake_error(&error))),
                }
                continue;
            }
            match self.packet()? {
                Some(payload) => {
                    let status = self.take(&payload)?;
                    self = match (status, self) {
                        (Some(status), Self { stream, stage: Stage::LogsIn(_, server, id, agreed), .. }) => {
                            let dialect = handshake::dialect(agreed);
                            return Ok(Progress::Open(Session { stream, capabilities: agreed, dialect, server, id, status }));
                        }
                        (_, opening) => opening,
                    };
                }
                None if self.receive()? => {}
                None => return Ok(Progress::Waits(self)),
            }
        }
    }

    /// Processes a packet from the server; returns the server's status flags once the login has succeeded.
    fn take(&mut self, payload: &[u8]) -> Result<Option<u16>, ConnectError> {
        let Stage::LogsIn(login, ..) = &mut self.stage else { return self.greet(payload).map(|()| None) };
        match login.take(payload, &mut OsRng) {
            Ok(Step::Welcome(status)) => return Ok(Some(status)),
            Ok(Step::Wait) => {}
            Ok(Step::Send(payload)) => self.write(&payload),
            Err(Refusal::Server(code, message)) => {
                return Err(ConnectError::of_server(&self.endpoint.account.address, code, message));
            }
            Err(Refusal::NeedsKey) => return Err(ConnectError::NeedsKey),
            Err(Refusal::Plugin(name)) => return Err(ConnectError::Plugin(name)),
            Err(Refusal::Malformed(malformed)) => return Err(self.endpoint.protocol(malformed)),
        }
        Ok(None)
    }

    /// Answers the server's greeting.
    fn greet(&mut self, first: &[u8]) -> Result<(), ConnectError> {
        let endpoint = self.endpoint;
        if first.first() == Some(&0xFF) {
            let (code, _, message) = response::error(first).map_err(|malformed| endpoint.protocol(malformed))?;
            return Err(ConnectError::of_server(&endpoint.account.address, code, message));
        }
        let greeting = Greeting::parse(first).map_err(|malformed| endpoint.protocol(malformed))?;
        let encrypted = self.encrypts(greeting.capabilities)?;
        let agreed = greeting.agreed(self.wanted, &endpoint.account.database, encrypted);
        self.stage = Stage::Encrypts(greeting, agreed);
        if !encrypted {
            return self.log_in();
        }
        // Bytes that arrived in clear text must not be taken for a part of the encrypted conversation.
        if !self.input.is_empty() {
            return Err(endpoint.protocol(Malformed("more than a greeting")));
        }
        self.write(&handshake::encryption_request(agreed));
        Ok(())
    }

    fn encrypts(&self, capabilities: u64) -> Result<bool, ConnectError> {
        let Account { tls, address, .. } = self.endpoint.account;
        let offered = capabilities & capability::SSL != 0;
        match (tls.mode, address) {
            (TlsMode::Disabled, _) | (TlsMode::Preferred, Address::Socket(_)) => Ok(false),
            (TlsMode::Preferred, Address::Tcp(..)) => Ok(offered),
            _ if offered => Ok(true),
            _ => Err(ConnectError::Tls("the server does not offer TLS".into())),
        }
    }

    /// Sends the login, once the stream is encrypted or need not be.
    fn log_in(&mut self) -> Result<(), ConnectError> {
        let Stage::Encrypts(greeting, agreed) = mem::replace(&mut self.stage, Stage::Greets) else { return Ok(()) };
        let id = SessionId { number: greeting.connection_id, port: self.stream.local_port(), opened: Instant::now() };
        // Nothing can be executed before its number is on record.
        self.endpoint.record(id.number)?;
        self.endpoint.account.listener.tell(id);
        let account = self.endpoint.account;
        let channel = match (self.stream.is_encrypted(), &account.address) {
            (true, _) => Channel::Encrypted,
            (false, Address::Socket(_)) => Channel::Local,
            (false, Address::Tcp(..)) => Channel::Open { fetch_key: account.tls.fetch_public_key },
        };
        let login = Login::new(&greeting, account.password.as_bytes(), channel);
        self.write(&login.reply(agreed, &account.user, &account.database));
        let server = Server { version: greeting.version, mariadb: greeting.mariadb };
        self.stage = Stage::LogsIn(login, server, id, agreed);
        Ok(())
    }

    /// Appends a packet to the bytes to send.
    fn write(&mut self, payload: &[u8]) {
        let start = packet::begin(&mut self.output);
        self.output.extend_from_slice(payload);
        self.sequence = packet::finish(&mut self.output, start, self.sequence);
    }

    /// Sends as much as the socket accepts; returns whether nothing is left.
    fn send(&mut self) -> Result<bool, ConnectError> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.endpoint.unreachable(&error)),
            }
        }
        self.stream.flush().map_err(|error| self.endpoint.unreachable(&error))
    }

    /// Receives once; returns whether anything had arrived.
    fn receive(&mut self) -> Result<bool, ConnectError> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(self.endpoint.unreachable(&ErrorKind::UnexpectedEof.into())),
            Ok(read) => {
                self.input.extend_from_slice(&buffer[..read]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.endpoint.unreachable(&error)),
        }
    }

    /// The payload of the next packet; None until it has arrived in full.
    fn packet(&mut self) -> Result<Option<Vec<u8>>, ConnectError> {
        let Some((length, number)) = packet::header(&self.input) else { return Ok(None) };
        if length > LONGEST {
            return Err(self.endpoint.protocol(Malformed("a packet of a login that is too long")));
        }
        let end = packet::HEADER + length;
        if self.input.len() < end {
            return Ok(None);
        }
        // The server's number counts: one that refuses a connection before the handshake may not begin at 0.
        self.sequence = number.wrapping_add(1);
        Ok(Some(self.input.drain(..end).skip(packet::HEADER).collect()))
    }
}
