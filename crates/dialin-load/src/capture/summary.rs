//! What a capture comes to: digests and figures, nothing of anybody's data. `summary.json` in a capture.

use super::class::Obstacle;
use super::entry::Unread;
use super::format::Header;
use serde::Serialize;

/// Which format this is.
pub const SCHEMA: &str = "dialin/capture-summary/1";

/// What a capture comes to.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The first line of the capture.
    pub capture: Header,
    /// Bytes of the logs.
    pub log_bytes: u64,
    /// When the first statement began, in seconds since 1970.
    pub begin: Option<f64>,
    /// When the last one began.
    pub end: Option<f64>,
    /// Sessions that sent something.
    pub sessions: u64,
    /// Statements and other commands that the server counts as questions.
    pub questions_logged: u64,
    /// Against the server's counters.
    pub coverage: Option<Coverage>,
    /// The most frequent first.
    pub digests: Vec<Digest>,
    /// By shape, the most frequent first.
    pub transactions: Vec<Shape>,
    /// What cannot be replayed.
    pub not_replayed: Vec<NotReplayed>,
    /// What of the logs could not be read.
    pub unread: Unread,
}

/// What was logged of what the server counted.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// `Questions` between the two readings of counters.
    pub questions: u64,
    /// Logged in the same time.
    pub logged: u64,
}

/// What the statements of a digest come to; null where the logs do not say.
#[derive(Clone, Debug, Serialize)]
pub struct Digest {
    /// The text.
    pub digest: String,
    /// How many.
    pub statements: u64,
    /// Of these, prepared.
    pub prepared: u64,
    /// Of these, with an error.
    pub failed: u64,
    /// How long all of them took.
    pub seconds: Option<f64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows read.
    pub rows_examined: Option<u64>,
    /// Logged between the two readings of counters.
    pub logged: Option<u64>,
    /// Counted by the performance schema between them; null where it has no such digest, as older servers have none of prepared statements.
    pub counted: Option<u64>,
}

/// Transactions of one shape.
#[derive(Clone, Debug, Serialize)]
pub struct Shape {
    /// Places of digests in the list of digests; empty for all shapes beyond those that are told apart.
    pub steps: Vec<Step>,
    /// How many.
    pub transactions: u64,
    /// Statements of all of them.
    pub statements: u64,
    /// From the first statement's start to the last one's end, summed.
    pub seconds: f64,
    /// Rolled back.
    pub rolled_back: u64,
    /// Without an end in the logs.
    pub unfinished: u64,
}

/// A statement of a shape.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Its place in the list of digests.
    pub digest: u32,
    /// It came several times in a row.
    pub repeated: bool,
}

/// Statements that cannot be replayed.
#[derive(Clone, Debug, Serialize)]
pub struct NotReplayed {
    /// Why.
    pub reason: Obstacle,
    /// How many.
    pub statements: u64,
}
