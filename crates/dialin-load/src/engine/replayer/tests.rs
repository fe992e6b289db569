//! Captures replayed against a mock server.

use super::*;
use crate::capture::STATEMENTS;
use crate::capture::format::{Line, Record};
use crate::engine::{Second, replay};
use crate::mock_server::{Answer, Command, MockServer, Rows};
use crate::replay::tests::capture;
use crate::replay::{AutoIncrements, Facts, Pace, Request};
use crate::run::{Gather, Phase, Purpose, Run};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// What stands for COM_RESET_CONNECTION.
const RESET: &str = "(reset)";

/// A captured statement: its thread, its start time and its duration in milliseconds, its SQL, its error code, its number of rows.
struct Said(u64, i64, i64, &'static str, u64, u64);

impl Said {
    fn record(&self) -> Record<'_> {
        let Said(thread, at, duration, sql, error, rows) = *self;
        Record::Statement(Line {
            thread,
            at: at * 1_000,
            duration: Some(duration * 1_000),
            is_prepared: Some(sql.contains("/*prepared*/")),
            error: Some(error),
            rows_sent: Some(rows),
            rows_examined: None,
            rows_affected: None,
            schema: Some(b"shop"),
            sql: sql.as_bytes(),
        })
    }
}

/// Replays statements at a pace against a mock server that answers with `answer`. Returns the SQL that the server received (with what was
/// prepared under its template), and what was counted.
fn replayed(
    name: &str,
    pace: Pace,
    said: &[Said],
    answer: impl FnMut(&str) -> Answer + Send + 'static,
) -> (Vec<String>, Tally) {
    replayed_with(name, pace, said, AutoIncrements::default(), answer)
}

/// The same on a server with these `AUTO_INCREMENT` columns.
fn replayed_with(
    name: &str,
    pace: Pace,
    said: &[Said],
    columns: AutoIncrements,
    answer: impl FnMut(&str) -> Answer + Send + 'static,
) -> (Vec<String>, Tally) {
    let records: Vec<Record<'_>> = said.iter().map(Said::record).collect();
    replayed_records(name, pace, &records, columns, answer)
}

