//! A connection's place in its load thread, and what it is doing there.

use super::connection::Connection;
use super::script::Script;
use crate::plan::Kind;
use std::time::Duration;

/// What the answer that is awaited belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// A statement of this kind.
    Statement(Kind),
    /// The preparation of the statement that its script executes next.
    Prepare,
    /// The rows that were collected.
    Batch,
    /// The rollback after an error.
    Rollback(After),
}

/// What follows a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// It is done again after a pause.
    Again(What, Duration),
    /// It counts.
    Success,
    /// It does not count.
    Failure,
}

/// What is done again after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The transaction, from its beginning.
    Transaction,
    /// The rows that were collected are sent; they are not collected again.
    Batch,
}

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has nothing to do.
    Free,
    /// Its transaction goes on right now.
    Plays,
    /// It waits for an answer, sent for at that time.
    Waits(Doing, u64),
    /// It does nothing until a time that its script named.
    Idles,
    /// It pauses before this is done again.
    Pauses(What),
    /// It connects to the server, as its script asked for; its transaction goes on then.
    Connects,
    /// It has no connection yet, or has lost it, and connects to the server; it has no transaction.
    Lost,
    /// Its connection was passed on to another load thread.
    Vacant,
}

/// A connection's place in its load thread.
pub struct Slot<S> {
    /// None while it is lost, and between the sessions of a script.
    pub connection: Option<Connection>,
    /// Its number in this process's run, from 0.
    pub number: usize,
    /// What it does.
    pub script: S,
    /// What it is doing.
    pub state: State,
    /// When its transaction was due, in nanoseconds since the load began; in a closed loop, when it began.
    pub due: u64,
    /// When it began.
    pub began: u64,
    /// How often it was played again.
    pub retries: u32,
    /// Since when it has had nothing to do, in nanoseconds since the load began; of no meaning while it is busy.
    pub free_since: u64,
    /// When the transaction is due that it begins next, or when its script is asked for it; None where there is no such time.
    pub booked: Option<u64>,
    /// Its script waits for others before it begins a transaction.
    pub is_held: bool,
}

impl<'s, S: Script<'s>> Slot<S> {
    /// A place that has yet to connect, with its number in this process and its script.
    #[must_use]
    pub fn new(number: usize, script: S) -> Self {
        let (connection, state, booked) = (None, State::Lost, None);
        Self { connection, number, script, state, due: 0, began: 0, retries: 0, free_since: 0, booked, is_held: false }
    }

    /// A place whose connection was passed on.
    #[must_use]
    pub fn vacant(source: &'s S::Source) -> Self {
        Self { state: State::Vacant, ..Self::new(0, S::new(source, 0)) }
    }

    /// Whether it has a transaction.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !matches!(self.state, State::Free | State::Lost | State::Vacant)
    }
}
