//! The additional results of a replay: whether it executed the same work as the capture, and on time.

use super::times::{Percentiles, Times, seconds};
use crate::capture::class::Obstacle;
use crate::replay::{Facts, Moment, Pace, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// The additional counters of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Transactions that began; not counted at full pace.
    pub begun: u64,
    /// Of these, those that began more than 5 ms late.
    pub begun_late: u64,
    /// Transactions that waited for others that preceded them in the capture.
    pub waited: u64,
    /// Transactions that the driver rolled back because a deadlock had rolled them back in the capture, but not in the replay.
    pub repaired: u64,
    /// Executed statements whose outcome in the capture is known.
    pub outcomes: u64,
    /// Statements that failed in the replay and are not known to have failed with the same error in the capture.
    pub new_errors: u64,
    /// Statements that failed in the capture, but not in the replay.
    pub missing_errors: u64,
    /// Statements that failed only in the replay, in transactions that were rolled back in the capture.
    pub harmless_errors: u64,
    /// Statements whose number of rows in the capture is known.
    pub row_counts: u64,
    /// Of these, those that returned a different number of rows.
    pub other_row_counts: u64,
    /// Statements that changed rows: INSERT, UPDATE, DELETE and REPLACE.
    pub changes: u64,
    /// Of these, those that changed no row.
    pub idle_changes: u64,
    /// Of these, those for which the capture shows how many rows they changed.
    pub change_counts: u64,
    /// Of these, those that changed another number of rows.
    pub other_change_counts: u64,
    /// Rows that statements returned.
    pub rows_returned: u64,
    /// Rows that statements changed, inserted or deleted.
    pub rows_changed: u64,
    /// Transactions of which a statement no longer waited for the captured order, because nothing went on.
    pub out_of_order: u64,
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
        self.changes += other.changes;
        self.idle_changes += other.idle_changes;
        self.change_counts += other.change_counts;
        self.other_change_counts += other.other_change_counts;
        self.rows_returned += other.rows_returned;
        self.rows_changed += other.rows_changed;
        self.out_of_order += other.out_of_order;
        self.clocks += other.clocks;
    }
}

/// The additional results of a replay for one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayTally {
    /// How late transactions began, because of their session, the order of transactions, or the driver; empty at full pace.
    pub late: Times,
    /// The time from when transactions were due to their end; empty at full pace.
    pub from_due: Times,
    /// The counters.
    pub counts: ReplayCounts,
    /// The total time that transactions waited for others, in nanoseconds.
    pub waited_ns: u64,
    /// The distance between the distributions of time over digests in the capture and in the replay so far, from 0 (equal) to 1; None if the
    /// capture has no durations.
    pub time_distance: Option<f64>,
    /// The digests that took most time or whose statements differ most from the capture, so far.
    pub digests: Vec<DigestLine>,
    /// A mark each time another 1/40 of the transactions had ended: how many had ended, and when, in nanoseconds since the load began.
    pub marks: Vec<(u64, u64)>,
}

impl ReplayTally {
    /// Adds the results of a later second.
    pub(super) fn follow(&mut self, other: &Self) {
        self.late.add(&other.late);
        self.from_due.add(&other.from_due);
        self.counts += other.counts;
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.time_distance = other.time_distance.or(self.time_distance);
        if !other.digests.is_empty() {
            self.digests.clone_from(&other.digests);
        }
        self.marks.extend_from_slice(&other.marks);
    }
}

/// The statements of a digest so far, and how they differ from the capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DigestLine {
    /// The digest, cut off after 240 bytes.
    pub digest: String,
    /// Executed statements.
    pub statements: u64,
    /// Of these, those that failed and are not known to have failed with the same error in the capture.
    pub new_errors: u64,
    /// The number of the last of these errors; None without any.
    pub last_error: Option<u16>,
    /// Statements that failed in the capture, but not in the replay.
    pub missing_errors: u64,
    /// Statements that returned a different number of rows.
    pub other_row_counts: u64,
    /// Statements that changed a different number of rows.
    pub other_change_counts: u64,
    /// The mean time of a statement in the capture, in milliseconds; None if the capture has no durations.
    pub captured_ms: Option<f64>,
    /// The mean time of a statement in the replay: from sending it to its answer.
    pub replayed_ms: Option<f64>,
    /// The share of the time of all statements in the capture; None if the capture has no durations.
    pub captured_time: Option<f64>,
    /// The share of the time of all statements in the replay; None if the capture has no durations.
    pub replayed_time: Option<f64>,
}

/// The part of a line for a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayLine {
    /// How late transactions began, in milliseconds, because of their session, the order of transactions, or the driver.
    pub late: Percentiles,
    /// The time from when transactions were due to their end; empty at full pace.
    pub from_due: Percentiles,
    /// Histogram of `from_due`.
    pub from_due_histogram: String,
    /// The counters.
    #[serde(flatten)]
    pub counts: ReplayCounts,
    /// The total time that transactions waited for others, in seconds.
    pub waited_seconds: f64,
    /// The distance between the distributions of time over digests in the capture and in the replay so far, from 0 (equal) to 1; null if the
    /// capture has no durations.
    pub time_distance: Option<f64>,
    /// The digests that took most time or whose statements differ most from the capture, so far.
    pub digests: Vec<DigestLine>,
    /// A mark each time another 1/40 of the transactions had ended.
    pub marks: Vec<MarkLine>,
}

/// The progress of a replay at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MarkLine {
    /// The number of transactions that had ended.
    pub transactions: u64,
    /// Seconds since the load began.
    pub at: f64,
}

impl ReplayLine {
    pub(super) fn of(tally: &ReplayTally) -> Self {
        Self {
            late: tally.late.percentiles(),
            from_due: tally.from_due.percentiles(),
            from_due_histogram: tally.from_due.encoded(),
            counts: tally.counts,
            waited_seconds: seconds(tally.waited_ns),
            time_distance: tally.time_distance,
            digests: tally.digests.clone(),
            marks: tally
                .marks
                .iter()
                .map(|(transactions, at)| MarkLine { transactions: *transactions, at: seconds(*at) })
                .collect(),
        }
    }
}

/// What is replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayFact {
    /// The largest number of concurrent sessions; each has a connection.
    pub connections: usize,
    /// The speed relative to the capture: 2 is twice as fast; null for as fast as the order of transactions allows.
    pub pace: Option<f64>,
    /// The number of sessions of the capture.
    pub sessions: usize,
    /// The number of transactions of the capture.
    pub transactions: u64,
    /// The number of statements that are replayed.
    pub statements: u64,
    /// Of these, those that are sent as prepared statements, as in the capture; all others are sent as text.
    pub prepared: u64,
    /// Statements that were prepared in the capture and are sent as text: they occur once, or the values in them cannot be identified.
    pub prepared_as_text: u64,
    /// Transactions to which a BEGIN was added because the log lacks it: MySQL 5.6 does not log statements that take less than a microsecond.
    pub begins_added: u64,
    /// Statements with RAND() or UUID().
    pub random: u64,
    /// The time from the first to the last statement of the capture, in seconds.
    pub captured_seconds: f64,
    /// Backups that were taken while the capture ran.
    pub backups: Vec<BackupLine>,
    /// The numbers of statements that are not replayed, by reason.
    pub not_replayed: BTreeMap<Obstacle, u64>,
}

/// A backup that was taken while the capture ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BackupLine {
    /// The point in time of the backup's data, in seconds since 1970.
    pub at: f64,
    /// How this point in time was determined.
    pub by: Moment,
}

impl ReplayFact {
    /// Creates the description of a replay.
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