/// The same with any records.
fn replayed_records(
    name: &str,
    pace: Pace,
    records: &[Record<'_>],
    columns: AutoIncrements,
    mut answer: impl FnMut(&str) -> Answer + Send + 'static,
) -> (Vec<String>, Tally) {
    let directory = std::env::temp_dir().join(format!("dialin-load-replay-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(STATEMENTS), zstd::encode_all(&capture(records)[..], 1).unwrap()).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&asked);
    let answer = Mutex::new(move |sql: &str| answer(sql));
    let server = MockServer::listen(&directory.with_extension("sock"), move |command| {
        if command == Command::Reset {
            received.lock().unwrap().push(RESET.into());
            return (answer.lock().unwrap())(RESET);
        }
        let (Command::Query(sql) | Command::Execute(sql)) = command else {
            let refused = matches!(command, Command::Prepare(sql) if sql.contains("not preparable"));
            return if refused { Answer::Error(1064, "Syntax".into()) } else { Answer::Ok };
        };
        received.lock().unwrap().push(sql.to_owned());
        (answer.lock().unwrap())(sql)
    });
    let server = server.unwrap();
    let request = Request { directory: directory.clone(), pace, from: None };
    let facts = Facts::of(&request, columns).unwrap();
    let phase = Phase {
        purpose: Purpose::Measure,
        step: 1,
        seconds: None,
        connections: facts.connections,
        rate: None,
        load_threads: Some(1),
        gather: Gather::Off,
    };
    let run = Run {
        account: server.account(),
        phases: vec![phase],
        seed: 1,
        first: 0,
        stride: 1,
        transactions: None,
        text: true,
        backlog: 0,
        timeout: Duration::from_secs(20),
        reconnect_for: Duration::from_secs(5),
    };
    let (mut seconds, stop): (Vec<Second>, _) = (Vec::new(), AtomicBool::new(false));
    replay(&request, &facts, &run, &stop, &mut |second| seconds.push(second)).unwrap();
    server.end();
    std::fs::remove_dir_all(directory).unwrap();
    let mut all = Tally::new(facts.kinds.all.len());
    for second in &seconds {
        all.follow(&second.merged.tally);
    }
    let asked = asked.lock().unwrap().clone();
    (asked, all)
}

fn place(asked: &[String], sql: &str) -> usize {
    asked.iter().position(|asked| asked == sql).unwrap_or_else(|| panic!("{sql} was not sent: {asked:?}"))
}

fn rows(count: usize) -> Answer {
    Answer::Rows(Arc::new(Rows { columns: vec!["a".into()], rows: vec![vec![Some("1".into())]; count] }))
}

#[test]
fn a_transaction_waits_for_those_that_ended_before_it_began_and_no_longer() {
    let said = [
        Said(1, 0, 5, "update t set a = 1", 0, 0),
        Said(2, 4, 6, "update t set a = 2 where id = 2", 0, 0),
        Said(3, 8, 6, "update t set a = 3 where id = 3", 0, 0),
        Said(2, 12, 2, "update t set a = 4", 0, 0),
        Said(1, 20, 2, "update t set a = 5", 0, 0),
    ];
    let slow = |sql: &str| match sql {
        "update t set a = 1" => Answer::After(Duration::from_millis(60), Box::new(Answer::Ok)),
        "update t set a = 2 where id = 2" => Answer::After(Duration::from_millis(200), Box::new(Answer::Ok)),
        _ => Answer::Ok,
    };
    let (asked, tally) = replayed("order", Pace::Full, &said, slow);
    let texts: Vec<&str> = asked.iter().map(String::as_str).filter(|sql| sql.starts_with("update")).collect();
    assert_eq!(texts.len(), 5);
    let at = |number: usize| asked.iter().position(|sql| sql.starts_with(&format!("update t set a = {number}"))).unwrap();
    assert!(at(1) < at(3) && at(2) < at(3) && at(3) < at(4) && at(4) < at(5), "{asked:?}");
    let replay = tally.replay.as_ref().unwrap();
    // The second transaction waited for the row locks of the first. The third waited for the end of the first, but not of the second, which
    // was open when the third began. The last one waited for all.
    assert_eq!((tally.all_transactions(), replay.counts.waited), (5, 3));
    let marks: Vec<u64> = replay.marks.iter().map(|(transactions, _)| *transactions).collect();
    assert_eq!(marks, [1, 2, 3, 4, 5]);
    let when: Vec<u64> = replay.marks.iter().map(|(_, at)| *at).collect();
    assert!(when[1] + 10_000_000 < when[2], "the third ended long before the second: {when:?}");
}

#[test]
fn a_free_connection_executes_the_next_transaction_of_a_busy_session_with_the_same_settings() {
    // The second session waits for the first, which is busy for a while and then has another transaction.
    let ends_first = |name: &str, pace: Pace, settings: &'static str, query: &'static str| {
        let said = [
            Said(1, 0, 1, "set names utf8mb4", 0, 0),
            Said(2, 0, 1, settings, 0, 0),
            Said(1, 10, 1, "update t set a = 1", 0, 0),
            Said(1, 20, 1, query, 0, 0),
            Said(2, 30, 1, "update t set a = 2", 0, 0),
            Said(1, 40, 1, "select 7", 0, 0),
        ];
        let (asked, tally) = replayed(name, pace, &said, |sql| match sql {
            "update t set a = 1" => Answer::After(Duration::from_millis(150), Box::new(Answer::Ok)),
            _ if sql.starts_with("select") => rows(0),
            _ => Answer::Ok,
        });
        assert!(place(&asked, "update t set a = 1") < place(&asked, "update t set a = 2"), "{asked:?}");
        assert_eq!(tally.all_transactions(), 4);
        tally.replay.unwrap().marks[0].1 < 150_000_000
    };
    assert!(ends_first("shared", Pace::Full, "set names utf8mb4", "select a from u"));
    assert!(!ends_first("paced", Pace::Times(1.0), "set names utf8mb4", "select a from u"));
    assert!(!ends_first("other-settings", Pace::Full, "set names latin1", "select a from u"));
    assert!(!ends_first("of-session", Pace::Full, "set names utf8mb4", "select @a from u"));
}

#[test]
fn after_a_new_deadlock_the_whole_transaction_is_retried_and_others_wait_for_it() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(1, 2, 1, "update t set a = 1", 0, 0),
        Said(1, 4, 1, "COMMIT", 0, 0),
        Said(2, 9, 1, "select 7", 0, 0),
    ];
    let mut deadlocks = 1;
    let (asked, tally) = replayed("again", Pace::Full, &said, move |sql| match sql {
        "update t set a = 1" if deadlocks > 0 => {
            deadlocks -= 1;
            Answer::Error(1213, "Deadlock found".into())
        }
        "select 7" => rows(0),
        _ => Answer::Ok,
    });
    let texts: Vec<&str> = asked.iter().map(String::as_str).filter(|sql| !sql.starts_with("USE")).collect();
    assert_eq!(texts, ["BEGIN", "update t set a = 1", "BEGIN", "update t set a = 1", "COMMIT", "select 7"]);
    let replay = tally.replay.as_ref().unwrap();
    assert_eq!((tally.retries, replay.counts.new_errors, tally.all_transactions()), (1, 0, 2));
}

#[test]
fn rows_get_the_ids_that_they_had_also_if_the_transaction_is_retried_or_another_one_overtakes_it() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(2, 1, 9, "insert into t (at) values (now())", 0, 0),
        Said(1, 2, 1, "insert into t (a) values (1), (2)", 0, 0),
        Said(1, 4, 1, "insert into t (a) values (3)", 0, 0),
        Said(1, 6, 1, "delete from t where id = 12", 0, 1),
        Said(1, 8, 1, "COMMIT", 0, 0),
    ];
    let columns = AutoIncrements::of(&[], &[["s", "t", "id", "10"].map(String::from).to_vec()], &[]);
    let mut deadlocks = 1;
    let (asked, _) = replayed_with("ids", Pace::Full, &said, columns, move |sql| match sql {
        "insert into t (a) values (3)" if deadlocks > 0 => {
            deadlocks -= 1;
            Answer::Error(1213, "Deadlock found".into())
        }
        _ => Answer::Ok,
    });
    let texts: Vec<&str> =
        asked.iter().map(String::as_str).filter(|sql| !sql.starts_with("USE") && !sql.contains("now()")).collect();
    let (other, texts): (Vec<&str>, Vec<&str>) = texts.into_iter().partition(|sql| sql.contains("timestamp"));
    assert_eq!(other, ["SET timestamp=0.001000, insert_id=10"]);
    let [first, second] = ["insert into t (a) values (1), (2)", "insert into t (a) values (3)"];
    let once = ["BEGIN", "SET insert_id=11", first, "SET insert_id=13", second];
    assert_eq!(texts, [&once[..], &once[..], &["delete from t where id = 12", "COMMIT"]].concat());
}

