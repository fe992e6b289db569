//! The summary of a run: a total for each step and for the whole run.

use super::lines::{
    DriverShareLine, GatheringLine, LatencyLine, Statements, TimersLine, When, by_name, gather_word, latency_by_name, oldest_ms,
};
use super::replay::ReplayLine;
use super::start::arrivals;
use super::tally::{Merged, Tally};
use super::times::{Percentiles, UNIT_NS, seconds};
use crate::run::{Arrivals, Purpose, Rate};
use serde::Serialize;
use std::collections::BTreeMap;

/// A target rate counts as reached if at least this share of it was achieved.
const ENOUGH: f64 = 0.99;

/// The summary of a run. Only seconds of `measure` phases count, unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryLine {
    /// The number of seconds that were reported, including warm-ups and a shorter last one.
    pub seconds: u64,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Whether transactions were dropped because too many waited, during a warm-up or later.
    pub reached_backlog_cap: bool,
    /// Whether each step reached its rate; null in a closed loop.
    pub rate_reached: Option<bool>,
    /// The unit of the values in the histograms, in nanoseconds.
    pub histogram_unit_ns: u64,
    /// The steps that were measured, in order.
    pub steps: Vec<StepLine>,
    /// All steps together.
    pub total: StepLine,
}

/// The results of a step, or of all steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepLine {
    /// The number of the step, from 1; null for all steps.
    pub step: Option<usize>,
    /// The number of connections; null for all steps.
    pub connections: Option<usize>,
    /// The number of load threads of all hosts; null for all steps.
    pub load_threads: Option<usize>,
    /// Whether these load threads gathered answers at the end of the step: `on` or `off`; null for all steps, if it was never decided, or if
    /// several hosts differ.
    pub gather: Option<&'static str>,
    /// The target rate in transactions per second; null in a closed loop and for all steps.
    pub rate: Option<f64>,
    /// `constant` or `poisson`; null in a closed loop and for all steps.
    pub arrivals: Option<&'static str>,
    /// The measured time, in seconds.
    pub seconds: f64,
    /// Successful transactions.
    pub transactions: u64,
    /// The throughput: successful transactions per second.
    pub per_second: f64,
    /// Whether the target rate was reached; null without a target rate.
    pub rate_reached: Option<bool>,
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
    /// The largest backlog at the end of a second.
    pub backlog_max: u64,
    /// Transactions that were open or waited for a connection at the end of the last second.
    pub unfinished: u64,
    /// The age of the oldest of these: the time since it was due; in a closed loop, since it began. Null if there is none.
    pub oldest_ms: Option<f64>,
    /// See [`SecondLine::latency`](super::SecondLine::latency).
    pub latency: Percentiles,
    /// See [`SecondLine::latency_by_transaction`](super::SecondLine::latency_by_transaction).
    pub latency_by_transaction: BTreeMap<String, LatencyLine>,
    /// See [`SecondLine::service`](super::SecondLine::service).
    pub service: Percentiles,
    /// See [`SecondLine::failed`](super::SecondLine::failed).
    pub failed: Percentiles,
    /// Histogram of `latency`.
    pub latency_histogram: String,
    /// Histogram of `service`.
    pub service_histogram: String,
    /// Histogram of `failed`.
    pub failed_histogram: String,
    /// See [`SecondLine::undelayed_histogram`](super::SecondLine::undelayed_histogram).
    pub undelayed_histogram: String,
    /// What the driver added to latency.
    pub driver_share: DriverShareLine,
    /// The CPU time of the driver, user and system, in seconds.
    pub driver_cpu: f64,
    /// The CPU time of the load thread that used most, in seconds.
    pub busiest_thread_cpu: f64,
    /// The CPU time of the driver per successful transaction, in microseconds; null if there was none.
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// The lateness of the driver's timers.
    pub timers: TimersLine,
    /// How load threads gathered answers.
    pub gathering: GatheringLine,
    /// The results of a replay; missing for other loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayLine>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The number of seconds that were reported.
    pub seconds: u64,
    /// Whether transactions were dropped because too many waited.
    pub reached_backlog_cap: bool,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

/// Sums up a run, second by second.
#[derive(Clone, Debug)]
pub struct Steps {
    names: Vec<String>,
    current: Option<(When, Total)>,
    done: Vec<StepLine>,
    all: Total,
}

/// A sum of seconds.
#[derive(Clone, Debug, Default)]
struct Total {
    seconds: f64,
    tally: Tally,
    driver_cpu_ns: u64,
    thread_cpu_ns: Vec<u64>,
    backlog_max: u64,
    backlog_last: u64,
    unfinished_last: u64,
    oldest_last_ns: u64,
}

