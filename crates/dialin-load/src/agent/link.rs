//! A connection between a conductor and an agent: JSON, a line at a time, bounded in length and never waited for without an end.
//!
//! Each side says its build and a nonce. From then on every line bears a seal that takes the token and both nonces to make; the
//! first such line of each side proves that it has the token. Who cannot is not listened to any longer.

use super::token::{Nonce, Role, Seals, Token};
use super::wire::{Command, Report};
use crate::BUILD;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The longest line of a stranger, in bytes.
const SHORT: usize = 512;
/// The longest line of somebody who has the token: the largest workload file takes less.
const LONG: usize = 32 << 20;
/// How much is read at a time.
const CHUNK: usize = 4 << 10;

/// Why nothing was received, could be sent, or why there is no link at all. Its text goes behind the name of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing came in time.
    Silent,
    /// What was sent is not taken.
    Deaf,
    /// The connection is closed, in good order or not.
    Closed,
    /// A line has no end.
    TooLong,
    /// A line bears no seal, or another's.
    Unsealed,
    /// A line makes no sense.
    Malformed,
    /// The connection failed.
    Broken(String),
    /// The other side is this other build.
    Build(String),
    /// It has another token.
    Token,
    /// It plays another run.
    Busy,
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Silent => write!(out, "sent nothing for too long"),
            Trouble::Deaf => write!(out, "does not listen"),
            Trouble::Closed => write!(out, "closed the connection"),
            Trouble::TooLong => write!(out, "sent a line that is too long"),
            Trouble::Unsealed => write!(out, "sent a line without the right seal"),
            Trouble::Malformed => write!(out, "sent a line that makes no sense"),
            Trouble::Broken(cause) => write!(out, "cannot be heard: {cause}"),
            Trouble::Build(build) => write!(out, "is dialin-load {build}, and this is {BUILD}"),
            Trouble::Token => write!(out, "has another token"),
            Trouble::Busy => write!(out, "plays another run"),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Trouble::Silent,
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Trouble::Closed,
            _ => Trouble::Broken(error.to_string()),
        }
    }
}

/// What both sides say first, the only lines without a seal.
#[derive(Serialize, Deserialize)]
struct Hello {
    #[serde(rename = "dialin-load")]
    build: String,
    nonce: String,
}

impl Hello {
    fn of(nonce: &Nonce) -> Self {
        Self { build: BUILD.to_owned(), nonce: BASE64.encode(nonce) }
    }

    fn nonce(&self) -> Result<Nonce, Trouble> {
        if self.build != BUILD {
            return Err(Trouble::Build(self.build.chars().filter(char::is_ascii_graphic).take(32).collect()));
        }
        BASE64.decode(&self.nonce).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(Trouble::Malformed)
    }
}

/// A connection to somebody who has the token.
pub struct Link {
    /// What the other side says.
    pub reader: Reader,
    /// What is said to it.
    pub writer: Writer,
}

impl Link {
    /// Meet an agent that was called.
    ///
    /// # Errors
    /// It is another build, has another token, is busy, or is no agent; or `timeout` is over.
    pub fn call(stream: TcpStream, token: &Token, nonce: &Nonce, timeout: Duration) -> Result<Self, Trouble> {
        let until = Instant::now() + timeout;
        let mut link = Self::unsealed(stream, timeout)?;
        link.writer.send(&Hello::of(nonce))?;
        let theirs = link.reader.receive::<Hello>(until)?.nonce()?;
        link.writer.seals = Some(token.seals(Role::Conductor, nonce, &theirs));
        link.reader.seals = Some(token.seals(Role::Agent, nonce, &theirs));
        link.writer.send(&Command::Conduct)?;
        match link.reader.receive(until) {
            Ok(Report::Welcome) => Ok(link),
            Ok(Report::Busy) => Err(Trouble::Busy),
            Ok(_) => Err(Trouble::Malformed),
            // An agent says nothing to whom it does not know.
            Err(Trouble::Closed | Trouble::Unsealed) => Err(Trouble::Token),
            Err(trouble) => Err(trouble),
        }
    }

