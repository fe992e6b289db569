//! Measures how much load the driver itself can apply on this machine: it runs against a mock server that does nothing.

use crate::engine;
use crate::errors::{Error, Result};
use crate::mock_server::{Answer, Command, MockServer};
use crate::plan::{Execute, FIRST_FREE, Kind, NoRow, Op, Parameter, Plan, Retry, Statement, Transaction, Which};
use crate::protocol::command::{self, Execution};
use crate::protocol::parameters::Parameters as _;
use crate::random::{Distribution, Generator, Integers};
use crate::record::{CeilingLine, LatenessLine, SCHEMA, SelfTestLine, Tally, process_cpu, thread_cpu};
use crate::run::{Arrivals, Gather, Phase, Purpose, Rate, Run};
use crate::workloads;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The rate at which lateness is measured, in transactions per second.
const RATE: f64 = 1_000.0;

/// Measure the driver's CPU time per statement, and the kernel's part of it for sending and receiving the same bytes; then how late
/// the driver is at a rate. Each of the five measurements takes `seconds` seconds. Without `load_threads`, the driver chooses their number for the machine.
///
/// The mock server runs on a thread of this process. The result excludes the CPU time of this thread, although it takes a share
/// of the machine. It includes the CPU time of connecting, so use several seconds for many connections.
///
/// # Errors
///
/// The driver cannot reach the mock server, or was stopped before anything was measured.
pub fn run(connections: usize, load_threads: Option<usize>, seconds: u64, stop: &AtomicBool) -> Result<SelfTestLine> {
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: Some(seconds),
        connections,
        rate: None,
        load_threads,
        gather: Gather::Auto,
    };
    let bytes = |exchange: &Exchange| send_and_receive(exchange, connections, seconds, stop);
    let (load_threads, noop) = measure(&workloads::find("noop", &[])?.plan()?, &phase, stop)?;
    let noop_bytes = bytes(&Exchange::noop())?;
    let plan = point_select()?;
    let (_, point_select) = measure(&plan, &phase, stop)?;
    let point_select_bytes = bytes(&Exchange::point_select())?;
    let at_rate = Phase { rate: Some(Rate { per_second: RATE, arrivals: Arrivals::Poisson }), ..phase };
    let idle = play(&plan, &at_rate, stop)?;
    let lateness = LatenessLine::of(&idle.tally, RATE, idle.seconds);
    let (schema, version) = (SCHEMA, env!("CARGO_PKG_VERSION"));
    Ok(SelfTestLine {
        schema,
        version,
        connections,
        load_threads,
        noop,
        noop_bytes,
        point_select,
        point_select_bytes,
        lateness,
    })
}

/// The plan of sysbench's oltp_point_select: one row by its primary key.
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

fn measure(plan: &Plan, phase: &Phase, stop: &AtomicBool) -> Result<(usize, CeilingLine)> {
    let played = play(plan, phase, stop)?;
    let statements = played.tally.statements.iter().sum();
    Ok((played.load_threads, ceiling(statements, played.seconds, played.cpu)?))
}

/// What was counted in a phase against the mock server.
struct Played {
    tally: Tally,
    seconds: f64,
    load_threads: usize,
    /// The CPU time of the load threads.
    cpu: Duration,
}

fn play(plan: &Plan, phase: &Phase, stop: &AtomicBool) -> Result<Played> {
    let before = process_cpu();
    let mock_server = MockServer::listen(&socket(), answers()).map_err(|error| {
        Error::driver(format!("No server could be started: {error}"), "Give TMPDIR a directory that this user may write to")
    })?;
    let run = Run {
        account: mock_server.account(),
        phases: vec![phase.clone()],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 100_000,
        timeout: Duration::from_secs(10),
        reconnect_for: Duration::ZERO,
    };
    let (mut tally, mut seconds, mut load_threads) = (Tally::new(plan.transactions.len()), 0.0, 0);
    engine::play(plan, &run, stop, &mut |second| {
        tally.follow(&second.merged.tally);
        seconds += second.seconds;
        load_threads = second.load_threads;
    })?;
    let server_cpu = mock_server.end();
    let cpu = process_cpu().saturating_sub(before).saturating_sub(server_cpu);
    Ok(Played { tally, seconds, load_threads, cpu })
}

