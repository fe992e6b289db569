//! Tests that the samples in schema/good are what the driver writes. tests/workloads/test_load_schema.py checks the
//! schema against these samples and against those in schema/bad.

use dialin_load::account::{Account, Address};
use dialin_load::capture::class::Obstacle;
use dialin_load::errors::Error;
use dialin_load::plan::{Kind, Plan, Retry, Transaction};
use dialin_load::record::{
    BackupLine, CeilingLine, DigestLine, End, ErrorLine, LatenessLine, Line, Merged, ReplayCounts, ReplayFact, ReplayTally,
    SCHEMA, SelfTestLine, StartLine, Steps, Tally, Times, When,
};
use dialin_load::replay::{Kinds, Moment};
use dialin_load::run::{Arrivals, Gather, Phase, Purpose, Rate, Run};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Compare a line with its sample. Histograms are compared by their percentiles, because their compressed form may
/// change with the library.
fn is_the_sample(line: &Line<'_>, name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/good").join(name).with_extension("json");
    let written = serde_json::to_string(line).unwrap();
    let sample = std::fs::read_to_string(&path).unwrap_or_default();
    let Ok(mut stored) = serde_json::from_str::<Value>(&sample) else { panic!("write to {}:\n{written}", path.display()) };
    let mut new: Value = serde_json::from_str(&written).unwrap();
    let (stored_histograms, new_histograms) = (take_histograms(&mut stored), take_histograms(&mut new));
    assert_eq!(stored, new, "write to {}:\n{written}", path.display());
    let read = |texts: Vec<String>| texts.iter().map(|text| Times::decoded(text).unwrap().percentiles()).collect::<Vec<_>>();
    assert_eq!(read(stored_histograms), read(new_histograms), "write to {}:\n{written}", path.display());
}

fn take_histograms(value: &mut Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let parts = fields.iter_mut().map(|(key, value)| {
                if key.ends_with("_histogram") {
                    vec![value.take().as_str().unwrap().to_owned()]
                } else {
                    take_histograms(value)
                }
            });
            parts.flatten().collect()
        }
        Value::Array(values) => values.iter_mut().flat_map(take_histograms).collect(),
        _ => vec![],
    }
}

fn names() -> Vec<String> {
    ["deposit", "transfer"].map(str::to_owned).into()
}

fn rate(per_second: f64) -> Option<Rate> {
    Some(Rate { per_second, arrivals: Arrivals::Poisson })
}

fn merged(transactions: u64) -> Merged {
    let mut tally = Tally::new(2);
    for each in 0..transactions {
        tally.transaction((each % 4 == 0).into(), 900_000 + each * 25_000, 800_000 + each * 11_000, each * 2_000);
        [Kind::Other, Kind::Read, Kind::Write, Kind::Write, Kind::Other].into_iter().for_each(|kind| tally.statement(kind));
    }
    (tally.busy, tally.oldest_ns) = (4, 1_250_000);
    (tally.gather_pauses, tally.gather_ns, tally.cpu_ns) = (310, 25_400_000, 12_000_000);
    let mut merged = Merged::new(2);
    merged.add(0, &tally);
    merged.driver_cpu_ns = 21_500_000;
    merged
}

/// A second in which more transactions were due than could be executed.
fn troubled() -> Merged {
    let mut tally = Tally::new(2);
    [1205, 1213, 1213, 2013].into_iter().for_each(|code| tally.error(code));
    tally.retry();
    tally.reconnect();
    tally.dropped += 30;
    tally.unprepared += 12;
    (tally.backlog, tally.busy, tally.oldest_ns) = (500, 8, 2_750_000_000);
    [31_000_000, 50_000_000].into_iter().for_each(|latency| tally.failure(latency));
    [3_000, 4_000, 71_000].into_iter().for_each(|late| tally.timer(late));
    let mut troubled = merged(40);
    troubled.add(1, &tally);
    troubled
}

fn when(second: u64, step: usize, rate: Option<Rate>) -> When {
    let at = 1_767_225_600.25 + second as f64;
    let (connections, load_threads, gather) = (8 * step, 2 * step, Some(rate.is_none()));
    When { second, at, seconds: 1.0, purpose: Purpose::Measure, step, connections, load_threads, gather, rate }
}

#[test]
fn a_start() {
    let transaction =
        |(name, weight): (String, f64)| Transaction { name, weight, ops: vec![], retry: Retry::default(), expected: vec![] };
    let transactions = names().into_iter().zip([3.0, 1.0]).map(transaction).collect();
    let plan = Plan { name: "bank".into(), statements: vec![], transactions, slots: 3, session: vec![] };
    let phase = |purpose, seconds, connections, rate| Phase {
        purpose,
        step: connections / 8,
        seconds,
        connections,
        rate,
        load_threads: None,
        gather: Gather::Auto,
    };
    let run = Run {
        account: Account {
            address: Address::Socket("/run/mysqld/mysqld.sock".into()),
            user: "load".into(),
            password: "secret".into(),
            database: "bank".into(),
            ..Account::default()
        },
        phases: vec![phase(Purpose::WarmUp, Some(5), 8, rate(40.0)), phase(Purpose::Measure, None, 8, None)],
        seed: 7,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 500,
        timeout: Duration::from_secs(120),
        reconnect_for: Duration::from_secs(60),
    };
    is_the_sample(&Line::Start(&StartLine::of(&plan, &run, &[2, 1], &[])), "load-start");
}

#[test]
fn a_second_of_a_closed_loop() {
    is_the_sample(&Line::Second(&merged(100).line(&when(1, 1, None), &names())), "load-second-closed-loop");
}

