//! The logs that people have: each dialect of slow logs and general logs is read, or refused by its name.

use crate::capture::Directory;
use dialin_load::capture::class::Obstacle;
use dialin_load::capture::entry::{Lack, SampledBy, Sampling};
use dialin_load::capture::format::{Reader, Record};
use dialin_load::capture::general_log::{Columns, GeneralLog};
use dialin_load::capture::slow_log::SlowLog;
use dialin_load::capture::summary::Summary;
use dialin_load::capture::{Request, STATEMENTS, capture};
use dialin_load::errors::Result;
use dialin_load::replay::{AutoIncrements, Facts, Pace};
use std::fs;
use std::io::{BufReader, Read};
use std::path::PathBuf;

fn files_of(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/driver").join(folder);
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn sample(name: &str) -> Vec<u8> {
    let name = format!("tests/driver/logs/{name}.log");
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The records of a capture of logs, one a line, and its summary.
fn captured(test: &str, logs: &[&[u8]]) -> Result<(Vec<String>, Summary)> {
    let directory = Directory::new(test);
    let paths: Vec<PathBuf> = (0..logs.len()).map(|number| directory.0.join(format!("{number}.log"))).collect();
    paths.iter().zip(logs).for_each(|(path, log)| fs::write(path, log).unwrap());
    let out = directory.0.join("out");
    let request = Request { logs: paths, out: out.clone(), ..Request::default() };
    let summary = capture(&request)?;
    let unpacked = zstd::Decoder::new(fs::File::open(out.join(STATEMENTS)).unwrap()).unwrap();
    let (_, mut reader) = Reader::open(BufReader::new(unpacked)).unwrap();
    let mut lines = vec![];
    while let Some(record) = reader.next_record().unwrap() {
        lines.push(described(&record));
    }
    Ok((lines, summary))
}

/// A record as text; times are in microseconds after 2026-11-28 10:00.
fn described(record: &Record<'_>) -> String {
    let after = |at: &i64| at - 1_795_860_000_000_000;
    let name = |schema: &Option<&[u8]>| schema.map_or("-".into(), |schema| schema.escape_ascii().to_string());
    match record {
        Record::Connect { thread, at, schema } => format!("{thread} begins at {} in {}", after(at), name(schema)),
        Record::Reset { thread, at } => format!("{thread} is reset at {}", after(at)),
        Record::Quit { thread, at } => format!("{thread} ends at {}", after(at)),
        Record::Statement(line) => {
            let how = line.is_prepared.map_or("", |is_prepared| if is_prepared { ", prepared" } else { ", text" });
            let error = line.error.map_or(String::new(), |error| format!(", error {error}"));
            let duration = line.duration.map_or(String::new(), |duration| format!(", {duration} µs"));
            let text = String::from_utf8_lossy(line.sql).into_owned();
            format!("{} at {} in {}{duration}{how}{error}: {text}", line.thread, after(&line.at), name(&line.schema))
        }
    }
}

/// A dialect, the records of its sample, and the statements that are counted only: how many, and why.
type Dialect = (&'static str, &'static [&'static str], Option<(u64, Obstacle)>);

const DIALECTS: [Dialect; 24] = [
    // A packet of several statements is one entry.
    (
        "mariadb-general-several-statements",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, text: update p set n=n+1 where id=1",
            "8 at 1000000 in shop, text: update p set n=n+1 where id=2",
            "8 at 1000000 in shop, text: begin",
            "8 at 1000000 in shop, text: update p set n=n+1 where id=3",
            "8 at 1000000 in shop, text: commit",
            "8 at 1000000 in shop, text: select n from p where id=1",
            "8 ends at 1000000",
        ],
        None,
    ),
    // The server writes `Bytes_received: 0` for all but the first statement of a packet.
    (
        "mysql-9.7-several-statements",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, 100 µs, text, error 0: UPDATE p SET n=n+1 WHERE id=1",
            "8 at 1001000 in shop, 100 µs, text, error 0: UPDATE p SET n=n+1 WHERE id=2",
            "8 at 2000000 in shop, 100 µs, text, error 0: UPDATE p SET n=n+1 WHERE id=3",
            "8 at 2001000 in shop, 100 µs, text, error 0: UPDATE p SET n=n+1 WHERE id=4",
        ],
        None,
    ),
    (
        "percona-8.0",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, 100 µs, error 0: UPDATE a SET n=1 WHERE id=1",
            "9 begins at 2000000 in stock",
            "9 at 2000000 in stock, 100 µs, error 1213: UPDATE b SET n=1 WHERE id=1",
            "8 at 3000000 in -, 100 µs, error 0: SELECT 1",
        ],
        None,
    ),
    ("percona-8.0-sampled-statements", &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs, error 0: COMMIT"], None),
    ("percona-8.0-sampled-sessions", &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs, error 0: COMMIT"], None),
    (
        "percona-5.7-full",
        &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs, error 1205: UPDATE p SET n = 1 WHERE id = 1"],
        Some((1, Obstacle::InRoutine)),
    ),
    (
        "percona-5.5",
        &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs, error 0: UPDATE a SET n=1 WHERE id=1"],
        None,
    ),
    // The time only where the second changes, and no `SET timestamp`.
    (
        "percona-5.1-without-timestamps",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, 100 µs: UPDATE a SET n=1 WHERE id=1",
            "8 at 1000000 in shop, 100 µs: UPDATE a SET n=2 WHERE id=1",
            "8 at 2000000 in shop, 100 µs: UPDATE a SET n=3 WHERE id=1",
        ],
        None,
    ),
    (
        "percona-5.1-time-and-user-on-one-line",
        &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs: UPDATE a SET n=1 WHERE id=1"],
        None,
    ),
    (
        "percona-5.1-without-a-user-line",
        &["8 begins at 1000000 in shop", "8 at 1000000 in shop, 100 µs: UPDATE a SET n=1 WHERE id=1"],
        Some((1, Obstacle::NoSession)),
    ),
    // `use` is a statement where no other line follows it. The third header has no statement.
    (
        "percona-5.1-use",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, 100 µs: use shop",
            "8 at 1000000 in shop, 200 µs: USE shop",
            "8 at 1000000 in shop, 400 µs: SELECT n FROM p WHERE id = 1",
        ],
        None,
    ),
    ("percona-5.1-without-times", &[], Some((1, Obstacle::NoTime))),
    ("mysql-5.5", &[], Some((1, Obstacle::NoSession))),
    ("mysql-5.1-windows", &[], Some((1, Obstacle::NoSession))),
    ("mysql-5.0", &[], Some((2, Obstacle::NoSession))),
    (
        "pt-query-digest",
        &["8 begins at 1477992 in shop", "8 at 1477992 in shop, 1084 µs: UPDATE a SET n=1 WHERE id=1", "8 ends at 1481714"],
        None,
    ),
    (
        "mysql-9.7-line-end-in-a-schema",
        &["8 begins at 1000000 in test\\nx", "8 at 1000000 in test\\nx, 100 µs, text, error 0: SELECT 1 FROM t"],
        None,
    ),
    (
        "mariadb-10.11-line-end-in-a-schema",
        &[
            "8 begins at 1000000 in test\\nx",
            "8 at 1000000 in test\\nx, 100 µs, text: SELECT 1 FROM t",
            "9 begins at 2000000 in shop",
            "9 at 2000000 in shop, 100 µs, text: SELECT 2",
        ],
        None,
    ),
    (
        "windows",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, 100 µs, text, error 0: UPDATE p SET n=n+1 WHERE id=1",
            "8 at 2000000 in shop, 100 µs, text, error 0: UPDATE p SET t='a\nb' WHERE id=2",
        ],
        None,
    ),
    (
        "windows-general",
        &["8 begins at 1000000 in shop", "8 at 1001000 in shop, text: UPDATE p SET n=n+1 WHERE id=1", "8 ends at 2000000"],
        None,
    ),
    // Commands are padded with spaces.
    ("mysql-5.1-general", &["8 begins at 1000000 in shop", "8 at 1000000 in shop, text: UPDATE p SET n=n+1 WHERE id=1"], None),
    (
        "mysql-5.0-general",
        &[
            "8 begins at 1000000 in shop",
            "8 at 1000000 in shop, text: SELECT n\nFROM p\n     8 Query      of the text",
            "8 at 2000000 in stock, prepared: SELECT 5",
            "8 ends at 2000000",
        ],
        None,
    ),
    // A terminal turned the tabs into spaces.
    (
        "mysql-5.7-general-with-spaces",
        &["8 begins at 1000000 in shop", "8 at 1001000 in shop, text: UPDATE p SET n=n+1 WHERE id=1"],
        None,
    ),
    ("general-without-times", &[], Some((1, Obstacle::NoTime))),
];

