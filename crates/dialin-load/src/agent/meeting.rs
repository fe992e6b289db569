//! How a conductor and an agent make sure of each other before anything else is said.
//!
//! Each says its build and a nonce. From then on every line bears a seal that takes the token and both nonces to make; the
//! first such line of each side proves that it has the token. Who cannot is not listened to any longer.

use super::line::{ReadHalf, Trouble, WriteHalf, halves};
use super::token::{Nonce, Role, Token};
use crate::BUILD;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection to somebody who has the token.
pub struct Link {
    /// What the other side says.
    pub ear: ReadHalf,
    /// What is said to it.
    pub mouth: WriteHalf,
}

/// Why there is no link. Its text goes behind the name of the other side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The other side is this other build.
    Build(String),
    /// It has another token.
    Token,
    /// It plays another run.
    Busy,
    /// It is none of ours, or in trouble.
    Trouble(Trouble),
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Build(build) => write!(out, "is dialin-load {build}, and this is {BUILD}"),
            Refusal::Token => write!(out, "has another token"),
            Refusal::Busy => write!(out, "plays another run"),
            Refusal::Trouble(trouble) => write!(out, "{trouble}"),
        }
    }
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        Refusal::Trouble(trouble)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Trouble(error.into())
    }
}

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

    fn nonce(&self) -> Result<Nonce, Refusal> {
        if self.build != BUILD {
            let shown = self.build.chars().filter(char::is_ascii_graphic).take(32).collect();
            return Err(Refusal::Build(shown));
        }
        let bytes = BASE64.decode(&self.nonce).map_err(|_| Trouble::Malformed)?;
        bytes.try_into().map_err(|_| Trouble::Malformed.into())
    }
}

/// What follows the hello, sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Greeting {
    Conductor,
    Agent,
    Busy,
}

/// Meet an agent that was called.
///
/// # Errors
/// It is another build, has another token, is busy, or is no agent; or `timeout` is over.
pub fn call(stream: TcpStream, token: &Token, nonce: &Nonce, timeout: Duration) -> Result<Link, Refusal> {
    let until = Instant::now() + timeout;
    let (mut ear, mut mouth) = halves(stream, timeout)?;
    mouth.say(&Hello::of(nonce))?;
    let theirs = ear.hear::<Hello>(until)?.nonce()?;
    mouth.trust(token.seals(Role::Conductor, nonce, &theirs));
    ear.trust(token.seals(Role::Agent, nonce, &theirs));
    mouth.say(&Greeting::Conductor)?;
    match ear.hear(until) {
        Ok(Greeting::Agent) => Ok(Link { ear, mouth }),
        Ok(Greeting::Busy) => Err(Refusal::Busy),
        Ok(Greeting::Conductor) => Err(Trouble::Malformed.into()),
        // An agent says nothing to whom it does not know.
        Err(Trouble::Closed | Trouble::Unsealed) => Err(Refusal::Token),
        Err(trouble) => Err(trouble.into()),
    }
}

/// Meet a caller. It has yet to be told, by [`welcome`] or [`refuse`], whether it may stay.
///
/// # Errors
/// It is another build, has another token, or is no conductor; or `timeout` is over.
pub fn answer(stream: TcpStream, token: &Token, nonce: &Nonce, timeout: Duration) -> Result<Link, Refusal> {
    let until = Instant::now() + timeout;
    let (mut ear, mut mouth) = halves(stream, timeout)?;
    let hello = ear.hear::<Hello>(until)?;
    mouth.say(&Hello::of(nonce))?;
    let theirs = hello.nonce()?;
    ear.trust(token.seals(Role::Conductor, &theirs, nonce));
    mouth.trust(token.seals(Role::Agent, &theirs, nonce));
    match ear.hear(until) {
        Ok(Greeting::Conductor) => Ok(Link { ear, mouth }),
        Ok(_) => Err(Trouble::Malformed.into()),
        Err(Trouble::Unsealed) => Err(Refusal::Token),
        Err(trouble) => Err(trouble.into()),
    }
}

/// Tell a caller that it may stay.
///
/// # Errors
/// It is gone.
pub fn welcome(link: &mut Link) -> Result<(), Trouble> {
    link.mouth.say(&Greeting::Agent)
}