impl Steps {
    /// Creates an empty summary. `names` are the names of the plan's transactions.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let all = Total::new(names.len());
        Self { names, current: None, done: Vec::new(), all }
    }

    /// Adds a second, unless it is part of a warm-up.
    pub fn add(&mut self, when: &When, merged: &Merged) {
        if when.purpose == Purpose::WarmUp {
            return;
        }
        if self.current.as_ref().is_some_and(|(begun, _)| begun.step != when.step) {
            self.close();
        }
        let (last, total) = self.current.get_or_insert_with(|| (*when, Total::new(self.names.len())));
        *last = *when;
        total.add(when.seconds, merged);
        self.all.add(when.seconds, merged);
    }

    fn close(&mut self) {
        if let Some((when, total)) = self.current.take() {
            self.done.push(total.line(Some(&when), &self.names));
        }
    }

    /// Completes the summary.
    #[must_use]
    pub fn finish(mut self, end: End) -> SummaryLine {
        self.close();
        let reached: Vec<bool> = self.done.iter().filter_map(|step| step.rate_reached).collect();
        SummaryLine {
            seconds: end.seconds,
            stopped: end.stopped,
            reached_backlog_cap: end.reached_backlog_cap,
            rate_reached: (!reached.is_empty()).then(|| reached.iter().all(|each| *each)),
            histogram_unit_ns: UNIT_NS,
            total: self.all.line(None, &self.names),
            steps: self.done,
        }
    }
}

impl Total {
    fn new(transactions: usize) -> Self {
        Self { tally: Tally::new(transactions), ..Self::default() }
    }

    fn add(&mut self, seconds: f64, merged: &Merged) {
        self.seconds += seconds;
        self.tally.follow(&merged.tally);
        self.driver_cpu_ns += merged.driver_cpu_ns;
        self.thread_cpu_ns.resize(merged.thread_cpu_ns.len().max(self.thread_cpu_ns.len()), 0);
        self.thread_cpu_ns.iter_mut().zip(&merged.thread_cpu_ns).for_each(|(sum, more)| *sum += more);
        self.backlog_max = self.backlog_max.max(merged.tally.backlog);
        self.backlog_last = merged.tally.backlog;
        self.unfinished_last = merged.tally.unfinished();
        self.oldest_last_ns = merged.tally.oldest_ns;
    }

    /// The line of a step, with the settings of its last second, or of all steps.
    fn line(&self, when: Option<&When>, names: &[String]) -> StepLine {
        let tally = &self.tally;
        let transactions = tally.all_transactions();
        let rate = when.and_then(|when| when.rate);
        let unserved = tally.dropped + self.backlog_last;
        StepLine {
            step: when.map(|when| when.step),
            connections: when.map(|when| when.connections),
            load_threads: when.map(|when| when.load_threads),
            gather: when.and_then(|when| when.gather).map(gather_word),
            rate: rate.map(|rate| rate.per_second),
            arrivals: rate.map(arrivals),
            seconds: (self.seconds * 1e6).round() / 1e6,
            transactions,
            per_second: if self.seconds > 0.0 { thousandths(transactions as f64 / self.seconds) } else { 0.0 },
            rate_reached: rate.map(|rate| reached(rate, self.seconds, transactions, unserved)),
            by_transaction: by_name(tally, names),
            statements: Statements::of(tally),
            errors: tally.errors.clone(),
            retries: tally.retries,
            reconnects: tally.reconnects,
            unprepared: tally.unprepared,
            prepared_again: tally.prepared_again,
            dropped: tally.dropped,
            backlog_max: self.backlog_max,
            unfinished: self.unfinished_last,
            oldest_ms: oldest_ms(self.unfinished_last, self.oldest_last_ns),
            latency: tally.latency.percentiles(),
            latency_by_transaction: latency_by_name(tally, names),
            service: tally.service.percentiles(),
            failed: tally.failed.percentiles(),
            latency_histogram: tally.latency.encoded(),
            service_histogram: tally.service.encoded(),
            failed_histogram: tally.failed.encoded(),
            undelayed_histogram: tally.undelayed.encoded(),
            driver_share: DriverShareLine::of(tally),
            driver_cpu: seconds(self.driver_cpu_ns),
            busiest_thread_cpu: seconds(self.thread_cpu_ns.iter().copied().max().unwrap_or_default()),
            driver_cpu_us_per_transaction: (transactions > 0)
                .then(|| thousandths(self.driver_cpu_ns as f64 / 1e3 / transactions as f64)),
            timers: TimersLine::of(tally),
            gathering: GatheringLine::of(tally),
            replay: tally.replay.as_deref().map(ReplayLine::of),
        }
    }
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Whether a target rate was reached. It was if at least 99 % of the transactions succeeded. It was also if the shortfall can be due to
/// chance (constant arrivals: one transaction, which may have ended just after the end; Poisson arrivals: three standard deviations) and
/// at most 1 % of the transactions were dropped or waited at the end.
#[must_use]
pub fn reached(rate: Rate, seconds: f64, transactions: u64, unserved: u64) -> bool {
    let asked = rate.per_second * seconds;
    let missing = asked - transactions as f64;
    let chance = match rate.arrivals {
        Arrivals::Constant => 1.0,
        Arrivals::Poisson => 3.0 * asked.sqrt(),
    };
    let tolerated = asked * (1.0 - ENOUGH);
    missing <= tolerated || (missing <= chance && unserved as f64 <= tolerated)
}

#[cfg(test)]
mod tests {
    use super::super::tally::tests::eventful;
    use super::super::times::Times;
    use super::*;