#[test]
fn each_dialect_is_read() {
    for (name, records, counted) in DIALECTS {
        let (lines, summary) = captured(name, &[&sample(name)]).unwrap();
        assert_eq!(lines, records, "{name}");
        let not_replayed: Vec<_> = summary.not_replayed.iter().map(|each| (each.statements, each.reason)).collect();
        assert_eq!(not_replayed, Vec::from_iter(counted), "{name}");
        let written = records.iter().filter(|line| line.contains(": ")).count() as u64;
        let in_routines = not_replayed.iter().filter(|(_, reason)| *reason == Obstacle::InRoutine).count() as u64;
        let digested: u64 = summary.digests.iter().map(|digest| digest.statements).sum();
        assert_eq!(
            digested,
            written + counted.map_or(0, |(count, _)| count) - in_routines,
            "{name}: every statement has a digest"
        );
    }
    let tested: Vec<_> = DIALECTS.iter().map(|(name, ..)| *name).collect();
    let missing = files_of("logs").into_iter().find(|path| !tested.contains(&path.file_stem().unwrap().to_str().unwrap()));
    assert_eq!(missing, None);
}

#[test]
fn a_capture_says_what_its_log_lacks() {
    let lack = |name| captured(&format!("lack-{name}"), &[&sample(name)]).unwrap().1.capture.lack;
    for name in ["mysql-5.0", "mysql-5.5"] {
        assert_eq!(lack(name), Some(Lack::Sessions), "{name}");
    }
    for name in ["general-without-times", "percona-5.1-without-times"] {
        assert_eq!(lack(name), Some(Lack::Times), "{name}");
    }
    for name in ["percona-5.1-without-a-user-line", "percona-8.0"] {
        assert_eq!(lack(name), None, "{name}");
    }
}

