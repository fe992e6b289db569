//! Connecting to a server and logging in.

use super::socket::{Connected, Socket, Target, remaining};
use super::stream::Stream;
use super::tls;
use crate::account::{Account, Address, TlsMode};
use crate::errors::Error;
use crate::protocol::handshake::{self, Greeting, capability};
use crate::protocol::login::{Channel, Login, Refusal, Step};
use crate::protocol::response::{self, Dialect};
use crate::protocol::{Malformed, packet};
use rsa::rand_core::OsRng;
use rustls::ClientConfig;
use std::fmt;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// No packet of a login is longer.
const LONGEST: usize = 64 * 1024;

const A_DAY: Duration = Duration::from_secs(86_400);

/// How long until a server is asked again whose queue of connections is full.
pub const QUEUE_FULL: Duration = Duration::from_millis(1);

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

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Nobody listens, or does not answer, at this address.
    Unreachable(String, String),
    /// The server has no room for another connection: its code and message.
    TooMany(u16, String),
    /// The server refuses the account: its code and message.
    Refused(u16, String),
    /// The account needs a way of authentication that is not known here.
    Plugin(String),
    /// The password could only be sent with a key that the server sends without encryption, which was not allowed.
    NeedsKey,
    /// There is no encrypted connection, and why.
    Tls(String),
    /// A file that is named for encryption is of no use, and why.
    TlsFile(String),
    /// What listens at this address speaks another protocol.
    Protocol(String, Malformed),
}

impl ConnectError {
    /// Whether it may go away by itself, so that trying again makes sense for an account that was let in before.
    #[must_use]
    pub fn heals(&self) -> bool {
        // A server that goes away in the middle of a handshake looks like one that cannot encrypt.
        matches!(self, Self::Unreachable(..) | Self::TooMany(..) | Self::Tls(_))
    }

    fn of_server(address: &Address, code: u16, message: String) -> Self {
        match code {
            // Connections of all, of the account, of the account in an hour; threads.
            1040 | 1135 | 1203 | 1226 => Self::TooMany(code, message),
            // It shuts down, or has not started up.
            1053 | 1927 | 3168 => Self::Unreachable(address.to_string(), message),
            _ => Self::Refused(code, message),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(address, why) => write!(out, "the server at {address} cannot be reached: {why}"),
            Self::TooMany(code, message) => write!(out, "the server takes no more connections: {message} ({code})"),
            Self::Refused(code, message) => write!(out, "the server refuses the login: {message} ({code})"),
            Self::Plugin(name) => write!(out, "the account authenticates by {name}, which dialin-load does not know"),
            Self::NeedsKey => out.write_str(
                "the account's password would have to be encrypted with a key that comes over an unencrypted connection",
            ),
            Self::Tls(why) => write!(out, "there is no encrypted connection: {why}"),
            Self::TlsFile(why) => out.write_str(why),
            Self::Protocol(address, why) => write!(out, "what listens at {address} is no MySQL or MariaDB server: {why}"),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        let what = error.to_string();
        match error {
            ConnectError::Unreachable(..) => Self::server(what, "Check that the server runs, and where it listens"),
            ConnectError::TooMany(..) => {
                Self::server(what, "Ask for fewer connections, or raise max_connections (or the account's limit)")
            }
            ConnectError::Refused(1049, _) => Self::server(what, "Create the schema, or name another by --database"),
            ConnectError::Refused(1129, _) => {
                Self::server(what, "Run FLUSH HOSTS (TRUNCATE performance_schema.host_cache) on the server")
            }
            ConnectError::Refused(..) => {
                Self::server(what, "Check the user, the password and the account's rights on the schema")
            }
            ConnectError::Plugin(_) => Self::server(
                what,
                "Use an account with mysql_native_password, caching_sha2_password, sha256_password or ed25519",
            ),
            ConnectError::NeedsKey => Self::server(
                what,
                "Encrypt the connection (--ssl-mode required); or allow it by --get-server-public-key, if nobody can change what \
                 is sent on the way to the server",
            ),
            ConnectError::Tls(_) => Self::server(
                what,
                "Give the server TLS 1.2 or 1.3 and a certificate that passes, or connect without encryption: --ssl-mode disabled",
            ),
            ConnectError::TlsFile(_) => Self::user(what, "Check the files that --ssl-ca, --ssl-cert and --ssl-key name"),
            ConnectError::Protocol(..) => Self::server(what, "Check the host and the port"),
        }
    }
}

/// Makes the connections of an account. The files that are named for encryption are read once, the addresses of the host are asked
/// for once, and TLS sessions are resumed.
#[derive(Debug)]
pub struct Connector<'a> {
    account: &'a Account,
    targets: OnceLock<Result<Vec<Target>, String>>,
    encryption: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl<'a> Connector<'a> {
    /// For an account; nothing is read yet.
    #[must_use]
    pub fn new(account: &'a Account) -> Self {
        Self { account, targets: OnceLock::new(), encryption: OnceLock::new() }
    }

    /// Connects and logs in, within so much time.
    ///
    /// Over TCP a connection is encrypted where the server offers that, as the standard client does it. A handshake that fails is
    /// an error also where encryption is only preferred: whoever can break it must not get the password and the data instead.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect(&self, timeout: Duration) -> Result<Session, ConnectError> {
        self.connect_wanting(timeout, handshake::WANTED)
    }