/// The bytes of a request and of its response.
struct Exchange {
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Exchange {
    fn noop() -> Self {
        let mut request = Vec::new();
        command::query(&mut request, b"DO 0");
        Self { request, answer: Answer::Ok.packets(false) }
    }

    fn point_select() -> Self {
        let (mut request, mut execution) = (Vec::new(), Execution::new(1, 1));
        // Only the first execution sends the types of the parameters; the second one is the usual case.
        for _ in 0..2 {
            request.clear();
            let mut parameters = execution.begin(&mut request);
            parameters.integer(50_000);
            parameters.end();
        }
        Self { request, answer: row().packets(true) }
    }
}

/// Measure the CPU time that the kernel needs for the exchange: one thread writes the request to a socket for each connection,
/// then reads the response from each, over and over; another thread is the server. No driver can need less.
fn send_and_receive(exchange: &Exchange, connections: usize, seconds: u64, stop: &AtomicBool) -> Result<CeilingLine> {
    let failed =
        |error: io::Error| Error::driver(format!("Sockets cannot be used: {error}"), "See the limit of open files: ulimit -n");
    let pairs: Vec<_> = (0..connections).map(|_| UnixStream::pair()).collect::<io::Result<_>>().map_err(failed)?;
    let (mut clients, mut servers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut request = vec![0; exchange.request.len()];
            // The loop ends when the client closes its sockets.
            let mut serve = |server: &mut UnixStream| {
                server.read_exact(&mut request).and_then(|()| server.write_all(&exchange.answer)).is_ok()
            };
            while servers.iter_mut().all(&mut serve) {}
        });
        let (begin, cpu) = (Instant::now(), thread_cpu());
        let (mut exchanges, mut answer) = (0, vec![0; exchange.answer.len()]);
        while begin.elapsed() < Duration::from_secs(seconds) && !stop.load(Ordering::Relaxed) {
            clients.iter_mut().try_for_each(|client| client.write_all(&exchange.request)).map_err(failed)?;
            clients.iter_mut().try_for_each(|client| client.read_exact(&mut answer)).map_err(failed)?;
            exchanges += clients.len() as u64;
        }
        let took = (begin.elapsed().as_secs_f64(), thread_cpu().saturating_sub(cpu));
        drop(clients);
        ceiling(exchanges, took.0, took.1)
    })
}

fn ceiling(statements: u64, seconds: f64, cpu: Duration) -> Result<CeilingLine> {
    if statements == 0 {
        return Err(Error::user("The self-test was stopped before anything was measured", "Let it run to its end"));
    }
    let hundredths = |value: f64| (value * 100.0).round() / 100.0;
    let statements = statements as f64;
    let cpu = cpu.as_secs_f64().max(1e-9);
    Ok(CeilingLine {
        seconds: hundredths(seconds),
        per_second: (statements / seconds).round(),
        cpu_us: hundredths(1e6 * cpu / statements),
        ceiling: (statements / cpu).round(),
    })
}

/// One row with a text of 119 characters, as column c of sysbench's tables.
fn row() -> Answer {
    Answer::row(&[Some(&"68487932199-96439406143-".repeat(5)[..119])])
}

/// The mock server's answers: a row to a SELECT, an OK packet to anything else.
fn answers() -> impl Fn(Command<'_>) -> Answer + Send + 'static {
    let row = row();
    move |command| if command.sql().starts_with("SELECT") { row.clone() } else { Answer::Ok }
}

/// A new socket path for each server: a server removes its path when it ends, and two self-tests may run in one process.
fn socket() -> PathBuf {
    static SERVERS: AtomicU64 = AtomicU64::new(0);
    let server = SERVERS.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("dialin-load-self-test-{}-{server}.sock", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::connect::connect;

    #[test]
    fn the_ceiling_is_what_a_load_thread_could_do_with_a_cpu_of_its_own() {
        let line = ceiling(600_000, 3.0, Duration::from_millis(1_500)).unwrap();
        assert_eq!((line.per_second, line.cpu_us, line.ceiling), (200_000.0, 2.5, 400_000.0));
    }

    #[test]
    fn a_second_against_the_server_that_does_nothing_shows_all_ceilings() {
        let line = run(4, Some(1), 1, &AtomicBool::new(false)).unwrap();
        for found in [line.noop, line.noop_bytes, line.point_select, line.point_select_bytes] {
            assert!(found.per_second > 100.0 && found.cpu_us > 0.0 && found.ceiling > found.per_second / 4.0, "{found:?}");
        }
        assert_eq!((line.load_threads, line.connections), (1, 4));
        // Whatever the machine does meanwhile: latency is what the driver added and the server took.
        let late = line.lateness;
        assert!(late.transactions > 0 && late.timers.count > 0 && late.latency.mean >= late.service.mean, "{late:?}");
    }

    #[test]
    fn the_bytes_are_those_that_the_driver_sends_and_receives() {
        let path = std::env::temp_dir().join(format!("dialin-load-self-test-bytes-{}.sock", std::process::id()));
        let server = MockServer::listen(&path, answers()).unwrap();
        let mut stream = connect(&server.account(), Duration::from_secs(20)).unwrap().stream;
        let mut ask = |request: &[u8]| {
            stream.write_all(request, Instant::now() + Duration::from_secs(20)).unwrap();
            let mut buffer = [0; 4096];
            let count = stream.read_within(&mut buffer, Duration::from_secs(20)).unwrap();
            buffer[..count].to_vec()
        };
        let noop = Exchange::noop();
        assert_eq!(ask(&noop.request), noop.answer);
        let mut prepare = Vec::new();
        command::prepare(&mut prepare, b"SELECT c FROM sbtest1 WHERE id=?");
        assert_eq!(ask(&prepare)[5..9], 1_u32.to_le_bytes(), "its number");
        let select = Exchange::point_select();
        assert_eq!(ask(&select.request), select.answer);
    }

    #[test]
    fn two_tests_at_the_same_time_have_a_server_each() {
        assert_ne!(socket(), socket());
    }

    #[test]
    fn a_test_that_was_stopped_says_so() {
        assert!(run(2, None, 1, &AtomicBool::new(true)).unwrap_err().what.contains("stopped"));
    }
}
