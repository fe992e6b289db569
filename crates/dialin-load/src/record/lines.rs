//! The lines of the output stream, as `schema/load.schema.json` describes them. Times are in milliseconds unless stated otherwise.

use super::replay::ReplayLine;
use super::tally::{Merged, Tally};
use super::times::{Percentiles, Times, UNIT_NS, seconds};
use crate::errors::{Error, Fault};
use crate::run::{Purpose, Rate};
use serde::Serialize;
use std::collections::BTreeMap;

/// The position of a second in a run, and the settings of its step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct When {
    /// The number of the second in the run, from 1.
    pub second: u64,
    /// The Unix time of its end, in seconds.
    pub at: f64,
    /// Its length in seconds: 1, or less for the last one.
    pub seconds: f64,
    /// Whether it is measured or part of a warm-up.
    pub purpose: Purpose,
    /// The step that it belongs to, from 1.
    pub step: usize,
    /// The number of connections.
    pub connections: usize,
    /// The number of load threads of all hosts that run these connections.
    pub load_threads: usize,
    /// Whether these load threads gathered answers; None if that was not decided yet, or if several hosts differ.
    pub gather: Option<bool>,
    /// The target rate; None in a closed loop.
    pub rate: Option<Rate>,
}

/// The results of one second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondLine {
    /// The number of the second in the run, from 1.
    pub second: u64,
    /// The Unix time of its end, in seconds.
    pub at: f64,
    /// Its length in seconds: 1, or less for the last one.
    pub seconds: f64,
    /// `warm-up` or `measure`.
    pub phase: &'static str,
    /// The step that it belongs to, from 1.
    pub step: usize,
    /// The number of connections.
    pub connections: usize,
    /// The number of load threads of all hosts that run these connections.
    pub load_threads: usize,
    /// Whether these load threads gathered answers: `on` or `off`; null if that was not decided yet, or if several hosts differ.
    pub gather: Option<&'static str>,
    /// The target rate in transactions per second; null in a closed loop.
    pub rate: Option<f64>,
    /// Successful transactions.
    pub transactions: u64,
    /// Successful transactions by name.
    pub by_transaction: BTreeMap<String, u64>,
    /// Statements that the server answered.
    pub statements: Statements,
    /// Errors by error code.
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
    /// Transactions that waited for a connection at the end of the second.
    pub backlog: u64,
    /// Connections with an open transaction at the end of the second.
    pub busy: u64,
    /// Transactions that were open or waited for a connection at the end of the second: `busy` plus `backlog`.
    pub unfinished: u64,
    /// The age of the oldest of these: the time since it was due; in a closed loop, since it began. Null if there is none.
    pub oldest_ms: Option<f64>,
    /// The latency of transactions: the time since they were due; in a closed loop, since they began. In a replay, the time that their
    /// statements took on the server, without the pauses between them.
    pub latency: Percentiles,
    /// The latency by transaction name; empty if there is only one transaction.
    pub latency_by_transaction: BTreeMap<String, LatencyLine>,
    /// The service time of transactions: the time since they began.
    pub service: Percentiles,
    /// The time until transactions failed or were lost with their connection, measured like `latency`.
    pub failed: Percentiles,
    /// Histogram of `latency`.
    pub latency_histogram: String,
    /// Histogram of `service`.
    pub service_histogram: String,
    /// Histogram of `failed`.
    pub failed_histogram: String,
    /// Histogram of the latency without what the driver added.
    pub undelayed_histogram: String,
    /// What the driver added to latency.
    pub driver_share: DriverShareLine,
    /// The unit of the values in the histograms, in nanoseconds.
    pub histogram_unit_ns: u64,
    /// The CPU time of the driver, user and system, in seconds.
    pub driver_cpu: f64,
    /// The CPU time of each load thread, in seconds: a thread that uses a whole CPU limits the load. Of several hosts, the threads of the
    /// first host come first.
    pub load_thread_cpu: Vec<f64>,
    /// The lateness of the driver's timers.
    pub timers: TimersLine,
    /// How load threads gathered answers.
    pub gathering: GatheringLine,
    /// The results of a replay; missing for other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayLine>,
}

/// The numbers of statements by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statements {
    /// Statements that read rows.
    pub read: u64,
    /// Statements that change rows.
    pub write: u64,
    /// Other statements.
    pub other: u64,
}

/// How late the driver's timers expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimersLine {
    /// The number of timers that expired.
    pub count: u64,
    /// The mean lateness; null if no timer expired.
    pub late_mean: Option<f64>,
    /// The lateness that 99 % of the timers did not exceed; null if fewer than 100 expired.
    pub late_p99: Option<f64>,
    /// The greatest lateness; null if no timer expired.
    pub late_max: Option<f64>,
}

