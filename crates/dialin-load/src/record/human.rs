//! The output for people: one line per second, and a table at the end.

use super::lines::{SecondLine, TimersLine};
use super::replay::ReplayLine;
use super::self_test::{CeilingLine, LatenessLine, SelfTestLine};
use super::start::{PhaseFact, StartLine};
use super::summary::{StepLine, SummaryLine};
use super::times::Percentiles;
use std::collections::BTreeMap;

/// The settings of the run, in one line.
#[must_use]
pub fn start(line: &StartLine) -> String {
    let seconds: Option<u64> = line.phases.iter().map(|phase| phase.seconds).sum();
    let steps: Vec<String> = line.phases.iter().filter(|phase| phase.phase == "measure").map(step).collect();
    let long = seconds.map_or_else(|| "until stopped".into(), |seconds| format!("{seconds} s"));
    let hosts = if line.agents.is_empty() {
        format!("on {}", line.server.as_deref().unwrap_or_default())
    } else {
        format!("from {}", line.agents.join(", "))
    };
    format!("{} {hosts}, {long}: {}", line.workload, steps.join("; "))
}

fn step(phase: &PhaseFact) -> String {
    let load = phase.rate.map_or_else(|| "closed loop".into(), |rate| format!("{} transactions per second", rounded(rate)));
    format!("{} connections, {load}", phase.connections)
}

/// The result of a self-test, as text.
#[must_use]
pub fn self_test(line: &SelfTestLine) -> String {
    let one = |name: &str, ceiling: &CeilingLine| {
        let [reached, cpu, most] = [ceiling.per_second, ceiling.cpu_us, ceiling.ceiling].map(rounded);
        format!("{name:<18} {reached:>8} per second, {cpu} µs of CPU each: at most {most} per second for each load thread")
    };
    let head = format!(
        "{} connections to a server in this process that does nothing, load threads: {}",
        line.connections, line.load_threads
    );
    let lines = [
        ("noop", &line.noop),
        ("  its bytes alone", &line.noop_bytes),
        ("point select", &line.point_select),
        ("  its bytes alone", &line.point_select_bytes),
    ];
    let ceilings = lines.map(|(name, ceiling)| one(name, ceiling));
    [head].into_iter().chain(ceilings).chain([lateness(&line.lateness)]).collect::<Vec<_>>().join("\n")
}

/// How late the driver was at a rate, as text.
fn lateness(line: &LatenessLine) -> String {
    let TimersLine { count, late_mean, late_p99, late_max } = line.timers;
    let late = [late_mean, late_p99, late_max].map(milliseconds).join(", ");
    let times = |percentiles: &Percentiles| [percentiles.mean, percentiles.p50, percentiles.p99].map(milliseconds).join(", ");
    let share = |share: Option<f64>| share.map_or_else(|| "-".into(), |share| format!("{:.1} %", 100.0 * share));
    let added = [line.driver_share.mean, line.driver_share.p99].map(share);
    [
        format!("point select at {} per second, times in ms", rounded(line.rate)),
        format!("  late             mean, p99, max: {late} ({count} timers)"),
        format!("  latency          mean, p50, p99: {}", times(&line.latency)),
        format!("  service          mean, p50, p99: {}", times(&line.service)),
        format!("  driver's share of latency: {} of the mean, {} of p99", added[0], added[1]),
    ]
    .join("\n")
}

/// The results of a second, in one line. Counters that are zero are left out.
#[must_use]
pub fn second(line: &SecondLine) -> String {
    let mut text = format!("{:>5} s  {:<7}  {:>5} conn  ", line.second, line.phase, line.connections);
    text += &format!("{:>9} tps", rounded(per_second(line.transactions, line.seconds)));
    if let Some(rate) = line.rate {
        text += &format!(" of {}", rounded(rate));
    }
    let latency = &line.latency;
    text += "  ms";
    for (name, value) in [("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99), ("max", latency.max)] {
        text += &format!("  {name} {:>7}", milliseconds(value));
    }
    let counts =
        [("retries", line.retries), ("reconnects", line.reconnects), ("backlog", line.backlog), ("dropped", line.dropped)];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        text += &format!("  {name} {count}");
    }
    if !line.errors.is_empty() {
        text += &format!("  errors {}", errors(&line.errors));
    }
    text
}

