//! Tests that the driver's memory does not grow with the length of a run.

use dialin_load::engine::{RunResult, Second};
use dialin_load::output::{Output, Report};
use dialin_load::plan::Kind;
use dialin_load::record::{Merged, SCHEMA, StartLine, Tally, TransactionFact};
use dialin_load::run::{Arrivals, Purpose, Rate};
use std::io;

const HOUR: u64 = 3_600;
const THREADS: u64 = 2;
/// Transactions per load thread and second.
const TRANSACTIONS: u64 = 250;

fn start() -> StartLine {
    let transactions = ["pay", "look"].map(|name| TransactionFact { name: name.into(), weight: 1.0 });
    StartLine {
        schema: SCHEMA,
        version: "1",
        workload: "bank".into(),
        transactions: transactions.into(),
        statements: 9,
        text: false,
        server: Some("/s.sock".into()),
        agents: vec![],
        engine: "epoll",
        seed: 1,
        transaction_limit: None,
        backlog_cap: 1_000,
        phases: vec![],
        histogram_unit_ns: 100,
        replay: None,
    }
}

/// A second of one load thread, different from every other.
fn fill(tally: &mut Tally, number: u64, thread: u64) {
    tally.clear();
    for each in 0..TRANSACTIONS {
        let nanoseconds = (number * 7_919 + each * 104_729 + thread) % 900_000_000;
        tally.transaction((each % 2) as usize, nanoseconds, nanoseconds / 2, nanoseconds / 4);
        tally.statement(Kind::Read);
        tally.timer(each);
    }
    tally.error(1_000 + (number % 50) as u16);
    tally.backlog = number % 100;
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn an_hour_at_full_rate_stays_below_200_mb_and_does_not_grow() {
    let mut output = Output::new(io::sink(), true);
    let mut report = Report::begin(&mut output, &start());
    let mut threads = vec![Tally::new(2); THREADS as usize];
    let rate = Some(Rate { per_second: (THREADS * TRANSACTIONS) as f64, arrivals: Arrivals::Poisson });
    let (mut after_minutes, mut most) = (0, 0);
    for number in 1..=HOUR {
        let mut merged = Merged::new(2);
        for (thread, tally) in (0..).zip(&mut threads) {
            fill(tally, number, thread);
            merged.add(thread as usize, tally);
        }
        // The number of connections changes every ten minutes.
        let step = 1 + ((number - 1) / 600) as usize;
        let purpose = if number % 600 < 10 { Purpose::WarmUp } else { Purpose::Measure };
        assert!(report.second(&Second {
            number,
            purpose,
            step,
            connections: step,
            load_threads: THREADS as usize,
            gather: Some(true),
            rate,
            at: number as f64,
            seconds: 1.0,
            merged
        }));
        if number == 300 {
            after_minutes = resident();
        }
        if number % 60 == 0 {
            most = most.max(resident());
        }
    }
    assert_eq!(report.end(RunResult { seconds: HOUR, reached_backlog_cap: false, ..RunResult::default() }, false), Ok(0));
    assert!(most < 200_000_000, "{most} bytes");
    assert!(most < after_minutes + 8_000_000, "{after_minutes} bytes after five minutes, {most} later");
}