#[test]
fn a_capture_says_of_how_many_statements_its_log_has_one() {
    let sampling = |name| captured(&format!("sampled-{name}"), &[&sample(name)]).unwrap().1.capture.sampling;
    let (by_query, by_session) = ("percona-8.0-sampled-statements", "percona-8.0-sampled-sessions");
    assert_eq!(sampling(by_query), Some(Sampling { one_of: 100, by: SampledBy::Query }));
    assert_eq!(sampling(by_session), Some(Sampling { one_of: 10, by: SampledBy::Session }));
    assert_eq!(sampling("percona-8.0"), None);
}

#[test]
fn a_replay_says_why_a_capture_cannot_be_replayed() {
    for (name, why) in [
        ("mysql-5.5", "no session numbers"),
        ("general-without-times", "no times"),
        ("percona-8.0-sampled-statements", "1 of 100 statements"),
    ] {
        let directory = Directory::new(&format!("why-{name}"));
        let (log, out) = (directory.0.join("x.log"), directory.0.join("out"));
        fs::write(&log, sample(name)).unwrap();
        capture(&Request { logs: vec![log], out: out.clone(), ..Request::default() }).unwrap();
        let request = dialin_load::replay::Request { directory: out, pace: Pace::Full, from: None };
        let error = Facts::of(&request, AutoIncrements::default()).unwrap_err();
        assert!(error.what.contains("cannot be replayed") && error.what.contains(why), "{name}: {}", error.what);
    }
}

