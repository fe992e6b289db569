//! Tests of the engine against a mock server.

mod at_a_rate;
mod leftover;
mod lost_connections;
mod sessions;
mod steps;

use dialin_load::engine::{RunResult, Second, play};
use dialin_load::errors::{Error, Fault};
use dialin_load::mock_server::{Answer, Command, MockServer};
use dialin_load::plan::{
    Batch, Execute, FIRST_FREE, Keep, Kind, NoRow, Op, Parameter, Plan, Retry, Statement, Transaction, Which,
};
use dialin_load::random::{Distribution, Generator, Integers};
use dialin_load::run::{Arrivals, Gather, Phase, Purpose, Rate, Run};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn socket(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dialin-load-engine-{}-{name}.sock", std::process::id()))
}

/// An answer that takes the server a millisecond, so that a closed loop leaves the CPUs to other tests.
fn soon(answer: Answer) -> Answer {
    Answer::After(Duration::from_millis(1), Box::new(answer))
}

/// A transaction of two statements that are sent as text: a SELECT and an UPDATE.
fn plan() -> Plan {
    let statement = |sql: &str, kind| Statement { sql: sql.into(), parameters: sql.matches('?').count(), kind, text: true };
    let number = Parameter::Draw(Generator::Integer(Integers::new(1, 1_000_000_000, Distribution::Uniform).unwrap()));
    let execute = |statement, parameters| {
        Op::Execute(Execute { which: Which::One(statement), parameters, keep: vec![], no_row: NoRow::Null })
    };
    Plan {
        name: "test".into(),
        statements: vec![statement("SELECT ?", Kind::Read), statement("UPDATE t SET a = ?", Kind::Write)],
        transactions: vec![Transaction {
            name: "test".into(),
            weight: 1.0,
            ops: vec![execute(0, vec![number.clone()]), execute(1, vec![number])],
            retry: Retry::default(),
            expected: vec![],
        }],
        slots: FIRST_FREE + 1,
        session: vec![],
    }
}

/// A phase of a closed loop, for which the driver chooses the load threads and whether answers are gathered.
fn phase(purpose: Purpose, step: usize, seconds: Option<u64>, connections: usize) -> Phase {
    Phase { purpose, step, seconds, connections, rate: None, load_threads: None, gather: Gather::Auto }
}

fn run(server: &MockServer, connections: usize, seconds: Option<u64>) -> Run {
    Run {
        account: server.account(),
        phases: vec![phase(Purpose::Measure, 1, seconds, connections)],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: false,
        backlog: 1000,
        timeout: Duration::from_secs(20),
        reconnect_for: Duration::from_secs(20),
    }
}

fn at_rate(mut run: Run, per_second: f64) -> Run {
    run.phases[0].rate = Some(Rate { per_second, arrivals: Arrivals::Constant });
    run
}

fn with_load_threads(load_threads: usize, mut run: Run) -> Run {
    run.phases.iter_mut().for_each(|phase| phase.load_threads = Some(load_threads));
    run
}

fn played(plan: &Plan, run: &Run) -> (Result<RunResult, Error>, Vec<Second>) {
    let mut seconds = Vec::new();
    let played = play(plan, run, &AtomicBool::new(false), &mut |second| seconds.push(second));
    (played, seconds)
}

fn sum(seconds: &[Second], count: impl Fn(&Second) -> u64) -> u64 {
    seconds.iter().map(count).sum()
}

fn transactions(seconds: &[Second]) -> u64 {
    sum(seconds, |second| second.merged.tally.all_transactions())
}

/// A server that records the statements that it receives.
fn listening(name: &str) -> (MockServer, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let server = MockServer::listen(&socket(name), move |command| {
        kept.lock().unwrap().push(command.sql().to_owned());
        Answer::Ok
    });
    (server.unwrap(), asked)
}

