use super::*;
use crate::replay::conflicts::Dependency;
use crate::replay::missing_begins;
use std::sync::Arc;

/// A statement that succeeded.
fn statement(sql: &str) -> Statement {
    Statement {
        sql: sql.as_bytes().into(),
        schema: None,
        is_prepared: false,
        duration: Some(1),
        error: Some(0),
        rows: Some(1),
        examined: Some(1),
        affected: None,
        clock: 0,
    }
}

/// Events as `(thread, start, end, sql, error)`; an empty text ends the session.
fn planned(from: Option<i64>, events: &[(u64, i64, i64, &str, u64)]) -> (Out, Planner) {
    planned_with(from, Begins::Logged, events)
}

fn planned_with(from: Option<i64>, begins: Begins, events: &[(u64, i64, i64, &str, u64)]) -> (Out, Planner) {
    let mut planner = Planner::new(from, Prepared::default(), begins);
    planner.relax_order(1, Arc::default());
    let mut out = Vec::new();
    for (thread, start, end, sql, error) in events {
        let statement = Statement { duration: Some(end - start), error: Some(*error), clock: *start, ..statement(sql) };
        let what = if sql.is_empty() { What::Quit } else { What::Statement(statement) };
        planner.take(Event { thread: *thread, start: *start, end: *end, what }, &mut out);
    }
    planner.finish(&mut out);
    (out, planner)
}

/// What each session does: the texts of its statements, `<n` if a transaction waits for n others, `>` and (rolled
/// back) `X` at its end.
fn texts_by_session(out: &Out) -> Vec<(u64, String)> {
    out.iter()
        .filter_map(|(session, piece)| {
            let text = match piece {
                Piece::Begin { transaction: Some(_), after, awaits, .. } => format!("<{}", after + awaits.len() as u64),
                Piece::Begin { .. } => "(".into(),
                Piece::Step(step) => String::from_utf8_lossy(&step.sql).into_owned(),
                Piece::Finish { is_rolled_back: true, .. } => "X".into(),
                Piece::Finish { .. } => ">".into(),
                Piece::Reset(_) => "R".into(),
                Piece::Connect(_) | Piece::Quit(_) | Piece::Ended(_) => return None,
            };
            Some((*session, text))
        })
        .collect()
}

fn of_session(out: &Out, number: u64) -> String {
    let texts: Vec<String> =
        texts_by_session(out).into_iter().filter(|(session, _)| *session == number).map(|(_, text)| text).collect();
    texts.join(" ")
}

#[test]
fn a_transaction_waits_for_those_that_ended_before_it_began_and_that_it_may_not_overtake() {
    let (out, _) = planned(
        None,
        &[
            (1, 10, 11, "BEGIN", 0),
            (2, 12, 15, "update t set a = 1", 0),
            (3, 14, 18, "update t set a = 2", 0),
            (1, 19, 20, "COMMIT", 0),
            (2, 20, 21, "select a from t where a = 1", 0),
            (3, 22, 23, "update t set a = 3", 0),
            (3, 24, 25, "select a from u", 0),
        ],
    );
    assert_eq!(of_session(&out, 0), "<0 BEGIN COMMIT >");
    assert_eq!(of_session(&out, 1), "<0 update t set a = 1 > <2 select a from t where a = 1 >");
    assert_eq!(of_session(&out, 2), "<0 update t set a = 2 > <3 update t set a = 3 > <0 select a from u >");
    let ended: Vec<u64> = out.iter().filter_map(|(_, p)| if let Piece::Ended(t) = p { Some(*t) } else { None }).collect();
    assert_eq!(ended, [1, 2, 0, 3, 4, 5]);
}

