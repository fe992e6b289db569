//! What a file is that has no entry of a slow log or a general log, and what to do about it.

use super::entry::{banner, is_below_banner};
use Mark::{Has, Starts};

/// How a kind of file is recognized.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// By its first bytes.
    Starts(&'static [u8]),
    /// By bytes near its beginning.
    Has(&'static [u8]),
}

/// How many bytes of a file are searched.
const SEARCHED: usize = 16 * 1024;

const BINARY_LOG: &str = "is a binary log: it has changes, but no reads";
const STATEMENTS: &str = "Name a slow log or a general log";
const UTF_16: &str = "is text in UTF-16";
const TO_UTF_8: &str = "Convert it: iconv -f UTF-16 -t UTF-8 FILE";
const PACKETS: &str = "is a capture of packets (pcap)";
const TO_SLOW_LOG: &str =
    "Make a slow log of it: tcpdump -r FILE -x -nn -q -tttt | pt-query-digest --type tcpdump --output slowlog --no-report";
const DUMP: &str = "is an SQL dump";
const TO_FILE: &str = "Name the server's log file: SET GLOBAL log_output = 'FILE' has it written";
const REPORT: &str = "Name the slow log that it was made from";
const ERROR_LOG: &str = "is an error log";
const AUDIT_LOG: &str = "is an audit log";

/// Kinds of files that are no logs of statements: how they are recognized, what they are, and the remedy, in which `FILE` is
/// the file.
const KINDS: [(Mark, &str, &str); 28] = [
    (Starts(b"\x1f\x8b"), "is compressed (gzip)", "Unpack it: gunzip --keep FILE"),
    (Starts(b"\x28\xb5\x2f\xfd"), "is compressed (zstd)", "Unpack it: zstd -d FILE"),
    (Starts(b"\xfd7zXZ\0"), "is compressed (xz)", "Unpack it: xz -dk FILE"),
    (Starts(b"BZh"), "is compressed (bzip2)", "Unpack it: bunzip2 --keep FILE"),
    (Starts(b"\x04\x22\x4d\x18"), "is compressed (lz4)", "Unpack it: lz4 -d FILE"),
    (Starts(b"PK\x03\x04"), "is compressed (zip)", "Unpack it: unzip FILE"),
    (Starts(b"\xfebin"), BINARY_LOG, STATEMENTS),
    (Starts(b"\xfdbin"), BINARY_LOG, STATEMENTS),
    (Has(b"SET @@SESSION.PSEUDO_SLAVE_MODE"), "is the text of a binary log: it has changes, but no reads", STATEMENTS),
    (Starts(b"\xff\xfe"), UTF_16, TO_UTF_8),
    (Starts(b"\xfe\xff"), UTF_16, TO_UTF_8),
    (Starts(b"\xd4\xc3\xb2\xa1"), PACKETS, TO_SLOW_LOG),
    (Starts(b"\xa1\xb2\xc3\xd4"), PACKETS, TO_SLOW_LOG),
    (Starts(b"\x0a\x0d\x0d\x0a"), PACKETS, TO_SLOW_LOG),
    (Starts(b"-- MySQL dump"), DUMP, STATEMENTS),
    (Starts(b"-- MariaDB dump"), DUMP, STATEMENTS),
    (Starts(b"/*M!999999\\- enable the sandbox mode"), DUMP, STATEMENTS),
    (Has(b"\n# Profile\n# Rank Query ID"), "is a report of pt-query-digest", REPORT),
    (Has(b"# Overall: "), "is a report of pt-query-digest", REPORT),
    (Starts(b"Count: "), "is a report of mysqldumpslow", REPORT),
    (Has(b",\"Query\",\""), "is the table mysql.general_log as CSV", TO_FILE),
    (Has(b"] @ localhost []\",\""), "is the table mysql.slow_log as CSV", TO_FILE),
    (Has(b"<AUDIT_RECORD"), AUDIT_LOG, STATEMENTS),
    (Has(b"{\"audit_record\""), AUDIT_LOG, STATEMENTS),
    (Has(b",QUERY,"), AUDIT_LOG, STATEMENTS),
    (Has(b" [Note] "), ERROR_LOG, STATEMENTS),
    (Has(b" [System] "), ERROR_LOG, STATEMENTS),
    (Has(b" [Warning] "), ERROR_LOG, STATEMENTS),
];

/// What a file is that begins with these bytes and has no whole entry, and the remedy.
pub(super) fn describe(top: &[u8]) -> (&'static str, &'static str) {
    if top.trim_ascii().is_empty() {
        return ("is empty", "Name a log that has statements: the server writes all of them with long_query_time = 0");
    }
    let searched = &top[..top.len().min(SEARCHED)];
    let is_it = |mark| match mark {
        Starts(bytes) => top.starts_with(bytes),
        Has(bytes) => memchr::memmem::find(searched, bytes).is_some(),
    };
    if let Some((_, what, remedy)) = KINDS.into_iter().find(|(mark, ..)| is_it(*mark)) {
        return (what, remedy);
    }
    let lines = || searched.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    if lines().all(|line| line.is_empty() || is_below_banner(line) || banner(line).is_some()) {
        return ("has only the lines that a server writes when it opens a log", "Name a log that has statements");
    }
    if lines().any(|line| line.starts_with(b"# Time: ") || line.starts_with(b"# Query_time: ")) {
        return ("is a slow log without a whole entry: its only one is cut off", "Name a log that has more");
    }
    ("has no entry of a slow log or a general log", "Name a slow log or a general log of MySQL or MariaDB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_log_is_named() {
        let banner =
            b"/usr/sbin/mysqld, Version: 9.7.4 (MySQL Community Server - GPL). started with:\nTcp port: 3306  Unix socket: s\n";
        for (top, what) in [
            (&b""[..], "is empty"),
            (b" \r\n", "is empty"),
            (b"\x1f\x8b\x08\0", "is compressed (gzip)"),
            (b"\x28\xb5\x2f\xfd\x04", "is compressed (zstd)"),
            (b"\xfd7zXZ\0\0", "is compressed (xz)"),
            (b"\xfebin\x01", "is a binary log"),
            (b"/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;\n", "is the text of a binary log"),
            (b"\xff\xfe#\0", "UTF-16"),
            (b"-- MariaDB dump 10.19\n", "SQL dump"),
            (b"2026-11-28T10:00:01Z 0 [System] [MY-010116] [Server] starting\n", "error log"),
            (b"# 120ms user time\n\n# Overall: 3 total, 2 unique\n", "pt-query-digest"),
            (b"Count: 3  Time=1.00s (3s)  Lock=0.00s (0s)  Rows=1.0 (3), app[app]@localhost\n", "mysqldumpslow"),
            (b"\"2026-11-28 10:00:01\",\"app[app] @ localhost []\",8,1,\"Query\",\"select 1\"\n", "as CSV"),
            (b"20261128 10:00:01,host,app,localhost,8,12,QUERY,shop,'select 1',0\n", "audit log"),
            (banner, "only the lines that a server writes"),
            (b"# Time: 261128 10:00:01\n# User@Host: tru", "cut off"),
            (b"SELECT 1\n", "has no entry"),
        ] {
            let found = describe(top).0;
            assert!(found.contains(what), "{}: {found}", top.escape_ascii());
        }
    }
}