    /// Meet a caller. It has yet to be told whether it may stay: [`Report::Welcome`] or [`Report::Busy`].
    ///
    /// # Errors
    /// It is another build, has another token, or is no conductor; or `timeout` is over.
    pub fn answer(stream: TcpStream, token: &Token, nonce: &Nonce, timeout: Duration) -> Result<Self, Trouble> {
        let until = Instant::now() + timeout;
        let mut link = Self::unsealed(stream, timeout)?;
        let hello = link.reader.receive::<Hello>(until)?;
        link.writer.send(&Hello::of(nonce))?;
        let theirs = hello.nonce()?;
        link.reader.seals = Some(token.seals(Role::Conductor, &theirs, nonce));
        link.writer.seals = Some(token.seals(Role::Agent, &theirs, nonce));
        match link.reader.receive(until) {
            Ok(Command::Conduct) => Ok(link),
            Ok(_) => Err(Trouble::Malformed),
            Err(Trouble::Unsealed) => Err(Trouble::Token),
            Err(trouble) => Err(trouble),
        }
    }

    /// Who takes nothing for `timeout` is given up.
    fn unsealed(stream: TcpStream, timeout: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        let now = Instant::now();
        let timed = Timed { stream: stream.try_clone()?, until: now, arrived: now };
        let lines = BufReader::with_capacity(CHUNK, timed);
        let reader = Reader { lines, line: vec![], longest: SHORT, seals: None };
        Ok(Self { reader, writer: Writer { stream, seals: None } })
    }
}

/// A stream that is read until an instant only.
struct Timed {
    stream: TcpStream,
    until: Instant,
    /// When the last bytes arrived.
    arrived: Instant,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let count = self.stream.read(buffer)?;
        self.arrived = Instant::now();
        Ok(count)
    }
}

/// The half of a connection that is read from.
pub struct Reader {
    lines: BufReader<Timed>,
    /// What has arrived of the next line.
    line: Vec<u8>,
    longest: usize,
    seals: Option<Seals>,
}

impl Reader {
    /// Receive the next line, if it is there in full by `until`. What came of it by then is not lost.
    ///
    /// # Errors
    /// Why there is none. All but [`Trouble::Silent`] are final.
    pub fn receive<T: DeserializeOwned>(&mut self, until: Instant) -> Result<T, Trouble> {
        self.lines.get_mut().until = until;
        // A line and its end: what is read of a stranger takes no more memory than that.
        let room = self.longest + 1 - self.line.len();
        self.line.reserve_exact(room.min(SHORT + 1));
        self.lines.by_ref().take(room as u64).read_until(b'\n', &mut self.line)?;
        match self.line.pop() {
            Some(b'\n') => {}
            _ if self.line.len() == self.longest => return Err(Trouble::TooLong),
            _ => return Err(Trouble::Closed),
        }
        let line = std::mem::take(&mut self.line);
        let text = match &mut self.seals {
            None => &line[..],
            Some(seals) => {
                let text = unsealed(seals, &line).ok_or(Trouble::Unsealed)?;
                // Only now is it certain that the other side has the token.
                self.longest = LONG;
                text
            }
        };
        serde_json::from_slice(text).map_err(|_| Trouble::Malformed)
    }

    /// When the last bytes arrived.
    #[must_use]
    pub fn arrived(&self) -> Instant {
        self.lines.get_ref().arrived
    }

    /// Let come what still comes until the other side closes, and forget it: closing before would destroy what it has yet to read.
    pub fn drain(&mut self, until: Instant) {
        self.lines.get_mut().until = until;
        let _ = io::copy(&mut self.lines, &mut io::sink());
    }
}

fn unsealed<'l>(seals: &mut Seals, line: &'l [u8]) -> Option<&'l [u8]> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let (seal, text) = (BASE64.decode(&line[..space]).ok()?, &line[space + 1..]);
    seals.fits(text, &seal).then_some(text)
}

/// The half of a connection that is written to.
pub struct Writer {
    stream: TcpStream,
    seals: Option<Seals>,
}

impl Writer {
    /// Send something, in one line.
    ///
    /// # Errors
    /// The other side is gone, or has taken nothing for the time that it was given.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), Trouble> {
        let text = serde_json::to_vec(message).map_err(|error| Trouble::Broken(error.to_string()))?;
        let seal = self.seals.as_mut().map(|seals| BASE64.encode(seals.seal(&text)) + " ").unwrap_or_default();
        let line = [seal.as_bytes(), &text, b"\n"].concat();
        self.stream.write_all(&line).map_err(|error| match error.into() {
            Trouble::Silent => Trouble::Deaf,
            other => other,
        })
    }

    /// Say that nothing more will be sent.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// End the connection in both directions; who reads from it learns that it is closed.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests;