#[test]
fn the_same_seed_is_the_same_work_whatever_the_interleaving() {
    let work = |name: &str, connections, load_threads, seed| {
        let (server, asked) = listening(name);
        let run = Run { transactions: Some(300), seed, ..with_load_threads(load_threads, run(&server, connections, None)) };
        let (played, seconds) = played(&plan(), &run);
        played.unwrap();
        assert_eq!(transactions(&seconds), 300);
        let mut asked = asked.lock().unwrap().clone();
        asked.retain(|sql| !sql.is_empty());
        asked.sort();
        asked
    };
    let alone = work("alone", 1, 1, 1);
    assert_eq!(alone.len(), 600);
    assert_eq!(alone, work("together", 16, 1, 1));
    assert_eq!(alone, work("threads", 16, 3, 1));
    assert_ne!(alone, work("seed", 1, 1, 2));
}

#[test]
fn hosts_that_take_turns_do_the_work_of_one() {
    let work = |name: &str, first, stride, count| {
        let (server, asked) = listening(name);
        let run = Run { transactions: Some(count), first, stride, ..run(&server, 4, None) };
        played(&plan(), &run).0.unwrap();
        asked.lock().unwrap().clone().into_iter().filter(|sql| !sql.is_empty()).collect::<Vec<_>>()
    };
    let mut one = work("one", 0, 1, 100);
    let mut two = work("first", 0, 2, 50);
    two.extend(work("second", 1, 2, 50));
    one.sort();
    two.sort();
    assert_eq!(one, two);
}

#[test]
fn seconds_carry_their_phase_and_all_that_was_done() {
    let server = MockServer::listen(&socket("phases"), |_| soon(Answer::Ok)).unwrap();
    let phase = |purpose, step, connections| phase(purpose, step, Some(1), connections);
    let phases = vec![phase(Purpose::WarmUp, 1, 1), phase(Purpose::Measure, 1, 1), phase(Purpose::Measure, 2, 4)];
    let (played, seconds) = played(&plan(), &Run { phases, ..run(&server, 1, None) });
    assert_eq!(played.unwrap().seconds, 3);
    let facts = seconds.iter().map(|second| (second.number, second.purpose, second.step, second.connections));
    let expected = [(1, Purpose::WarmUp, 1, 1), (2, Purpose::Measure, 1, 1), (3, Purpose::Measure, 2, 4)];
    assert_eq!(facts.collect::<Vec<_>>(), expected);
    for second in &seconds {
        let tally = &second.merged.tally;
        assert!(tally.all_transactions() > 0);
        assert_eq!(tally.latency.count(), tally.all_transactions());
        // The statements of a transaction that spans two seconds count in both seconds. Each connection can have one
        // such transaction open at the end of a second. A transaction that spans two steps counts in neither of them,
        // but its statements count.
        let most = second.connections as u64 + u64::from(second.step == 2);
        let (reads, transactions) = (tally.statements[Kind::Read as usize], tally.all_transactions());
        assert!(reads.abs_diff(transactions) <= most, "second {}: {reads} reads, {transactions} transactions", second.number);
        assert!((second.seconds - 1.0).abs() < 1e-9);
    }
    assert!(seconds.windows(2).all(|two| (two[1].at - two[0].at - 1.0).abs() < 1e-3));
}

/// The same as [`plan`], with prepared statements.
fn prepared_plan() -> Plan {
    let mut plan = plan();
    plan.statements.iter_mut().for_each(|statement| statement.text = false);
    plan
}

#[test]
fn a_statement_is_prepared_when_it_is_first_used() {
    let (server, asked) = {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let server = MockServer::listen(&socket("first-use"), move |command| {
            let word = match command {
                Command::Prepare(sql) => format!("prepare {}", &sql[..6]),
                Command::Execute(sql) => format!("execute {}", &sql[..6]),
                _ => return Answer::Ok,
            };
            kept.lock().unwrap().push(word);
            Answer::Ok
        });
        (server.unwrap(), asked)
    };
    played(&prepared_plan(), &Run { transactions: Some(2), ..run(&server, 1, None) }).0.unwrap();
    let expected = ["prepare SELECT", "execute SELECT", "prepare UPDATE", "execute UPDATE", "execute SELECT", "execute UPDATE"];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn a_result_without_end_neither_starves_other_connections_nor_outlasts_a_stop() {
    let begun = AtomicU64::new(0);
    let server = MockServer::listen(&socket("endless"), move |command: Command<'_>| {
        let is_endless = command.sql().starts_with("UPDATE") && begun.fetch_add(1, Ordering::Relaxed) < 2;
        if is_endless { Answer::Endless } else { soon(Answer::Ok) }
    });
    let server = server.unwrap();
    let (stop, mut seconds) = (AtomicBool::new(false), Vec::new());
    let run = with_load_threads(1, run(&server, 6, None));
    play(&plan(), &run, &stop, &mut |second| {
        stop.store(second.number == 2, Ordering::Relaxed);
        seconds.push(second);
    })
    .unwrap();
    assert!(seconds[..2].iter().all(|second| second.merged.tally.all_transactions() > 20), "{}", transactions(&seconds));
}