/// Tell a caller that another one was first.
///
/// # Errors
/// It is gone.
pub fn refuse(link: &mut Link) -> Result<(), Trouble> {
    link.mouth.say(&Greeting::Busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const OTHER_TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF";
    const PATIENCE: Duration = Duration::from_secs(5);

    fn token(secret: &[u8]) -> Token {
        Token::of(secret).unwrap()
    }

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (here, listener.accept().unwrap().0)
    }

    fn meet(one: &[u8], other: &[u8], busy: bool) -> (Result<Link, Refusal>, Result<Link, Refusal>) {
        let (here, there) = streams();
        let other = token(other);
        let agent = thread::spawn(move || -> Result<Link, Refusal> {
            let mut link = answer(there, &other, &[2; 32], PATIENCE)?;
            if busy {
                refuse(&mut link)?
            } else {
                welcome(&mut link)?
            }
            Ok(link)
        });
        (call(here, &token(one), &[1; 32], PATIENCE), agent.join().unwrap())
    }

    fn refusal(met: Result<Link, Refusal>) -> Refusal {
        met.err().expect("a refusal")
    }

    #[test]
    fn those_with_the_same_token_meet_and_understand_each_other() {
        let (conductor, agent) = meet(TOKEN, TOKEN, false);
        let (mut conductor, mut agent) = (conductor.unwrap(), agent.unwrap());
        let soon = Instant::now() + PATIENCE;
        conductor.mouth.say(&1).unwrap();
        assert_eq!(agent.ear.hear::<u8>(soon), Ok(1));
        agent.mouth.say(&2).unwrap();
        assert_eq!(conductor.ear.hear::<u8>(soon), Ok(2));
    }

    #[test]
    fn those_with_different_tokens_refuse_each_other() {
        let (conductor, agent) = meet(TOKEN, OTHER_TOKEN, false);
        assert_eq!(refusal(conductor), Refusal::Token);
        assert_eq!(refusal(agent), Refusal::Token);
    }

    #[test]
    fn a_busy_agent_says_so() {
        let (conductor, _) = meet(TOKEN, TOKEN, true);
        assert_eq!(refusal(conductor), Refusal::Busy);
    }

    #[test]
    fn another_build_is_named() {
        let (here, mut there) = streams();
        there.write_all(b"{\"dialin-load\":\"9.9.9\",\"nonce\":\"\"}\n").unwrap();
        let refused = refusal(call(here, &token(TOKEN), &[1; 32], PATIENCE));
        assert_eq!(refused, Refusal::Build("9.9.9".to_owned()));
        assert!(refused.to_string().contains(BUILD));
    }

    #[test]
    fn a_caller_of_another_build_still_learns_ours() {
        let (mut here, there) = streams();
        here.write_all(b"{\"dialin-load\":\"9.9.9\",\"nonce\":\"\"}\n").unwrap();
        let refused = refusal(answer(there, &token(TOKEN), &[2; 32], PATIENCE));
        assert_eq!(refused, Refusal::Build("9.9.9".to_owned()));
        let mut line = String::new();
        BufReader::new(here).read_line(&mut line).unwrap();
        assert!(line.contains(BUILD), "{line}");
    }

    #[test]
    fn the_token_and_what_it_makes_of_a_nonce_alone_never_cross() {
        let (here, there) = streams();
        let caller = thread::spawn(move || call(here, &token(TOKEN), &[1; 32], PATIENCE).err());
        let mut peer = there.try_clone().unwrap();
        peer.write_all(format!("{}\n", serde_json::to_string(&Hello::of(&[2; 32])).unwrap()).as_bytes()).unwrap();
        let said: Vec<String> = BufReader::new(there).lines().take(2).map(Result::unwrap).collect();
        peer.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(caller.join().unwrap(), Some(Refusal::Token));
        assert!(!said.concat().contains("0123456789abcdef") && !said.concat().contains(&BASE64.encode(TOKEN)));
        assert!(said[1].ends_with(" \"conductor\""), "{said:?}");
    }

    #[test]
    fn a_stranger_that_said_hello_may_still_say_little() {
        let (mut here, there) = streams();
        here.write_all(format!("{}\n", serde_json::to_string(&Hello::of(&[1; 32])).unwrap()).as_bytes()).unwrap();
        here.write_all(&[b'x'; 2000]).unwrap();
        let refused = refusal(answer(there, &token(TOKEN), &[2; 32], Duration::from_millis(500)));
        assert_eq!(refused, Refusal::Trouble(Trouble::TooLong));
    }

    #[test]
    fn who_says_nothing_or_nonsense_is_refused_in_time() {
        let timeout = Duration::from_millis(50);
        let (_silent, there) = streams();
        let refused = refusal(answer(there, &token(TOKEN), &[2; 32], timeout));
        assert_eq!(refused, Refusal::Trouble(Trouble::Silent));
        for (nonsense, trouble) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), Trouble::Malformed),
            (format!("{{\"dialin-load\":\"{BUILD}\",\"nonce\":\"AAAA\"}}\n"), Trouble::Malformed),
            (format!("{{\"dialin-load\":\"{BUILD}\",\"nonce\":\"?\"}}\n"), Trouble::Malformed),
            ("x".repeat(2000), Trouble::TooLong),
        ] {
            let (mut here, there) = streams();
            here.write_all(nonsense.as_bytes()).unwrap();
            let refused = refusal(answer(there, &token(TOKEN), &[2; 32], PATIENCE));
            assert_eq!(refused, Refusal::Trouble(trouble), "{nonsense}");
        }
    }
}
