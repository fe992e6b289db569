//! The counters of one second.

use super::replay::ReplayTally;
use super::times::Times;
use crate::plan::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The counters of one load thread for one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Successful transactions, by their index in the plan.
    pub transactions: Vec<u64>,
    /// Statements that the server answered, by [`Kind`].
    pub statements: [u64; 3],
    /// Errors by error code; 2013 is a lost connection, 1329 a missing row.
    pub errors: BTreeMap<u16, u64>,
    /// Retries of transactions.
    pub retries: u64,
    /// Connections that were lost and opened again.
    pub reconnects: u64,
    /// Statements that a connection sends as text from then on, because the server had reached max_prepared_stmt_count.
    pub unprepared: u64,
    /// Statements that were prepared again on a connection, which had closed them because all connections had too many open.
    pub prepared_again: u64,
    /// Transactions that were due and were dropped, because too many waited.
    pub dropped: u64,
    /// Transactions that were due and waited for a connection at the end of the second.
    pub backlog: u64,
    /// Connections with an open transaction at the end of the second.
    pub busy: u64,
    /// The age of the oldest unfinished transaction at the end of the second, in nanoseconds since it was due; in a closed loop, since it
    /// began. 0 if there is none.
    pub oldest_ns: u64,
    /// The latency of transactions: the time since they were due; in a closed loop, since they began; in a replay, that of their statements.
    pub latency: Times,
    /// The same for each of the plan's transactions, by index; the histogram is empty if there is only one.
    pub latency_by: Vec<Times>,
    /// The service time of transactions: the time since they began.
    pub service: Times,
    /// The latency of transactions without the driver's delays.
    pub undelayed: Times,
    /// The time until transactions failed or were lost with their connection, measured like `latency`.
    pub failed: Times,
    /// The number of pauses in which load threads gathered answers.
    pub gather_pauses: u64,
    /// The total length of these pauses, in nanoseconds.
    pub gather_ns: u64,
    /// The CPU time of the load threads, in nanoseconds.
    pub cpu_ns: u64,
    /// How late timers expired: those of pauses, and those of transactions that would have found a connection free when they were due, had
    /// the driver been on time.
    pub late: Times,
    /// The counters of a replay; None for other loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayTally>>,
}

impl Tally {
    /// Creates empty counters for a plan with this number of transactions.
    #[must_use]
    pub fn new(transactions: usize) -> Self {
        Self { transactions: vec![0; transactions], latency_by: vec![Times::new(); transactions], ..Self::default() }
    }

    /// Counts a successful transaction. `lag_ns` is the part of its latency that the driver added.
    #[inline]
    pub fn transaction(&mut self, index: usize, latency_ns: u64, service_ns: u64, lag_ns: u64) {
        self.transactions[index] += 1;
        self.latency.record(latency_ns);
        if self.latency_by.len() > 1 {
            self.latency_by[index].record(latency_ns);
        }
        self.service.record(service_ns);
        self.undelayed.record(latency_ns.saturating_sub(lag_ns));
    }

    /// Counts a transaction that failed or whose connection was lost.
    pub fn failure(&mut self, latency_ns: u64) {
        self.failed.record(latency_ns);
    }

    /// Counts a statement that the server answered.
    #[inline]
    pub fn statement(&mut self, kind: Kind) {
        self.statements[kind as usize] += 1;
    }

    /// Counts an error.
    pub fn error(&mut self, code: u16) {
        *self.errors.entry(code).or_default() += 1;
    }

    /// Counts a retry of a transaction.
    pub fn retry(&mut self) {
        self.retries += 1;
    }

    /// Counts a lost connection that was opened again.
    pub fn reconnect(&mut self) {
        self.reconnects += 1;
    }

    /// Counts a timer that expired this late.
    #[inline]
    pub fn timer(&mut self, late_ns: u64) {
        self.late.record(late_ns);
    }