/// What the driver added to latency: timers that were late, and answers that waited for the driver. A share is from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DriverShareLine {
    /// The share of the mean latency; null without a transaction.
    pub mean: Option<f64>,
    /// The share of p99: by how much p99 would be lower without what the driver added; null if p99 is.
    pub p99: Option<f64>,
    /// What the driver added to the mean.
    pub mean_added: Option<f64>,
    /// What the driver added to p99.
    pub p99_added: Option<f64>,
}

impl DriverShareLine {
    pub(super) fn of(tally: &Tally) -> Self {
        let (latency, undelayed) = (tally.latency.percentiles(), tally.undelayed.percentiles());
        let added = |with: Option<f64>, without: Option<f64>| Some((with? - without?).max(0.0));
        let share = |added: Option<f64>, with: Option<f64>| Some(rounded(added? / with?.max(f64::MIN_POSITIVE), 1e4));
        let mean_added = added(latency.mean, undelayed.mean);
        let p99_added = added(latency.p99, undelayed.p99);
        Self {
            mean: share(mean_added, latency.mean),
            p99: share(p99_added, latency.p99),
            mean_added: mean_added.map(|added| rounded(added, 1e4)),
            p99_added: p99_added.map(|added| rounded(added, 1e4)),
        }
    }
}

/// Rounds to the nearest of `parts` parts of one.
pub(super) fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

/// The latency of one kind of transaction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyLine {
    /// Like [`SecondLine::latency`], for this kind alone.
    pub latency: Percentiles,
    /// Histogram of `latency`.
    pub latency_histogram: String,
}

/// The latency of each kind of transaction, by name; empty if there is only one.
pub(super) fn latency_by_name(tally: &Tally, names: &[String]) -> BTreeMap<String, LatencyLine> {
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let line = |times: &Times| LatencyLine { latency: times.percentiles(), latency_histogram: times.encoded() };
    names.iter().cloned().zip(tally.latency_by.iter().map(line)).collect()
}

/// The pauses of load threads to gather answers before they processed them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GatheringLine {
    /// The number of pauses.
    pub pauses: u64,
    /// The total length of these pauses, in seconds.
    pub seconds: f64,
}

impl GatheringLine {
    pub(super) fn of(tally: &Tally) -> Self {
        Self { pauses: tally.gather_pauses, seconds: seconds(tally.gather_ns) }
    }
}

impl Merged {
    /// The line of this second. `names` are the names of the plan's transactions.
    #[must_use]
    pub fn line(&self, when: &When, names: &[String]) -> SecondLine {
        let tally = &self.tally;
        SecondLine {
            second: when.second,
            at: (when.at * 1e6).round() / 1e6,
            seconds: (when.seconds * 1e6).round() / 1e6,
            phase: when.purpose.word(),
            step: when.step,
            connections: when.connections,
            load_threads: when.load_threads,
            gather: when.gather.map(gather_word),
            rate: when.rate.map(|rate| rate.per_second),
            transactions: tally.all_transactions(),
            by_transaction: by_name(tally, names),
            statements: Statements::of(tally),
            errors: tally.errors.clone(),
            retries: tally.retries,
            reconnects: tally.reconnects,
            unprepared: tally.unprepared,
            prepared_again: tally.prepared_again,
            dropped: tally.dropped,
            backlog: tally.backlog,
            busy: tally.busy,
            unfinished: tally.unfinished(),
            oldest_ms: oldest_ms(tally.unfinished(), tally.oldest_ns),
            latency: tally.latency.percentiles(),
            latency_by_transaction: latency_by_name(tally, names),
            service: tally.service.percentiles(),
            failed: tally.failed.percentiles(),
            latency_histogram: tally.latency.encoded(),
            service_histogram: tally.service.encoded(),
            failed_histogram: tally.failed.encoded(),
            undelayed_histogram: tally.undelayed.encoded(),
            driver_share: DriverShareLine::of(tally),
            histogram_unit_ns: UNIT_NS,
            driver_cpu: seconds(self.driver_cpu_ns),
            load_thread_cpu: self.thread_cpu_ns.iter().map(|cpu| seconds(*cpu)).collect(),
            timers: TimersLine::of(tally),
            gathering: GatheringLine::of(tally),
            replay: tally.replay.as_deref().map(ReplayLine::of),
        }
    }
}

/// Whether answers are gathered, as a value of `--gather`.
pub(super) fn gather_word(gathers: bool) -> &'static str {
    if gathers { "on" } else { "off" }
}

/// The numbers of successful transactions by name.
pub(super) fn by_name(tally: &Tally, names: &[String]) -> BTreeMap<String, u64> {
    names.iter().cloned().zip(tally.transactions.iter().copied()).collect()
}

