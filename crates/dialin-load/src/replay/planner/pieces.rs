//! The pieces of a schedule, and the state of sessions and transactions while it is made.

use crate::capture::class::Obstacle;
use crate::capture::session_state::SessionState;
use crate::plan::Kind;
use crate::replay::conflicts::Dependency;
use crate::replay::digest_properties::DigestProperties;
use crate::replay::footprint::Footprint;
use crate::replay::missing_begins::{self, Loose};
use crate::replay::templates::{Execution, Learner, Templates};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

/// A statement to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The text.
    pub sql: Box<[u8]>,
    /// When it was sent, in microseconds since 1970.
    pub start: i64,
    /// The default schema; None if it is unknown.
    pub schema: Option<Arc<[u8]>>,
    /// The captured error number, 0 if there was no error; None if it is unknown.
    pub error: Option<u64>,
    /// How many rows a query returned in the capture; None if it is unknown, or if the statement is not a query.
    pub rows: Option<u64>,
    /// What the capture shows about the rows that it changed.
    pub changed: ChangedRows,
    /// Whether it counts as a read, as a write or as another statement.
    pub kind: Kind,
    /// The captured current time, in microseconds since 1970; None if the statement does not use it.
    pub clock: Option<i64>,
    /// The `AUTO_INCREMENT` value that its first row gets; None if the server chooses it, or if it inserts no row.
    pub insert_id: Option<u64>,
    /// How it is executed as a prepared statement; None if it is sent as text.
    pub execution: Option<Execution>,
    /// The number of its digest; None if there are too many digests.
    pub digest: Option<usize>,
    /// How long it took in the capture, in microseconds; None if it is unknown.
    pub duration: Option<i64>,
    /// What it waits for.
    pub dependencies: Box<[Dependency]>,
    /// Whether it was added: it is not in the capture, but the server did the same by itself, or the log lacks it.
    pub is_added: bool,
    /// Whether it sets variables of the session, which last.
    pub sets: bool,
}

/// What a capture shows about the rows that a statement changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedRows {
    /// Nothing, or it changes none.
    #[default]
    Unknown,
    /// The server counted this many. An UPDATE that leaves a row as it was counts it, or does not, as the client asked.
    Affected(u64),
    /// The same, of an INSERT ... ON DUPLICATE KEY UPDATE: a row that it leaves as it was counts as one, or does not.
    Upserted(u64),
    /// Not by itself, but it looked for one value of one column, and examined no more than this one row: it found as many.
    Found(u64),
}

impl ChangedRows {
    /// What a log shows about a statement of a digest, by the rows that it affected and examined.
    pub(super) fn of(digest: &DigestProperties, affected: Option<u64>, examined: Option<u64>) -> Self {
        match (affected, examined) {
            _ if digest.kind != Kind::Write => Self::Unknown,
            (Some(rows), _) if digest.is_upsert => Self::Upserted(rows),
            (Some(rows), _) => Self::Affected(rows),
            // Of more examined rows, some may not have had the value.
            (None, Some(rows @ 0..=1)) if digest.is_lookup => Self::Found(rows),
            _ => Self::Unknown,
        }
    }

    /// Whether a replay that affected this many rows changed the same number; `matched` is what the server's message says.
    #[must_use]
    pub fn are_same(self, affected: u64, matched: Option<u64>) -> bool {
        match self {
            Self::Unknown => true,
            Self::Affected(rows) => rows == affected || Some(rows) == matched,
            Self::Upserted(rows) => {
                let unchanged = matched.unwrap_or(1).saturating_sub(affected.div_ceil(2));
                (affected..=affected.saturating_add(unchanged)).contains(&rows)
            }
            Self::Found(rows) => rows == matched.unwrap_or(affected),
        }
    }
}

/// A part of the schedule; each belongs to a session, by its number from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The session begins, at that time.
    Connect(i64),
    /// The session is set back to its beginning, at that time.
    Reset(i64),
    /// A transaction begins.
    Begin {
        /// Its number; None for statements outside of transactions, which wait for nothing.
        transaction: Option<u64>,
        /// When its first statement was sent.
        start: i64,
        /// How many transactions must have ended, in the order of [`Piece::Ended`].
        after: u64,
        /// The numbers of further transactions that must have ended.
        awaits: Box<[u64]>,
        /// A hash of the session's settings; None if no other session may execute the transaction.
        settings: Option<u64>,
    },
    /// A statement of the transaction.
    Step(Box<Step>),
    /// The transaction ends: the statement before this was its last one.
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