    /// Resets all counters for another second, and keeps the memory.
    pub fn clear(&mut self) {
        self.transactions.fill(0);
        self.statements = [0; 3];
        self.errors.clear();
        (self.retries, self.reconnects, self.unprepared, self.prepared_again) = (0, 0, 0, 0);
        (self.dropped, self.backlog, self.busy) = (0, 0, 0);
        (self.gather_pauses, self.gather_ns, self.cpu_ns, self.oldest_ns) = (0, 0, 0, 0);
        self.latency.clear();
        self.latency_by.iter_mut().for_each(Times::clear);
        self.service.clear();
        self.undelayed.clear();
        self.late.clear();
        self.failed.clear();
        self.replay = None;
    }

    /// The number of successful transactions of all kinds.
    #[must_use]
    pub fn all_transactions(&self) -> u64 {
        self.transactions.iter().sum()
    }

    /// The number of errors of all codes.
    #[must_use]
    pub fn all_errors(&self) -> u64 {
        self.errors.values().sum()
    }

    /// The number of transactions that were open or waited for a connection at the end of the second.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.busy + self.backlog
    }

    /// Adds the counters of another load thread or host for the same second.
    pub(super) fn join(&mut self, other: &Tally) {
        self.follow(other);
        self.backlog += other.backlog;
        self.busy += other.busy;
        self.oldest_ns = self.oldest_ns.max(other.oldest_ns);
    }

    /// Adds the counters of another second, except the values at the end of a second, whose sums would be meaningless.
    pub(crate) fn follow(&mut self, other: &Tally) {
        let length = self.transactions.len().max(other.transactions.len());
        self.transactions.resize(length, 0);
        self.transactions.iter_mut().zip(&other.transactions).for_each(|(sum, more)| *sum += more);
        self.statements.iter_mut().zip(other.statements).for_each(|(sum, more)| *sum += more);
        for (code, more) in &other.errors {
            *self.errors.entry(*code).or_default() += more;
        }
        self.retries += other.retries;
        self.reconnects += other.reconnects;
        self.unprepared += other.unprepared;
        self.prepared_again += other.prepared_again;
        self.dropped += other.dropped;
        self.gather_pauses += other.gather_pauses;
        self.gather_ns += other.gather_ns;
        self.cpu_ns += other.cpu_ns;
        self.latency.add(&other.latency);
        self.latency_by.resize_with(self.latency_by.len().max(other.latency_by.len()), Times::new);
        self.latency_by.iter_mut().zip(&other.latency_by).for_each(|(sum, more)| sum.add(more));
        self.service.add(&other.service);
        self.undelayed.add(&other.undelayed);
        self.late.add(&other.late);
        self.failed.add(&other.failed);
        if let Some(replay) = &other.replay {
            self.replay.get_or_insert_default().follow(replay);
        }
    }
}

/// The counters of all load threads of all hosts for one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// The sum of the counters of all load threads.
    pub tally: Tally,
    /// The CPU time of each load thread in that second, in nanoseconds; of several hosts, those of the first host come first.
    pub thread_cpu_ns: Vec<u64>,
    /// The CPU time of the driver's processes in that second, in nanoseconds.
    pub driver_cpu_ns: u64,
}

impl Merged {
    /// Creates empty counters for a plan with this number of transactions.
    #[must_use]
    pub fn new(transactions: usize) -> Self {
        Self { tally: Tally::new(transactions), ..Self::default() }
    }

    /// Adds the counters of load thread number `thread`.
    pub fn add(&mut self, thread: usize, tally: &Tally) {
        self.tally.join(tally);
        self.have_threads(thread + 1);
        self.thread_cpu_ns[thread] += tally.cpu_ns;
    }

    /// Extends the CPU times to `threads` load threads at least: a thread that has ended used none.
    pub fn have_threads(&mut self, threads: usize) {
        self.thread_cpu_ns.resize(threads.max(self.thread_cpu_ns.len()), 0);
    }

