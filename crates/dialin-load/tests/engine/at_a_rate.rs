//! Tests of the engine with transactions at a rate.

use super::{at_rate, falling_silent, listening, plan, played, run, socket, sum, transactions, with_load_threads};
use dialin_load::mock_server::{Answer, MockServer};
use dialin_load::plan::{CONNECTION, Execute, NoRow, Op, Parameter, Which};
use dialin_load::run::{Phase, Purpose, Run};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn a_stall_shows_in_full_where_transactions_are_due() {
    // The server stalls from 1.2 s to 2.2 s after the first statement.
    let began = Mutex::new(None);
    let server = MockServer::listen(&socket("stall"), move |_| {
        let since = began.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
        if since > Duration::from_millis(1200) && since < Duration::from_millis(2200) {
            Answer::After(Duration::from_millis(2200) - since, Box::new(Answer::Ok))
        } else {
            Answer::Ok
        }
    });
    let server = server.unwrap();
    let (played, seconds) = played(&plan(), &at_rate(run(&server, 4, Some(4)), 200.0));
    assert!(!played.unwrap().reached_backlog_cap);
    let slowest = seconds.iter().filter_map(|second| second.merged.tally.latency.percentiles().p99).fold(0.0, f64::max);
    assert!(slowest > 900.0, "p99 of the worst second: {slowest} ms");
    // The transactions that were due during the stall were executed afterwards: without those, there would be about 600.
    assert!(transactions(&seconds) >= 700, "{}", transactions(&seconds));
    let served = seconds.iter().filter_map(|second| second.merged.tally.service.percentiles().p50).fold(0.0, f64::max);
    assert!(served < 500.0, "the median service time of the worst second: {served} ms");
}

#[test]
fn transactions_that_wait_when_the_warm_up_ends_are_executed_and_timed_in_the_measured_seconds() {
    let began = Mutex::new(None);
    let server = MockServer::listen(&socket("debts"), move |command| {
        if command.sql().is_empty() {
            return Answer::Ok;
        }
        let since = began.lock().unwrap().get_or_insert_with(Instant::now).elapsed();
        let wait = Duration::from_millis(1100).saturating_sub(since);
        if wait.is_zero() { Answer::Ok } else { Answer::After(wait, Box::new(Answer::Ok)) }
    });
    let server = server.unwrap();
    let phase = |purpose| Phase { purpose, ..at_rate(run(&server, 4, Some(1)), 200.0).phases.remove(0) };
    let phases = vec![phase(Purpose::WarmUp), phase(Purpose::Measure)];
    let (played, seconds) = played(&plan(), &Run { phases, ..run(&server, 4, None) });
    played.unwrap();
    assert!(seconds[0].merged.tally.backlog > 150, "{}", seconds[0].merged.tally.backlog);
    assert!(seconds[1].merged.tally.all_transactions() > 300, "{}", seconds[1].merged.tally.all_transactions());
    assert!(seconds[1].merged.tally.latency.percentiles().max > Some(900.0));
}

#[test]
fn transactions_that_are_due_while_too_many_wait_are_dropped_and_counted() {
    let server =
        MockServer::listen(&socket("cap"), |_| Answer::After(Duration::from_millis(50), Box::new(Answer::Ok))).unwrap();
    let run = Run { backlog: 10, ..at_rate(run(&server, 1, Some(2)), 1000.0) };
    let (played, seconds) = played(&plan(), &run);
    assert!(played.unwrap().reached_backlog_cap);
    assert!(sum(&seconds, |second| second.merged.tally.dropped) > 1000);
    assert!(seconds.iter().all(|second| second.merged.tally.backlog <= 10));
}

#[test]
fn a_transaction_that_is_due_and_never_ends_is_reported_with_its_age() {
    let server = falling_silent("silent-open");
    let (played, seconds) = played(&plan(), &at_rate(run(&server, 4, Some(3)), 200.0));
    played.unwrap();
    let last = &seconds[2].merged.tally;
    assert!(last.busy == 4 && last.backlog > 100, "{} and {}", last.busy, last.backlog);
    assert!(last.oldest_ns > 500_000_000, "{}", last.oldest_ns);
}

#[test]
fn waiting_for_a_connection_does_not_count_as_lateness_of_the_driver() {
    let server =
        MockServer::listen(&socket("late"), |_| Answer::After(Duration::from_millis(10), Box::new(Answer::Ok))).unwrap();
    let (played, seconds) = played(&plan(), &at_rate(run(&server, 2, Some(2)), 1000.0));
    played.unwrap();
    let (timers, all) = (sum(&seconds, |second| second.merged.tally.late.count()), transactions(&seconds));
    assert!(all > 50, "{all}");
    // Only the first transactions found a connection free.
    assert!(timers < 10, "{timers} of {all}");
}

#[test]
fn a_transaction_that_finds_a_connection_free_shows_how_late_the_driver_was() {
    let server = MockServer::listen(&socket("punctual"), |_| Answer::Ok).unwrap();
    // So many connections that some are free even if the driver gets no CPU for a while.
    let (played, seconds) = played(&plan(), &at_rate(run(&server, 32, Some(2)), 100.0));
    played.unwrap();
    let (timers, all) = (sum(&seconds, |second| second.merged.tally.late.count()), transactions(&seconds));
    assert!(timers > all / 2, "{timers} of {all}");
}

#[test]
fn what_is_due_waits_for_any_connection_whatever_thread_it_belongs_to() {
    // The connection that sends the first statement gets no answer for the rest of the run. The other one is free.
    let held = AtomicBool::new(false);
    let server = MockServer::listen(&socket("one-queue"), move |command| match command.sql() {
        "" => Answer::Ok,
        _ if !held.swap(true, Ordering::Relaxed) => Answer::Silence,
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let run = with_load_threads(2, at_rate(run(&server, 2, Some(2)), 50.0));
    let (played, seconds) = played(&plan(), &run);
    played.unwrap();
    // If each thread had its own queue, half of the 100 transactions would wait for ever.
    assert!(transactions(&seconds) >= 75, "{}", transactions(&seconds));
    assert!(seconds[1].merged.tally.backlog < 25, "{}", seconds[1].merged.tally.backlog);
}

#[test]
fn connections_are_used_in_turn_at_a_rate() {
    let (server, asked) = listening("in-turn");
    let mut plan = plan();
    let connection = Parameter::Register(CONNECTION);
    let execute = Execute { which: Which::One(0), parameters: vec![connection], keep: vec![], no_row: NoRow::Null };
    plan.transactions[0].ops = vec![Op::Execute(execute)];
    let run = Run { transactions: Some(40), ..with_load_threads(2, at_rate(run(&server, 4, None), 100.0)) };
    played(&plan, &run).0.unwrap();
    let asked = asked.lock().unwrap();
    for number in 0..4 {
        let sql = format!("SELECT {number}");
        let count = asked.iter().filter(|asked| **asked == sql).count();
        assert!((8..=12).contains(&count), "connection {number} was used {count} times of 40");
    }
}