/// What a schedule leaves out, and how else it differs from the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Omissions {
    /// Statements that cannot be replayed.
    pub skipped: BTreeMap<Obstacle, u64>,
    /// Statements with RAND() or UUID(), which are played with other values.
    pub random: u64,
    /// Transactions whose BEGIN was added, because the log does not have it.
    pub begins_added: u64,
}

/// What is done with statements that were prepared.
#[derive(Debug)]
pub enum Prepared {
    /// Templates are learned from them; nothing is played.
    Learned(Learner),
    /// They are executed with these templates.
    Executed(Arc<Templates>),
}

/// Whether the log has the BEGIN of each transaction.
#[derive(Debug, Default)]
pub enum Begins {
    /// The log has all of them.
    #[default]
    Logged,
    /// The log may lack some. Which digests are part of transactions is learned; nothing is played.
    Learned(missing_begins::Learner),
    /// The log may lack some. A statement of these digests, by number, begins a transaction if none is open.
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
    pub(super) state: SessionState,
    /// Whether the log begins within its transaction, whose BEGIN has to be added.
    pub(super) lacks_begin: bool,
    pub(super) settings: Settings,
    /// Boxed, because it is moved for each statement.
    pub(super) open: Option<Box<Open>>,
    /// A transaction that has ended; when it ended is unknown until the session's next event.
    pub(super) ended: Option<Ended>,
    /// The position of its backup in the list of backups.
    pub(super) backup: Option<usize>,
    /// What it executed since its last transaction, while the planner learns where transactions begin.
    pub(super) loose: Loose,
}

/// What a session has set with SET, since it began.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Hashes of the last statements, by the number of their digest.
    statements: HashMap<usize, u64>,
    /// A hash of all of them.
    pub(super) hash: u64,
}

impl Settings {
    /// Record a statement. It replaces the one before of the same digest, which set the same variables.
    pub(super) fn set(&mut self, digest: usize, sql: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (digest, sql).hash(&mut hasher);
        let now = hasher.finish();
        self.hash ^= now ^ self.statements.insert(digest, now).unwrap_or_default();
    }
}

/// A transaction that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) transaction: Option<u64>,
    pub(super) start: i64,
    /// Its pieces while it is held back, because further statements may follow or it may have to be left out.
    pub(super) held: Option<Vec<Piece>>,
    pub(super) may_be_left_out: bool,
    pub(super) footprint: Footprint,
    /// How many transactions ended before it began.
    pub(super) after: u64,
    pub(super) end: i64,
    pub(super) is_end_known: bool,
    pub(super) statements: usize,
}

/// A transaction that ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) transaction: u64,
    pub(super) footprint: Footprint,
}

/// Pieces with the numbers of their sessions.
pub type Out = Vec<(u64, Piece)>;

/// Stop holding a transaction back, unless it may have to be left out. It overtakes none.
pub(super) fn release(session: u64, open: &mut Open, out: &mut Out) {
    if !open.may_be_left_out {
        out.extend(open.held.take().into_iter().flatten().map(|piece| (session, piece)));
    }
}

pub(super) fn put(session: u64, open: &mut Open, piece: Piece, out: &mut Out) {
    open.statements += usize::from(matches!(piece, Piece::Step(_)));
    match &mut open.held {
        Some(held) => held.push(piece),
        None => out.push((session, piece)),
    }
}

/// A statement that is not in the capture.
pub(super) fn added(sql: &[u8], start: i64) -> Piece {
    Piece::Step(Box::new(Step {
        sql: sql.into(),
        start,
        schema: None,
        error: None,
        rows: None,
        changed: ChangedRows::Unknown,
        kind: Kind::Other,
        clock: None,
        insert_id: None,
        execution: None,
        digest: None,
        duration: None,
        dependencies: Box::default(),
        is_added: true,
        sets: sql.starts_with(b"SET "),
    }))
}
