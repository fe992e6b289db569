//! Lines of JSON over TCP: bounded in length, sealed once both sides know each other, and never waited for without an end.

use super::token::Seals;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The longest line of a stranger, in bytes.
pub const SHORT: usize = 512;
/// The longest line of somebody who has the token: the largest workload file takes less.
pub const LONG: usize = 32 << 20;
/// How much is read at a time.
const CHUNK: usize = 16 << 10;

/// Why nothing was heard, or could be said. Its text goes behind the name of who should have spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing came in time.
    Silent,
    /// What was said is not taken.
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
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Silent => write!(out, "said nothing for too long"),
            Trouble::Deaf => write!(out, "does not listen"),
            Trouble::Closed => write!(out, "closed the connection"),
            Trouble::TooLong => write!(out, "sent a line that is too long"),
            Trouble::Unsealed => write!(out, "sent a line without the right seal"),
            Trouble::Malformed => write!(out, "sent a line that makes no sense"),
            Trouble::Broken(cause) => write!(out, "cannot be heard: {cause}"),
        }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Trouble::Silent,
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
                Trouble::Closed
            }
            _ => Trouble::Broken(error.to_string()),
        }
    }
}

/// The half of a connection that is listened to.
pub struct ReadHalf {
    stream: TcpStream,
    bytes: Vec<u8>,
    longest: usize,
    seals: Option<Seals>,
    arrived: Instant,
}

impl ReadHalf {
    /// Hear the next line, if it is there in full by `until`. What came of it by then is not lost.
    ///
    /// # Errors
    /// Why there is none. All but [`Trouble::Silent`] are final.
    pub fn hear<T: DeserializeOwned>(&mut self, until: Instant) -> Result<T, Trouble> {
        let line = self.line(until)?;
        let text = match &mut self.seals {
            None => &line[..],
            Some(seals) => {
                let text = unsealed(seals, &line)?;
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
        self.arrived
    }

    /// From now on each line bears a seal; those behind the first one that fits may be long.
    pub fn trust(&mut self, seals: Seals) {
        self.seals = Some(seals);
    }

    /// Let come what still comes until the other side closes, and forget it: closing before would destroy what it has yet to read.
    pub fn drain(&mut self, until: Instant) {
        while self.read(until).is_ok() {
            self.bytes.clear();
        }
    }

    fn line(&mut self, until: Instant) -> Result<Vec<u8>, Trouble> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.bytes[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.bytes.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.bytes, rest);
                line.pop();
                return if line.len() > self.longest { Err(Trouble::TooLong) } else { Ok(line) };
            }
            searched = self.bytes.len();
            if searched > self.longest {
                return Err(Trouble::TooLong);
            }
            self.read(until)?;
        }
    }

    fn read(&mut self, until: Instant) -> Result<(), Trouble> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Trouble::Silent);
        }
        self.stream.set_read_timeout(Some(left))?;
        let known = self.bytes.len();
        // A line and its end: what is read of a stranger takes no more memory than that.
        let room = (self.longest + 1).saturating_sub(known).clamp(1, CHUNK);
        self.bytes.resize(known + room, 0);
        let read = self.stream.read(&mut self.bytes[known..]);
        self.bytes.truncate(known + read.as_ref().map_or(0, |count| *count));
        match read {
            Ok(0) => return Err(Trouble::Closed),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        self.arrived = Instant::now();
        Ok(())
    }
}

fn unsealed<'l>(seals: &mut Seals, line: &'l [u8]) -> Result<&'l [u8], Trouble> {
    let space = line.iter().position(|byte| *byte == b' ').ok_or(Trouble::Unsealed)?;
    let (seal, text) = (&line[..space], &line[space + 1..]);
    let seal = BASE64.decode(seal).map_err(|_| Trouble::Unsealed)?;
    if seals.fits(text, &seal) { Ok(text) } else { Err(Trouble::Unsealed) }
}

/// The half of a connection that is spoken into.
pub struct WriteHalf {
    stream: TcpStream,
    seals: Option<Seals>,
}

