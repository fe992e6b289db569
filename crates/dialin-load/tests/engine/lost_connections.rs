//! Tests of the engine with lost connections.

use super::{phase, plan, played, run, socket, soon, sum, transactions, with_load_threads};
use dialin_load::engine::play;
use dialin_load::errors::Fault;
use dialin_load::mock_server::{Answer, Command, MockServer};
use dialin_load::run::{Purpose, Run};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn after_a_restart_connections_come_back_in_parallel() {
    let listen = |login: Duration| {
        let server = MockServer::listen(&socket("parallel"), move |command| match command {
            Command::Login if !login.is_zero() => Answer::After(login, Box::new(Answer::Ok)),
            _ => soon(Answer::Ok),
        });
        server.unwrap()
    };
    let mut server = Some(listen(Duration::ZERO));
    let run = with_load_threads(1, run(server.as_ref().unwrap(), 32, Some(4)));
    let mut seconds = Vec::new();
    let played = play(&plan(), &run, &AtomicBool::new(false), &mut |second| {
        if second.number == 1 {
            server = None;
            // One after the other, the logins would take 12.8 s.
            server = Some(listen(Duration::from_millis(400)));
        }
        seconds.push(second);
    });
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.reconnects), 32);
}

#[test]
fn lost_connections_come_back_and_are_counted() {
    let count = AtomicU64::new(0);
    let server = MockServer::listen(&socket("lost"), move |command: Command<'_>| {
        let lost = command.sql().starts_with("UPDATE") && count.fetch_add(1, Ordering::Relaxed) % 1000 == 500;
        if lost { Answer::Close } else { Answer::Ok }
    });
    let server = server.unwrap();
    let (played, seconds) = played(&plan(), &run(&server, 2, Some(2)));
    played.unwrap();
    let (errors, reconnects) = (
        sum(&seconds, |second| second.merged.tally.errors.get(&2013).copied().unwrap_or(0)),
        sum(&seconds, |second| second.merged.tally.reconnects),
    );
    assert!(errors > 0 && reconnects > 0 && errors - reconnects <= 2, "{errors} lost, {reconnects} came back");
}

#[test]
fn a_server_that_is_gone_for_good_fails_the_run() {
    let mut server = Some(MockServer::listen(&socket("gone"), |_| soon(Answer::Ok)).unwrap());
    let run = Run { reconnect_for: Duration::from_millis(300), ..run(server.as_ref().unwrap(), 2, Some(60)) };
    let error = play(&plan(), &run, &AtomicBool::new(false), &mut |_| drop(server.take())).unwrap_err();
    assert_eq!(error.fault, Fault::Connection);
}

#[test]
fn an_idle_connection_that_ends_is_opened_again_and_is_no_error() {
    let listen = || MockServer::listen(&socket("idle"), |_| soon(Answer::Ok)).unwrap();
    let mut server = Some(listen());
    let phase = |step, connections| phase(Purpose::Measure, step, Some(2), connections);
    let phases = vec![phase(1, 1), phase(2, 5)];
    let run = with_load_threads(2, Run { phases, ..run(server.as_ref().unwrap(), 1, None) });
    let mut seconds = Vec::new();
    let played = play(&plan(), &run, &AtomicBool::new(false), &mut |second| {
        if second.number == 1 {
            server = None;
            server = Some(listen());
        }
        seconds.push(second);
    });
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.reconnects), 5);
    assert_eq!(sum(&seconds, |second| second.merged.tally.all_errors()), 1);
}

#[test]
fn a_stop_ends_the_run_in_good_order_though_the_server_is_gone() {
    let mut server = Some(MockServer::listen(&socket("stop-gone"), |_| soon(Answer::Ok)).unwrap());
    let run = Run { reconnect_for: Duration::ZERO, ..run(server.as_ref().unwrap(), 4, None) };
    let stop = AtomicBool::new(false);
    let played = play(&plan(), &run, &stop, &mut |_| {
        stop.store(true, Ordering::Relaxed);
        drop(server.take());
    });
    assert_eq!(played.unwrap().seconds, 2);
}

/// What was counted while each 500th UPDATE failed with this error, and the server closed the connection instead of rolling back if `closes`.
fn interrupted(name: &str, code: u16, closes: bool) -> (BTreeMap<u16, u64>, u64, u64, u64) {
    let count = AtomicU64::new(0);
    let rollbacks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&rollbacks);
    let server = MockServer::listen(&socket(name), move |command: Command<'_>| match command.sql() {
        "ROLLBACK" => {
            counted.fetch_add(1, Ordering::Relaxed);
            if closes { Answer::Close } else { Answer::Ok }
        }
        sql if sql.starts_with("UPDATE") && count.fetch_add(1, Ordering::Relaxed) % 500 == 100 => {
            Answer::Error(code, "interrupted".into())
        }
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let run = Run { transactions: Some(2000), ..run(&server, 2, None) };
    let (played, seconds) = played(&plan(), &run);
    played.unwrap();
    let mut errors = BTreeMap::new();
    for (code, count) in seconds.iter().flat_map(|second| &second.merged.tally.errors) {
        *errors.entry(*code).or_default() += count;
    }
    let failed = sum(&seconds, |second| second.merged.tally.failed.count());
    assert_eq!(transactions(&seconds) + failed, 2000);
    (errors, failed, sum(&seconds, |second| second.merged.tally.reconnects), rollbacks.load(Ordering::Relaxed))
}

#[test]
fn an_interrupted_statement_counts_once_and_its_connection_lives_unless_the_server_closes_it() {
    assert_eq!(interrupted("interrupted", 1317, false), (BTreeMap::from([(1317, 4)]), 4, 0, 4));
    assert_eq!(interrupted("timed-out", 3024, false), (BTreeMap::from([(3024, 4)]), 4, 0, 0), "nothing to roll back");
    for (name, code) in [("shutdown", 1053), ("shutdown-of-5.6", 1317), ("killed", 1927)] {
        assert_eq!(interrupted(name, code, true), (BTreeMap::from([(code, 4)]), 4, 4, 4));
    }
}