/// The summary of a run: a table with a row for each step, then sentences.
#[must_use]
pub fn summary(line: &SummaryLine) -> String {
    let all = (line.steps.len() > 1).then_some(&line.total);
    let rows: Vec<&StepLine> = line.steps.iter().chain(all).collect();
    let columns = COLUMNS.map(|(heading, cell)| {
        let cells = rows.iter().map(|row| cell(row).unwrap_or_else(|| "-".into()));
        let cells: Vec<String> = [heading.to_owned()].into_iter().chain(cells).collect();
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or_default();
        cells.into_iter().map(|cell| format!("{cell:>width$}")).collect::<Vec<_>>()
    });
    let line_of = |row: usize| columns.each_ref().map(|cells| cells[row].as_str()).join("  ");
    (0..=rows.len()).map(line_of).chain(["".into()]).chain(sentences(line)).collect::<Vec<_>>().join("\n")
}

/// An unfinished transaction older than this at the end, in milliseconds, is reported in a sentence. `dialin` counts a second as a stall.
const STALL_MS: f64 = 1e3;
/// If the driver added more than this share of p99, a sentence says so.
const DELAY: f64 = 0.1;
/// A load thread that uses more than this share of a CPU limits the load.
const BUSY: f64 = 0.9;

/// The heading of a column, and the function that returns a step's cell.
type Column = (&'static str, fn(&StepLine) -> Option<String>);

const COLUMNS: [Column; 15] = [
    ("step", |step| Some(step.step.map_or_else(|| "all".into(), |step| step.to_string()))),
    ("conn", |step| step.connections.map(|count| count.to_string())),
    ("threads", |step| step.load_threads.map(|count| count.to_string())),
    ("gather", |step| step.gather.map(str::to_owned)),
    ("target tps", |step| step.rate.map(rounded)),
    ("tps", |step| Some(rounded(step.per_second))),
    ("p50 ms", |step| Some(milliseconds(step.latency.p50))),
    ("p95 ms", |step| Some(milliseconds(step.latency.p95))),
    ("p99 ms", |step| Some(milliseconds(step.latency.p99))),
    ("p99.9 ms", |step| Some(milliseconds(step.latency.p99_9))),
    ("max ms", |step| Some(milliseconds(step.latency.max))),
    ("errors", |step| Some(step.errors.values().sum::<u64>().to_string())),
    ("retries", |step| Some(step.retries.to_string())),
    ("driver µs/tx", |step| step.driver_cpu_us_per_transaction.map(rounded)),
    ("busiest thread", |step| Some(format!("{:.0} %", 100.0 * busiest_share(step)))),
];

fn sentences(line: &SummaryLine) -> Vec<String> {
    let total = &line.total;
    let replay = total.replay.as_ref().map(of_replay).unwrap_or_default();
    let until = if line.stopped { ", until it was stopped" } else { "" };
    let (transactions, statements, seconds) = (total.transactions, total.statements.all(), rounded(total.seconds));
    let mut sentences =
        vec![format!("{transactions} transactions and {statements} statements in {seconds} measured seconds{until}")];
    let mut say_if = |is_so: bool, text: String| sentences.extend(is_so.then_some(text));
    let of_kind =
        |(name, count): (&String, &u64)| match total.latency_by_transaction.get(name).and_then(|line| line.latency.p99) {
            Some(p99) => format!("{name} {count} (p99 {} ms)", milliseconds(Some(p99))),
            None => format!("{name} {count}"),
        };
    let kinds: Vec<String> = total.by_transaction.iter().map(of_kind).collect();
    say_if(kinds.len() > 1, format!("By transaction: {}", kinds.join(", ")));
    say_if(!total.errors.is_empty(), format!("Errors by code: {}", errors(&total.errors)));
    say_if(total.reconnects > 0, format!("Reconnects after lost connections: {}", total.reconnects));
    let unprepared = "Statements sent as text because the server had reached its max_prepared_stmt_count";
    say_if(total.unprepared > 0, format!("{unprepared}: {} (raise it)", total.unprepared));
    let again = "Statements prepared again, because the server keeps only max_prepared_stmt_count open";
    say_if(total.prepared_again > 0, format!("{again}: {} (raise it)", total.prepared_again));
    let dropped =
        format!("Too many transactions waited, and {} were dropped in measured seconds (see --backlog)", total.dropped);
    say_if(line.reached_backlog_cap, dropped);
    for step in &line.steps {
        let (number, busiest, reached) = (step.step.unwrap_or_default(), busiest_share(step), rounded(step.per_second));
        let (open, age) = (step.unfinished, rounded(step.oldest_ms.unwrap_or_default() / 1e3));
        let stall = format!("At the end of step {number}, {open} transactions had not finished, the oldest after {age} s");
        say_if(hides_a_stall(step), stall + "; no latency includes them");
        let limit = format!(
            "In step {number} the driver was the limit: its busiest load thread used {:.0} % of a CPU",
            100.0 * busiest
        );
        say_if(busiest > BUSY, limit + " (see --load-threads)");
        let share = step.driver_share;
        let delay = format!(
            "In step {number} the driver itself added {} ms to p99 ({:.0} % of it)",
            milliseconds(share.p99_added),
            100.0 * share.p99.unwrap_or_default()
        );
        say_if(share.p99.is_some_and(|share| share > DELAY), delay);
        let asked = rounded(step.rate.unwrap_or_default());
        say_if(step.rate_reached == Some(false), format!("Step {number} reached {reached} of {asked} transactions per second"));
    }
    sentences.extend(replay);
    sentences
}

/// What a replay did, compared with the capture, and the digests that took most time or differ most.
fn of_replay(replay: &ReplayLine) -> Vec<String> {
    let counts = &replay.counts;
    let mut lines =
        vec!["Latency is the time of a transaction's statements on the server, without the pauses between them".to_owned()];
    if replay.from_due.max.is_some() {
        let [p50, p95, max] = [replay.from_due.p50, replay.from_due.p95, replay.from_due.max].map(milliseconds);
        lines.push(format!("From when a transaction was due to its end: p50 {p50}, p95 {p95}, max {max} ms"));
        lines.push(format!("Transactions that began more than 5 ms late: {} of {}", counts.begun_late, counts.begun));
    }
    lines.push(format!(
        "Compared with the capture: new errors {}, missing errors {}; other row counts {} of {} queries and {} of {} changes",
        counts.new_errors,
        counts.missing_errors,
        counts.other_row_counts,
        counts.row_counts,
        counts.other_change_counts,
        counts.change_counts,
    ));
    for one in &replay.digests {
        let [captured, replayed] = [one.captured_ms, one.replayed_ms].map(milliseconds);
        let means = format!("{:>9} × {replayed:>7} ms (captured {captured:>7})", one.statements);
        let differences = [
            ("new errors", one.new_errors),
            ("missing errors", one.missing_errors),
            ("other row counts", one.other_row_counts),
            ("other changes", one.other_change_counts),
        ];
        let differences = differences.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("; {name} {count}"));
        lines.push(format!("{means}  {}{}", one.digest, differences.collect::<String>()));
    }
    lines
}