#[test]
fn a_transaction_waits_for_all_that_ended_long_before_and_one_that_is_long_for_all() {
    let count = SMALLEST_WINDOW + 100;
    let begin = |number: u64| 10 * i64::try_from(number).unwrap();
    let mut events: Vec<_> = (0..count).map(|each| (each % 3, begin(each), begin(each) + 5, "select a from u", 0)).collect();
    let at = begin(count);
    events.push((4, at, at + 1, "insert into t (id) values (1)", 0));
    let begins = |events: &[(u64, i64, i64, &str, u64)]| -> Vec<(u64, usize)> {
        let of = |piece: &Piece| match piece {
            Piece::Begin { after, awaits, .. } => Some((*after, awaits.len())),
            _ => None,
        };
        let all: Vec<_> = planned(None, events).0.iter().filter_map(|(_, piece)| of(piece)).collect();
        all[usize::try_from(count).unwrap()..].to_vec()
    };
    assert_eq!(begins(&events), [(count - SMALLEST_WINDOW, 0)]);
    let mut long = events.clone();
    long.extend([(4, at + 2, at + 3, "BEGIN", 0), (4, at + 4, at + 5, "insert into t (id) values (2)", 0)]);
    let last = at + 10 + LONGEST_HELD;
    long.extend([(5, last, last + 1, "select a from u", 0), (4, last + 2, last + 3, "COMMIT", 0)]);
    assert_eq!(begins(&long), [(count - SMALLEST_WINDOW, 0), (count + 1, 0), (count + 1 - SMALLEST_WINDOW, 0)]);
    events.push((4, at + 2, at + 3, "BEGIN", 0));
    let inserts = (0..).take(MOST_HELD).map(|each| (4, at + 4 + each, at + 4 + each, "insert into t (id) values (3)", 0));
    events.extend(inserts);
    assert_eq!(begins(&events), [(count - SMALLEST_WINDOW, 0), (count + 1, 0)]);
}

#[test]
fn a_deadlocks_victim_is_rolled_back_and_what_its_client_sends_then_is_another_transaction() {
    let events = [(1, 1, 2, "BEGIN", 0), (1, 3, 4, "update t set a = 1", 1213), (1, 5, 6, "BEGIN", 0), (1, 7, 8, "COMMIT", 0)];
    assert_eq!(of_session(&planned(None, &events).0, 0), "<0 BEGIN update t set a = 1 ROLLBACK X <0 BEGIN COMMIT >");
}

#[test]
fn a_client_that_vanished_and_the_end_of_the_capture_roll_back() {
    let events = [(1, 1, 2, "BEGIN", 0), (2, 1, 3, "BEGIN", 0), (2, 3, 4, "delete from t", 0), (1, 9, 9, "", 0)];
    let (out, _) = planned(None, &events);
    assert_eq!(of_session(&out, 0), "<0 BEGIN ROLLBACK X");
    assert_eq!(of_session(&out, 1), "<0 BEGIN delete from t ROLLBACK X");
}

#[test]
fn what_the_server_commits_by_itself_is_committed_before_the_next_one_waits() {
    let events = [
        (1, 1, 2, "BEGIN", 0),
        (1, 3, 4, "delete from t", 0),
        (1, 5, 6, "BEGIN", 0),
        (1, 7, 8, "alter table t add b int", 0),
        (1, 9, 10, "lock tables t write", 0),
        (1, 11, 12, "delete from t", 0),
        (1, 13, 14, "unlock tables", 0),
    ];
    let expected = "<0 BEGIN delete from t COMMIT > <0 BEGIN COMMIT > <1 alter table t add b int > \
        <2 lock tables t write delete from t unlock tables >";
    assert_eq!(of_session(&planned(None, &events).0, 0), expected);
}

#[test]
fn without_autocommit_a_transaction_lasts_until_it_is_ended() {
    let events = [
        (1, 1, 2, "SET autocommit=0", 0),
        (1, 3, 4, "update t set a = 1", 0),
        (1, 5, 6, "select 1", 0),
        (1, 7, 8, "ROLLBACK", 0),
        (1, 9, 10, "update t set a = 2", 0),
        (1, 11, 12, "SET autocommit=1", 0),
        (1, 13, 14, "SET NAMES utf8mb4", 0),
    ];
    let expected = "( SET autocommit=0 > <0 update t set a = 1 select 1 ROLLBACK X <1 update t set a = 2 SET autocommit=1 > \
        ( SET NAMES utf8mb4 >";
    assert_eq!(of_session(&planned(None, &events).0, 0), expected);
}