#[test]
fn a_captured_deadlock_that_does_not_come_again_is_rolled_back() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(1, 2, 1, "update t set a = 1", 1213, 0),
        Said(1, 4, 1, "BEGIN", 0, 0),
        Said(1, 6, 1, "COMMIT", 0, 0),
    ];
    let (asked, tally) = replayed("repaired", Pace::Full, &said, |_| Answer::Ok);
    assert_eq!(asked, ["USE `shop`", "BEGIN", "update t set a = 1", "ROLLBACK", "BEGIN", "COMMIT"]);
    let replay = tally.replay.as_ref().unwrap();
    assert_eq!((replay.counts.repaired, replay.counts.missing_errors, replay.counts.new_errors), (1, 1, 0));
}

#[test]
fn errors_and_rows_are_compared_with_those_of_the_capture() {
    let said = [
        Said(1, 0, 1, "insert into t values (1)", 1062, 0),
        Said(1, 2, 1, "insert into t values (2)", 0, 0),
        Said(1, 4, 1, "select 1", 0, 1),
        Said(1, 6, 1, "select 2", 0, 1),
        Said(1, 8, 1, "BEGIN", 0, 0),
        Said(1, 10, 1, "insert into t values (3)", 0, 0),
        Said(1, 12, 1, "ROLLBACK", 0, 0),
    ];
    let (_, tally) = replayed("compared", Pace::Full, &said, |sql| match sql {
        "select 1" => rows(1),
        "select 2" => rows(3),
        _ if sql.starts_with("insert") => Answer::Error(1062, "Duplicate entry".into()),
        _ => Answer::Ok,
    });
    let replay = tally.replay.as_ref().unwrap();
    assert_eq!((replay.counts.new_errors, replay.counts.harmless_errors, replay.counts.missing_errors), (1, 1, 0));
    assert_eq!((replay.counts.row_counts, replay.counts.other_row_counts, tally.errors[&1062]), (2, 1, 1));
    let different: Vec<_> = replay
        .digests
        .iter()
        .filter(|one| one.new_errors + one.other_row_counts > 0)
        .map(|one| (&*one.digest, one.statements, one.new_errors, one.last_error, one.other_row_counts))
        .collect();
    assert_eq!(different, [("insert into t values (?)", 3, 1, Some(1062), 0), ("select ?", 2, 0, None, 1)]);
}

