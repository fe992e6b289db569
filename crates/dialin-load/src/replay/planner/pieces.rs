//! What a schedule is made of, and what is remembered while it is made.

use crate::capture::class::Obstacle;
use crate::plan::Kind;
use crate::replay::conflicts::{Dependency, Written};
use crate::replay::footprint::Footprint;
use crate::replay::missing_begins::{self, Loose};
use crate::replay::templates::{Execution, Learner, Templates};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// A statement to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The text.
    pub sql: Box<[u8]>,
    /// When it was sent, in microseconds since 1970.
    pub start: i64,
    /// The default schema; None where it is not known.
    pub schema: Option<Arc<[u8]>>,
    /// The number of the captured error, 0 without one; None where it is not known.
    pub error: Option<u64>,
    /// How many rows a query returned; None where it is not known, and of what is no query.
    pub rows: Option<u64>,
    /// What it counts as.
    pub kind: Kind,
    /// The captured time, in microseconds since 1970, of a statement that asks for it.
    pub clock: Option<i64>,
    /// How it is executed, where it was prepared.
    pub execution: Option<Execution>,
    /// The number of its digest; None where there are too many.
    pub digest: Option<usize>,
    /// How long it took, in microseconds, where that is known.
    pub duration: Option<i64>,
    /// What it waits for.
    pub dependencies: Box<[Dependency]>,
    /// It is not in the capture: it repairs what the server did by itself.
    pub is_added: bool,
}

/// A part of the schedule; each belongs to a session, by its number from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The session begins, at that time.
    Connect(i64),
    /// A transaction begins.
    Begin {
        /// Its number; None of statements that are part of no transaction, which wait for nothing.
        transaction: Option<u64>,
        /// When its first statement was sent.
        start: i64,
        /// How many transactions must have ended, in the order of [`Piece::Ended`].
        after: u64,
        /// Further ones that must have ended.
        awaits: Box<[u64]>,
    },
    /// A statement of the transaction.
    Step(Box<Step>),
    /// Its last statement was the one before.
    Finish {
        /// Whether it was rolled back.
        is_rolled_back: bool,
        /// When it ended.
        end: i64,
    },
    /// In the capture, this transaction was the next one to end.
    Ended(u64),
    /// The session ends, at that time.
    Quit(i64),
}

/// What a schedule leaves out, and what cannot be the same in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    /// Statements that cannot be replayed.
    pub skipped: BTreeMap<Obstacle, u64>,
    /// Statements with RAND() or UUID(), which are played with other values.
    pub random: u64,
    /// Transactions whose BEGIN the log does not have.
    pub begins_added: u64,
}

/// What becomes of statements that were prepared.
#[derive(Debug)]
pub enum Prepared {
    /// They are learned from; nothing is played.
    Learned(Learner),
    /// They are executed as this says.
    Executed(Arc<Templates>),
}

/// Whether the log has the BEGIN of each transaction.
#[derive(Debug, Default)]
pub enum Begins {
    /// It has.
    #[default]
    Logged,
    /// It may lack some: which statements transactions begin with is learned from; nothing is played.
    Learned(missing_begins::Learner),
    /// It may lack some: statements of these digests, by number, begin a transaction where none is open.
    Inferred(Arc<HashSet<usize>>),
}

impl Default for Prepared {
    fn default() -> Self {
        Self::Executed(Arc::default())
    }
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) is_autocommit: bool,
    pub(super) open: Option<Open>,
    /// A transaction that ended, but when is not known before the session's next statement.
    pub(super) ended: Option<Ended>,
    /// It is within an XA transaction, which is left out.
    pub(super) in_xa: bool,
    /// The place of its backup among all.
    pub(super) backup: Option<usize>,
    /// What it executed since its last transaction, while it is learned where transactions begin.
    pub(super) loose: Loose,
}

/// A transaction that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) transaction: Option<u64>,
    pub(super) start: i64,
    /// Its pieces, as long as it is not known whole, or may have to be left out.
    pub(super) held: Option<Vec<Piece>>,
    pub(super) may_be_left_out: bool,
    pub(super) footprint: Footprint,
    /// How many transactions ended before it began.
    pub(super) after: u64,
    pub(super) end: i64,
    pub(super) is_end_known: bool,
    pub(super) statements: usize,
    /// What its statements wrote.
    pub(super) wrote: Vec<Written>,
}

/// A transaction that ended, with what it wrote.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) transaction: u64,
    pub(super) footprint: Footprint,
    pub(super) wrote: Vec<Written>,
}

/// Pieces with the numbers of their sessions.
pub type Out = Vec<(u64, Piece)>;