/// A server that answers for a second and then stops answering.
fn falling_silent(name: &str) -> MockServer {
    let began = Mutex::new(None);
    let server = MockServer::listen(&socket(name), move |command| {
        if command.sql().is_empty() {
            return Answer::Ok;
        }
        let since = began.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
        if since > Duration::from_secs(1) { Answer::Silence } else { soon(Answer::Ok) }
    });
    server.unwrap()
}

#[test]
fn a_transaction_that_never_ends_in_a_closed_loop_is_reported_with_its_age() {
    let server = falling_silent("silent-closed");
    let (played, seconds) = played(&plan(), &run(&server, 4, Some(3)));
    played.unwrap();
    let last = &seconds[2].merged.tally;
    assert_eq!((last.busy, last.backlog), (4, 0));
    assert!(last.oldest_ns > 500_000_000, "{}", last.oldest_ns);
}

#[test]
fn transactions_that_fail_or_are_lost_have_their_times_apart() {
    let count = AtomicU64::new(0);
    let server = MockServer::listen(&socket("failed"), move |command| {
        if !command.sql().starts_with("UPDATE") {
            return Answer::Ok;
        }
        let answer = match count.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => Answer::Error(1062, "Duplicate entry".into()),
            1 => Answer::Close,
            _ => Answer::Ok,
        };
        Answer::After(Duration::from_millis(30), Box::new(answer))
    });
    let (played, seconds) = played(&plan(), &run(&server.unwrap(), 2, Some(2)));
    played.unwrap();
    let failed = sum(&seconds, |second| second.merged.tally.failed.count());
    assert_eq!(failed, sum(&seconds, |second| second.merged.tally.all_errors()));
    assert!(failed > 10, "{failed}");
    assert_eq!(sum(&seconds, |second| second.merged.tally.latency.count()), transactions(&seconds));
    let shortest = seconds.iter().filter_map(|second| second.merged.tally.failed.percentiles().p50).fold(f64::MAX, f64::min);
    assert!(shortest > 25.0, "{shortest} ms");
}

#[test]
fn answers_are_gathered_in_a_closed_loop_only_and_that_is_reported() {
    let pauses = |name: &str, gather, rate| {
        let slow = |_: Command<'_>| Answer::After(Duration::from_millis(5), Box::new(Answer::Ok));
        let server = MockServer::listen(&socket(name), slow).unwrap();
        let mut run = with_load_threads(1, run(&server, 32, Some(1)));
        run.phases[0].gather = gather;
        let run = if rate { at_rate(run, 100_000.0) } else { run };
        let (played, seconds) = played(&plan(), &run);
        played.unwrap();
        assert_eq!(seconds[0].gather, Some(gather == Gather::On && !rate));
        let count = sum(&seconds, |second| second.merged.tally.gather_pauses);
        assert_eq!(count > 0, sum(&seconds, |second| second.merged.tally.gather_ns) > 0);
        count
    };
    assert!(pauses("gather-on", Gather::On, false) > 0);
    assert_eq!(pauses("gather-off", Gather::Off, false), 0);
    // Enough connections wait, but an open loop has further transactions that are due.
    assert_eq!(pauses("gather-open", Gather::On, true), 0);
}