    const END: End = End { seconds: 9, reached_backlog_cap: true, stopped: false };

    fn names() -> Vec<String> {
        vec!["pay".into(), "look".into()]
    }

    fn when(second: u64, step: usize, purpose: Purpose, rate: Option<f64>) -> When {
        let rate = rate.map(|per_second| Rate { per_second, arrivals: Arrivals::Constant });
        let (connections, load_threads, gather) = (4 * step, 2 * step, (second > 2).then_some(step == 1));
        When { second, at: second as f64, seconds: 1.0, purpose, step, connections, load_threads, gather, rate }
    }

    /// A second with this number of transactions, all of the same latency.
    fn merged(transactions: u64, nanoseconds: u64) -> Merged {
        let mut tally = Tally::new(2);
        (0..transactions).for_each(|_| tally.transaction(0, nanoseconds, nanoseconds / 2, 0));
        let mut merged = Merged::new(2);
        merged.add(0, &tally);
        merged.driver_cpu_ns = 20_000_000;
        merged
    }

    #[test]
    fn each_step_has_a_total_of_its_measured_seconds() {
        let mut steps = Steps::new(names());
        steps.add(&when(1, 1, Purpose::WarmUp, None), &merged(1_000, 1));
        steps.add(&when(2, 1, Purpose::Measure, None), &merged(10, 1_000_000));
        steps.add(&when(3, 1, Purpose::Measure, None), &merged(30, 1_000_000));
        steps.add(&when(4, 2, Purpose::WarmUp, None), &merged(1_000, 1));
        steps.add(&when(5, 2, Purpose::Measure, None), &merged(50, 9_000_000));
        let line = steps.finish(END);
        let rows: Vec<_> = line.steps.iter().map(|step| (step.step, step.connections, step.seconds, step.per_second)).collect();
        assert_eq!(rows, [(Some(1), Some(4), 2.0, 20.0), (Some(2), Some(8), 1.0, 50.0)]);
        assert_eq!(
            (line.total.step, line.total.seconds, line.total.transactions, line.total.per_second),
            (None, 3.0, 90, 30.0)
        );
        assert_eq!((line.total.driver_cpu, line.total.driver_cpu_us_per_transaction), (0.06, Some(666.667)));
        assert_eq!((line.seconds, line.reached_backlog_cap, line.rate_reached), (9, true, None));
    }

    #[test]
    fn each_step_has_the_settings_that_it_was_measured_with() {
        let mut steps = Steps::new(names());
        for (second, step) in [(2, 1), (3, 1), (4, 2)] {
            steps.add(&when(second, step, Purpose::Measure, None), &merged(1, 1));
        }
        let line = steps.finish(END);
        let rows: Vec<_> = line.steps.iter().map(|step| (step.load_threads, step.gather)).collect();
        assert_eq!(rows, [(Some(2), Some("on")), (Some(4), Some("off"))]);
        assert_eq!((line.total.load_threads, line.total.gather), (None, None));
    }

    #[test]
    fn the_busiest_load_thread_is_one_thread_over_all_seconds() {
        let second = |cpu: [u64; 2]| {
            let mut merged = Merged::new(2);
            for (thread, cpu_ns) in cpu.into_iter().enumerate() {
                merged.add(thread, &Tally { cpu_ns, ..Tally::new(2) });
            }
            merged
        };
        let mut steps = Steps::new(names());
        for (number, cpu) in (1..).zip([[400_000_000, 600_000_000], [500_000_000, 200_000_000]]) {
            steps.add(&when(number, 1, Purpose::Measure, None), &second(cpu));
        }
        assert_eq!(steps.finish(END).total.busiest_thread_cpu, 0.9);
    }

