//! The lines of the stream, as `schema/load.schema.json` describes them. Times are in milliseconds unless said.

use super::replay::ReplayLine;
use super::tally::{Merged, Tally};
use super::times::{Percentiles, Times, UNIT_NS, seconds};
use crate::errors::{Error, Fault};
use crate::run::{Purpose, Rate};
use serde::Serialize;
use std::collections::BTreeMap;

/// Where in a run a second lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct When {
    /// The second of the run, from 1.
    pub second: u64,
    /// The unix time of its end, in seconds.
    pub at: f64,
    /// How long it was: 1, or less for the last one.
    pub seconds: f64,
    /// Whether it counts.
    pub purpose: Purpose,
    /// The step it belongs to, from 1.
    pub step: usize,
    /// Connections at work.
    pub connections: usize,
    /// Load threads that they are dealt over, of all hosts.
    pub load_threads: usize,
    /// Whether these gathered answers; None if that was not decided yet, and where several hosts differ.
    pub gather: Option<bool>,
    /// The rate asked for.
    pub rate: Option<Rate>,
}

/// What a second came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondLine {
    /// The second of the run, from 1.
    pub second: u64,
    /// The unix time of its end, in seconds.
    pub at: f64,
    /// How long it was: 1, or less for the last one.
    pub seconds: f64,
    /// `warm-up` or `measure`.
    pub phase: &'static str,
    /// The step it belongs to, from 1.
    pub step: usize,
    /// Connections at work.
    pub connections: usize,
    /// Load threads that they are dealt over, of all hosts.
    pub load_threads: usize,
    /// Whether these gathered answers, `on` or `off`; null if that was not decided yet, and where several hosts differ.
    pub gather: Option<&'static str>,
    /// Transactions a second that are asked for; null in a closed loop.
    pub rate: Option<f64>,
    /// Transactions that ended well.
    pub transactions: u64,
    /// The same by name.
    pub by_transaction: BTreeMap<String, u64>,
    /// Statements that were answered.
    pub statements: Statements,
    /// Errors of the server, by code.
    pub errors: BTreeMap<u16, u64>,
    /// Transactions that were played again.
    pub retries: u64,
    /// Connections that were lost and made anew.
    pub reconnects: u64,
    /// Statements that a connection sends as text from then on, because the server had no room to prepare them.
    pub unprepared: u64,
    /// Transactions that were due and dropped, because too many waited.
    pub dropped: u64,
    /// Transactions that wait for a connection at the end.
    pub backlog: u64,
    /// Connections with a transaction at the end.
    pub busy: u64,
    /// Transactions that are open or wait for a connection at the end: `busy` and `backlog`.
    pub unfinished: u64,
    /// How long ago the oldest of these was due, or began in a closed loop; null without any.
    pub oldest_ms: Option<f64>,
    /// How long transactions took from when they were due; in a closed loop, from when they began.
    pub latency: Percentiles,
    /// The same by the name of the transaction; empty where there is only one.
    pub latency_by_transaction: BTreeMap<String, LatencyLine>,
    /// How long transactions took from when they began.
    pub service: Percentiles,
    /// How long transactions took that failed or were lost with their connection, counted as `latency` is.
    pub failed: Percentiles,
    /// Histogram of `latency`.
    pub latency_histogram: String,
    /// Histogram of `service`.
    pub service_histogram: String,
    /// Histogram of `failed`.
    pub failed_histogram: String,
    /// The unit of the values in the histograms, in nanoseconds.
    pub histogram_unit_ns: u64,
    /// CPU seconds, user and system, that the driver took.
    pub driver_cpu: f64,
    /// Those of the load thread that took most: one that takes all of a second is the limit of the load.
    pub busiest_thread_cpu: f64,
    /// The driver's own timers.
    pub timers: TimersLine,
    /// How load threads gathered answers.
    pub gathering: GatheringLine,
    /// What a replay of a capture counts; missing of other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayLine>,
}

/// Statements by what they are counted as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Statements {
    /// They read rows.
    pub read: u64,
    /// They change rows.
    pub write: u64,
    /// They do neither.
    pub other: u64,
}

/// How punctual the driver's own timers were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimersLine {
    /// How many went off.
    pub count: u64,
    /// How late on average; null for none.
    pub late_mean: Option<f64>,
    /// How late the latest; null for none.
    pub late_max: Option<f64>,
}

/// How long one kind of transaction took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyLine {
    /// As [`SecondLine::latency`] of this kind alone.
    pub latency: Percentiles,
    /// Histogram of `latency`.
    pub latency_histogram: String,
}

/// The latency of each kind of transaction; empty where there is only one.
pub(super) fn latency_by_name(tally: &Tally, names: &[String]) -> BTreeMap<String, LatencyLine> {
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let line = |times: &Times| LatencyLine { latency: times.percentiles(), latency_histogram: times.encoded() };
    names.iter().cloned().zip(tally.latency_by.iter().map(line)).collect()
}

/// How load threads waited for further answers before they worked through those that were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GatheringLine {
    /// How many pauses they made.
    pub pauses: u64,
    /// How long these were, all together.
    pub seconds: f64,
}