#[test]
fn what_cannot_be_replayed_is_left_out_and_counted() {
    let events = [
        (1, 1, 2, "XA START 'a'", 0),
        (1, 3, 4, "update t set a = 1", 0),
        (1, 5, 6, "XA COMMIT 'a' ONE PHASE", 0),
        (1, 7, 8, "select get_lock('a', 1)", 0),
        (1, 9, 10, "select uuid()", 0),
    ];
    let (out, planner) = planned(None, &events);
    assert_eq!(of_session(&out, 0), "<0 select uuid() >");
    let skipped: Vec<(Obstacle, u64)> = planner.omissions.skipped.into_iter().collect();
    assert_eq!((skipped, planner.omissions.random), (vec![(Obstacle::Xa, 3), (Obstacle::NamedLock, 1)], 1));
}

#[test]
fn transactions_that_ended_before_a_backup_are_left_out_and_those_that_ended_later_are_whole() {
    let events = [
        (1, 1, 2, "BEGIN", 0),
        (2, 1, 2, "SET NAMES latin1", 0),
        (2, 3, 4, "update t set a = 2", 0),
        (1, 3, 5, "update t set a = 1", 0),
        (1, 11, 12, "COMMIT", 0),
        (2, 13, 14, "update t set a = 3", 0),
    ];
    let (out, _) = planned(Some(10), &events);
    assert_eq!(of_session(&out, 0), "<0 BEGIN update t set a = 1 COMMIT >");
    assert_eq!(of_session(&out, 1), "( SET NAMES latin1 > <1 update t set a = 3 >");
}

#[test]
fn the_captured_clock_and_rows_are_kept_where_they_matter() {
    let events = [(1, 7, 8, "insert into t values (NOW())", 0), (1, 9, 10, "select 1", 0)];
    let (out, _) = planned(None, &events);
    let steps: Vec<(Option<i64>, Option<u64>)> =
        out.iter().filter_map(|(_, p)| if let Piece::Step(s) = p { Some((s.clock, s.rows)) } else { None }).collect();
    assert_eq!(steps, [(Some(7), None), (None, Some(1))]);
}

#[test]
fn without_durations_a_transaction_ended_once_its_session_went_on() {
    let mut planner = Planner::new(None, Prepared::default(), Begins::Logged);
    planner.relax_order(1, Arc::default());
    let mut out = Vec::new();
    for (thread, start, sql) in
        [(1, 10, "update t set a = 1"), (2, 20, "select 1"), (1, 30, "select 2"), (2, 40, "select 3 from t where a = 1")]
    {
        let statement = Statement {
            sql: sql.as_bytes().into(),
            schema: None,
            is_prepared: false,
            duration: None,
            error: None,
            rows: None,
            examined: None,
            affected: None,
            clock: start,
        };
        planner.take(Event { thread, start, end: start, what: What::Statement(statement) }, &mut out);
    }
    assert_eq!(of_session(&out, 0), "<0 update t set a = 1 > <0 select 2 >");
    assert_eq!(of_session(&out, 1), "<0 select 1 > <1 select 3 from t where a = 1 >");
}

#[test]
fn a_statement_waits_for_those_that_locked_its_row_before_it_though_the_log_has_their_end_behind_its_own() {
    let (out, _) = planned(
        None,
        &[
            (1, 1, 2, "BEGIN", 0),
            (2, 1, 3, "BEGIN", 0),
            (3, 1, 4, "BEGIN", 0),
            (1, 3, 5, "update t set a = 1 where id = 7", 0),
            (1, 6, 20, "COMMIT", 0),
            (2, 7, 19, "update t set a = 2 where id = 7", 0),
            (3, 7, 22, "select a from t where id = 8 for update", 0),
            (3, 23, 24, "ROLLBACK", 0),
            (2, 25, 26, "update t set a = 3 where id = 8", 0),
            (2, 27, 28, "COMMIT", 0),
            (3, 29, 30, "delete from t where id = 7", 0),
        ],
    );
    let waits: Vec<(String, Vec<Dependency>)> = out
        .iter()
        .filter_map(|(_, piece)| if let Piece::Step(step) = piece { Some(step) } else { None })
        .filter(|step| !step.dependencies.is_empty())
        .map(|step| (String::from_utf8_lossy(&step.sql).into_owned(), step.dependencies.to_vec()))
        .collect();
    let one = |sql: &str, transaction| (sql.to_owned(), vec![Dependency { transaction, statements: 2 }]);
    assert_eq!(waits, [one("update t set a = 2 where id = 7", 0), one("update t set a = 3 where id = 8", 2)]);
}

