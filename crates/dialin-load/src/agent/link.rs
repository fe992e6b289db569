//! A connection between a conductor and an agent that have the same token: messages in JSON, encrypted by the Noise protocol.
//!
//! Each side first sends its build and a key that is used for this connection only. The agent needs the token for its answer,
//! and the conductor needs it for each frame after that, so the conductor's first message proves that it has the token. A
//! message consists of frames: two bytes with the length, then the content. A frame that is not full is the last one of its
//! message.

use super::token::Token;
use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::{Builder, HandshakeState, TransportState};
use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// With NNpsk2, recorded traffic can neither be decrypted nor be used to test guesses of the token.
const PROTOCOL: &str = "Noise_NNpsk2_25519_ChaChaPoly_SHA256";
/// The longest encrypted frame in bytes. It limits what is read at once from a caller that has not proved that it has the
/// token.
const FRAME: usize = 4 << 10;
/// The bytes that encryption adds to a frame.
const TAG: usize = 16;
/// The approximate length in bytes of the longest message; an order with the largest workload file is shorter.
const LONGEST: usize = 32 << 20;

/// What is wrong with the other side. The text continues a sentence that begins with the name of that side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// It sent nothing in time, or accepted nothing.
    Silent,
    /// It closed the connection, cleanly or not.
    Closed,
    /// It sent something that no dialin-load sends.
    Malformed,
    /// It does not have the token, or its message was changed on the way.
    Token,
    /// It is another build, this one.
    Build(String),
    /// The connection failed.
    Failed(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Silent => write!(out, "sent nothing for too long"),
            LinkError::Closed => write!(out, "closed the connection"),
            LinkError::Malformed => write!(out, "sent a message that makes no sense"),
            LinkError::Token => write!(out, "has another token"),
            LinkError::Build(build) => write!(out, "is dialin-load {build}, and this is {}", crate::BUILD),
            LinkError::Failed(cause) => write!(out, "cannot be reached: {cause}"),
        }
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => LinkError::Silent,
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                LinkError::Closed
            }
            _ => LinkError::Failed(error.to_string()),
        }
    }
}

impl From<snow::Error> for LinkError {
    fn from(error: snow::Error) -> Self {
        if error == snow::Error::Decrypt { LinkError::Token } else { LinkError::Malformed }
    }
}

/// A connection to the other side, which is of the same build.
pub struct Link {
    stream: TcpStream,
    noise: TransportState,
}

impl Link {
    /// Call an agent.
    ///
    /// # Errors
    /// It is another build, has another token, or does not answer in time.
    pub fn call(stream: TcpStream, token: &Token, build: &str, timeout: Duration) -> Result<Self, LinkError> {
        Self::of(stream, noise(token)?.build_initiator()?, build, timeout)
    }

    /// Answer a conductor. The first message received from it proves that it has the token.
    ///
    /// # Errors
    /// It is another build, or sends nothing in time.
    pub fn answer(stream: TcpStream, token: &Token, build: &str, timeout: Duration) -> Result<Self, LinkError> {
        Self::of(stream, noise(token)?.build_responder()?, build, timeout)
    }

    /// Shake hands within `timeout`. Later, sending fails if the other side accepts nothing for this time.
    fn of(mut stream: TcpStream, mut noise: HandshakeState, build: &str, timeout: Duration) -> Result<Self, LinkError> {
        let until = Instant::now() + timeout;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        let (mut buffer, mut other_build) = ([0; FRAME], String::new());
        while !noise.is_handshake_finished() {
            if noise.is_my_turn() {
                let length = noise.write_message(build.as_bytes(), &mut buffer)?;
                send_frame(&mut stream, &buffer[..length])?;
            } else {
                let length = noise.read_message(&receive_frame(&mut stream, until)?, &mut buffer)?;
                other_build = String::from_utf8_lossy(&buffer[..length]).into_owned();
            }
        }
        if other_build != build {
            return Err(LinkError::Build(other_build.chars().filter(char::is_ascii_graphic).take(32).collect()));
        }
        Ok(Self { stream, noise: noise.into_transport_mode()? })
    }

