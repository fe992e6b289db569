//! Tests with log lines as four builds of servers write them: the examples of the documentation, and lines that are
//! hard to parse.

use dialin_load::capture::digest::Digester;
use dialin_load::capture::entry::{Entry, Event, MAX_STATEMENT, Schema, Unread};
use dialin_load::capture::general_log::{Columns, GeneralLog};
use dialin_load::capture::recorder::{Recorder, Source};
use dialin_load::capture::slow_log::SlowLog;
use dialin_load::capture::summary::Summary;
use dialin_load::capture::{Request, STATEMENTS, SUMMARY, capture, format};
use proptest::prelude::*;
use std::fs;
use std::io::{BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const EXTRA: &str = include_str!("capture/mysql-9.7-extra.log");
const PLAIN: &[u8] = include_bytes!("capture/mysql-9.7.log");
const MARIADB: &[u8] = include_bytes!("capture/mariadb-10.11.log");
const OLD: &str = include_str!("capture/mysql-5.6.log");
const GENERAL: &str = include_str!("capture/mysql-9.7-general.log");
const OLD_GENERAL: &str = include_str!("capture/mysql-5.6-general.log");

/// Returns a file in pieces of this many bytes.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(self.1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

/// An entry as text: session, time in seconds, event, and details of the event.
fn described(entry: &Entry<'_>) -> String {
    let what = match &entry.event {
        Event::Connect { schema } => format!("connect {}", String::from_utf8_lossy(schema.unwrap_or(b"-"))),
        Event::Refused => "refused".into(),
        Event::Command { name, argument } => {
            format!("command {} {}", String::from_utf8_lossy(name), String::from_utf8_lossy(argument)).trim_end().into()
        }
        Event::Statement(statement) => {
            let schema = match statement.schema {
                Schema::Known(schema) => String::from_utf8_lossy(schema).into_owned(),
                Schema::Session => "?".into(),
            };
            let routine = if statement.in_routine { " in a routine" } else { "" };
            format!("{:?} in {schema}{routine}: {}", statement.protocol, statement.sql.escape_ascii())
        }
    };
    let thread = entry.thread.map_or("-".into(), |thread| thread.to_string());
    let start = entry.start.map_or("-".into(), |start| format!("{:.6}", start as f64 / 1e6));
    format!("{thread} {start} {what}")
}

fn slow(log: &[u8]) -> (Vec<String>, Unread) {
    let (mut log, mut entries) = (SlowLog::new(Pieces(log, 7)), vec![]);
    while let Some(entry) = log.next_entry().unwrap() {
        entries.push(described(&entry));
    }
    (entries, log.about().unread)
}

fn general(log: &[u8]) -> (Vec<String>, Unread) {
    let (mut log, mut entries) = (GeneralLog::new(Pieces(log, 7), Columns::Tabs), vec![]);
    while let Some(entry) = log.next_entry().unwrap() {
        entries.push(described(&entry));
    }
    (entries, log.about().unread)
}

#[test]
fn mysql_with_extra_says_start_error_and_size() {
    let (entries, unread) = slow(EXTRA.as_bytes());
    assert_eq!(
        entries,
        [
            "24 1795413685.834397 Bytes(34) in ?: select id,a from p where id=1",
            "24 1795413685.840000 Bytes(26) in t: select id, a from p where id = 1 and a",
            "24 1795413685.842000 command Quit",
        ]
    );
    assert_eq!(unread, Unread::default());
    let mut log = SlowLog::new(EXTRA.as_bytes());
    let Some(Entry { event: Event::Statement(statement), .. }) = log.next_entry().unwrap() else { panic!("no statement") };
    let figures = statement.figures;
    assert_eq!(
        (figures.duration, figures.rows_sent, figures.rows_examined, figures.error),
        (Some(560), Some(1), Some(1), Some(0))
    );
    assert_eq!(log.about().server.as_deref(), Some("9.7.4"));
}

#[test]
fn mysql_without_extra_has_ends_raw_bytes_and_headers_in_text() {
    let (entries, unread) = slow(PLAIN);
    assert_eq!(entries, [
        // The end is 01:26.000000, and it took half a second.
        "7 1795413685.500000 command Prepare",
        r"7 1795413686.000000 Unknown in t: select * from p where id = 1 and a <> \'o\\\'x\\nnew\'",
        r"7 1795413686.000000 Unknown in t: insert into p(a) values (\'\\0\xff\xfe caf\xe9\')",
        r"8 1795413686.000000 Unknown in u: insert into p(a) values (\'\n# Time: 2020-01-01T00:00:00.000000Z\n# User@Host: evil[evil] @ localhost []  Id:     1\n# Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795413686;\ndrop table p;\n# Time: 2020-01-01T00:00:00.000000Z\n\')",
        "7 1795413686.000000 Unknown in u: select 1 -- it's\\n",
        // After the log was flushed.
        "7 1795413687.000000 Unknown in t: CREATE USER IF NOT EXISTS \\'u1\\'@\\'localhost\\' IDENTIFIED BY <secret>",
    ].map(|line| line.replace("it's", "it\\'s")));
    assert_eq!(unread, Unread::default());
}

#[test]
fn what_mysql_executes_after_preparing_it_is_prepared_without_extra_too() {
    let prepared = |log| {
        let (_, summary) = recorded(log);
        let digests = summary.digests.into_iter().filter(|digest| digest.prepared > 0);
        digests.map(|digest| (digest.digest, digest.prepared)).collect::<Vec<_>>()
    };
    assert_eq!(prepared(PLAIN), [("select * from p where id = ? and a != ?".to_owned(), 1)]);
    assert_eq!(prepared(OLD.as_bytes()), []);
}

#[test]
fn mariadb_says_its_schema_and_logs_what_it_could_not_parse() {
    let (entries, unread) = slow(MARIADB);
    assert_eq!(
        entries,
        [
            "8 1795413580.000000 Text in t: drop table if exists p",
            "9 1795413580.000000 Prepared in : select * from p where id > 1",
            r"8 1795413581.000000 Text in t: select * from p where a = \'O\'Brien\'",
            "8 1795413581.000000 Text in t in a routine: select 2",
            r"8 1795413581.000000 Text in t: insert into p values (\';\n# Time: 200101  5:59:40\n# User@Host: evil[evil] @ localhost []\n\')",
        ]
    );
    assert_eq!(unread, Unread { open_quotes: 1, ..Unread::default() });
}

#[test]
fn mysql_5_6_writes_the_time_only_where_the_second_changes() {
    let (entries, _) = slow(OLD.as_bytes());
    assert_eq!(entries, ["6 1795413583.000000 command Init DB", "6 1795413583.000000 Unknown in t: select 1"]);
}

#[test]
fn general_logs_have_sessions_and_no_figures() {
    let (entries, unread) = general(GENERAL.as_bytes());
    assert_eq!(
        entries,
        [
            "15 1795413576.170824 connect t",
            "14 1795413576.138976 command Quit",
            "18 1795413576.294371 command Prepare",
            r"18 1795413576.294380 Prepared in ?: select * from p where id = 1 and a <> \'o\\\'x\\nnew\'",
            r"18 1795413576.300000 Text in ?: insert into p values (\'\n2020-01-01T00:00:00.000000Z\t    1 Query\tdrop table p\n\')",
            r"18 1795413576.400000 Text in ?: select \'O\'Brien\'",
            "19 1795413576.500000 refused",
            "18 1795413576.600000 command Init DB u",
        ]
    );
    assert_eq!(unread, Unread { cut_off: 1, ..Unread::default() });
}

#[test]
fn general_logs_of_5_6_leave_out_times() {
    let (entries, _) = general(OLD_GENERAL.as_bytes());
    assert_eq!(entries, ["6 1795413583.000000 connect -", "6 1795413583.000000 Text in ?: SET NAMES utf8mb4"]);
}

#[test]
fn a_log_may_begin_and_end_anywhere() {
    for begin in 0..EXTRA.len() {
        let (entries, _) = slow(&EXTRA.as_bytes()[begin..]);
        assert!(entries.len() <= 3 && entries.iter().all(|entry| entry.starts_with("24 ")), "{begin}: {entries:?}");
        let (entries, unread) = slow(&EXTRA.as_bytes()[..begin]);
        assert!(entries.len() <= 3 && unread.cut_off <= 1, "{begin}: {entries:?}");
    }
}

/// The records and the summary of a log.
pub(crate) fn recorded(log: &[u8]) -> (String, Summary) {
    let (mut recorder, mut records) = (Recorder::default(), vec![]);
    let mut slow = SlowLog::new(log);
    let mut count = 0;
    while let Some(entry) = slow.next_entry().unwrap() {
        recorder.take(&entry, &mut records);
        count += 1;
    }
    if count == 0 {
        let mut general = GeneralLog::new(log, Columns::Tabs);
        while let Some(entry) = general.next_entry().unwrap() {
            recorder.take(&entry, &mut records);
        }
    }
    let header = format::Header {
        schema: format::SCHEMA.into(),
        server: None,
        source: "slow".into(),
        clock: Some("second"),
        lack: None,
        sampling: None,
        sql_mode: None,
        time_zone: None,
        questions: None,
        statements: recorder.statements(),
    };
    (String::from_utf8_lossy(&records).into_owned(), recorder.finish(header, &Source::default()))
}

#[test]
fn records_are_those_of_the_documents() {
    let (records, summary) = recorded(EXTRA.as_bytes());
    assert_eq!(
        records,
        "C 24 1795413685.834397\n\
         S 24 1795413685.834397 d=560 p=t e=0 r=1 x=1 l=29\n\
         select id,a from p where id=1\n\
         S 24 1795413685.840000 d=100 p=b e=0 r=0 x=1 db=t l=38\n\
         select id, a from p where id = 1 and a\n\
         Q 24 1795413685.842000\n"
    );
    assert_eq!((summary.sessions, summary.questions_logged, summary.capture.statements), (1, 3, 2));
}

#[test]
fn statements_about_accounts_are_never_written() {
    let secret = "hunter2";
    for sql in [
        "CREATE USER u IDENTIFIED BY 'hunter2'",
        "/* app */ create or replace user u identified by 'hunter2'",
        "/*!50000 ALTER USER u IDENTIFIED BY 'hunter2' */",
        "GRANT ALL ON *.* TO u IDENTIFIED BY 'hunter2'",
        "SET PASSWORD FOR u = 'hunter2'",
        "set password = password('hunter2')",
        "UPDATE accounts SET hash = PASSWORD ('hunter2')",
        "CHANGE MASTER TO MASTER_PASSWORD='hunter2'",
        "START REPLICA USER='r' PASSWORD='hunter2'",
        "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'hunter2')",
        "select 1; set password = 'hunter2'",
        "PREPARE s FROM 'CREATE USER u IDENTIFIED BY ''hunter2'''",
        "EXECUTE IMMEDIATE 'SET PASSWORD = ''hunter2'''",
    ] {
        let log = format!("2026-11-23T05:59:36.170824Z\t   15 Query\t{sql}\n");
        let (records, summary) = recorded(log.as_bytes());
        let all = records + &serde_json::to_string(&summary).unwrap();
        let others = sql.matches("; ").count() as u64;
        assert!(
            !all.contains(secret) && summary.capture.statements == others && summary.not_replayed.len() == 1,
            "{sql}: {all}"
        );
    }
    for sql in ["create table user (password char(9))", "select password from users", "update t set password = 'hunter2'"] {
        let (records, _) = recorded(format!("2026-11-23T05:59:36.170824Z\t   15 Query\t{sql}\n").as_bytes());
        assert!(records.contains(sql), "{sql}");
    }
}

#[test]
fn a_summary_has_no_values() {
    for log in [PLAIN, MARIADB, EXTRA.as_bytes(), GENERAL.as_bytes()] {
        let text = serde_json::to_string(&recorded(log).1).unwrap();
        for value in ["x\\nnew", "caf", "evil", "secret"] {
            assert!(!text.contains(value), "{value}: {text}");
        }
    }
}

#[test]
fn a_statement_and_the_servers_own_text_of_it_have_one_digest() {
    for (sql, server, digest) in [
        ("SELECT c FROM sbtest1 WHERE id=-5", "SELECT `c` FROM `sbtest1` WHERE `id` = ?", "select c from sbtest1 where id = ?"),
        ("UPDATE t SET k=k+1, b='it''s' /* x */", "UPDATE `t` SET `k` = `k` + ? , `b` = ?", "update t set k = k + ?, b = ?"),
        ("insert into t values (1,'a'),(2,NULL)", "INSERT INTO `t` VALUES (...) /* , ... */", "insert into t values (...)"),
        ("select * from t where a in (1)", "SELECT * FROM `t` WHERE `a` IN (...)", "select * from t where a in (...)"),
        ("select 1 from t limit 5, 10", "SELECT ? FROM `t` LIMIT ?, ...", "select ? from t limit ?, ..."),
        (
            "select a.b, @x, @@session.y from `a`",
            "SELECT `a` . `b` , @ `x` , @@SESSION . `y` FROM `a`",
            "select a.b, @x, @@session.y from a",
        ),
        ("select distinct a from t -- end", "SELECT DISTINCTROW `a` FROM `t`", "select distinct a from t"),
        ("select x'41', 0xff, 1e5, a is null", "SELECT ?, ... , `a` IS NULL", "select ?, ..., a is null"),
    ] {
        let mut digester = Digester::default();
        for text in [sql, server] {
            assert_eq!(String::from_utf8_lossy(digester.digest(text.as_bytes()).0), digest, "{text}");
        }
    }
}

pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dialin-load-capture-{test}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_capture_is_a_directory_that_only_its_owner_reads() {
    let directory = Directory::new("private");
    let log = directory.0.join("slow.log");
    fs::write(&log, EXTRA).unwrap();
    let out = directory.0.join("shop.capture");
    let request = Request { logs: vec![log], out: out.clone(), ..Request::default() };
    capture(&request).unwrap();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&out), 0o700);
    let mut names: Vec<String> =
        fs::read_dir(&out).unwrap().map(|each| each.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [STATEMENTS, SUMMARY]);
    names.iter().for_each(|name| assert_eq!(mode(&out.join(name)), 0o600));
    let unpacked = zstd::Decoder::new(fs::File::open(out.join(STATEMENTS)).unwrap()).unwrap();
    let (header, mut reader) = format::Reader::open(BufReader::new(unpacked)).unwrap();
    assert_eq!(
        (&header["source"], &header["statements"], &header["clock"]),
        (&"slow+extra".into(), &2.into(), &"microsecond".into())
    );
    let mut records = 0;
    while reader.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!(records, 4);
    assert!(capture(&request).unwrap_err().what.contains("exists"));
    let forgetful = Request { out: directory.0.join("figures.capture"), forget_text: true, ..request };
    assert_eq!(capture(&forgetful).unwrap().capture.statements, 2);
    assert!(!forgetful.out.join(STATEMENTS).exists() && forgetful.out.join(SUMMARY).exists());
}