/// The share of a CPU that the busiest load thread used, from 0 to 1.
fn busiest_share(step: &StepLine) -> f64 {
    if step.seconds > 0.0 { step.busiest_thread_cpu / step.seconds } else { 0.0 }
}

/// Whether the oldest unfinished transaction is older than a second, and older than the longest latency of a finished one.
fn hides_a_stall(step: &StepLine) -> bool {
    step.oldest_ms.is_some_and(|oldest| oldest > STALL_MS && step.latency.max.is_none_or(|longest| oldest > longest))
}

fn errors(errors: &BTreeMap<u16, u64>) -> String {
    let parts: Vec<String> = errors.iter().map(|(code, count)| format!("{code}×{count}")).collect();
    parts.join(" ")
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Formats a number with three significant digits, but with all digits before the decimal point and at most `most` digits after it.
fn with_digits(value: f64, most: usize) -> String {
    let whole = [100.0, 10.0, 1.0].iter().filter(|bound| value >= **bound).count();
    format!("{value:.*}", most.min(3 - whole))
}

fn rounded(value: f64) -> String {
    let text = with_digits(value, 2);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn milliseconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| with_digits(value, 3))
}

#[cfg(test)]
mod tests {
    use super::super::lines::When;
    use super::super::summary::{End, Steps};
    use super::super::tally::tests::eventful;
    use super::super::tally::{Merged, Tally};
    use super::*;
    use crate::run::{Arrivals, Gather, Purpose, Rate};