#[test]
fn a_begin_that_the_log_lacks_is_put_before_what_is_mostly_part_of_transactions() {
    let whole = [(1, 1, 2, "BEGIN", 0), (1, 3, 4, "update t set a = 1", 0), (1, 5, 6, "COMMIT", 0)];
    let without_begin = [(1, 11, 12, "update t set a = 2", 0), (1, 13, 14, "delete from t", 0), (1, 15, 16, "COMMIT", 0)];
    let alone = [(1, 21, 22, "select 1", 0), (1, 23, 24, "update t set a = 3", 0), (2, 25, 26, "select 2", 0)];
    let events = [&whole[..], &without_begin, &alone, &[(1, 31, 31, "", 0), (2, 32, 32, "", 0)]].concat();
    assert_eq!(
        of_session(&planned(None, &events).0, 0),
        "<0 BEGIN update t set a = 1 COMMIT > <1 update t set a = 2 > <2 delete from t > ( COMMIT > <0 select 1 > \
         <3 update t set a = 3 >"
    );
    let (_, learned) = planned_with(None, Begins::Learned(missing_begins::Learner::default()), &events);
    let (out, planner) = planned_with(None, Begins::Inferred(Arc::new(learned.begins())), &events);
    assert_eq!(
        of_session(&out, 0),
        "<0 BEGIN update t set a = 1 COMMIT > <1 BEGIN update t set a = 2 delete from t COMMIT > <0 select 1 > \
         <2 BEGIN update t set a = 3 ROLLBACK X"
    );
    assert_eq!(of_session(&out, 1), "<0 select 2 >");
    assert_eq!(planner.omissions.begins_added, 2);
}

#[test]
fn the_moment_of_a_backup_is_seen_in_its_own_statements() {
    let (_, planner) = planned(
        None,
        &[
            (1, 1, 2, "FLUSH /*!40101 LOCAL */ TABLES", 0),
            (1, 3, 4, "FLUSH TABLES WITH READ LOCK", 0),
            (2, 4, 5, "update t set a = 1", 0),
            (1, 5, 6, "START TRANSACTION /*!40100 WITH CONSISTENT SNAPSHOT */", 0),
            (1, 7, 8, "UNLOCK TABLES", 0),
            (3, 9, 10, "BACKUP STAGE START", 0),
            (3, 11, 12, "BACKUP STAGE BLOCK_COMMIT", 0),
            (3, 13, 14, "BACKUP STAGE END", 0),
            (4, 15, 16, "SELECT server_uuid, storage_engines FROM performance_schema.log_status", 0),
            (5, 17, 18, "START TRANSACTION", 0),
        ],
    );
    let moments: Vec<(i64, Moment)> = planner.backups.iter().map(|backup| (backup.at, backup.by)).collect();
    assert_eq!(moments, [(6, Moment::ConsistentSnapshot), (12, Moment::BlockCommit), (16, Moment::LogStatus)]);
}