#[test]
fn recorded_times_show_when_statements_began_if_a_log_has_seconds() {
    let directory = Directory::new("timed");
    let entry = |sql: &str| {
        format!(
            "# User@Host: root[root] @ localhost []\n# Thread_id: 8  Schema: t  QC_hit: No\n# Query_time: 0.000100  Lock_time: 0.000000  \
            Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795413580;\n{sql};\n"
        )
    };
    let begins = |line: &str, at: &str| line.starts_with(&format!("S 8 {at}")) || line.starts_with(&format!("S 6 {at}"));
    let slow = ["select 1", "select 22"].map(entry);
    let general = ["261123  5:59:40\t    6 Query\tselect 1\n", "\t\t    6 Query\tselect 22\n"].map(String::from);
    // A statement is written to the slow log when it ends, and to the general log when it begins.
    for (name, log, starts) in [
        ("slow", slow, ["1795413580.249900", "1795413580.749900"]),
        ("general", general, ["1795413580.250000", "1795413580.750000"]),
    ] {
        let (path, times) = (directory.0.join(name), directory.0.join(format!("{name}.times")));
        let (first, both) = (log[0].len(), log[0].len() + log[1].len());
        fs::write(&path, log.concat()).unwrap();
        let recorded_times =
            format!("1795413580200000 0\n1795413580250000 {first}\n1795413580700000 {first}\n1795413580750000 {both}\n");
        fs::write(&times, recorded_times).unwrap();
        let out = directory.0.join(format!("{name}.capture"));
        let request = Request { logs: vec![path.clone()], times: Some(times), out: out.clone(), ..Request::default() };
        let summary = capture(&request).unwrap();
        assert_eq!((summary.capture.statements, summary.capture.clock), (2, Some("microsecond")));
        let mut text = String::new();
        zstd::Decoder::new(fs::File::open(out.join(STATEMENTS)).unwrap()).unwrap().read_to_string(&mut text).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("S ")).collect();
        assert!(lines.len() == 2 && begins(lines[0], starts[0]) && begins(lines[1], starts[1]), "{lines:?}");
        let of_two = Request { logs: vec![path.clone(), path], out: directory.0.join("none"), ..request };
        assert!(capture(&of_two).unwrap_err().what.contains("--times"));
    }
}