impl WriteHalf {
    /// Say something, in one line.
    ///
    /// # Errors
    /// The other side is gone, or has not listened for the time that [`halves`] was given.
    pub fn say<T: Serialize>(&mut self, message: &T) -> Result<(), Trouble> {
        let text = serde_json::to_vec(message).map_err(|error| Trouble::Broken(error.to_string()))?;
        let mut line = match &mut self.seals {
            None => Vec::new(),
            Some(seals) => format!("{} ", BASE64.encode(seals.seal(&text))).into_bytes(),
        };
        line.extend_from_slice(&text);
        line.push(b'\n');
        self.stream.write_all(&line).map_err(|error| match error.into() {
            Trouble::Silent => Trouble::Deaf,
            other => other,
        })
    }

    /// From now on seal each line.
    pub fn trust(&mut self, seals: Seals) {
        self.seals = Some(seals);
    }

    /// Say that nothing more will be said.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// End the connection in both directions; an ear at it hears that it is closed.
    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The two halves of a new connection. Who does not listen for `timeout` is given up.
///
/// # Errors
/// The system refuses.
pub fn halves(stream: TcpStream, timeout: Duration) -> io::Result<(ReadHalf, WriteHalf)> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(timeout))?;
    let ear = ReadHalf { stream: stream.try_clone()?, bytes: Vec::new(), longest: SHORT, seals: None, arrived: Instant::now() };
    Ok((ear, WriteHalf { stream, seals: None }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::token::{Role, Token};
    use std::net::TcpListener;

    fn pair() -> (ReadHalf, WriteHalf, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let there = listener.accept().unwrap().0;
        let (ear, mouth) = halves(here, Duration::from_secs(5)).unwrap();
        (ear, mouth, there)
    }

    fn seals() -> Seals {
        Token::of(b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef").unwrap().seals(
            Role::Agent,
            &[1; 32],
            &[2; 32],
        )
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn lines_that_come_in_pieces_or_together_are_heard_one_by_one() {
        let (mut ear, _mouth, mut there) = pair();
        there.write_all(b"[1,").unwrap();
        assert_eq!(ear.hear::<Vec<u8>>(Instant::now() + Duration::from_millis(20)), Err(Trouble::Silent));
        there.write_all(b"2]\n[3]\n[").unwrap();
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Ok(vec![1, 2]));
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Ok(vec![3]));
        drop(there);
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Err(Trouble::Closed));
    }

    #[test]
    fn a_line_without_end_is_given_up_once_it_is_too_long() {
        let (mut ear, _mouth, mut there) = pair();
        there.write_all(&[b'['; SHORT + 1]).unwrap();
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Err(Trouble::TooLong));
    }

    #[test]
    fn what_is_no_json_or_nested_without_end_is_malformed() {
        for line in ["\n".to_owned(), "\u{7f}\n".to_owned(), "[".repeat(500) + "\n"] {
            let (mut ear, _mouth, mut there) = pair();
            there.write_all(line.as_bytes()).unwrap();
            assert_eq!(ear.hear::<serde_json::Value>(soon()), Err(Trouble::Malformed), "{line}");
        }
    }

    #[test]
    fn a_sealed_line_is_heard_with_its_seal_only() {
        let (mut ear, _, there) = pair();
        let (_, mut mouth) = halves(there, Duration::from_secs(5)).unwrap();
        ear.trust(seals());
        mouth.trust(seals());
        mouth.say(&[1, 2]).unwrap();
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Ok(vec![1, 2]));
        mouth.seals = None;
        for line in ["[1]", "AAAA [1]", " [1]", "= [1]"] {
            mouth.stream.write_all(format!("{line}\n").as_bytes()).unwrap();
            assert_eq!(ear.hear::<Vec<u8>>(soon()), Err(Trouble::Unsealed), "{line}");
        }
    }

    #[test]
    fn a_closed_connection_is_noticed_by_both_halves() {
        let (mut ear, mut mouth, there) = pair();
        mouth.close();
        assert_eq!(ear.hear::<Vec<u8>>(soon()), Err(Trouble::Closed));
        assert_eq!(mouth.say(&[1]), Err(Trouble::Closed));
        drop(there);
    }

    #[test]
    fn who_does_not_listen_is_given_up() {
        let (_ear, mut mouth, there) = pair();
        mouth.stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let much = "x".repeat(1 << 20);
        let said = (0..64).map(|_| mouth.say(&much)).find(Result::is_err);
        assert_eq!(said, Some(Err(Trouble::Deaf)));
        drop(there);
    }
}