    fn when(step: usize, rate: Option<f64>) -> When {
        let rate = rate.map(|per_second| Rate { per_second, arrivals: Arrivals::Constant });
        let (purpose, connections, load_threads, gather) = (Purpose::Measure, 16, 1, Some(true));
        When { second: 12, at: 0.0, seconds: 1.0, purpose, step, connections, load_threads, gather, rate }
    }

    fn names() -> Vec<String> {
        vec!["pay".into(), "look".into()]
    }

    fn merged(tally: &Tally) -> Merged {
        let mut merged = Merged::new(2);
        merged.add(0, tally);
        merged
    }

    /// The summary of a run with a step of one second for each of these rates; None is a closed loop.
    fn summed(rates: &[Option<f64>], tally: &Tally) -> String {
        let mut steps = Steps::new(names());
        (1..).zip(rates).for_each(|(step, rate)| steps.add(&when(step, *rate), &merged(tally)));
        summary(&steps.finish(End { seconds: 3, reached_backlog_cap: true, stopped: true }))
    }

    #[test]
    fn a_second_is_one_line_with_what_went_wrong() {
        assert_eq!(
            second(&merged(&eventful()).line(&when(1, Some(30.0)), &names())),
            "   12 s  measure     16 conn         20 tps of 30  ms  p50    10.0  p95    19.0  p99       -  max    20.0  \
             retries 1  reconnects 1  backlog 4  dropped 3  errors 1205×1 1213×2"
        );
        let quiet = second(&merged(&Tally::new(2)).line(&when(1, None), &names()));
        assert!(quiet.ends_with("max       -") && !quiet.contains(" of "), "{quiet}");
    }