#[test]
fn whether_answers_are_gathered_is_decided_once_per_step() {
    let slow = |_: Command<'_>| Answer::After(Duration::from_millis(5), Box::new(Answer::Ok));
    let server = MockServer::listen(&socket("gather-auto"), slow).unwrap();
    let warm_up = |step| phase(Purpose::WarmUp, step, Some(1), 32);
    let measure = |step, seconds| phase(Purpose::Measure, step, Some(seconds), 32);
    let phases = vec![warm_up(1), measure(1, 2), measure(2, 3)];
    let (played, seconds) = played(&plan(), &with_load_threads(1, Run { phases, ..run(&server, 1, None) }));
    played.unwrap();
    let decisions: Vec<Option<bool>> = seconds.iter().map(|second| second.gather).collect();
    // The decision depends on how idle this machine is, and holds until the end of the step.
    let [first, second] = [decisions[1], decisions[4]];
    assert_eq!(decisions, [None, first, first, None, second, second]);
    assert!(first.is_some() && second.is_some());
    for second in &seconds {
        let pauses = second.merged.tally.gather_pauses;
        match second.gather {
            Some(gathers) => assert_eq!(pauses > 0, gathers, "second {}", second.number),
            // In a step without a warm-up, the decision is made shortly before the end of its first second.
            None if second.purpose == Purpose::Measure => {}
            None => assert_eq!(pauses, 0, "second {}", second.number),
        }
    }
}

#[test]
fn a_deadlock_is_played_again_with_the_same_values() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (kept, refused) = (Arc::clone(&asked), AtomicBool::new(false));
    let server = MockServer::listen(&socket("deadlock"), move |command| {
        kept.lock().unwrap().push(command.sql().to_owned());
        if command.sql().starts_with("UPDATE") && !refused.swap(true, Ordering::Relaxed) {
            return Answer::Error(1213, "Deadlock found when trying to get lock".into());
        }
        Answer::Ok
    });
    let server = server.unwrap();
    let (played, seconds) = played(&plan(), &Run { transactions: Some(1), ..run(&server, 1, None) });
    played.unwrap();
    let asked: Vec<String> = asked.lock().unwrap().iter().filter(|sql| !sql.is_empty()).cloned().collect();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[..2], asked[2..]);
    let tally = |count: fn(&Second) -> u64| sum(&seconds, count);
    assert_eq!((tally(|s| s.merged.tally.retries), tally(|s| s.merged.tally.errors[&1213])), (1, 1));
    assert_eq!(transactions(&seconds), 1);
}