#[test]
fn latency_is_the_time_of_the_statements_on_the_server_and_not_the_pauses_of_the_session() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(1, 10, 400, "select a from t", 0, 1),
        Said(1, 1_600, 1, "COMMIT", 0, 0),
        Said(1, 1_610, 1, "select b from u", 0, 1),
        Said(1, 1_630, 1, "select b from u", 0, 1),
    ];
    let run = |name: &str, takes: u64| {
        let answer = move |sql: &str| match sql {
            "select a from t" => Answer::After(Duration::from_millis(takes), Box::new(rows(1))),
            _ if sql.starts_with("select") => rows(1),
            _ => Answer::Ok,
        };
        let (_, tally) = replayed(name, Pace::Times(1.0), &said, answer);
        let longest = |times: &crate::record::Times| times.percentiles().max.unwrap();
        let replay = tally.replay.as_ref().unwrap();
        let digest = replay.digests.iter().find(|one| one.digest == "select a from t").unwrap();
        let of_kinds: Vec<u64> = tally.latency_by.iter().map(crate::record::Times::count).collect();
        assert_eq!((tally.transactions.as_slice(), of_kinds.as_slice()), ([2, 1].as_slice(), [2, 1].as_slice()));
        (longest(&tally.latency), longest(&tally.latency_by[1]), longest(&replay.from_due), digest.clone())
    };
    let (slow, of_kind, from_due, digest) = run("slow", 400);
    assert!(slow >= 400.0 && slow == of_kind && from_due >= 1_600.0 && slow < from_due / 2.0, "{slow} {of_kind} {from_due}");
    assert!(digest.captured_ms == Some(400.0) && digest.replayed_ms.unwrap() >= 400.0, "{digest:?}");
    let (fast, _, from_due, digest) = run("fast", 1);
    assert!(fast < slow && from_due >= 1_600.0 && digest.replayed_ms.unwrap() < 400.0, "{fast} {from_due} {digest:?}");
}

#[test]
fn the_time_of_a_retried_transaction_is_that_of_all_its_attempts_and_its_rows_are_those_of_the_last() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(1, 1, 1, "delete from t where a = 1", 0, 0),
        Said(1, 2, 1, "update t set a = 1", 0, 0),
        Said(1, 4, 1, "COMMIT", 0, 0),
    ];
    let mut deadlocks = 1;
    let (_, tally) = replayed("attempts", Pace::Full, &said, move |sql| match sql {
        "delete from t where a = 1" => Answer::After(Duration::from_millis(40), Box::new(Answer::Changed(3))),
        "update t set a = 1" if deadlocks > 0 => {
            deadlocks -= 1;
            Answer::Error(1213, "Deadlock found".into())
        }
        _ => Answer::Ok,
    });
    assert!(tally.latency.percentiles().max.unwrap() >= 80.0);
    let replay = tally.replay.as_ref().unwrap();
    assert_eq!((replay.counts.rows_changed, replay.from_due.count()), (3, 0), "at full pace, nothing is due");
}