    /// Send a message.
    ///
    /// # Errors
    /// The other side closed the connection, or accepts nothing.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), LinkError> {
        let text = serde_json::to_vec(message).map_err(|error| LinkError::Failed(error.to_string()))?;
        let mut buffer = [0; FRAME];
        // A text that fills its last frame is followed by an empty frame.
        for begin in (0..=text.len()).step_by(FRAME - TAG) {
            let part = &text[begin..text.len().min(begin + FRAME - TAG)];
            let length = self.noise.write_message(part, &mut buffer)?;
            send_frame(&mut self.stream, &buffer[..length])?;
        }
        Ok(())
    }

    /// Receive the next message, which must have arrived in full by `until`.
    ///
    /// # Errors
    /// See [`LinkError`]. After any error the connection cannot be used any more.
    pub fn receive<T: DeserializeOwned>(&mut self, until: Instant) -> Result<T, LinkError> {
        let (mut text, mut buffer) = (vec![], [0; FRAME]);
        loop {
            let length = self.noise.read_message(&receive_frame(&mut self.stream, until)?, &mut buffer)?;
            text.extend_from_slice(&buffer[..length]);
            if length < FRAME - TAG {
                return serde_json::from_slice(&text).map_err(|_| LinkError::Malformed);
            } else if text.len() > LONGEST {
                return Err(LinkError::Malformed);
            }
        }
    }
}

fn noise(token: &Token) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PROTOCOL.parse()?).psk(2, token.key())
}

fn send_frame(stream: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
    let length = (frame.len() as u16).to_be_bytes();
    stream.write_all(&[&length, frame].concat())
}

fn receive_frame(stream: &mut TcpStream, until: Instant) -> Result<Vec<u8>, LinkError> {
    let mut length = [0; 2];
    read_exact(stream, &mut length, until)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > FRAME {
        return Err(LinkError::Malformed);
    }
    let mut frame = vec![0; length];
    read_exact(stream, &mut frame, until)?;
    Ok(frame)
}

