//! Finds what the driver itself can do on this machine: it drives load against a server that does nothing.

use crate::engine;
use crate::errors::{Error, Result};
use crate::mock_server::{Answer, Command, MockServer};
use crate::plan::{Execute, FIRST_FREE, Kind, NoRow, Op, Parameter, Plan, Retry, Statement, Transaction, Which};
use crate::random::{Distribution, Generator, Integers};
use crate::record::{CeilingLine, SCHEMA, SelfTestLine, process_cpu};
use crate::run::{Gather, Phase, Purpose, Run};
use crate::workloads;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Measure, so many seconds each, what a statement costs the driver.
///
/// The server runs on a thread of this process and takes its share of the machine; the CPU time it took is left out. What
/// connecting took is not, so a few seconds are needed for many connections.
///
/// # Errors
///
/// The driver cannot reach its own server, or was stopped.
pub fn run(connections: usize, seconds: u64, stop: &AtomicBool) -> Result<SelfTestLine> {
    let measure = |plan: &Plan| measure(plan, connections, seconds, stop);
    let (load_threads, noop) = measure(&workloads::find("noop", &[])?.plan()?)?;
    let (_, point_select) = measure(&point_select()?)?;
    Ok(SelfTestLine { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), connections, load_threads, noop, point_select })
}

/// A row of sysbench's tables by its key, as oltp_point_select asks for it.
fn point_select() -> Result<Plan> {
    let id = Generator::Integer(Integers::new(1, 100_000, Distribution::Uniform)?);
    let execute = Execute { which: Which::One(0), parameters: vec![Parameter::Draw(id)], keep: vec![], no_row: NoRow::Null };
    let transaction = Transaction {
        name: "point_select".into(),
        weight: 1.0,
        ops: vec![Op::Execute(execute)],
        retry: Retry::default(),
        expected: vec![],
    };
    let sql = "SELECT c FROM sbtest1 WHERE id=?".to_owned();
    Ok(Plan {
        name: "point_select".into(),
        statements: vec![Statement { sql, parameters: 1, kind: Kind::Read, text: false }],
        transactions: vec![transaction],
        slots: FIRST_FREE,
        session: vec![],
    })
}

fn measure(plan: &Plan, connections: usize, seconds: u64, stop: &AtomicBool) -> Result<(usize, CeilingLine)> {
    let before = process_cpu();
    let mock_server = MockServer::listen(&socket(), answers()).map_err(|error| {
        Error::driver(format!("No server could be started: {error}"), "Give TMPDIR a directory that this user may write to")
    })?;
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: Some(seconds),
        connections,
        rate: None,
        load_threads: None,
        gather: Gather::Auto,
    };
    let run = Run {
        account: mock_server.account(),
        phases: vec![phase],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 0,
        timeout: Duration::from_secs(10),
        reconnect_for: Duration::ZERO,
    };
    let (mut statements, mut took, mut load_threads) = (0, 0.0, 0);
    engine::play(plan, &run, stop, &mut |second| {
        statements += second.merged.tally.statements.iter().sum::<u64>();
        took += second.seconds;
        load_threads = second.load_threads;
    })?;
    let servers = mock_server.end();
    let drivers = process_cpu().saturating_sub(before).saturating_sub(servers);
    if statements == 0 {
        return Err(Error::user("The self-test was stopped before anything was measured", "Let it run to its end"));
    }
    Ok((load_threads, ceiling(statements, took, drivers)))
}

fn ceiling(statements: u64, seconds: f64, cpu: Duration) -> CeilingLine {
    let hundredths = |value: f64| (value * 100.0).round() / 100.0;
    let statements = statements as f64;
    let cpu = cpu.as_secs_f64().max(1e-9);
    CeilingLine {
        seconds: hundredths(seconds),
        per_second: (statements / seconds).round(),
        cpu_us: hundredths(1e6 * cpu / statements),
        ceiling: (statements / cpu).round(),
    }
}

/// One row of 119 letters for a select, as sysbench's tables have, else just an OK.
fn answers() -> impl Fn(Command<'_>) -> Answer + Send + 'static {
    let row = Answer::row(&[Some(&"68487932199-96439406143-".repeat(5)[..119])]);
    move |command| if command.sql().starts_with("SELECT") { row.clone() } else { Answer::Ok }
}

fn socket() -> PathBuf {
    std::env::temp_dir().join(format!("dialin-load-self-test-{}.sock", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_is_what_a_load_thread_could_do_with_a_cpu_of_its_own() {
        let line = ceiling(600_000, 3.0, Duration::from_millis(1_500));
        assert_eq!((line.per_second, line.cpu_us, line.ceiling), (200_000.0, 2.5, 400_000.0));
    }

    #[test]
    fn a_second_against_the_server_that_does_nothing_tells_both_ceilings() {
        let line = run(4, 1, &AtomicBool::new(false)).unwrap();
        for found in [line.noop, line.point_select] {
            assert!(found.per_second > 100.0 && found.cpu_us > 0.0 && found.ceiling > found.per_second / 4.0, "{found:?}");
        }
        assert!(line.load_threads >= 1 && line.connections == 4);
    }
}
