//! The transaction that a connection of a replay is executing.

use crate::engine::script::{Action, RowCounts};
use crate::plan::Kind;
use crate::replay::{Kinds, Shape, Step};

/// What a connection is doing.
#[derive(Debug)]
pub(super) enum Current {
    Nothing,
    /// What is left to do of the beginning, a reset or the end of a session.
    Session(&'static [Action<'static>]),
    Transaction(Transaction),
}

/// A transaction, or statements outside of transactions.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// The number of the transaction; None for statements outside of transactions.
    pub(super) number: Option<u64>,
    /// The statements that were taken from the schedule so far.
    #[expect(clippy::vec_box, reason = "they are boxed already, and moving them out of their boxes would copy them")]
    pub(super) steps: Vec<Box<Step>>,
    pub(super) bytes: usize,
    /// The index of the next statement in `steps`.
    pub(super) at: usize,
    /// The statement that has waited until it was due, and the one for which the session's clock and next id were set; both counted from 1.
    pub(super) waited: usize,
    pub(super) clocked: usize,
    /// The time since which the next statement has waited for other transactions.
    pub(super) held: Option<u64>,
    pub(super) has_waited: bool,
    /// When it was due; None at full pace, and for statements outside of transactions.
    pub(super) due: Option<u64>,
    /// The time that its statements have taken on the server so far, in nanoseconds, with those of earlier attempts.
    pub(super) server_ns: u64,
    /// Its kind, as far as it has been executed.
    pub(super) shape: Shape,
    /// The rows that its statements returned and changed in this attempt.
    pub(super) rows: (u64, u64),
    /// A statement has waited too long for other transactions; the remaining statements do not wait.
    pub(super) is_released: bool,
    pub(super) executed: usize,
    pub(super) is_whole: bool,
}

/// A statement that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    /// When it was sent, in nanoseconds since the load began.
    pub(super) sent: u64,
    pub(super) is_answered: bool,
    /// Its digest, if it was compared with the capture, and its captured duration in nanoseconds.
    pub(super) digest: Option<usize>,
    pub(super) captured: Option<u64>,
}

impl Transaction {
    pub(super) fn is_over(&self) -> bool {
        self.is_whole && self.at == self.steps.len()
    }

    /// Begins again from its first statement. The time that its statements have taken remains.
    pub(super) fn rewind(&mut self) {
        (self.at, self.clocked, self.held) = (0, 0, None);
        (self.executed, self.is_released) = (0, false);
        (self.shape, self.rows) = (Shape::default(), (0, 0));
    }

    /// Counts the rows of the current statement.
    pub(super) fn add_rows(&mut self, rows: RowCounts) {
        if let Some(step) = self.steps.get(self.at).filter(|step| !step.is_added) {
            self.rows.0 += rows.returned;
            self.rows.1 += rows.affected.filter(|_| step.kind == Kind::Write).unwrap_or_default();
        }
    }

    /// Proceeds to the next statement.
    pub(super) fn advance(&mut self, kinds: &Kinds) {
        if let Some(step) = self.steps.get(self.at).filter(|step| !step.is_added) {
            self.shape.add(kinds.label(step.digest));
        }
        self.at += 1;
        self.executed += 1;
    }

    /// Releases the memory of the statements that were executed.
    pub(super) fn forget_executed(&mut self) {
        self.steps.drain(..self.at);
        (self.at, self.waited, self.clocked, self.held) = (0, 0, 0, None);
    }
}

impl Timed {
    /// A statement that is sent now.
    pub(super) fn sent(now: u64) -> Self {
        Self { sent: now, is_answered: false, digest: None, captured: None }
    }

    /// Records that the statement succeeded.
    pub(super) fn succeed(&mut self, step: &Step) {
        self.is_answered = true;
        self.digest = step.digest.filter(|_| !step.is_added);
        self.captured = step.duration.and_then(|micros| u64::try_from(micros).ok()).map(|micros| micros * 1_000);
    }
}