    /// Connects and logs in with these capabilities instead of the usual, see [`capability`].
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn connect_wanting(&self, timeout: Duration, wanted: u64) -> Result<Session, ConnectError> {
        let deadline = Instant::now() + timeout.min(A_DAY);
        let mut opening = self.open_wanting(wanted)?;
        loop {
            opening = match opening.advance()? {
                Progress::Open(session) => return Ok(session),
                Progress::Moves(opening) => opening,
                Progress::Waits(opening) => opening.wait(deadline)?,
                Progress::Retries(opening) => {
                    if remaining(deadline).is_err() {
                        return Err(opening.timed_out());
                    }
                    std::thread::sleep(QUEUE_FULL);
                    opening
                }
            };
        }
    }

    /// Begins to connect and to log in, as [`Self::connect`] does, without waiting for anything but, the first time, for the addresses
    /// of the host.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn open(&self) -> Result<Opening<'_>, ConnectError> {
        self.open_wanting(handshake::WANTED)
    }

    fn open_wanting(&self, wanted: u64) -> Result<Opening<'_>, ConnectError> {
        let stream = self.stream(0)?;
        let (stage, input, output) = (Stage::Connects(0), Vec::new(), Vec::new());
        Ok(Opening { connector: self, wanted, stream, stage, sequence: 0, input, output })
    }

    /// A stream that has yet to connect to one of the server's addresses.
    fn stream(&self, target: usize) -> Result<Stream, ConnectError> {
        let socket = Socket::new(&self.targets()?[target]).map_err(|error| self.unreachable(&error))?;
        Ok(Stream::plain(socket))
    }

    fn targets(&self) -> Result<&[Target], ConnectError> {
        let targets = self.targets.get_or_init(|| Target::all(&self.account.address).map_err(|error| error.to_string()));
        match targets {
            Ok(targets) => Ok(targets),
            Err(why) => Err(ConnectError::Unreachable(self.account.address.to_string(), why.clone())),
        }
    }

    fn unreachable(&self, error: &io::Error) -> ConnectError {
        let why = match error.kind() {
            ErrorKind::UnexpectedEof => "it closed the connection during the login".into(),
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "it does not answer".into(),
            _ => error.to_string(),
        };
        ConnectError::Unreachable(self.account.address.to_string(), why)
    }

    fn protocol(&self, malformed: Malformed) -> ConnectError {
        ConnectError::Protocol(self.account.address.to_string(), malformed)
    }

    fn encryption(&self) -> Result<Arc<ClientConfig>, ConnectError> {
        let config = self.encryption.get_or_init(|| tls::config(&self.account.tls));
        config.clone().map_err(ConnectError::TlsFile)
    }
}

/// Connects and logs in once, as [`Connector::connect`] does.
///
/// # Errors
///
/// See [`ConnectError`].
pub fn connect(account: &Account, timeout: Duration) -> Result<Session, ConnectError> {
    Connector::new(account).connect(timeout)
}

