//! Tests of the statements that are still executed when a run ends.

use super::{plan, run, socket, with_load_threads};
use dialin_load::engine::{RunResult, play};
use dialin_load::errors::{Error, Fault};
use dialin_load::mock_server::{Answer, Command, MockServer, Rows};
use dialin_load::run::Run;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The numbers that the mock server gives its first connections.
const FIRST: u32 = 2;
const CONNECTIONS: u32 = 3;
/// The connection that sends KILL is the next one.
const KILLER: u32 = FIRST + CONNECTIONS;
/// A session of somebody else, with the same account.
const STRANGER: u32 = 1;

/// A server on which every UPDATE hangs until its session is killed, and which accepts KILL if `kills`. After so many SELECTs the table is
/// missing. Returns the killed sessions.
fn hanging(name: &str, kills: bool, selects: u64) -> (MockServer, Arc<Mutex<Vec<u32>>>) {
    let killed = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&killed);
    let selected = AtomicU64::new(0);
    let server = MockServer::listen(&socket(name), move |command: Command<'_>| {
        let sql = command.sql();
        if let Some(number) = sql.strip_prefix("KILL ").filter(|_| kills) {
            kept.lock().unwrap().push(number.parse().unwrap());
            return Answer::Ok;
        }
        match sql {
            "SHOW PROCESSLIST" => {
                let gone: BTreeSet<u32> = kept.lock().unwrap().iter().copied().collect();
                let row = |number: u32| {
                    let number = number.to_string();
                    [&number, "nobody", "localhost", "nothing", "Query", "1", "executing", "UPDATE"]
                        .map(|text| Some(text.to_owned()))
                        .into()
                };
                let shown = (STRANGER..=KILLER).filter(|number| !gone.contains(number)).map(row);
                Answer::Rows(Arc::new(Rows { columns: vec!["c".into(); 8], rows: shown.collect() }))
            }
            "SHOW GLOBAL STATUS LIKE 'Uptime'" => Answer::row(&[Some("Uptime"), Some("1000")]),
            _ if sql.starts_with("UPDATE") => Answer::Silence,
            _ if sql.starts_with("SELECT PROCESSLIST_ID") => Answer::Error(1142, "denied".into()),
            _ if sql.starts_with("KILL") => Answer::Error(1095, "You are not owner of thread".into()),
            _ if sql.starts_with("SELECT") && selected.fetch_add(1, Ordering::Relaxed) >= selects => {
                Answer::After(Duration::from_millis(100), Box::new(Answer::Error(1146, "no table".into())))
            }
            _ => Answer::Ok,
        }
    });
    (server.unwrap(), killed)
}

fn played(run: &Run, stop_at: u64) -> Result<RunResult, Error> {
    let stop = AtomicBool::new(false);
    play(&plan(), run, &stop, &mut |second| stop.store(second.number >= stop_at, Ordering::Relaxed))
}

fn all_killed(killed: &Mutex<Vec<u32>>) -> bool {
    let mut killed = killed.lock().unwrap().clone();
    killed.sort_unstable();
    killed == (FIRST..KILLER).collect::<Vec<_>>()
}

#[test]
fn what_is_executed_at_the_end_of_a_run_is_ended_on_the_server_and_nobody_elses() {
    for (name, seconds, stop_at) in [("end", Some(1), 9), ("stopped", None, 1)] {
        let (server, killed) = hanging(&format!("left-{name}"), true, 1000);
        let leftover = played(&run(&server, CONNECTIONS as usize, seconds), stop_at).unwrap().leftover;
        assert_eq!((leftover.ended, leftover.left), (3, 0), "{name}");
        assert!(all_killed(&killed), "{name}: {killed:?}");
    }
}

#[test]
fn a_run_that_fails_ends_its_statements_too() {
    let (server, killed) = hanging("left-failed", true, 2);
    let result = played(&with_load_threads(1, run(&server, CONNECTIONS as usize, None)), 9);
    assert_eq!(result.unwrap_err().fault, Fault::Workload);
    assert_eq!(killed.lock().unwrap().len(), 2);
}

#[test]
fn a_server_that_refuses_kill_is_not_waited_for_without_end() {
    let (server, _) = hanging("left-refused", false, 1000);
    let leftover = played(&run(&server, CONNECTIONS as usize, Some(1)), 9).unwrap().leftover;
    assert_eq!((leftover.ended, leftover.left), (0, 3));
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn sessions_are_on_record_until_none_of_them_executes_anything() {
    let file = std::env::temp_dir().join(format!("dialin-load-sessions-{}", std::process::id()));
    let (server, _) = hanging("left-recorded", true, 1000);
    let mut run = run(&server, CONNECTIONS as usize, Some(2));
    run.account.sessions_file = Some(file.clone());
    let mut recorded = vec![];
    play(&plan(), &run, &AtomicBool::new(false), &mut |_| recorded = lines(&file)).unwrap();
    let mut numbers: Vec<&str> = recorded.iter().map(|line| line.split(' ').next().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["2", "3", "4"]);
    assert!(lines(&file).is_empty());

    run.account.sessions_file = Some("/nowhere/at/all".into());
    let error = play(&plan(), &run, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert_eq!(error.fault, Fault::User);
    assert!(error.what.contains("/nowhere/at/all"), "{error}");
    std::fs::remove_file(&file).unwrap();
}