/// As [`std::io::Read::read_exact`], but fail at the instant `until`, however slowly bytes arrive.
fn read_exact(stream: &mut TcpStream, mut buffer: &mut [u8], until: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => buffer = &mut buffer[count..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener};
    use std::thread;

    const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const OTHER_TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF";
    const PATIENCE: Duration = Duration::from_secs(5);

    fn token(secret: &[u8]) -> Token {
        Token::of(secret).unwrap()
    }

    fn soon() -> Instant {
        Instant::now() + PATIENCE
    }

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    /// A conductor and an agent that meet, each with a token and a build.
    fn meet(conductor: (&[u8], &'static str), agent: (&[u8], &'static str)) -> [Result<Link, LinkError>; 2] {
        let (here, there) = streams();
        let (secret, build) = (token(agent.0), agent.1);
        let answering = thread::spawn(move || Link::answer(there, &secret, build, PATIENCE));
        [Link::call(here, &token(conductor.0), conductor.1, PATIENCE), answering.join().unwrap()]
    }

    fn links() -> [Link; 2] {
        meet((TOKEN, "1"), (TOKEN, "1")).map(Result::unwrap)
    }

    fn error<T>(result: Result<T, LinkError>) -> LinkError {
        result.err().expect("an error")
    }

    #[test]
    fn messages_of_any_length_cross_in_both_directions() {
        let [mut conductor, mut agent] = links();
        // In JSON a text is two bytes longer, so these texts end before, at and after the end of a frame.
        let full = FRAME - TAG - 2;
        for length in [0, full - 1, full, full + 1, 2 * full + 2, 100_000] {
            let text = "x".repeat(length);
            conductor.send(&text).unwrap();
            assert_eq!(agent.receive::<String>(soon()), Ok(text.clone()));
            agent.send(&text).unwrap();
            assert_eq!(conductor.receive::<String>(soon()), Ok(text));
        }
    }

    #[test]
    fn another_token_and_another_build_are_refused() {
        let [conductor, agent] = meet((TOKEN, "1"), (OTHER_TOKEN, "1"));
        assert_eq!(error(conductor), LinkError::Token);
        assert_eq!(error(agent.unwrap().receive::<u8>(soon())), LinkError::Closed);
        let [conductor, agent] = meet((TOKEN, "1"), (TOKEN, "\u{1b}2"));
        assert_eq!([error(conductor), error(agent)], ["2", "1"].map(|build| LinkError::Build(build.to_owned())));
        assert!(LinkError::Build("2".to_owned()).to_string().contains(crate::BUILD));
    }

    #[test]
    fn a_stranger_that_sends_nothing_nonsense_too_much_or_too_slowly_is_refused() {
        let refusal = |said: &[u8], close: bool, patience: Duration| {
            let (mut here, there) = streams();
            here.write_all(said).unwrap();
            if close {
                here.shutdown(Shutdown::Write).unwrap();
            }
            error(Link::answer(there, &token(TOKEN), "1", patience))
        };
        for unfinished in [&b""[..], b"\0\x30begun"] {
            assert_eq!(refusal(unfinished, false, Duration::from_millis(50)), LinkError::Silent);
        }
        assert_eq!(refusal(b"\0\x30begun", true, PATIENCE), LinkError::Closed);
        assert_eq!(refusal(b"GET / HTTP/1.1\r\n\r\n", false, PATIENCE), LinkError::Malformed);
        assert_eq!(refusal(&(FRAME as u16 + 1).to_be_bytes(), false, PATIENCE), LinkError::Malformed);
        assert_eq!(refusal(b"\0\x04less", false, PATIENCE), LinkError::Malformed);
        assert_eq!(refusal(&[&b"\0\x40"[..], &[7; 64]].concat(), false, PATIENCE), LinkError::Token);
        let (mut here, there) = streams();
        let drip = thread::spawn(move || {
            while here.write_all(b"\x01").is_ok() {
                thread::sleep(Duration::from_millis(20))
            }
        });
        assert_eq!(error(Link::answer(there, &token(TOKEN), "1", Duration::from_millis(200))), LinkError::Silent);
        drip.join().unwrap();
    }

    #[test]
    fn a_frame_that_was_changed_repeated_or_left_out_is_refused_and_so_is_one_without_the_token() {
        type Tamper = fn(&mut Vec<u8>, &mut Vec<u8>);
        let tamperings: [Tamper; 4] = [
            |first, _| first[5] ^= 1,
            |first, second| second.clone_from(first),
            |first, _| first.clear(),
            |first, _| first[2..].fill(7),
        ];
        for tamper in tamperings {
            let [mut conductor, mut agent] = links();
            let ((between, mut heard), (mut beyond, there)) = (streams(), streams());
            (conductor.stream, agent.stream) = (between, there);
            let mut frames = [(); 2].map(|()| {
                conductor.send(&12).unwrap();
                let mut frame = vec![0; 2 + 2 + TAG];
                heard.read_exact(&mut frame).unwrap();
                frame
            });
            let [first, second] = &mut frames;
            tamper(first, second);
            beyond.write_all(&frames.concat()).unwrap();
            let received = agent.receive::<u8>(soon()).and_then(|_| agent.receive::<u8>(soon()));
            assert_eq!(received, Err(LinkError::Token));
        }
    }

    #[test]
    fn a_closed_connection_and_a_side_that_takes_nothing_are_noticed() {
        let [mut conductor, agent] = links();
        conductor.stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let much = "x".repeat(1 << 20);
        assert_eq!((0..64).map(|_| conductor.send(&much)).find(Result::is_err), Some(Err(LinkError::Silent)));
        drop(agent);
        let [mut conductor, agent] = links();
        drop(agent);
        assert_eq!(conductor.receive::<u8>(soon()), Err(LinkError::Closed));
    }

    #[test]
    fn what_is_not_the_expected_json_is_malformed() {
        for text in ["", "\u{7f}", "[1", "\"text\""] {
            let [mut conductor, mut agent] = links();
            let mut buffer = [0; FRAME];
            let length = conductor.noise.write_message(text.as_bytes(), &mut buffer).unwrap();
            send_frame(&mut conductor.stream, &buffer[..length]).unwrap();
            assert_eq!(agent.receive::<u8>(soon()), Err(LinkError::Malformed), "{text}");
        }
    }
}