    #[test]
    fn the_driver_share_of_a_run_is_that_of_all_its_transactions() {
        let second = |lag_ns: u64| {
            let mut tally = Tally::new(2);
            (0..100).for_each(|_| tally.transaction(0, 10_000_000, 10_000_000, lag_ns));
            let mut merged = Merged::new(2);
            merged.add(0, &tally);
            merged
        };
        let mut steps = Steps::new(names());
        for (number, lag) in (1..).zip([0, 5_000_000]) {
            steps.add(&when(number, 1, Purpose::Measure, None), &second(lag));
        }
        let share = steps.finish(END).total.driver_share;
        // Half of the transactions were twice as fast without the driver, so p99 is that of the others.
        assert_eq!((share.mean, share.p99, share.p99_added), (Some(0.25), Some(0.0), Some(0.0)));
    }

    #[test]
    fn the_totals_histogram_is_the_sum_of_those_of_the_seconds() {
        let mut steps = Steps::new(names());
        let mut sum = Times::new();
        for second in 1..=5 {
            let merged = merged(100 * second, second * 700_000);
            let when = when(second, 1, Purpose::Measure, None);
            sum.add(&Times::decoded(&merged.line(&when, &names()).latency_histogram).unwrap());
            steps.add(&when, &merged);
        }
        let line = steps.finish(END);
        assert_eq!(line.total.latency_histogram, sum.encoded());
        assert_eq!(line.steps[0].latency_histogram, sum.encoded());
        assert_eq!((line.total.transactions, line.total.latency), (1_500, sum.percentiles()));
    }

    #[test]
    fn counts_are_summed_and_the_highest_backlog_is_reported() {
        let mut steps = Steps::new(names());
        let mut second = Merged::new(2);
        second.add(0, &eventful());
        steps.add(&when(1, 1, Purpose::Measure, None), &second);
        steps.add(&when(2, 1, Purpose::Measure, None), &second);
        let total = steps.finish(END).total;
        assert_eq!((total.errors[&1213], total.retries, total.reconnects, total.dropped), (4, 2, 2, 6));
        assert_eq!((total.backlog_max, total.statements.all(), total.by_transaction["look"]), (4, 800, 10));
        assert_eq!(total.latency_by_transaction["look"].latency.max, Some(20.0063));
        assert_eq!((total.unfinished, total.oldest_ms, total.failed.max), (9, Some(3000.0), Some(7.0015)));
    }

    #[test]
    fn each_step_reports_what_was_open_at_its_end() {
        let mut steps = Steps::new(names());
        let mut stalled = Merged::new(2);
        stalled.add(0, &eventful());
        steps.add(&when(1, 1, Purpose::Measure, None), &stalled);
        steps.add(&when(2, 2, Purpose::Measure, None), &merged(10, 1));
        let line = steps.finish(END);
        let rows: Vec<_> = line.steps.iter().map(|step| (step.unfinished, step.oldest_ms)).collect();
        assert_eq!(rows, [(9, Some(3000.0)), (0, None)]);
        assert_eq!((line.total.unfinished, line.total.oldest_ms), (0, None));
    }

    #[test]
    fn a_run_that_was_stopped_while_it_warmed_up_has_no_step() {
        let mut steps = Steps::new(names());
        steps.add(&when(1, 1, Purpose::WarmUp, Some(10.0)), &merged(10, 1));
        let line = steps.finish(END);
        assert!(line.steps.is_empty() && line.rate_reached.is_none());
        assert_eq!((line.total.transactions, line.total.per_second), (0, 0.0));
        assert_eq!(line.total.latency, Percentiles::default());
    }

    #[test]
    fn a_run_misses_its_rate_if_one_step_does() {
        let mut steps = Steps::new(names());
        steps.add(&when(1, 1, Purpose::Measure, Some(100.0)), &merged(100, 1));
        steps.add(&when(2, 2, Purpose::Measure, Some(200.0)), &merged(150, 1));
        let line = steps.finish(END);
        assert_eq!(line.steps.iter().map(|step| step.rate_reached).collect::<Vec<_>>(), [Some(true), Some(false)]);
        assert_eq!((line.rate_reached, line.total.rate), (Some(false), None));
    }

    #[test]
    fn a_rate_is_reached_at_99_percent() {
        let constant = Rate { per_second: 1_000.0, arrivals: Arrivals::Constant };
        assert_eq!([10_000, 9_900, 9_899].map(|done| reached(constant, 10.0, done, 0)), [true, true, false]);
    }

    #[test]
    fn chance_is_no_shortfall_but_what_waits_is() {
        let constant = Rate { per_second: 1.0, arrivals: Arrivals::Constant };
        assert_eq!([4, 3].map(|done| reached(constant, 5.0, done, 0)), [true, false]);
        let poisson = Rate { per_second: 10.0, arrivals: Arrivals::Poisson };
        assert_eq!([75, 65].map(|done| reached(poisson, 10.0, done, 0)), [true, false]);
        assert!(!reached(poisson, 10.0, 90, 8), "they arrived, and wait");
    }
}