/// How far a connection is that is being made.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It goes on once its socket has something, or has room.
    Waits(Opening<'a>),
    /// The server's queue of connections is full: it goes on after [`QUEUE_FULL`].
    Retries(Opening<'a>),
    /// It goes on at once with another socket, since the host has another address.
    Moves(Opening<'a>),
    /// It is open.
    Open(Session),
}

/// A connection that is being made: it connects and logs in step by step, as its socket allows, and never waits.
#[derive(Debug)]
pub struct Opening<'a> {
    connector: &'a Connector<'a>,
    wanted: u64,
    stream: Stream,
    stage: Stage<'a>,
    sequence: u8,
    /// What was received and not looked at.
    input: Vec<u8>,
    /// What is to be sent.
    output: Vec<u8>,
}

#[derive(Debug)]
enum Stage<'a> {
    /// To this one of the server's addresses.
    Connects(usize),
    /// The server speaks first.
    Greets,
    /// They agree on keys.
    Encrypts(Greeting, u64),
    LogsIn(Login<'a>, Server, u64),
}

impl<'a> Opening<'a> {
    /// The socket, to wait for.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// That it took too long.
    #[must_use]
    pub fn timed_out(&self) -> ConnectError {
        let error = ErrorKind::TimedOut.into();
        match self.stage {
            Stage::Encrypts(..) => ConnectError::Tls(tls::told(&error)),
            _ => self.connector.unreachable(&error),
        }
    }

    /// Wait until it can go on.
    fn wait(self, deadline: Instant) -> Result<Self, ConnectError> {
        let for_room = matches!(self.stage, Stage::Connects(_)) || !self.output.is_empty();
        match self.stream.wait(for_room, deadline) {
            Ok(()) => Ok(self),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(self.timed_out()),
            Err(error) => Err(self.connector.unreachable(&error)),
        }
    }

    /// Goes on as far as the socket allows.
    ///
    /// # Errors
    ///
    /// See [`ConnectError`].
    pub fn advance(mut self) -> Result<Progress<'a>, ConnectError> {
        if let Stage::Connects(target) = self.stage {
            let targets = self.connector.targets()?;
            match self.stream.connect(&targets[target]) {
                Ok(Connected::Yes) => self.stage = Stage::Greets,
                Ok(Connected::Soon) => return Ok(Progress::Waits(self)),
                Ok(Connected::QueueFull) => return Ok(Progress::Retries(self)),
                Err(_) if target + 1 < targets.len() => {
                    let stream = self.connector.stream(target + 1)?;
                    return Ok(Progress::Moves(Self { stream, stage: Stage::Connects(target + 1), ..self }));
                }
                Err(error) => return Err(self.connector.unreachable(&error)),
            }
        }
        loop {
            if !self.send()? {
                return Ok(Progress::Waits(self));
            }
            if let Stage::Encrypts(..) = self.stage {
                if !self.stream.is_encrypted() {
                    let config = self.connector.encryption()?;
                    let address = &self.connector.account.address;
                    self.stream = self.stream.encrypted(config, address).map_err(ConnectError::Tls)?;
                }
                match self.stream.shake() {
                    Ok(true) => self.log_in(),
                    Ok(false) => return Ok(Progress::Waits(self)),
                    Err(error) => return Err(ConnectError::Tls(tls::told(&error))),
                }
                continue;
            }
            match self.packet()? {
                Some(payload) => {
                    let status = self.take(&payload)?;
                    self = match (status, self) {
                        (Some(status), Self { stream, stage: Stage::LogsIn(_, server, agreed), .. }) => {
                            let dialect = handshake::dialect(agreed);
                            return Ok(Progress::Open(Session { stream, capabilities: agreed, dialect, server, status }));
                        }
                        (_, opening) => opening,
                    };
                }
                None if self.receive()? => {}
                None => return Ok(Progress::Waits(self)),
            }
        }
    }

    /// Takes a packet of the server's; gives the status flags that it lets in with.
    fn take(&mut self, payload: &[u8]) -> Result<Option<u16>, ConnectError> {
        let Stage::LogsIn(login, ..) = &mut self.stage else { return self.greet(payload).map(|()| None) };
        match login.take(payload, &mut OsRng) {
            Ok(Step::Welcome(status)) => return Ok(Some(status)),
            Ok(Step::Wait) => {}
            Ok(Step::Send(payload)) => self.write(&payload),
            Err(Refusal::Server(code, message)) => {
                return Err(ConnectError::of_server(&self.connector.account.address, code, message));
            }
            Err(Refusal::NeedsKey) => return Err(ConnectError::NeedsKey),
            Err(Refusal::Plugin(name)) => return Err(ConnectError::Plugin(name)),
            Err(Refusal::Malformed(malformed)) => return Err(self.connector.protocol(malformed)),
        }
        Ok(None)
    }

    /// Answers the server's greeting.
    fn greet(&mut self, first: &[u8]) -> Result<(), ConnectError> {
        let connector = self.connector;
        if first.first() == Some(&0xFF) {
            let (code, _, message) = response::error(first).map_err(|malformed| connector.protocol(malformed))?;
            return Err(ConnectError::of_server(&connector.account.address, code, message));
        }
        let greeting = Greeting::parse(first).map_err(|malformed| connector.protocol(malformed))?;
        let encrypted = self.encrypts(greeting.capabilities)?;
        let agreed = greeting.agreed(self.wanted, &connector.account.database, encrypted);
        self.stage = Stage::Encrypts(greeting, agreed);
        if !encrypted {
            self.log_in();
            return Ok(());
        }
        // Whatever came in clear by now is no part of the encrypted conversation.
        if !self.input.is_empty() {
            return Err(connector.protocol(Malformed("more than a greeting")));
        }
        self.write(&handshake::encryption_request(agreed));
        Ok(())
    }

    fn encrypts(&self, capabilities: u64) -> Result<bool, ConnectError> {
        let Account { tls, address, .. } = self.connector.account;
        let offered = capabilities & capability::SSL != 0;
        match (tls.mode, address) {
            (TlsMode::Disabled, _) | (TlsMode::Preferred, Address::Socket(_)) => Ok(false),
            (TlsMode::Preferred, Address::Tcp(..)) => Ok(offered),
            _ if offered => Ok(true),
            _ => Err(ConnectError::Tls("the server does not offer one".into())),
        }
    }

    /// Replies to the greeting, once the stream is encrypted or need not be.
    fn log_in(&mut self) {
        let Stage::Encrypts(greeting, agreed) = mem::replace(&mut self.stage, Stage::Greets) else { return };
        let account = self.connector.account;
        let channel = match (self.stream.is_encrypted(), &account.address) {
            (true, _) => Channel::Encrypted,
            (false, Address::Socket(_)) => Channel::Local,
            (false, Address::Tcp(..)) => Channel::Open { fetch_key: account.tls.fetch_public_key },
        };
        let login = Login::new(&greeting, account.password.as_bytes(), channel);
        self.write(&login.reply(agreed, &account.user, &account.database));
        let server = Server { version: greeting.version, mariadb: greeting.mariadb, connection_id: greeting.connection_id };
        self.stage = Stage::LogsIn(login, server, agreed);
    }

    /// Writes a packet, to be sent.
    fn write(&mut self, payload: &[u8]) {
        let start = packet::begin(&mut self.output);
        self.output.extend_from_slice(payload);
        self.sequence = packet::finish(&mut self.output, start, self.sequence);
    }

    /// Sends what is written, as far as the socket takes it; whether it took all.
    fn send(&mut self) -> Result<bool, ConnectError> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(sent) => drop(self.output.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(self.connector.unreachable(&error)),
            }
        }
        self.stream.flush().map_err(|error| self.connector.unreachable(&error))
    }

    /// Receives once; whether there was anything.
    fn receive(&mut self) -> Result<bool, ConnectError> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(self.connector.unreachable(&ErrorKind::UnexpectedEof.into())),
            Ok(read) => {
                self.input.extend_from_slice(&buffer[..read]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.connector.unreachable(&error)),
        }
    }

    /// The payload of the next packet; None before all of it is there.
    fn packet(&mut self) -> Result<Option<Vec<u8>>, ConnectError> {
        let Some((length, number)) = packet::header(&self.input) else { return Ok(None) };
        if length > LONGEST {
            return Err(self.connector.protocol(Malformed("a packet of a login that is too long")));
        }
        let end = packet::HEADER + length;
        if self.input.len() < end {
            return Ok(None);
        }
        // A server that refuses before the handshake may count its own way.
        self.sequence = number.wrapping_add(1);
        Ok(Some(self.input.drain(..end).skip(packet::HEADER).collect()))
    }
}

#[cfg(test)]
mod tests;