    #[test]
    fn the_summary_has_a_row_for_each_step_and_one_for_all() {
        let text = summed(&[Some(20.0), Some(30.0)], &eventful());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1][..7], ["1", "16", "1", "on", "20", "20", "10.0"]);
        assert_eq!(lines[3][..6], ["all", "-", "-", "-", "-", "20"]);
        assert!([1, 2, 3].iter().all(|line| lines[*line].ends_with(&["70", "%"])), "{text}");
        let widths: Vec<usize> = text.lines().take(4).map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]) && lines[4].is_empty(), "{text}");
        for expected in [
            "40 transactions and 800 statements in 2 measured seconds, until it was stopped",
            "By transaction: look 10, pay 30",
            "Errors by code: 1205×2 1213×4",
            "Reconnects after lost connections: 2",
            "had reached its max_prepared_stmt_count: 12 (raise it)",
            "Too many transactions waited, and 6 were dropped in measured seconds (see --backlog)",
            "Step 2 reached 20 of 30 transactions per second",
            "At the end of step 1, 9 transactions had not finished, the oldest after 3 s; no latency includes them",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(!text.contains("Step 1 reached") && !summed(&[None], &eventful()).contains("all"));
    }

    #[test]
    fn sentences_appear_only_above_their_thresholds() {
        let busy = |cpu_ns| summed(&[None], &Tally { cpu_ns, ..Tally::new(2) });
        let limit = "In step 1 the driver was the limit: its busiest load thread used 97 % of a CPU (see --load-threads)";
        assert!(busy(970_000_000).contains(limit) && !busy(600_000_000).contains("the limit"));
        let open = |oldest_ns, latency_ns| {
            let mut tally = Tally { busy: 16, oldest_ns, ..Tally::new(2) };
            tally.transaction(0, latency_ns, latency_ns, 0);
            summed(&[None], &tally).contains("had not finished")
        };
        // A transaction that is open no longer than others took hides no stall, and one of less than a second is no stall.
        let [short, long] = [20_000_000, 5_000_000_000];
        assert_eq!([open(short, short / 2), open(long, short), open(long, 2 * long)], [false, true, false]);
    }

    #[test]
    fn what_the_driver_added_to_p99_is_said_if_it_is_more_than_a_tenth() {
        let delayed = |lag_ns| {
            let mut tally = Tally::new(2);
            (0..200).for_each(|_| tally.transaction(0, 10_000_000, 10_000_000, lag_ns));
            summed(&[None], &tally)
        };
        let text = delayed(2_000_000);
        assert!(text.contains("In step 1 the driver itself added 2.00 ms to p99 (20 % of it)"), "{text}");
        assert!(!delayed(900_000).contains("the driver itself"));
    }

    #[test]
    fn each_kind_of_transaction_has_its_p99() {
        let mut tally = Tally::new(2);
        (0..200).for_each(|_| tally.transaction(0, 3_000_000, 1_000_000, 0));
        (0..50).for_each(|_| tally.transaction(1, 90_000_000, 1_000_000, 0));
        let text = summed(&[None], &tally);
        assert!(text.contains("By transaction: look 50, pay 200 (p99 3.00 ms)"), "{text}");
    }

    #[test]
    fn the_start_shows_steps_and_length() {
        let phase = |phase, seconds, connections, rate| PhaseFact {
            phase,
            step: 1,
            seconds,
            connections,
            rate,
            arrivals: None,
            load_threads: None,
            gather: Gather::Auto,
        };
        let line = StartLine {
            schema: super::super::SCHEMA,
            version: "1",
            workload: "bank".into(),
            transactions: vec![],
            statements: 1,
            text: false,
            server: Some("/s.sock".into()),
            agents: vec![],
            engine: "epoll",
            seed: 1,
            transaction_limit: None,
            backlog_cap: 1,
            phases: vec![
                phase("warm-up", Some(5), 4, None),
                phase("measure", Some(10), 4, None),
                phase("measure", Some(10), 8, Some(200.0)),
            ],
            histogram_unit_ns: 100,
            replay: None,
        };
        assert_eq!(
            start(&line),
            "bank on /s.sock, 25 s: 4 connections, closed loop; 8 connections, 200 transactions per second"
        );
        let endless =
            StartLine { phases: vec![phase("measure", None, 1, None)], agents: vec!["a:1".into(), "b:2".into()], ..line };
        assert_eq!(start(&endless), "bank from a:1, b:2, until stopped: 1 connections, closed loop");
    }

    #[test]
    fn the_self_test_shows_the_ceiling() {
        let ceiling = CeilingLine { seconds: 3.0, per_second: 200_000.0, cpu_us: 2.5, ceiling: 400_000.0 };
        let mut tally = Tally::new(1);
        for _ in 0..100 {
            tally.timer(30_000);
            tally.transaction(0, 90_000, 60_000, 30_000);
        }
        let line = SelfTestLine {
            schema: "",
            version: "",
            connections: 16,
            load_threads: 1,
            noop: ceiling,
            noop_bytes: CeilingLine { cpu_us: 1.25, ..ceiling },
            point_select: ceiling,
            point_select_bytes: ceiling,
            lateness: LatenessLine::of(&tally, 1_000.0, 3.0),
        };
        let text = self_test(&line);
        assert_eq!(text.lines().count(), 10);
        for expected in [
            "point select at 1000 per second, times in ms",
            "late             mean, p99, max: 0.030, 0.030, 0.030 (100 timers)",
            "latency          mean, p50, p99: 0.090, 0.090, 0.090",
            "service          mean, p50, p99: 0.060, 0.060, 0.060",
            "driver's share of latency: 33.3 % of the mean, 33.3 % of p99",
        ] {
            assert!(text.contains(expected), "{expected} is not in {text}");
        }
        assert!(text.contains("200000 per second, 2.5 µs of CPU each: at most 400000 per second"), "{text}");
        let alone = text.lines().nth(2).unwrap();
        assert!(alone.contains("its bytes alone") && alone.contains("1.25 µs"), "{text}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.123, 9.996, 12.34, 100.0, 12_345.6].map(rounded), ["0.12", "10", "12.3", "100", "12346"]);
        assert_eq!([0.0567, 1.234, 12.34, 123.4].map(|value| milliseconds(Some(value))), ["0.057", "1.23", "12.3", "123"]);
    }
}
