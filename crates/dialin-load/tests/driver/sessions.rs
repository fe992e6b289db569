//! Logs of sessions that are hard to follow, each with what it has: its transactions, and those that were rolled back.

use crate::capture::{Directory, recorded};
use dialin_load::capture::class::Obstacle;
use dialin_load::capture::summary::{Shape, Summary};
use dialin_load::capture::{Request, capture};
use dialin_load::replay::{self, AutoIncrements, Facts, Pace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a log has, as the capture's summary and as the plan of its replay.
struct Case {
    summary: Summary,
    facts: Facts,
}

impl Case {
    /// Reads a log of `capture/cases`.
    fn of(log: &str) -> Self {
        Self::with(log, None, None)
    }

    /// Reads it with a list of the sessions that were open, and with what was decided about the others.
    fn with(log: &str, sessions: Option<&str>, autocommit: Option<bool>) -> Self {
        let name = format!("{}-{}-{}", log.replace('/', "-"), sessions.is_some(), autocommit.is_some());
        let directory = Directory::new(&name);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/capture/cases").join(log);
        let list = sessions.map(|text| (directory.0.join("sessions.json"), text));
        list.iter().for_each(|(path, text)| fs::write(path, text).unwrap());
        let out = directory.0.join("out");
        let sessions = list.map(|(path, _)| path);
        let request = Request { logs: vec![path], sessions, autocommit, out: out.clone(), ..Request::default() };
        let summary = capture(&request).unwrap();
        let request = replay::Request { directory: out, pace: Pace::Full, from: None };
        let facts = Facts::of(&request, AutoIncrements::default()).unwrap();
        let not_replayed: BTreeMap<Obstacle, u64> =
            summary.not_replayed.iter().map(|group| (group.reason, group.statements)).collect();
        assert_eq!(facts.omissions.skipped, not_replayed, "the plan and the summary differ");
        Self { summary, facts }
    }

    /// The transactions that were committed, that were rolled back, and that have no end in the log. The plan has as many.
    fn transactions(&self) -> (u64, u64, u64) {
        let sum = |count: fn(&Shape) -> u64| self.summary.transactions.iter().map(count).sum::<u64>();
        let (all, rolled_back, open) = (sum(|one| one.transactions), sum(|one| one.rolled_back), sum(|one| one.unfinished));
        assert_eq!(self.facts.transactions, all, "the plan and the summary differ");
        (all - rolled_back - open, rolled_back, open)
    }
}

#[test]
fn autocommit_that_was_off_before_the_log_is_inferred_from_what_ends_changes() {
    let case = Case::of("01-autocommit-off-before-the-log/slow.log");
    assert_eq!(case.transactions(), (1, 1, 0));
    assert_eq!((case.summary.autocommit.inferred_off, case.summary.autocommit.off, case.summary.autocommit.unknown), (1, 1, 0));
}

#[test]
fn what_the_server_said_comes_before_what_was_decided_and_that_before_what_is_inferred() {
    let log = "01-autocommit-off-before-the-log/slow.log";
    let listed = |autocommit: &str, id| {
        let session = format!(r#"{{"id":{id},"autocommit":{autocommit},"in_transaction":false}}"#);
        format!(r#"{{"schema":"dialin/capture-sessions/1","autocommit":true,"sessions":[{session}]}}"#)
    };
    for (sessions, autocommit, transactions) in [
        (None, Some(true), (4, 0, 0)),
        (None, Some(false), (1, 1, 0)),
        (Some(listed("true", 8)), Some(false), (4, 0, 0)),
        (Some(listed("false", 8)), Some(true), (1, 1, 0)),
        (Some(listed("null", 8)), Some(true), (4, 0, 0)),
        (Some(listed("null", 8)), None, (1, 1, 0)),
        // A session that is not in the list began after it was read.
        (Some(listed("false", 7)), None, (4, 0, 0)),
    ] {
        let case = Case::with(log, sessions.as_deref(), autocommit);
        assert_eq!(case.transactions(), transactions, "{sessions:?} {autocommit:?}");
    }
}

#[test]
fn a_reset_session_rolls_back_and_begins_again() {
    let case = Case::of("02-reset-connection/slow.log");
    assert_eq!(case.transactions(), (3, 1, 0));
    assert_eq!((case.facts.sessions, case.summary.sessions), (1, 1));
}

#[test]
fn xa_recover_reads_only() {
    let case = Case::of("03-xa-recover/slow.log");
    assert_eq!((case.transactions(), case.facts.statements), ((3, 0, 0), 3));
    assert_eq!(case.facts.omissions.skipped, BTreeMap::from([(Obstacle::Xa, 1)]));
}

#[test]
fn autocommit_is_set_in_every_form() {
    for letter in 'a'..='h' {
        let case = Case::of(&format!("04-set-autocommit-in-a-list/{letter}.log"));
        assert_eq!(case.transactions(), (0, 1, 0), "{letter}");
    }
}

#[test]
fn a_chained_transaction_begins_at_once() {
    let case = Case::of("05-commit-and-chain/slow.log");
    assert_eq!(case.transactions(), (1, 1, 0));
}

#[test]
fn what_set_statement_executes_counts() {
    let case = Case::of("06-mariadb-set-statement/slow.log");
    assert_eq!(case.transactions(), (2, 0, 0));
}

#[test]
fn a_packet_of_several_statements_is_several_statements() {
    let case = Case::of("07-mariadb-general-log-multi-statement/general.log");
    assert_eq!((case.transactions(), case.facts.statements), ((4, 0, 0), 6));
}

#[test]
fn what_follows_in_a_packet_of_several_statements_is_not_prepared() {
    let case = Case::of("08-mysql-multi-statement-counts-as-prepared/slow.log");
    assert_eq!(case.transactions(), (4, 0, 0));
    let prepared: u64 = case.summary.digests.iter().map(|digest| digest.prepared).sum();
    assert_eq!((prepared, case.facts.templates.prepared), (0, 0));
}

#[test]
fn a_commit_or_rollback_without_a_transaction_is_none() {
    let case = Case::of("20-lone-rollbacks/slow.log");
    assert_eq!(case.transactions(), (1, 1, 0));
    assert_eq!(case.facts.statements, 7, "they are replayed all the same");
}

/// What a session may send, also in one packet.
const STATEMENTS: [&str; 14] = [
    "update p set n = n + 1 where id = 1",
    "select n from p where t = ';'",
    "insert into p values (1, 'a;b'), (2, \"c\")",
    "begin",
    "commit",
    "rollback",
    "commit and chain",
    "set autocommit = 0",
    "set names utf8mb4, autocommit = 1",
    "set statement max_statement_time=1 for update p set n = 1",
    "alter table p add m int",
    "lock tables p write",
    "unlock tables",
    "xa recover",
];

proptest! {
    #[test]
    fn a_session_has_the_same_transactions_however_its_statements_are_sent_in_packets(
        numbers in prop::collection::vec((0..STATEMENTS.len(), any::<bool>()), 1..40),
    ) {
        let log = |packets: &[String]| {
            let entries: String = packets.iter().map(|packet| format!("\t\t    8 Query\t{packet}\n")).collect();
            let (_, summary) = recorded(format!("261128 10:00:01\t    8 Connect\tapp@localhost on shop\n{entries}").as_bytes());
            let summary = serde_json::to_value(summary).unwrap();
            ["transactions", "autocommit", "digests", "not_replayed"].map(|part| summary[part].clone())
        };
        let single: Vec<String> = numbers.iter().map(|(number, _)| STATEMENTS[*number].to_owned()).collect();
        let mut packets: Vec<String> = Vec::new();
        for (sql, (_, follows)) in single.iter().zip(&numbers) {
            match packets.last_mut() {
                Some(packet) if *follows => *packet += &format!("; /* then */ {sql}"),
                _ => packets.push(sql.clone()),
            }
        }
        prop_assert_eq!(log(&single), log(&packets));
    }
}