#[test]
fn changed_rows_are_compared_as_far_as_the_capture_shows_them() {
    let change = |at: i64, sql: &'static str, examined: Option<u64>, affected: Option<u64>| Line {
        thread: 1,
        at: at * 1_000,
        duration: Some(1_000),
        is_prepared: None,
        error: Some(0),
        rows_sent: Some(0),
        rows_examined: examined,
        rows_affected: affected,
        schema: None,
        sql: sql.as_bytes(),
    };
    let records: Vec<Record<'_>> = [
        change(0, "update t set a = 1 where id = 1", Some(1), None),
        change(2, "update t set a = 1 where id = 2", Some(1), None),
        change(4, "update t set a = 1 where id = 3", Some(0), None),
        change(6, "update t set a = 1 where id = 3 and b = 1", Some(1), None),
        change(8, "delete from t where id < 5", Some(9), Some(4)),
        change(10, "delete from t where id < 9", Some(9), Some(4)),
        change(12, "insert into t values (1) on duplicate key update a = 1", None, Some(1)),
    ]
    .into_iter()
    .map(Record::Statement)
    .collect();
    let (_, tally) = replayed_records("changes", Pace::Full, &records, AutoIncrements::default(), |sql| match sql {
        "update t set a = 1 where id = 1" => Answer::Changed(1),
        "delete from t where id < 5" => Answer::Changed(4),
        "delete from t where id < 9" => Answer::Changed(3),
        _ => Answer::Changed(0),
    });
    let replay = tally.replay.as_ref().unwrap();
    let counts = replay.counts;
    assert_eq!((counts.changes, counts.change_counts, counts.idle_changes, counts.rows_changed), (7, 6, 4, 8));
    assert_eq!(counts.other_change_counts, 2, "one row was not found, and one was not deleted");
    let mut different: Vec<_> =
        replay.digests.iter().map(|one| (&*one.digest, one.other_change_counts)).filter(|(_, other)| *other > 0).collect();
    different.sort_unstable();
    assert_eq!(different, [("delete from t where id < ?", 1), ("update t set a = ? where id = ?", 1)]);
}

#[test]
fn a_connection_that_is_lost_ends_its_transaction_and_nobody_waits_for_it() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(1, 2, 1, "update t set a = 1", 0, 0),
        Said(1, 4, 1, "COMMIT", 0, 0),
        Said(2, 9, 1, "update t set a = 2", 0, 0),
        Said(1, 12, 1, "update t set a = 3", 0, 0),
    ];
    let (asked, tally) = replayed("lost", Pace::Full, &said, |sql| match sql {
        "update t set a = 1" => Answer::Close,
        _ => Answer::Ok,
    });
    assert!(place(&asked, "update t set a = 2") < place(&asked, "update t set a = 3"));
    assert!(!asked.contains(&"COMMIT".to_owned()));
    assert_eq!((tally.all_transactions(), tally.reconnects), (2, 1));
}

#[test]
fn a_session_has_what_it_set_also_after_its_connection_was_lost() {
    let statements =
        ["SET a = 1, b = 2", "SET autocommit = 1", "SET a = 3, b = 2", "BEGIN", "update t set a = 1", "SET c = 4", "COMMIT"];
    let statements = statements.into_iter().chain(["update t set a = 2", "update t set a = 3"]);
    let said: Vec<Said> = (0..).zip(statements).map(|(place, sql)| Said(1, 2 * place, 1, sql, 0, 0)).collect();
    let (asked, tally) = replayed("settings", Pace::Full, &said, |sql| match sql {
        "update t set a = 1" => Answer::Close,
        _ => Answer::Ok,
    });
    let after: Vec<&str> = asked[place(&asked, "update t set a = 1") + 1..].iter().map(String::as_str).collect();
    let expected =
        ["SET autocommit = 1", "SET a = 3, b = 2", "SET c = 4", "USE `shop`", "update t set a = 2", "update t set a = 3"];
    assert_eq!((after.as_slice(), tally.reconnects), (&expected[..], 1));
}

#[test]
fn at_a_pace_statements_come_when_they_are_due_with_the_captured_clock() {
    let said = [Said(1, 1_000, 1, "select NOW()", 0, 1), Said(1, 1_300, 1, "select 1", 0, 1)];
    let (asked, tally) =
        replayed("pace", Pace::Times(2.0), &said, |sql| if sql.starts_with("select") { rows(1) } else { Answer::Ok });
    assert_eq!(asked, ["USE `shop`", "SET timestamp=1.000000", "select NOW()", "select 1"]);
    let replay = tally.replay.as_ref().unwrap();
    let (_, last) = replay.marks.last().copied().unwrap();
    assert!(last >= 150_000_000, "{last}");
    assert_eq!((replay.counts.clocks, replay.counts.begun, replay.late.count()), (1, 2, 2));
}

