//! What a replay counts beside what every load counts: whether it is the same work, and in time.

use super::times::{Percentiles, Times, seconds};
use crate::capture::class::Obstacle;
use crate::replay::{Facts, Moment, Pace, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// What a replay counts beside what every load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Transactions that began; at full pace none is counted.
    pub begun: u64,
    /// Of these, those that began more than 5 ms late.
    pub begun_late: u64,
    /// Transactions that waited for others which came before them in the capture.
    pub waited: u64,
    /// Transactions that were rolled back because the server did so in the capture, and not in the replay.
    pub repaired: u64,
    /// Statements whose outcome is known in the capture.
    pub outcomes: u64,
    /// Statements that failed and did not, or not with that error, in the capture.
    pub new_errors: u64,
    /// Statements that failed in the capture and did not in the replay.
    pub missing_errors: u64,
    /// Statements that failed in transactions that were rolled back in the capture.
    pub harmless_errors: u64,
    /// Queries whose number of rows is known in the capture.
    pub row_counts: u64,
    /// Of these, those that returned another number of rows.
    pub other_row_counts: u64,
    /// Statements before which the session's clock was set to the captured time.
    pub clocks: u64,
}

impl AddAssign for ReplayCounts {
    fn add_assign(&mut self, other: Self) {
        self.begun += other.begun;
        self.begun_late += other.begun_late;
        self.waited += other.waited;
        self.repaired += other.repaired;
        self.outcomes += other.outcomes;
        self.new_errors += other.new_errors;
        self.missing_errors += other.missing_errors;
        self.harmless_errors += other.harmless_errors;
        self.row_counts += other.row_counts;
        self.other_row_counts += other.other_row_counts;
        self.clocks += other.clocks;
    }
}

/// What a replay counted in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayTally {
    /// How late transactions began, because their session, the order or the driver was not ready; none at full pace.
    pub late: Times,
    /// Its counts.
    pub counts: ReplayCounts,
    /// How long transactions waited for others, all together, in nanoseconds.
    pub waited_ns: u64,
    /// So far, how differently time is spread over digests, from 0 to 1; None where the capture has no durations.
    pub time_distance: Option<f64>,
    /// Each time a fortieth of the transactions had ended: how many had, and when, in nanoseconds since the load began.
    pub marks: Vec<(u64, u64)>,
}

impl ReplayTally {
    /// Add what was counted at another time.
    pub(super) fn follow(&mut self, other: &Self) {
        self.late.add(&other.late);
        self.counts += other.counts;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.time_distance = other.time_distance.or(self.time_distance);
        self.marks.extend_from_slice(&other.marks);
    }
}

/// A replay's part of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayLine {
    /// How late transactions began, in milliseconds, because their session, the order or the driver was not ready.
    pub late: Percentiles,
    /// Its counts.
    #[serde(flatten)]
    pub counts: ReplayCounts,
    /// How long transactions waited for others, all together.
    pub waited_seconds: f64,
    /// So far, how differently the time of statements is spread over digests than in the capture, from 0 to 1; null where the capture
    /// has no durations.
    pub time_distance: Option<f64>,
    /// Each time a fortieth of the transactions had ended.
    pub marks: Vec<MarkLine>,
}

/// A moment of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MarkLine {
    /// How many transactions had ended.
    pub transactions: u64,
    /// Seconds since the load began.
    pub at: f64,
}

impl ReplayLine {
    pub(super) fn of(tally: &ReplayTally) -> Self {
        Self {
            late: tally.late.percentiles(),
            counts: tally.counts,
            waited_seconds: seconds(tally.waited_ns),
            time_distance: tally.time_distance,
            marks: tally
                .marks
                .iter()
                .map(|(transactions, at)| MarkLine { transactions: *transactions, at: seconds(*at) })
                .collect(),
        }
    }
}

/// What a replay plays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayFact {
    /// Sessions at once, at the most: each has a connection.
    pub connections: usize,
    /// How many times as fast as it was captured; null for as fast as the order allows.
    pub pace: Option<f64>,
    /// Sessions of the capture.
    pub sessions: usize,
    /// Its transactions.
    pub transactions: u64,
    /// Its statements that are played.
    pub statements: u64,
    /// Of these, those that are prepared, as they were; all others are sent as text.
    pub prepared: u64,
    /// Statements that were prepared and are sent as text: they occur once, or the values in them cannot be told apart.
    pub prepared_as_text: u64,
    /// Transactions that begin with a BEGIN that the log lacks: MySQL 5.6 leaves out what takes less than a microsecond.
    pub begins_added: u64,
    /// Statements with RAND() or UUID().
    pub random: u64,
    /// From the first statement to the last one in the capture, in seconds.
    pub captured_seconds: f64,
    /// Backups that were taken while the capture ran.
    pub backups: Vec<BackupLine>,
    /// Statements that are not replayed, by reason.
    pub not_replayed: BTreeMap<Obstacle, u64>,
}

/// A backup that was taken while the capture ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackupLine {
    /// The moment whose data it has, in seconds since 1970.
    pub at: f64,
    /// What shows that moment.
    pub by: Moment,
}

impl ReplayFact {
    /// Of a replay that is asked for.
    #[must_use]
    pub fn of(request: &Request, facts: &Facts) -> Self {
        Self {
            connections: facts.connections,
            pace: match request.pace {
                Pace::Full => None,
                Pace::Times(times) => Some(times),
            },
            sessions: facts.sessions,
            transactions: facts.transactions,
            statements: facts.statements,
            prepared: facts.templates.prepared,
            prepared_as_text: facts.templates.as_text,
            begins_added: facts.omissions.begins_added,
            random: facts.omissions.random,
            captured_seconds: (facts.end - facts.begin) as f64 / 1e6,
            backups: facts.backups.iter().map(|backup| BackupLine { at: backup.at as f64 / 1e6, by: backup.by }).collect(),
            not_replayed: facts.omissions.skipped.clone(),
        }
    }
}