#[test]
fn a_second_of_an_open_loop_in_trouble() {
    is_the_sample(&Line::Second(&troubled().line(&when(2, 1, rate(100.0)), &names())), "load-second-in-trouble");
}

#[test]
fn a_second_in_which_nothing_ended() {
    let when = When { seconds: 0.123_456, purpose: Purpose::WarmUp, gather: None, ..when(3, 1, None) };
    is_the_sample(&Line::Second(&Merged::new(2).line(&when, &names())), "load-second-of-nothing");
}

#[test]
fn a_summary_of_two_steps() {
    let mut steps = Steps::new(names());
    steps.add(&when(1, 1, rate(40.0)), &merged(40));
    steps.add(&when(2, 1, rate(40.0)), &merged(42));
    steps.add(&when(3, 2, rate(100.0)), &troubled());
    let end = End { seconds: 3, reached_backlog_cap: true, stopped: false };
    is_the_sample(&Line::Summary(&steps.finish(end)), "load-summary");
}

#[test]
fn a_summary_of_a_run_that_was_stopped_before_anything_was_measured() {
    let end = End { seconds: 1, reached_backlog_cap: false, stopped: true };
    is_the_sample(&Line::Summary(&Steps::new(names()).finish(end)), "load-summary-of-nothing");
}

#[test]
fn an_error() {
    let error = Error::server("Nothing listens at /run/mysqld/mysqld.sock", "Start the server, or name its socket by --socket");
    is_the_sample(&Line::Error(&ErrorLine::from(&error)), "load-error");
}

#[test]
fn a_self_test() {
    let noop = CeilingLine { seconds: 3.0, per_second: 151_000.0, cpu_us: 2.25, ceiling: 444_444.0 };
    let point_select = CeilingLine { seconds: 3.01, per_second: 120_500.0, cpu_us: 3.1, ceiling: 322_581.0 };
    let noop_bytes = CeilingLine { seconds: 3.0, per_second: 402_000.0, cpu_us: 1.6, ceiling: 625_000.0 };
    let point_select_bytes = CeilingLine { seconds: 3.0, per_second: 391_000.0, cpu_us: 1.7, ceiling: 588_235.0 };
    let line = SelfTestLine {
        schema: SCHEMA,
        version: "0.1.0",
        connections: 16,
        load_threads: 1,
        noop,
        noop_bytes,
        point_select,
        point_select_bytes,
        lateness: LatenessLine::of(&merged(120).tally, 1_000.0, 3.0),
    };
    is_the_sample(&Line::SelfTest(&line), "load-self-test");
}

/// The facts about a replay in its start line.
fn replay_fact() -> ReplayFact {
    ReplayFact {
        connections: 8,
        pace: Some(1.0),
        sessions: 24,
        transactions: 1_200,
        statements: 24_000,
        prepared: 6,
        prepared_as_text: 1,
        begins_added: 0,
        random: 3,
        captured_seconds: 59.75,
        backups: vec![BackupLine { at: 1_795_413_685.5, by: Moment::BlockCommit }],
        not_replayed: [(Obstacle::NamedLock, 2)].into(),
    }
}

#[test]
fn a_start_of_a_replay() {
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: None,
        connections: 8,
        rate: None,
        load_threads: Some(1),
        gather: Gather::Off,
    };
    let run = Run {
        account: Account {
            address: Address::Socket("/run/mysqld/mysqld.sock".into()),
            user: "load".into(),
            password: "secret".into(),
            database: "shop".into(),
            ..Account::default()
        },
        phases: vec![phase],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: true,
        backlog: 500,
        timeout: Duration::from_secs(120),
        reconnect_for: Duration::from_secs(60),
    };
    let all = vec![("select basket, insert line".to_owned(), 900), ("select product".to_owned(), 300)];
    let mut kinds = Kinds::default();
    kinds.all = all;
    is_the_sample(
        &Line::Start(&StartLine::of_replay("capture:shop.capture", &run, replay_fact(), &kinds)),
        "load-start-of-a-replay",
    );
}

#[test]
fn a_second_of_a_replay() {
    let mut tally = Tally::new(1);
    (0..20).for_each(|each| tally.transaction(0, 900_000 + each * 25_000, 800_000 + each * 11_000, each * 2_000));
    let mut late = Times::new();
    (0..20).for_each(|each| late.record(each * 10_000));
    let replay = ReplayTally {
        counts: ReplayCounts {
            begun: 20,
            begun_late: 1,
            waited: 4,
            repaired: 1,
            outcomes: 380,
            new_errors: 2,
            missing_errors: 1,
            harmless_errors: 1,
            row_counts: 280,
            other_row_counts: 3,
            changes: 90,
            idle_changes: 6,
            change_counts: 80,
            other_change_counts: 4,
            rows_returned: 2_800,
            rows_changed: 84,
            out_of_order: 1,
            clocks: 5,
        },
        from_due: late.clone(),
        late,
        waited_ns: 3_500_000,
        time_distance: Some(0.125),
        digests: vec![DigestLine {
            digest: "insert into orders values (...)".to_owned(),
            statements: 20,
            new_errors: 2,
            last_error: Some(1452),
            missing_errors: 0,
            other_row_counts: 0,
            other_change_counts: 1,
            captured_ms: Some(24.25),
            replayed_ms: Some(1.4375),
            captured_time: Some(0.25),
            replayed_time: Some(0.125),
        }],
        marks: vec![(30, 950_250_000)],
    };
    tally.replay = Some(Box::new(replay));
    let mut merged = Merged::new(1);
    merged.add(0, &tally);
    is_the_sample(&Line::Second(&merged.line(&when(1, 1, None), &["transaction".to_owned()])), "load-second-of-a-replay");
}