#[test]
fn a_run_in_which_everything_deadlocks_ends_with_a_remedy() {
    let server = MockServer::listen(&socket("for-ever"), |command| match command.sql() {
        sql if sql.starts_with("UPDATE") => soon(Answer::Error(1213, "Deadlock found".into())),
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let error = played(&plan(), &run(&server, 2, Some(60))).0.unwrap_err();
    assert_eq!(error.fault, Fault::Workload);
    assert!(error.what.contains("1213") && error.what.contains("Deadlock found"), "{}", error.what);
    assert!(!error.remedy.is_empty());
}

#[test]
fn a_missing_table_ends_the_run_and_says_how_to_prepare_it() {
    let server = MockServer::listen(&socket("missing"), |command| match command.sql() {
        sql if sql.starts_with("UPDATE") => Answer::Error(1146, "Table 'test.t' doesn't exist".into()),
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let error = played(&plan(), &run(&server, 2, Some(60))).0.unwrap_err();
    assert_eq!(error.fault, Fault::Workload);
    assert!(error.remedy.contains("prepare"), "{}", error.remedy);
}

#[test]
fn a_stop_ends_the_run_with_what_was_measured_so_far() {
    let server = MockServer::listen(&socket("stop"), |_| soon(Answer::Ok)).unwrap();
    let stop = AtomicBool::new(false);
    let mut seconds = Vec::new();
    play(&plan(), &run(&server, 4, None), &stop, &mut |second| {
        stop.store(true, Ordering::Relaxed);
        seconds.push(second);
    })
    .unwrap();
    assert!(seconds.len() == 2 && seconds[1].seconds < 1.0, "{} seconds", seconds.len());
    assert!(seconds[0].merged.tally.all_transactions() > 0);
}

#[test]
fn values_are_carried_from_one_statement_to_the_next() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    let server = MockServer::listen(&socket("carried"), move |command| {
        kept.lock().unwrap().push(command.sql().to_owned());
        if command.sql().starts_with("SELECT") { Answer::row(&[Some("x"), Some("4711")]) } else { Answer::Ok }
    });
    let server = server.unwrap();
    let mut plan = plan();
    plan.transactions[0].ops = vec![
        Op::Execute(Execute {
            which: Which::One(0),
            parameters: vec![Parameter::Fixed(dialin_load::plan::Value::Int(1))],
            keep: vec![Keep { column: 1, slot: FIRST_FREE }],
            no_row: NoRow::Fail,
        }),
        Op::Execute(Execute {
            which: Which::One(1),
            parameters: vec![Parameter::Register(FIRST_FREE)],
            keep: vec![],
            no_row: NoRow::Null,
        }),
    ];
    played(&plan, &Run { transactions: Some(1), ..run(&server, 1, None) }).0.unwrap();
    let last = asked.lock().unwrap().iter().rev().find(|sql| !sql.is_empty()).cloned().unwrap();
    assert_eq!(last.replace('\'', ""), "UPDATE t SET a = 4711");
}

#[test]
fn a_statement_that_returns_too_few_columns_is_the_workloads_fault() {
    let server = MockServer::listen(&socket("columns"), |command| match command.sql() {
        sql if sql.starts_with("SELECT") => Answer::row(&[Some("1"), Some("2")]),
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let mut plan = plan();
    if let Op::Execute(execute) = &mut plan.transactions[0].ops[0] {
        execute.keep = vec![Keep { column: 2, slot: FIRST_FREE }];
    }
    let error = played(&plan, &run(&server, 1, Some(60))).0.unwrap_err();
    assert_eq!(error.fault, Fault::Workload);
    assert!(error.what.contains("fewer columns"), "{}", error.what);
}

#[test]
fn what_one_step_began_and_the_next_one_ends_counts_in_neither() {
    // A transaction takes 0.4 s, so four of them are open when the first step ends.
    let server = MockServer::listen(&socket("steps"), |command| match command.sql() {
        "" => Answer::Ok,
        _ => Answer::After(Duration::from_millis(200), Box::new(Answer::Ok)),
    });
    let server = server.unwrap();
    let phase = |step, connections| phase(Purpose::Measure, step, Some(1), connections);
    let (played, seconds) = played(&plan(), &Run { phases: vec![phase(1, 4), phase(2, 1)], ..run(&server, 1, None) });
    played.unwrap();
    assert!(seconds[1].merged.tally.all_transactions() <= 2, "{}", seconds[1].merged.tally.all_transactions());
}

#[test]
fn a_run_ends_with_its_transactions_whichever_threads_had_them() {
    let server = MockServer::listen(&socket("shared-out"), |_| Answer::Ok).unwrap();
    let phase = |step, connections| phase(Purpose::Measure, step, Some(600), connections);
    let phases = vec![phase(1, 1), phase(2, 4)];
    let run = with_load_threads(4, Run { phases, transactions: Some(100), ..run(&server, 1, None) });
    let (played, seconds) = played(&plan(), &run);
    assert!(played.unwrap().seconds < 60);
    assert_eq!(transactions(&seconds), 100);
}

#[test]
fn rows_that_were_collected_are_sent_again_after_a_deadlock_each_of_them_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (kept, refused) = (Arc::clone(&asked), AtomicBool::new(false));
    let server = MockServer::listen(&socket("batch"), move |command| {
        if command.sql().starts_with("INSERT") {
            if !refused.swap(true, Ordering::Relaxed) {
                return Answer::Error(1213, "Deadlock found".into());
            }
            kept.lock().unwrap().push(command.sql().to_owned());
        }
        Answer::Ok
    });
    let server = server.unwrap();
    let mut plan = plan();
    let batch = Batch { head: "INSERT INTO t VALUES".into(), row: "({turn})".into(), limit: 40 };
    plan.transactions[0].ops = vec![Op::Batch(batch)];
    let (played, seconds) = played(&plan, &Run { transactions: Some(50), ..run(&server, 1, None) });
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.retries), 1);
    let asked = asked.lock().unwrap();
    let rows = asked.iter().flat_map(|sql| sql["INSERT INTO t VALUES".len()..].split(','));
    let numbers: Vec<u32> = rows.map(|row| row.trim_matches(['(', ')', ' ']).parse().unwrap()).collect();
    assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
}