#[test]
fn what_was_prepared_is_prepared_unless_the_server_cannot() {
    let said = [
        Said(1, 0, 1, "select a from t where id = 1 order by 2 /*prepared*/", 0, 1),
        Said(1, 2, 1, "select a from t where id = 7 order by 2 /*prepared*/", 0, 1),
        Said(1, 4, 1, "select a from t where id = 7 order by 2", 0, 1),
        Said(1, 6, 1, "select 1, 'not preparable' /*prepared*/", 0, 1),
        Said(1, 8, 1, "select 2, 'not preparable' /*prepared*/", 0, 1),
    ];
    let (asked, tally) =
        replayed("prepared", Pace::Full, &said, |sql| if sql.starts_with("select") { rows(1) } else { Answer::Ok });
    let prepared = "select a from t where id = ? order by 2 /*prepared*/";
    let expected = ["USE `shop`", prepared, prepared, said[2].3, said[3].3, said[4].3];
    assert_eq!(asked, expected);
    let counts = tally.replay.unwrap().counts;
    assert_eq!((counts.row_counts, counts.other_row_counts, counts.new_errors, tally.errors.len()), (5, 0, 0, 0));
}

#[test]
fn transactions_that_overlap_write_a_row_in_the_captured_order() {
    let said = [
        Said(1, 0, 1, "BEGIN", 0, 0),
        Said(2, 1, 1, "START TRANSACTION", 0, 0),
        Said(1, 3, 1, "select 1", 0, 1),
        Said(1, 5, 1, "update t set a = 1 where id = 5", 0, 0),
        Said(1, 7, 20, "COMMIT", 0, 0),
        Said(2, 6, 22, "update t set a = 2 where id = 5", 0, 0),
        Said(2, 30, 1, "COMMIT", 0, 0),
    ];
    let (asked, tally) = replayed("rows", Pace::Full, &said, |sql| match sql {
        "select 1" => Answer::After(Duration::from_millis(150), Box::new(rows(1))),
        _ => Answer::Ok,
    });
    assert!(place(&asked, said[3].3) < place(&asked, said[5].3), "{asked:?}");
    assert!(place(&asked, "START TRANSACTION") < place(&asked, "select 1") + 3, "both ran at once: {asked:?}");
    let replay = tally.replay.as_ref().unwrap();
    assert_eq!((tally.all_transactions(), replay.counts.waited), (2, 1));
    assert!(replay.waited_ns >= 1_000_000, "the update was held while the first query ran: {}", replay.waited_ns);
}

#[test]
fn a_transaction_that_waited_in_vain_for_one_row_does_not_wait_for_each_of_the_others() {
    let updates =
        |value: u32| (1..=10).map(|id| &*format!("update t set a = {value} where id = {id}").leak()).collect::<Vec<_>>();
    let (first, second) = (updates(1), updates(2));
    let mut said =
        vec![Said(1, 0, 1, "BEGIN", 0, 0), Said(2, 1, 1, "START TRANSACTION", 0, 0), Said(1, 3, 1, "select 1", 0, 1)];
    said.extend(first.iter().zip(5..).map(|(sql, at)| Said(1, at, 1, sql, 0, 0)));
    said.push(Said(1, 20, 1, "COMMIT", 0, 0));
    said.extend(second.iter().zip(22..).map(|(sql, at)| Said(2, at, 1, sql, 0, 0)));
    said.push(Said(2, 40, 1, "COMMIT", 0, 0));
    let (asked, _) = replayed("in-vain", Pace::Full, &said, |sql| match sql {
        // Ten waits take longer than this answer, one wait does not.
        "select 1" => Answer::After(Duration::from_secs(2), Box::new(rows(1))),
        _ => Answer::Ok,
    });
    assert!(place(&asked, second[9]) < place(&asked, first[0]), "{asked:?}");
}

#[test]
fn a_session_is_reset_where_it_was_and_connects_again_where_the_server_cannot_reset() {
    let said = |at, sql| Said(1, at, 1, sql, 0, 0);
    let (before, after) = (said(1, "update t set a = 1"), said(9, "update t set a = 2"));
    let records = [before.record(), Record::Reset { thread: 1, at: 5_000 }, after.record()];
    for is_known in [true, false] {
        let answer = move |sql: &str| match sql {
            RESET if !is_known => Answer::Error(1047, "Unknown command".into()),
            _ => Answer::Ok,
        };
        let (asked, tally) = replayed_records("reset", Pace::Full, &records, AutoIncrements::default(), answer);
        let asked: Vec<&str> = asked.iter().map(String::as_str).filter(|sql| !sql.starts_with("USE")).collect();
        assert_eq!(asked, ["update t set a = 1", RESET, "update t set a = 2"]);
        assert_eq!((tally.all_errors(), tally.all_transactions()), (0, 2));
    }
}
