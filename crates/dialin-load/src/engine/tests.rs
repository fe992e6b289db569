//! Sessions that scripts begin and end.

use super::error_policy::Verdict;
use super::script::{Action, Digest, Query, RowCounts};
use super::*;
use crate::mock_server::{Answer, Command, MockServer};
use crate::plan::{Keep, Kind, Value};
use crate::protocol::parameters::Parameters;
use crate::run::{Gather, Phase};
use std::sync::Arc;
use std::sync::Mutex;

/// The steps of each transaction of all visitors.
type Steps = Vec<Step>;

#[derive(Clone, Copy)]
enum Step {
    Ask(&'static str),
    Rest(Duration),
    Connect,
    Reset,
    Disconnect,
}

/// A script whose transactions are all the same.
struct Visitor<'s> {
    steps: &'s Steps,
    next: usize,
}

impl<'s> Script<'s> for Visitor<'s> {
    type Source = Steps;

    fn new(steps: &'s Steps, _connection: usize) -> Self {
        Self { steps, next: 0 }
    }

    fn begin(&mut self, _sequence: u64) {
        self.next = 0;
    }

    fn rewind(&mut self) {
        self.next = 0;
    }

    fn kind(&self) -> usize {
        0
    }

    fn next(&mut self, now: u64) -> Action<'s> {
        match self.steps.get(self.next) {
            None => Action::End,
            Some(Step::Ask(sql)) => {
                let query = Query { sql, digest: Digest::of(sql), parameters: 0, kind: Kind::Read, is_text: false };
                Action::Execute { query, keeps: false }
            }
            Some(Step::Rest(time)) => {
                self.next += 1;
                Action::WaitUntil(now + u64::try_from(time.as_nanos()).unwrap())
            }
            Some(Step::Connect) => Action::Connect,
            Some(Step::Reset) => Action::Reset,
            Some(Step::Disconnect) => Action::Disconnect,
        }
    }

    fn write(&mut self, parameters: impl Parameters) -> u8 {
        parameters.end()
    }

    fn kept(&mut self) -> (&[Keep], &mut [Value]) {
        (&[], &mut [])
    }

    fn succeed(&mut self, _rows: RowCounts) -> bool {
        self.next += 1;
        true
    }

    fn refuse(&mut self, _code: u16, _message: &str, _retries: u32) -> Verdict {
        Verdict::Counted
    }
}

/// Runs an average of ten transactions per connection on one load thread: of two, one may have run all of them before the other begins.
/// Returns the commands that the server received, and the seconds.
fn visited(name: &str, connections: usize, setup: Setup<'_>, steps: &Steps) -> (Vec<String>, Vec<Second>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&asked);
    let path = std::env::temp_dir().join(format!("dialin-load-visits-{name}-{}.sock", std::process::id()));
    let server = MockServer::listen(&path, move |command| {
        let word = match command {
            Command::Login => "login".to_owned(),
            Command::Prepare(sql) => format!("prepare {sql}"),
            Command::Execute(sql) => format!("execute {sql}"),
            Command::Close(sql) => format!("close {sql}"),
            Command::Query(sql) => format!("query {sql}"),
            Command::Ping => "ping".to_owned(),
            Command::Reset => "reset".to_owned(),
        };
        received.lock().unwrap().push(word);
        Answer::Ok
    });
    let server = server.unwrap();
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: None,
        connections,
        rate: None,
        load_threads: Some(1),
        gather: Gather::Auto,
    };
    let run = Run {
        account: server.account(),
        phases: vec![phase],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: Some(10 * connections as u64),
        text: false,
        backlog: 0,
        timeout: Duration::from_secs(20),
        reconnect_for: Duration::ZERO,
    };
    let (mut seconds, stop) = (Vec::new(), AtomicBool::new(false));
    let ready = &mut || Ok(Instant::now());
    play_scripts::<Visitor<'_>>(steps, setup, &run, vec![1], &stop, ready, &mut |second| seconds.push(second)).unwrap();
    // The server has read all commands once it has ended.
    server.end();
    let asked = asked.lock().unwrap().clone();
    (asked, seconds)
}

fn count(asked: &[String], word: &str) -> usize {
    asked.iter().filter(|asked| asked.as_str() == word).count()
}

const SETUP: Setup<'_> = Setup { kinds: 1, session: &[], open_statements: 100 };