#[test]
fn a_slow_log_without_sessions_is_not_merged_with_a_general_log() {
    let error = captured("unmatched", &[&sample("mysql-5.5"), &sample("mysql-5.1-general")]).unwrap_err();
    assert!(error.what.contains("no session numbers"), "{}", error.what);
}

#[test]
fn the_kind_of_a_log_is_that_of_its_first_entry() {
    let general = [&sample("windows-general")[..], &sample("percona-8.0")].concat();
    assert_eq!(captured("slow-in-general", &[&general]).unwrap().1.capture.source, "general");
    let slow = [&sample("percona-8.0")[..], &sample("mysql-5.7-general-with-spaces")].concat();
    assert_eq!(captured("general-in-slow", &[&slow]).unwrap().1.capture.source, "slow+extra");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let log = [&b"\xef\xbb\xbf"[..], &sample("pt-query-digest")].concat();
    assert_eq!(captured("byte-order-mark", &[&log]).unwrap().1.unread.skipped_bytes, 0);
}

#[test]
fn what_is_no_log_is_refused_by_its_name() {
    let compressed = zstd::encode_all(&sample("percona-8.0")[..], 3).unwrap();
    let banner = sample("percona-8.0").iter().take(200).copied().collect::<Vec<_>>();
    let end = banner.windows(9).position(|bytes| bytes == b"Argument\n").unwrap() + 9;
    for (bytes, what) in [
        (&compressed[..], "is compressed (zstd)"),
        (b"\xfebin\x01\0", "is a binary log"),
        (b"", "is empty"),
        (&banner[..end], "only the lines that a server writes"),
        (b"SELECT 1;\n", "has no entry"),
    ] {
        let error = captured(&format!("refused-{}", what.len()), &[bytes]).unwrap_err();
        assert!(error.what.contains(what), "{}", error.what);
        assert!(!error.remedy.contains("FILE "), "{}", error.remedy);
    }
}

/// Returns a file in two parts.
fn in_parts(log: &[u8], at: usize) -> impl Read + '_ {
    let (begin, rest) = log.split_at(at);
    begin.chain(rest)
}

fn entries_of_slow(log: impl Read) -> String {
    let (mut log, mut all) = (SlowLog::new(log), String::new());
    while let Some(entry) = log.next_entry().unwrap() {
        all += &format!("{entry:?}\n");
    }
    format!("{all}{:?}", log.about())
}

fn entries_of_general(log: impl Read, columns: Columns) -> String {
    let (mut log, mut all) = (GeneralLog::new(log, columns), String::new());
    while let Some(entry) = log.next_entry().unwrap() {
        all += &format!("{entry:?}\n");
    }
    format!("{all}{:?}", log.about())
}

#[test]
fn a_log_that_is_read_in_two_parts_has_the_same_entries_wherever_it_is_divided() {
    for path in [files_of("logs"), files_of("capture")].concat().into_iter().filter(|path| path.is_file()) {
        let log = fs::read(&path).unwrap();
        let whole = entries_of_slow(&log[..]);
        let general = [Columns::Tabs, Columns::Blanks].map(|columns| (columns, entries_of_general(&log[..], columns)));
        for at in 0..=log.len() {
            assert_eq!(entries_of_slow(in_parts(&log, at)), whole, "{} at {at}", path.display());
            for (columns, whole) in &general {
                assert_eq!(&entries_of_general(in_parts(&log, at), *columns), whole, "{} at {at}", path.display());
            }
        }
    }
}