#[test]
fn both_logs_give_sessions_from_one_and_figures_from_the_other() {
    let directory = Directory::new("both");
    let (slow, general) = (directory.0.join("slow.log"), directory.0.join("general.log"));
    fs::write(&slow, EXTRA).unwrap();
    let lines = "2026-11-23T06:01:25.834228Z\t   24 Connect\troot@localhost on t using SSL/TLS\n\
        2026-11-23T06:01:25.834300Z\t    3 Query\tselect 'open before'\n\
        2026-11-23T06:01:25.834397Z\t   24 Query\tselect id,a from p where id=1\n\
        2026-11-23T06:01:25.840000Z\t   24 Execute\tselect id, a from p where id = 1 and a\n\
        2026-11-23T06:01:25.842000Z\t   24 Quit\t\n";
    fs::write(&general, lines).unwrap();
    for logs in [vec![slow.clone(), general.clone()], vec![general.clone(), slow.clone()]] {
        let out = directory.0.join(format!("{}.capture", logs[0].file_stem().unwrap().display()));
        let summary = capture(&Request { logs, out: out.clone(), ..Request::default() }).unwrap();
        assert_eq!((summary.sessions, summary.capture.statements, summary.questions_logged), (2, 3, 4));
        let mut text = String::new();
        zstd::Decoder::new(fs::File::open(out.join(STATEMENTS)).unwrap()).unwrap().read_to_string(&mut text).unwrap();
        let heads: Vec<&str> = text.lines().skip(1).filter(|line| !line.starts_with("select")).collect();
        assert_eq!(
            heads,
            [
                "C 24 1795413685.834228 db=t",
                "C 3 1795413685.834300",
                "S 3 1795413685.834300 p=t l=20",
                "S 24 1795413685.834397 d=560 p=t e=0 r=1 x=1 db=t l=29",
                "S 24 1795413685.840000 d=100 p=b e=0 r=0 x=1 db=t l=38",
                "Q 24 1795413685.842000",
            ]
        );
    }
    let error = capture(&Request { logs: vec![slow.clone(), slow], out: directory.0.join("x"), ..Request::default() });
    assert!(error.unwrap_err().what.contains("same kind"));
}