#[test]
fn transactions_of_sessions_with_the_same_settings_may_be_exchanged_unless_one_uses_something_else_of_its_session() {
    /// The settings of the transactions of each session.
    fn settings(sessions: &[&[&str]]) -> Vec<Vec<Option<u64>>> {
        let mut settings = vec![Vec::new(); sessions.len()];
        let mut bound = Arc::default();
        for _ in 0..2 {
            // The first pass learns which sessions are bound.
            settings.iter_mut().for_each(Vec::clear);
            let (mut planner, mut out) = (Planner::default(), Vec::new());
            planner.relax_order(1, Arc::clone(&bound));
            for (thread, sql) in (0..).zip(sessions).flat_map(|(thread, all)| all.iter().map(move |sql| (thread, sql))) {
                let schema = (!sql.starts_with("update no_schema")).then(|| b"shop"[..].into());
                let statement = Statement { schema, ..statement(sql) };
                planner.take(Event { thread, start: 1, end: 2, what: What::Statement(statement) }, &mut out);
            }
            planner.finish(&mut out);
            for (session, piece) in &out {
                if let Piece::Begin { transaction: Some(_), settings: one, .. } = piece {
                    settings[usize::try_from(*session).unwrap()].push(*one);
                }
            }
            bound = Arc::new(planner.uses_session);
        }
        settings
    }
    let query = "select a, @@sql_mode from t where id = 1";
    let all = settings(&[
        &[query, "begin", query, "commit"],
        &["set names latin1", "set sql_mode = ''", query],
        &["set sql_mode = 'ANSI'", query, "set sql_mode = ''", "use shop", "set names latin1", "show tables", query],
    ]);
    assert!(all.iter().flatten().all(Option::is_some), "{all:?}");
    assert_eq!((all[0][0], all[1][0]), (all[0][1], all[2][1]));
    assert!(all[0][0] != all[1][0] && all[1][0] != all[2][0], "{all:?}");
    for bound in [
        "set @a = 1",
        "insert into t values (@a)",
        "select last_insert_id()",
        "select @@identity",
        "create temporary table u (a int)",
        "call anything()",
        "set transaction isolation level serializable",
        "update no_schema set a = 1",
        "begin; -- and",
    ] {
        let statements = if bound.starts_with("begin") { vec!["begin", "set names latin1", "commit"] } else { vec![bound] };
        let all = settings(&[&[&[query], &statements[..]].concat(), &[query]]);
        assert!(all[0].iter().all(Option::is_none) && all[1][0].is_some(), "{bound}: {all:?}");
    }
}

#[test]
fn what_set_statement_executes_is_ordered_like_any_other_statement() {
    let insert = "SET STATEMENT max_statement_time=5 FOR INSERT INTO p VALUES (10,0)";
    let update = "SET STATEMENT max_statement_time=10 FOR UPDATE p SET n=n+10 WHERE id IN (4, 10)";
    let events = [(1, 10, 11, insert, 0), (2, 20, 21, update, 0), (3, 30, 31, "UPDATE p SET n=1 WHERE id=4", 0)];
    let (out, _) = planned(None, &events);
    assert_eq!(of_session(&out, 0), format!("<0 {insert} >"));
    assert_eq!(of_session(&out, 1), format!("<1 {update} >"));
    assert_eq!(of_session(&out, 2), "<2 UPDATE p SET n=1 WHERE id=4 >");
}

#[test]
fn a_session_that_began_with_autocommit_off_or_in_a_transaction_begins_so_in_a_replay() {
    let texts = |start| {
        let (mut planner, mut out) = (Planner::new(None, Prepared::default(), Begins::Logged), Vec::new());
        let sets = if start == Start::Off { vec!["SET SESSION time_zone = 'UTC'".to_owned()] } else { vec![] };
        planner.take(Event { thread: 1, start: 1, end: 1, what: What::Connect(start, sets) }, &mut out);
        for (at, sql) in [(2, "update t set a = 1"), (3, "update t set a = 2"), (4, "commit"), (5, "update t set a = 3")] {
            planner.take(Event { thread: 1, start: at, end: at, what: What::Statement(statement(sql)) }, &mut out);
        }
        planner.take(Event { thread: 1, start: 6, end: 6, what: What::Reset }, &mut out);
        of_session(&out, 0)
    };
    let both = "update t set a = 1 update t set a = 2 commit";
    let last = "update t set a = 3";
    assert_eq!(
        texts(Start::Off),
        format!("( SET autocommit = 0 SET SESSION time_zone = 'UTC' > <0 {both} > <1 {last} ROLLBACK X R")
    );
    assert_eq!(texts(Start::InTransaction), format!("<0 BEGIN {both} > <1 {last} > R"));
    assert_eq!(texts(Start::On), format!("<0 update t set a = 1 > <1 update t set a = 2 > ( commit > <2 {last} > R"));
}