impl GatheringLine {
    pub(super) fn of(tally: &Tally) -> Self {
        Self { pauses: tally.gather_pauses, seconds: seconds(tally.gather_ns) }
    }
}

impl Merged {
    /// The line of this second; `names` are those of the plan's transactions.
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
            histogram_unit_ns: UNIT_NS,
            driver_cpu: seconds(self.driver_cpu_ns),
            busiest_thread_cpu: seconds(tally.busiest_cpu_ns),
            timers: TimersLine::of(tally),
            gathering: GatheringLine::of(tally),
            replay: tally.replay.as_deref().map(ReplayLine::of),
        }
    }
}

/// The word for whether answers are gathered, as `--gather` takes it.
pub(super) fn gather_word(gathers: bool) -> &'static str {
    if gathers { "on" } else { "off" }
}

/// Transactions by name.
pub(super) fn by_name(tally: &Tally, names: &[String]) -> BTreeMap<String, u64> {
    names.iter().cloned().zip(tally.transactions.iter().copied()).collect()
}

/// The age of the oldest unfinished transaction in milliseconds, to the microsecond; None where there is none.
pub(super) fn oldest_ms(unfinished: u64, oldest_ns: u64) -> Option<f64> {
    (unfinished > 0).then(|| (oldest_ns as f64 / 1e3).round() / 1e3)
}

impl Statements {
    pub(super) fn of(tally: &Tally) -> Self {
        let [read, write, other] = tally.statements;
        Self { read, write, other }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.read + self.write + self.other
    }
}

impl TimersLine {
    pub(super) fn of(tally: &Tally) -> Self {
        let milliseconds = |nanoseconds: f64| (nanoseconds / 1e3).round() / 1e3;
        Self {
            count: tally.timers,
            late_mean: (tally.timers > 0).then(|| milliseconds(tally.late_ns_sum as f64 / tally.timers as f64)),
            late_max: (tally.timers > 0).then(|| milliseconds(tally.late_ns_max as f64)),
        }
    }
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorLine {
    /// Whose fault it is: `user`, `server`, `workload` or `driver`.
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
            Fault::Workload => "workload",
            Fault::Driver => "driver",
        };
        Self { fault, what: error.what.clone(), remedy: error.remedy.clone() }
    }
}

/// What the driver can do on this machine, against a server that does nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelfTestLine {
    /// See [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// The driver's version.
    pub version: &'static str,
    /// Connections at work.
    pub connections: usize,
    /// Load threads.
    pub load_threads: usize,
    /// The least statement there is.
    pub noop: CeilingLine,
    /// The bytes of these, sent and received, with nothing else done.
    pub noop_bytes: CeilingLine,
    /// A prepared select of a row by its key.
    pub point_select: CeilingLine,
    /// The bytes of these, sent and received, with nothing else done.
    pub point_select_bytes: CeilingLine,
}

/// What the driver can do of one kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CeilingLine {
    /// Seconds that were measured.
    pub seconds: f64,
    /// Statements a second that were reached; the server that does nothing took part of the machine.
    pub per_second: f64,
    /// CPU microseconds of the load threads for each; of the only thread, where bytes are sent and received alone.
    pub cpu_us: f64,
    /// Statements a second that one load thread could do with a CPU of its own.
    pub ceiling: f64,
}

#[cfg(test)]
mod tests {
    use super::super::line::Line;
    use super::super::tally::tests::eventful;
    use super::*;
    use crate::run::Arrivals;

    fn second() -> SecondLine {
        let mut merged = Merged::new(2);
        merged.add(&eventful());
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
    fn a_second_tells_all_that_was_counted() {
        let line = serde_json::to_value(Line::Second(&second())).unwrap();
        let expected = serde_json::json!({
            "type": "second", "second": 7, "at": 1_764_150_007.0, "seconds": 1.0, "phase": "measure", "step": 1,
            "connections": 5, "load_threads": 2, "gather": "off", "rate": 30.0, "transactions": 20, "by_transaction": {"pay": 15, "look": 5},
            "statements": {"read": 280, "write": 80, "other": 40}, "errors": {"1205": 1, "1213": 2}, "retries": 1,
            "reconnects": 1, "unprepared": 6, "dropped": 3, "backlog": 4, "busy": 5, "unfinished": 9, "oldest_ms": 3000.0, "histogram_unit_ns": 100, "driver_cpu": 0.123_457, "busiest_thread_cpu": 0.7,
            "timers": {"count": 2, "late_mean": 0.026, "late_max": 0.05},
            "gathering": {"pauses": 40, "seconds": 0.008},
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&line[key], value, "{key}");
        }
        assert_eq!(line.as_object().unwrap().len(), expected.as_object().unwrap().len() + 7);
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
    fn an_error_tells_whose_fault_it_is() {
        let line = ErrorLine::from(&Error::server("gone", "Start it"));
        let text = serde_json::to_string(&Line::Error(&line)).unwrap();
        assert_eq!(text, r#"{"type":"error","fault":"server","what":"gone","remedy":"Start it"}"#);
    }
}
