//! The interface between the engine and the load: each connection has a script, which returns one action after the other and receives
//! the result of each.
//!
//! The engine knows nothing else about the load: [`Player`](super::player::Player) runs the transactions of a plan, and
//! [`Replayer`](super::replayer::Replayer) replays captured sessions. The engine is generic over the script type, instead of using trait
//! objects, so that the compiler can inline the calls.

use super::error_policy::Verdict;
use crate::errors::Result;
use crate::plan::{Batch, Keep, Kind, Value};
use crate::protocol::parameters::Parameters;
use crate::record::Tally;
use sha2::{Digest as _, Sha256};

/// The first 128 bits of the SHA-256 of a statement's text, which identify the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest([u64; 2]);

impl Digest {
    /// The digest of a statement's text.
    #[must_use]
    pub fn of(sql: &str) -> Self {
        let hash = Sha256::digest(sql);
        let half = |from| hash.iter().skip(from).take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Self([half(0), half(8)])
    }

    /// The digest of the same text in another context, identified by `mark`, in which its names refer to other objects.
    #[must_use]
    pub fn marked(self, mark: u64) -> Self {
        Self([self.0[0] ^ mark, self.0[1]])
    }

    /// A hash of the digest, for hash tables.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "any part of it will do")]
    pub fn number(self) -> usize {
        self.0[0] as usize
    }
}

/// A statement that a script executes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Query<'s> {
    /// The statement's text, with a `?` for each parameter.
    pub sql: &'s str,
    /// The digest of the text.
    pub digest: Digest,
    /// How many parameters it has.
    pub parameters: usize,
    /// The kind of statement that it is counted as.
    pub kind: Kind,
    /// Whether it is sent as text instead of being prepared.
    pub is_text: bool,
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action<'s> {
    /// Executes a statement, and reads the whole result. A connection that is not connected connects first.
    Execute {
        /// The statement.
        query: Query<'s>,
        /// Whether the script keeps values of its first row.
        keeps: bool,
    },
    /// Sends the script's [`text`](Script::text), counted as this kind of statement, and reads the whole result.
    Send(Kind),
    /// Adds a row to the rows that are collected on this connection.
    Collect {
        /// The row, and the statement that it is sent in.
        batch: &'s Batch,
        /// The number of the connection, from 0.
        connection: i64,
        /// The number of the row on this connection.
        turn: i64,
    },
    /// Does nothing for this many nanoseconds.
    Pause(u64),
    /// Does nothing until this time, in nanoseconds since the load began, at which what follows is due.
    WaitUntil(u64),
    /// Does nothing until [`Script::poll`] returns its connection, or until this time, in nanoseconds since the load began.
    HoldUntil(u64),
    /// Begins a session: connects to the server and logs in, unless it is connected.
    Connect,
    /// Sets the session back to its beginning, with none of its prepared statements.
    Reset,
    /// Ends the session: closes its statements and its connection. The next session begins when the script requires it.
    Disconnect,
    /// Ends the transaction.
    End,
}

/// How many rows a statement returned or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows that it returned.
    pub returned: u64,
    /// Rows that it changed, inserted or deleted; None if it returned rows.
    pub affected: Option<u64>,
    /// Rows that an UPDATE matched, with those that it left as they were; None for most other statements.
    pub matched: Option<u64>,
}

/// When an idle connection begins its next transaction in a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Now. The transaction was due at this time, in nanoseconds since the load began.
    Begin(u64),
    /// Not yet: ask again at this time, in nanoseconds since the load began.
    At(u64),
    /// Not yet: ask again when [`Script::poll`] returns the connection.
    Held,
    /// Never: the script has no more transactions.
    Over,
}

/// What the scripts of a run require of each connection.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The number of kinds of transactions, which are counted separately.
    pub kinds: usize,
    /// The SQL statements that each session begins with, sent as text.
    pub session: &'a [String],
    /// The most prepared statements that are open on all connections of this process together; after that, the least recently used
    /// ones are closed.
    pub open_statements: usize,
}

/// The script of one connection.
///
/// [`next`](Self::next) returns the same action on each call until [`succeed`](Self::succeed) reports that it is done; only
/// [`Action::Pause`] and [`Action::WaitUntil`] are returned once.
pub trait Script<'s>: Sized + Send + 's {
    /// The data that the scripts of a run share.
    type Source: Sync;

    /// Creates the script of a connection. `connection` is its number among the connections of all hosts.
    fn new(source: &'s Self::Source, connection: usize) -> Self;

    /// When the next transaction begins in a closed loop; by default at once.
    fn turn(&mut self, now: u64) -> Turn {
        Turn::Begin(now)
    }

    /// Begins a transaction. Its sequence number determines all its random values.
    fn begin(&mut self, sequence: u64);

    /// Restarts the same transaction, with the same random values.
    fn rewind(&mut self);

    /// The kind of the current transaction, from 0.
    fn kind(&self) -> usize;

    /// Whether it is counted as a transaction.
    fn counts(&self) -> bool {
        true
    }

    /// The latency of the current transaction if it ended now, in nanoseconds; None if it is the time since it was due.
    fn latency(&self, _now: u64) -> Option<u64> {
        None
    }

    /// The SQL text for [`Action::Send`].
    fn text(&self) -> &[u8] {
        b""
    }

    /// Reports that the connection was lost, and with it the transaction.
    fn lose(&mut self, _now: u64) {}

    /// Adds to `woken` the connections whose scripts can continue. Returns when to call this again at the latest.
    fn poll(_source: &Self::Source, _now: u64, _woken: &mut Vec<usize>) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Whether all scripts are finished.
    fn is_over(_source: &Self::Source) -> bool {
        false
    }

    /// Adds to `tally` what the scripts have counted since the last call.
    fn count(_source: &Self::Source, _tally: &mut Tally) {}

    /// Returns the next action.
    fn next(&mut self, now: u64) -> Action<'s>;

    /// Writes the parameters of the next statement. Returns the sequence number that the server's answer begins with.
    fn write(&mut self, parameters: impl Parameters) -> u8;

    /// Reports that the server cannot prepare the next statement. Returns whether the script returns another action instead.
    fn cannot_prepare(&mut self) -> bool {
        false
    }

    /// The values to keep of the first row of the next statement's result, and the slots that they go to.
    fn kept(&mut self) -> (&[Keep], &mut [Value]);

    /// Reports that the next action was done, and its rows. Returns false if the transaction needs a row and there was none.
    fn succeed(&mut self, rows: RowCounts) -> bool;

    /// Reports that the server refused the next action with this error. `retries` is how often the transaction has been retried so far.
    fn refuse(&mut self, code: u16, message: &str, retries: u32) -> Verdict;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_differ_by_text() {
        assert_eq!(Digest::of("SELECT 1"), Digest::of("SELECT 1"));
        assert_ne!(Digest::of("SELECT 1"), Digest::of("SELECT 2"));
        assert_eq!(Digest::of("abc"), Digest([0xba78_16bf_8f01_cfea, 0x4141_40de_5dae_2223]));
    }
}
