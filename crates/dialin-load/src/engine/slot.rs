//! The slot of a connection in its load thread, with the connection's state.

use super::connection::Connection;
use super::script::Script;
use crate::plan::Kind;
use std::time::Duration;

/// What the awaited answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A statement of the script, of this kind.
    Statement(Kind),
    /// The command that prepares the statement that the script executes next.
    Prepare,
    /// The multi-row statement with the collected rows.
    Batch,
    /// The command that resets the session.
    Reset,
    /// A ROLLBACK that the engine sends.
    Rollback(After),
}

/// What happens after a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The work is retried after a pause.
    Again(What, Duration),
    /// The transaction counts as successful.
    Success,
    /// The transaction counts as failed.
    Failure,
}

/// What is retried after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The transaction, from its beginning.
    Transaction,
    /// The multi-row statement is sent again; its rows are not collected again.
    Batch,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is idle: it has no transaction.
    Free,
    /// Its transaction is being processed by the load thread.
    Plays,
    /// It waits for an answer to a command that was sent at this time, in nanoseconds since the load began.
    Waits(Awaited, u64),
    /// It waits until a time that its script has set, or until the script's source wakes it.
    Idles,
    /// It pauses before a retry.
    Pauses(What),
    /// It connects to the server because its script requires it; its transaction continues afterwards.
    Connects,
    /// It has no connection yet, or has lost it, and connects to the server; it has no transaction.
    Lost,
    /// The slot is empty: its connection was handed over to another load thread.
    Vacant,
}

/// The slot of a connection in its load thread.
pub struct Slot<S> {
    /// The connection; None while it is lost, and between the sessions of a script.
    pub connection: Option<Connection>,
    /// The number of the connection within this process, from 0.
    pub number: usize,
    /// The script that the connection runs.
    pub script: S,
    /// The current state.
    pub state: State,
    /// When the current transaction was due, in nanoseconds since the load began; in a closed loop, when it began.
    pub due: u64,
    /// When the current transaction began, in nanoseconds since the load began.
    pub began: u64,
    /// How often the current transaction has been retried.
    pub retries: u32,
    /// By how much the driver has delayed the current transaction so far, in nanoseconds: what its timers were late by, and what passed
    /// between the arrival of answers and their handling; at a rate with the delays of earlier transactions for which it had to wait.
    pub lag: u64,
    /// The part of it that passed between the arrival of answers and their handling.
    pub answer_lag: u64,
    /// Since when the connection could have been used, had the driver been on time, in nanoseconds since the load began; meaningless while
    /// it is busy.
    pub usable_since: u64,
    /// When the connection's next transaction is due, or when its script is to be asked for its turn again; None if no time is set.
    pub booked: Option<u64>,
    /// Whether the script is held until [`Script::poll`] returns this connection.
    pub is_held: bool,
    /// Whether its socket may hold more of a long answer.
    pub is_unread: bool,
}

impl<'s, S: Script<'s>> Slot<S> {
    /// Creates a slot for connection `number` of this process, which has yet to connect.
    #[must_use]
    pub fn new(number: usize, script: S) -> Self {
        Self {
            connection: None,
            number,
            script,
            state: State::Lost,
            due: 0,
            began: 0,
            retries: 0,
            lag: 0,
            answer_lag: 0,
            usable_since: 0,
            booked: None,
            is_held: false,
            is_unread: false,
        }
    }

    /// Creates an empty slot, for a connection that was handed over.
    #[must_use]
    pub fn vacant(source: &'s S::Source) -> Self {
        Self { state: State::Vacant, ..Self::new(0, S::new(source, 0)) }
    }

    /// The latency of the current transaction if it ended now, in nanoseconds, and the part of it that the driver added.
    #[must_use]
    pub fn latency(&self, now: u64) -> (u64, u64) {
        match self.script.latency(now) {
            // Such a latency leaves out the time between statements.
            Some(latency) => (latency, self.answer_lag),
            None => (now.saturating_sub(self.due), self.lag),
        }
    }

    /// Whether the connection has an open transaction.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !matches!(self.state, State::Free | State::Lost | State::Vacant)
    }
}