    /// Adds the counters of another host, without the CPU times of its load threads, which are others.
    pub fn merge(&mut self, other: &Merged) {
        self.tally.join(&other.tally);
        self.driver_cpu_ns += other.driver_cpu_ns;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The counters of a second in which everything happened.
    pub fn eventful() -> Tally {
        let mut tally = Tally::new(2);
        for each in 1..=20 {
            tally.transaction(usize::from(each % 4 == 0), each * 1_000_000, each * 500_000, each * 100_000);
        }
        (0..280).for_each(|_| tally.statement(Kind::Read));
        (0..80).for_each(|_| tally.statement(Kind::Write));
        (0..40).for_each(|_| tally.statement(Kind::Other));
        tally.error(1213);
        tally.error(1213);
        tally.error(1205);
        tally.retry();
        tally.reconnect();
        tally.timer(2_000);
        tally.timer(50_000);
        tally.dropped += 3;
        tally.unprepared += 6;
        tally.prepared_again += 2;
        (tally.backlog, tally.busy) = (4, 5);
        (tally.gather_pauses, tally.gather_ns, tally.cpu_ns) = (40, 8_000_000, 700_000_000);
        tally.oldest_ns = 3_000_000_000;
        tally.failure(7_000_000);
        tally
    }

    #[test]
    fn what_happens_is_counted() {
        let tally = eventful();
        assert_eq!((tally.transactions.as_slice(), tally.all_transactions()), ([15, 5].as_slice(), 20));
        assert_eq!((tally.statements, tally.all_errors()), ([280, 80, 40], 3));
        assert_eq!((tally.retries, tally.reconnects, tally.dropped), (1, 1, 3));
        assert_eq!(
            (tally.late.count(), tally.late.percentiles().mean, tally.late.percentiles().max),
            (2, Some(0.026), Some(0.05))
        );
        assert_eq!(
            [&tally.latency, &tally.service, &tally.undelayed].map(|times| times.percentiles().max),
            [20.0063, 10.0031, 18.0095].map(Some)
        );
    }

    #[test]
    fn the_histograms_by_kind_add_up_to_that_of_all() {
        let mut both = Merged::new(2);
        both.add(0, &eventful());
        both.add(1, &eventful());
        let counts: Vec<u64> = both.tally.latency_by.iter().map(Times::count).collect();
        assert_eq!((counts.as_slice(), both.tally.latency.count()), ([30, 10].as_slice(), 40));
        let mut sum = both.tally.latency_by[0].clone();
        sum.add(&both.tally.latency_by[1]);
        assert_eq!(sum, both.tally.latency);
        // A single kind needs no separate histogram.
        let mut alone = Tally::new(1);
        alone.transaction(0, 1, 1, 0);
        assert_eq!(alone.latency_by[0].count(), 0);
    }

    #[test]
    fn a_cleared_tally_is_as_new() {
        let mut tally = eventful();
        tally.clear();
        assert_eq!(tally, Tally::new(2));
    }

    #[test]
    fn threads_and_hosts_add_up_levels_too() {
        let mut host = Merged::new(2);
        host.add(0, &eventful());
        host.add(2, &eventful());
        host.have_threads(4);
        host.driver_cpu_ns = 7;
        assert_eq!((host.tally.transactions.as_slice(), host.tally.backlog, host.tally.busy), ([30, 10].as_slice(), 8, 10));
        assert_eq!((host.tally.errors[&1213], host.tally.late.count(), host.tally.latency.count()), (4, 4, 40));
        assert_eq!((host.tally.unfinished(), host.tally.oldest_ns, host.tally.failed.count()), (18, 3_000_000_000, 2));
        let mut all = Merged::default();
        all.merge(&host);
        all.merge(&host);
        assert_eq!((all.tally.all_transactions(), all.tally.busy, all.driver_cpu_ns), (80, 20, 14));
        assert_eq!(host.thread_cpu_ns, [700_000_000, 0, 700_000_000, 0]);
    }

    #[test]
    fn a_second_survives_serialization() {
        let mut second = Merged::new(2);
        second.add(0, &eventful());
        second.driver_cpu_ns = 99;
        let sent = serde_json::to_string(&second).unwrap();
        let received: Merged = serde_json::from_str(&sent).unwrap();
        assert_eq!(received.tally.latency.percentiles(), second.tally.latency.percentiles());
        assert_eq!(serde_json::to_string(&received).unwrap(), sent);
    }
}
