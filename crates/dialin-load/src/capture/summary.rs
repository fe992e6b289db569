//! The summary of a capture, its file `summary.json`: digests and figures, without user data.

use super::class::Obstacle;
use super::entry::{Lack, Unread};
use super::format::Header;
use serde::Serialize;

/// The name of the format.
pub const SCHEMA: &str = "dialin/capture-summary/1";

/// The summary of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The first line of the capture.
    pub capture: Header,
    /// Size of the logs in bytes.
    pub log_bytes: u64,
    /// When the first statement began, in seconds since 1970.
    pub begin: Option<f64>,
    /// When the last statement began, in seconds since 1970.
    pub end: Option<f64>,
    /// Number of sessions.
    pub sessions: u64,
    /// Statements and other commands that the server counts as questions.
    pub questions_logged: u64,
    /// Comparison with the server's counters; null without them.
    pub coverage: Option<Coverage>,
    /// The digests, the most frequent first.
    pub digests: Vec<Digest>,
    /// Transactions by shape, the most frequent first.
    pub transactions: Vec<Shape>,
    /// How it is known which statements are one transaction.
    pub autocommit: Autocommit,
    /// Statements that cannot be replayed, by reason.
    pub not_replayed: Vec<NotReplayed>,
    /// What could not be read from the logs.
    pub unread: Unread,
}

impl Summary {
    /// How much was captured, such as `7 statements of 2 sessions`.
    #[must_use]
    pub fn size(&self) -> String {
        let read: u64 = self.digests.iter().map(|digest| digest.statements).sum();
        match self.capture.lack {
            None => format!("{} statements of {} sessions", self.capture.statements, self.sessions),
            Some(Lack::Sessions) => format!("{read} statements without session numbers"),
            Some(Lack::Times) => format!("{read} statements without times"),
        }
    }
}

/// How many sessions began with which `autocommit`, and how that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Autocommit {
    /// Sessions of which the log or the server shows it, or of which it was decided.
    pub known: u64,
    /// Sessions whose statements show that it was on.
    pub inferred_on: u64,
    /// Sessions whose statements show that it was off: a COMMIT or ROLLBACK ends changes that no BEGIN comes before.
    pub inferred_off: u64,
    /// Sessions of which nothing shows it. They count as on.
    pub unknown: u64,
    /// The statements of these sessions that are transactions by themselves only if it was on.
    pub unknown_statements: u64,
    /// Of these, those that change or lock rows.
    pub unknown_changes: u64,
    /// All sessions that began with autocommit off.
    pub off: u64,
}

/// How many of the questions that the server counted were logged.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// The increase of `Questions` between the two readings of the counters.
    pub questions: u64,
    /// Questions logged in the same time.
    pub logged: u64,
}

/// Totals of the statements of a digest. A value is null if the logs do not have it.
#[derive(Clone, Debug, Serialize)]
pub struct Digest {
    /// The text of the digest.
    pub digest: String,
    /// Number of statements.
    pub statements: u64,
    /// How many of them were prepared.
    pub prepared: u64,
    /// How many of them ended with an error.
    pub failed: u64,
    /// Their total duration.
    pub seconds: Option<f64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows examined.
    pub rows_examined: Option<u64>,
    /// Number of statements logged between the two readings of the counters.
    pub logged: Option<u64>,
    /// Number of statements that the performance schema counted between them; null if it has no such digest. Older
    /// servers have no digests of prepared statements.
    pub counted: Option<u64>,
}

/// Transactions of one shape.
#[derive(Clone, Debug, Serialize)]
pub struct Shape {
    /// The statements in order; empty in the entry that adds up all shapes beyond the maximum number.
    pub steps: Vec<Step>,
    /// Number of transactions.
    pub transactions: u64,
    /// Number of statements in these transactions.
    pub statements: u64,
    /// Sum of the durations, from the start of the first statement to the end of the last one.
    pub seconds: f64,
    /// How many were rolled back.
    pub rolled_back: u64,
    /// How many have no end in the logs.
    pub unfinished: u64,
}

/// A statement of a shape.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The position of its digest in the list of digests, from 0.
    pub digest: u32,
    /// Whether several statements in a row have this digest.
    pub repeated: bool,
}

/// Statements that cannot be replayed.
#[derive(Clone, Debug, Serialize)]
pub struct NotReplayed {
    /// Why they cannot be replayed.
    pub reason: Obstacle,
    /// Number of statements.
    pub statements: u64,
}
