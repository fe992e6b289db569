//! A connection's place in its load thread, and what it is doing there.

use super::connection::Connection;
use super::player::Player;
use crate::plan::{Kind, Plan};
use std::time::Duration;

/// What the answer that is awaited belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// A statement of this kind.
    Statement(Kind),
    /// The preparation of the statement with this number.
    Prepare(usize),
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
    /// It thinks.
    Thinks,
    /// It pauses before this is done again.
    Pauses(What),
    /// Its connection is lost.
    Lost,
    /// Its connection was passed on to another load thread.
    Vacant,
}

/// A connection's place in its load thread.
pub struct Slot {
    /// None while it is lost.
    pub connection: Option<Connection>,
    /// Its number in this process's run, from 0.
    pub number: usize,
    /// Its transaction.
    pub player: Player,
    /// What it does.
    pub state: State,
    /// Since when it has had nothing to do, in nanoseconds since the load began; of no meaning while it is busy.
    pub free_since: u64,
    /// When the transaction is due that it begins next; None in a closed loop, and where it has none.
    pub booked: Option<u64>,
}

impl Slot {
    /// The place of a connection that was just opened, by its number in this process and among those of all hosts.
    #[must_use]
    pub fn of(connection: Connection, number: usize, plan: &Plan, of_all: usize) -> Self {
        let player = Player::new(plan, of_all);
        Self { connection: Some(connection), number, player, state: State::Free, free_since: 0, booked: None }
    }

    /// A place without a connection.
    #[must_use]
    pub fn vacant(plan: &Plan) -> Self {
        Self { connection: None, number: 0, player: Player::new(plan, 0), state: State::Vacant, free_since: 0, booked: None }
    }

    /// Whether it has a transaction.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !matches!(self.state, State::Free | State::Lost | State::Vacant)
    }
}
