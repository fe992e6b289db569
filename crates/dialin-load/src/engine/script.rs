//! What connections do: each has a script, which names one action after the other and learns what came of it.
//!
//! The engine knows nothing else of the load: [`Player`](super::player::Player) makes scripts of a plan's transactions, and a replay
//! can make them of recorded sessions. Scripts are types, not objects, so that naming an action costs a call that the compiler sees
//! through.

use super::error_policy::Verdict;
use crate::errors::Result;
use crate::plan::{Batch, Keep, Kind, Value};
use crate::protocol::parameters::Parameters;
use crate::record::Tally;
use sha2::{Digest as _, Sha256};

/// The first 128 bits of the SHA-256 of a statement's text: what tells statements apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u64; 2]);

impl Digest {
    /// Of a statement's text.
    #[must_use]
    pub fn of(sql: &str) -> Self {
        let hash = Sha256::digest(sql);
        let half = |from| hash.iter().skip(from).take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Self([half(0), half(8)])
    }

    /// Of the same text where its names mean something else.
    #[must_use]
    pub fn marked(self, mark: u64) -> Self {
        Self([self.0[0] ^ mark, self.0[1]])
    }

    /// A number that is another one for most digests.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "any part of it will do")]
    pub fn number(self) -> usize {
        self.0[0] as usize
    }
}

/// A statement that a script executes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<'s> {
    /// Its text, with a `?` for each parameter.
    pub sql: &'s str,
    /// The digest of its text.
    pub digest: Digest,
    /// How many parameters it has.
    pub parameters: usize,
    /// What it counts as.
    pub kind: Kind,
    /// Whether it is sent as text, and not prepared.
    pub is_text: bool,
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'s> {
    /// It executes a statement, for which it connects where it is not connected, and reads the whole result.
    Execute {
        /// The statement.
        query: Query<'s>,
        /// Whether the script keeps values of its first row.
        keeps: bool,
    },
    /// It sends the script's [`text`](Script::text), which counts as this, and reads the whole result.
    Send(Kind),
    /// It adds a row to those that are collected on this connection.
    Collect {
        /// The row, and what it is sent in.
        batch: &'s Batch,
        /// The number of the connection, from 0.
        connection: i64,
        /// The number of the row on this connection.
        turn: i64,
    },
    /// It does nothing until this time, in nanoseconds since the load began.
    WaitUntil(u64),
    /// It does nothing until [`Script::poll`] names its connection, or this time has come.
    HoldUntil(u64),
    /// It connects to the server and logs in, unless it is connected: a session begins.
    Connect,
    /// It closes its statements and its connection: the session ends. The next one begins when the script asks for it.
    Disconnect,
    /// The transaction is over.
    End,
}

/// When a connection that has nothing to do begins its next transaction in a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now; it was due then, in nanoseconds since the load began.
    Begin(u64),
    /// It asks again at this time.
    At(u64),
    /// It asks again when [`Script::poll`] names its connection.
    Held,
    /// Never: it has no more of them.
    Over,
}

/// What a run's scripts ask of every connection.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How many kinds of transactions there are, which are counted apart.
    pub kinds: usize,
    /// SQL that each session begins with, sent as text.
    pub session: &'a [String],
    /// So many statements may be prepared on a connection; then the one is closed that was not used for longest.
    pub open_statements: usize,
}

/// What one connection does, transaction by transaction.
///
/// [`next`](Self::next) names an action again each time it is asked, until [`succeed`](Self::succeed) says that it is done; only
/// [`Action::WaitUntil`] is named once.
pub trait Script<'s>: Sized + Send + 's {
    /// What the scripts of a run share.
    type Source: Sync;

    /// The script of a connection, by its number among those of all hosts.
    fn new(source: &'s Self::Source, connection: usize) -> Self;

    /// When its next transaction begins in a closed loop: at once, unless a script knows better.
    fn turn(&mut self, now: u64) -> Turn {
        Turn::Begin(now)
    }

    /// Begin the transaction with this number, which decides all that is random in it.
    fn begin(&mut self, sequence: u64);

    /// Begin the same transaction again, with the same random values.
    fn rewind(&mut self);

    /// Of which kind the transaction is.
    fn kind(&self) -> usize;

    /// Whether it counts as a transaction.
    fn counts(&self) -> bool {
        true
    }

    /// The SQL of [`Action::Send`].
    fn text(&self) -> &[u8] {
        b""
    }

    /// The connection was lost, and what was under way with it.
    fn lose(&mut self, _now: u64) {}

    /// Add the connections whose scripts are to be asked for their turn again; return when to call this again at the latest.
    fn poll(_source: &Self::Source, _now: u64, _woken: &mut Vec<usize>) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Whether none of the scripts has anything more to do.
    fn is_over(_source: &Self::Source) -> bool {
        false
    }

    /// Add what the scripts counted since they were last asked.
    fn count(_source: &Self::Source, _tally: &mut Tally) {}

    /// What comes next.
    fn next(&mut self, now: u64) -> Action<'s>;

    /// Write the parameters of the statement that comes next; return the sequence number that its answer begins with.
    fn write(&mut self, parameters: impl Parameters) -> u8;

    /// The server cannot prepare the statement that comes next; whether the script names another action instead.
    fn cannot_prepare(&mut self) -> bool {
        false
    }

    /// What is kept of the first row of the statement that comes next, and where.
    fn kept(&mut self) -> (&[Keep], &mut [Value]);

    /// What came next was done, and returned so many rows; false where the transaction needs a row and there was none.
    fn succeed(&mut self, rows: u64) -> bool;

    /// The server refused what came next, by this code and message; the transaction was begun again so many times.
    fn refuse(&mut self, code: u16, message: &str, retries: u32) -> Verdict;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_texts_apart() {
        assert_eq!(Digest::of("SELECT 1"), Digest::of("SELECT 1"));
        assert_ne!(Digest::of("SELECT 1"), Digest::of("SELECT 2"));
        assert_eq!(Digest::of("abc"), Digest([0xba78_16bf_8f01_cfea, 0x4141_40de_5dae_2223]));
    }
}