/// The age of the oldest unfinished transaction in milliseconds, rounded to the microsecond; None if there is none.
pub(super) fn oldest_ms(unfinished: u64, oldest_ns: u64) -> Option<f64> {
    (unfinished > 0).then(|| (oldest_ns as f64 / 1e3).round() / 1e3)
}

impl Statements {
    pub(super) fn of(tally: &Tally) -> Self {
        let [read, write, other] = tally.statements;
        Self { read, write, other }
    }

    /// The number of statements of all kinds.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.read + self.write + self.other
    }
}

impl TimersLine {
    pub(super) fn of(tally: &Tally) -> Self {
        let late = tally.late.percentiles();
        Self { count: tally.late.count(), late_mean: late.mean, late_p99: late.p99, late_max: late.max }
    }
}

/// The error that ended a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorLine {
    /// The cause of the error: `user`, `server`, `connection`, `workload`, `machine` or `driver`.
    pub fault: &'static str,
    /// What happened.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl From<&Error> for ErrorLine {
    fn from(error: &Error) -> Self {
        let fault = match error.fault {
            Fault::User => "user",
            Fault::Server => "server",
            Fault::Connection => "connection",
            Fault::Machine => "machine",
            Fault::Workload => "workload",
            Fault::Driver => "driver",
        };
        Self { fault, what: error.what.clone(), remedy: error.remedy.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::super::tally::tests::eventful;
    use super::*;
    use crate::run::Arrivals;

    fn second() -> SecondLine {
        let mut merged = Merged::new(2);
        merged.add(0, &eventful());
        merged.driver_cpu_ns = 123_456_789;
        let rate = Rate { per_second: 30.0, arrivals: Arrivals::Poisson };
        let when = When {
            second: 7,
            at: 1_764_150_007.000_000_1,
            seconds: 1.0,
            purpose: Purpose::Measure,
            step: 1,
            connections: 5,
            load_threads: 2,
            gather: Some(false),
            rate: Some(rate),
        };
        merged.line(&when, &["pay".into(), "look".into()])
    }

    #[test]
    fn a_second_line_contains_all_counters() {
        let line = serde_json::to_value(Line::Second(&second())).unwrap();
        let expected = serde_json::json!({
            "type": "second", "second": 7, "at": 1_764_150_007.0, "seconds": 1.0, "phase": "measure", "step": 1,
            "connections": 5, "load_threads": 2, "gather": "off", "rate": 30.0, "transactions": 20, "by_transaction": {"pay": 15, "look": 5},
            "statements": {"read": 280, "write": 80, "other": 40}, "errors": {"1205": 1, "1213": 2}, "retries": 1,
            "reconnects": 1, "unprepared": 6, "prepared_again": 2, "dropped": 3, "backlog": 4, "busy": 5, "unfinished": 9, "oldest_ms": 3000.0, "histogram_unit_ns": 100, "driver_cpu": 0.123_457, "load_thread_cpu": [0.7],
            "timers": {"count": 2, "late_mean": 0.026, "late_p99": null, "late_max": 0.05},
            "driver_share": {"mean": 0.1, "p99": null, "mean_added": 1.0506, "p99_added": null},
            "gathering": {"pauses": 40, "seconds": 0.008},
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&line[key], value, "{key}");
        }
        assert_eq!(line.as_object().unwrap().len(), expected.as_object().unwrap().len() + 8);
    }

    #[test]
    fn the_histogram_of_a_second_is_that_of_its_percentiles() {
        let line = second();
        assert_eq!(Times::decoded(&line.latency_histogram).unwrap().percentiles(), line.latency);
        assert_eq!(Times::decoded(&line.service_histogram).unwrap().percentiles(), line.service);
        assert_ne!(line.latency, line.service);
        let pay = &line.latency_by_transaction["pay"];
        assert_eq!(Times::decoded(&pay.latency_histogram).unwrap().percentiles(), pay.latency);
        assert_eq!(Times::decoded(&pay.latency_histogram).unwrap().count(), line.by_transaction["pay"]);
    }

    #[test]
    fn a_percentile_without_values_is_null_in_the_stream() {
        let line = serde_json::to_value(second()).unwrap();
        assert!(line["latency"]["p95"].is_number());
        assert!(line["latency"]["p99.9"].is_null() && line["latency"].get("p99.99").is_some());
    }

    #[test]
    fn an_error_line_names_the_fault() {
        let line = ErrorLine::from(&Error::server("gone", "Start it"));
        let text = serde_json::to_string(&Line::Error(&line)).unwrap();
        assert_eq!(text, r#"{"type":"error","fault":"server","what":"gone","remedy":"Start it"}"#);
    }
}