#[test]
fn a_script_ends_a_session_and_begins_the_next_one() {
    let session = ["SET @a = 1".to_owned()];
    let steps = vec![
        Step::Connect,
        Step::Ask("SELECT 1"),
        Step::Ask("SELECT 1"),
        Step::Disconnect,
        Step::Rest(Duration::from_millis(1)),
        // A connection that is not connected connects first.
        Step::Ask("SELECT 2"),
        Step::Disconnect,
    ];
    let (asked, seconds) = visited("sessions", 4, Setup { session: &session, ..SETUP }, &steps);
    let merged = |count: fn(&Tally) -> u64| seconds.iter().map(|second| count(&second.merged.tally)).sum::<u64>();
    assert_eq!((merged(Tally::all_transactions), merged(Tally::all_errors), merged(|tally| tally.reconnects)), (40, 0, 0));
    // Four sessions are open before the load begins, and the first transactions use them.
    assert_eq!((count(&asked, "login"), count(&asked, "query SET @a = 1")), (80, 80));
    assert_eq!((count(&asked, "prepare SELECT 1"), count(&asked, "execute SELECT 1")), (40, 80));
    assert_eq!((count(&asked, "close SELECT 1"), count(&asked, "close SELECT 2")), (40, 40));
}

#[test]
fn a_session_that_is_reset_goes_on_without_its_statements() {
    let (asked, seconds) = visited("reset", 3, SETUP, &vec![Step::Ask("SELECT 1"), Step::Ask("SELECT 1"), Step::Reset]);
    let counts = ["login", "reset", "prepare SELECT 1", "execute SELECT 1", "close SELECT 1"];
    assert_eq!(counts.map(|word| count(&asked, word)), [3, 30, 30, 60, 0]);
    let statements: u64 = seconds.iter().map(|second| second.merged.tally.statements.iter().sum::<u64>()).sum();
    assert_eq!(statements, 60, "a reset is no statement");
}

#[test]
fn a_session_that_goes_on_closes_its_statements_when_the_run_ends() {
    let (asked, _) = visited("stays", 3, SETUP, &vec![Step::Ask("SELECT 1"), Step::Ask("SELECT 2")]);
    let counts = ["login", "prepare SELECT 1", "execute SELECT 1", "close SELECT 1", "close SELECT 2"];
    assert_eq!(counts.map(|word| count(&asked, word)), [3, 3, 30, 3, 3]);
}

#[test]
fn too_many_open_statements_close_the_least_recently_used_one() {
    let steps = ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 3"].map(Step::Ask).to_vec();
    let (asked, _) = visited("bounded", 1, Setup { open_statements: 2, ..SETUP }, &steps);
    let begin = [
        "login",
        "prepare SELECT 1",
        "execute SELECT 1",
        "prepare SELECT 2",
        "execute SELECT 2",
        "execute SELECT 1",
        "close SELECT 2",
        "prepare SELECT 3",
        "execute SELECT 3",
        "execute SELECT 1",
        "close SELECT 3",
        "prepare SELECT 2",
    ];
    assert_eq!(asked[..begin.len()], begin);
    let counted = |word: &str| asked.iter().filter(|asked| asked.starts_with(word)).count();
    assert_eq!(counted("prepare"), counted("close"), "all are closed in the end");
}

#[test]
fn connections_share_the_open_statements_by_use() {
    let steps = ["SELECT 1", "SELECT 2", "SELECT 3"].map(Step::Ask).to_vec();
    let (asked, _) = visited("shared", 4, Setup { open_statements: 12, ..SETUP }, &steps);
    let counted = |asked: &[String], word: &str| asked.iter().filter(|asked| asked.starts_with(word)).count();
    assert_eq!((counted(&asked, "prepare"), counted(&asked, "execute")), (12, 120));
    let (asked, seconds) = visited("shared-too-few", 4, Setup { open_statements: 7, ..SETUP }, &steps);
    let again: u64 = seconds.iter().map(|second| second.merged.tally.prepared_again).sum();
    assert_eq!(counted(&asked, "execute"), 120);
    assert_eq!((counted(&asked, "prepare") as u64, counted(&asked, "close") as u64), (12 + again, 12 + again));
    let open = |seen: usize| counted(&asked[..seen], "prepare") - counted(&asked[..seen], "close");
    // Each connection may have one that is being prepared, and one whose end it tells the server with its next command.
    assert!((0..asked.len()).all(|seen| open(seen) <= 7 + 2 * 4), "{asked:?}");
}