#[test]
fn a_file_that_is_no_log_is_refused() {
    let directory = Directory::new("none");
    let file = directory.0.join("other.log");
    fs::write(&file, "2026-11-23 INFO started\n").unwrap();
    let out = directory.0.join("x.capture");
    let error = capture(&Request { logs: vec![file], out: out.clone(), ..Request::default() }).unwrap_err();
    assert!(error.what.contains("has no entry") && !out.exists());
}

#[test]
fn a_statement_that_never_ends_takes_no_more_memory_than_the_longest() {
    let mut log = EXTRA.as_bytes().to_vec();
    let header = &EXTRA[EXTRA.find("# Time").unwrap()..EXTRA.find("select id,a").unwrap()];
    log.extend_from_slice(header.as_bytes());
    log.push(b'\'');
    log.resize(log.len() + MAX_STATEMENT + 100_000, b'x');
    log.push(b'\n');
    log.extend_from_slice(&EXTRA.as_bytes()[EXTRA.find("# Time").unwrap()..]);
    let mut reader = SlowLog::new(&log[..]);
    let mut entries = 0;
    while reader.next_entry().unwrap().is_some() {
        entries += 1;
    }
    assert_eq!((entries, reader.about().unread.too_long), (6, 1));
}

/// A piece of a log: part of a real log, or any bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let real = (0..6_usize, any::<prop::sample::Index>(), 1..400_usize).prop_map(|(which, at, length)| {
        let log = [EXTRA.as_bytes(), PLAIN, MARIADB, OLD.as_bytes(), GENERAL.as_bytes(), OLD_GENERAL.as_bytes()][which];
        let begin = at.index(log.len());
        log[begin..log.len().min(begin + length)].to_vec()
    });
    let marks = prop::sample::select(vec![
        &b"'"[..],
        b"\\",
        b";\n",
        b"\n",
        b"/*",
        b"*/",
        b"-- ",
        b"# Time: ",
        b"\t",
        b"(",
        b"?, ...",
        b"\xff",
    ]);
    prop_oneof![3 => real, 2 => marks.prop_map(<[u8]>::to_vec), 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

proptest! {
    #[test]
    fn any_bytes_can_be_read_in_pieces_of_any_size(pieces in prop::collection::vec(piece(), 0..30), size in 1..50_usize) {
        let log = pieces.concat();
        recorded(&log);
        let whole = |mut reader: SlowLog<&[u8]>| {
            let mut entries = vec![];
            while let Some(entry) = reader.next_entry().unwrap() {
                entries.push(described(&entry));
            }
            entries
        };
        let (mut reader, mut entries) = (SlowLog::new(Pieces(&log, size)), vec![]);
        while let Some(entry) = reader.next_entry().unwrap() {
            entries.push(described(&entry));
        }
        prop_assert_eq!(whole(SlowLog::new(&log[..])), entries);
        general(&log);
    }
}
