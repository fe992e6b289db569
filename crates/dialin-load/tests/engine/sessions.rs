//! Tests of the engine's logins and prepared statements.

use super::{plan, played, prepared_plan, run, socket, soon, sum, transactions, with_load_threads};
use dialin_load::mock_server::{Answer, Command, MockServer};
use dialin_load::options::raise_limit;
use dialin_load::run::Run;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A server that closes a connection at the tenth UPDATE. `later` answers all logins after the first `connections` ones.
fn losing_one(name: &str, connections: u64, later: impl Fn(u64) -> Answer + Send + 'static) -> MockServer {
    let (logins, updates) = (AtomicU64::new(0), AtomicU64::new(0));
    let server = MockServer::listen(&socket(name), move |command: Command<'_>| match command {
        Command::Login => match logins.fetch_add(1, Ordering::Relaxed).checked_sub(connections) {
            Some(number) => later(number),
            None => Answer::Ok,
        },
        _ if command.sql().starts_with("UPDATE") && updates.fetch_add(1, Ordering::Relaxed) == 9 => Answer::Close,
        _ => soon(Answer::Ok),
    });
    server.unwrap()
}

#[test]
fn a_login_that_takes_long_holds_up_no_other_connection_of_its_thread() {
    let server = losing_one("slow-login", 4, |_| Answer::After(Duration::from_millis(2500), Box::new(Answer::Ok)));
    let (played, seconds) = played(&plan(), &with_load_threads(1, run(&server, 4, Some(4))));
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.reconnects), 1);
    assert_eq!(seconds[1].merged.tally.busy, 3);
    let each: Vec<u64> = seconds.iter().map(|second| second.merged.tally.all_transactions()).collect();
    assert!(each.iter().all(|transactions| *transactions > 100), "{each:?}");
}

#[test]
fn a_login_that_is_not_answered_is_tried_again() {
    let server = losing_one("silent-login", 2, |number| if number == 0 { Answer::Silence } else { soon(Answer::Ok) });
    let run = Run { timeout: Duration::from_secs(2), ..with_load_threads(1, run(&server, 2, Some(5))) };
    let (played, seconds) = played(&plan(), &run);
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.reconnects), 1);
    assert_eq!(sum(&seconds, |second| second.merged.tally.all_errors()), 1);
}

#[test]
fn a_first_login_that_fails_ends_the_run() {
    for (name, code) in [("first-refused", 1045), ("first-full", 1040)] {
        let server = losing_one(name, 5, move |_| Answer::Error(code, "Not you".into()));
        let error = played(&plan(), &with_load_threads(3, run(&server, 9, Some(60)))).0.unwrap_err();
        assert!(error.what.contains(&code.to_string()), "{error}");
    }
}

#[test]
fn statements_beyond_the_servers_limit_of_prepared_statements_are_sent_as_text_and_counted() {
    const CONNECTIONS: usize = 500;
    raise_limit(3 * CONNECTIONS).unwrap();
    // A server that allows 100 prepared statements of all connections together.
    let open = AtomicU64::new(0);
    let server = MockServer::listen(&socket("no-room"), move |command| match command {
        Command::Prepare(_) if open.load(Ordering::Relaxed) >= 100 => {
            Answer::Error(1461, "Can't create more than max_prepared_stmt_count statements".into())
        }
        Command::Prepare(_) => {
            open.fetch_add(1, Ordering::Relaxed);
            Answer::Ok
        }
        Command::Close(_) => {
            open.fetch_sub(1, Ordering::Relaxed);
            Answer::Ok
        }
        Command::Query(_) | Command::Execute(_) => Answer::After(Duration::from_millis(20), Box::new(Answer::Ok)),
        _ => Answer::Ok,
    });
    let server = server.unwrap();
    let (played, seconds) = played(&prepared_plan(), &run(&server, CONNECTIONS, Some(4)));
    played.unwrap();
    assert_eq!(sum(&seconds, |second| second.merged.tally.unprepared), 2 * CONNECTIONS as u64 - 100);
    assert_eq!(sum(&seconds, |second| second.merged.tally.all_errors()), 0);
    assert!(transactions(&seconds) > 2 * CONNECTIONS as u64, "{}", transactions(&seconds));
}
