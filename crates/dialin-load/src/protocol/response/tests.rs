mod random_input;

use super::*;
use crate::plan::{Keep, Value};
use crate::protocol::packet;
use crate::protocol::sink::{KeptColumns, Nothing};
use crate::protocol::value::{Columns, LONGLONG, VAR_STRING};

const OLD: Dialect = Dialect { deprecate_eof: false, cached_metadata: false };
const NEW: Dialect = Dialect { deprecate_eof: true, cached_metadata: false };
const CACHED: Dialect = Dialect { deprecate_eof: false, cached_metadata: true };
const MORE: u16 = MORE_RESULTS | 2;

/// Builds the bytes that a server sends.
#[derive(Clone)]
struct Server {
    dialect: Dialect,
    bytes: Vec<u8>,
    sequence: u8,
}

impl Server {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, bytes: Vec::new(), sequence: 1 }
    }

    fn packet(mut self, payload: &[u8]) -> Self {
        let start = packet::begin(&mut self.bytes);
        self.bytes.extend_from_slice(payload);
        self.sequence = packet::finish(&mut self.bytes, start, self.sequence);
        self
    }

    fn ok(self, affected: u8, status: u16) -> Self {
        let [low, high] = status.to_le_bytes();
        self.packet(&[0, affected, 0, low, high, 3, 0, b'i', b'n', b'f', b'o'])
    }

    fn error(self) -> Self {
        self.packet(b"\xFF\xBD\x04#40001Deadlock found")
    }

    /// The error of a server that closes the connection, with a sequence number that is not the next one.
    fn closing(mut self) -> Self {
        self.sequence = 0;
        self.packet(b"\xFF\xBF\x0F#HY000The client was disconnected")
    }

    fn definition(self, kind: u8) -> Self {
        let mut out = Vec::new();
        for name in ["def", "sbtest", "t", "t", "c", "c"] {
            packet::put_bytes(&mut out, name.as_bytes());
        }
        out.extend_from_slice(&[0x0C, 45, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0, 0]);
        self.packet(&out)
    }

    fn definitions(self, kinds: &[u8]) -> Self {
        let defined = kinds.iter().fold(self, |server, kind| server.definition(*kind));
        if defined.dialect.deprecate_eof { defined } else { defined.packet(b"\xFE\0\0\x02\0") }
    }

    fn columns(self, kinds: &[u8]) -> Self {
        let count = kinds.len() as u8;
        let counted = if self.dialect.cached_metadata { self.packet(&[count, 1]) } else { self.packet(&[count]) };
        counted.definitions(kinds)
    }

    fn end(self, status: u16) -> Self {
        let [low, high] = status.to_le_bytes();
        if self.dialect.deprecate_eof {
            self.packet(&[0xFE, 0, 0, low, high, 0, 0])
        } else {
            self.packet(&[0xFE, 0, 0, low, high])
        }
    }

    /// A row of one VARCHAR.
    fn text_row(self, text: &[u8]) -> Self {
        let mut row = Vec::new();
        packet::put_bytes(&mut row, text);
        self.packet(&row)
    }

    /// A row of one VARCHAR.
    fn binary_row(self, text: &[u8]) -> Self {
        let mut row = vec![0, 0];
        packet::put_bytes(&mut row, text);
        self.packet(&row)
    }

    fn prepared(self, id: u8, columns: u8, parameters: u8) -> Self {
        self.packet(&[0, id, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0])
    }
}

fn read(dialect: Dialect, expect: Expect, bytes: &[u8]) -> Result<Feed, Malformed> {
    let mut response = Response::new(dialect);
    response.expect(expect, 1);
    response.feed(bytes, &mut Nothing)
}

/// The outcome of the server's bytes. Checks that it is the same for all splits into two pieces and byte by byte, and that all bytes
/// are used.
fn outcome(server: &Server, expect: Expect) -> Outcome {
    let bytes = &server.bytes;
    let whole = read(server.dialect, expect, bytes).unwrap();
    assert_eq!(whole.consumed, bytes.len());
    let whole = whole.done.expect("an end");
    for split in 1..bytes.len() {
        let mut response = Response::new(server.dialect);
        response.expect(expect, 1);
        let first = response.feed(&bytes[..split], &mut Nothing).unwrap();
        assert_eq!(first, Feed { consumed: split, done: None }, "split at {split}");
        let second = response.feed(&bytes[split..], &mut Nothing).unwrap();
        assert_eq!(second, Feed { consumed: bytes.len() - split, done: Some(whole.clone()) }, "split at {split}");
    }
    let mut response = Response::new(server.dialect);
    response.expect(expect, 1);
    let mut last = None;
    for byte in bytes {
        assert_eq!(last, None, "an end before the last byte");
        last = response.feed(&[*byte], &mut Nothing).unwrap().done;
    }
    assert_eq!(last, Some(whole.clone()), "byte by byte");
    whole
}

/// The value of the first column that is kept in slot 1. Checks that it is the same for all splits.
fn kept(server: &Server, expect: Expect, columns: &Columns) -> Value {
    let keep = [Keep { column: 0, slot: 1 }];
    let mut values = (0..server.bytes.len()).map(|split| {
        let mut response = Response::new(server.dialect);
        response.expect(expect, 1);
        let (mut columns, mut slots) = (columns.clone(), [Value::Int(-1), Value::Int(-1)]);
        for part in [&server.bytes[..split], &server.bytes[split..]] {
            response.feed(part, &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots }).unwrap();
        }
        assert_eq!(slots[0], Value::Int(-1));
        let [_, value] = slots;
        value
    });
    let first = values.next().unwrap();
    assert!(values.all(|value| value == first));
    first
}

fn bytes(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

#[test]
fn a_statement_without_rows_is_ok() {
    let expected = Outcome::Ok { affected: 5, matched: None, insert_id: 0, status: 2, warnings: 3 };
    assert_eq!(outcome(&Server::new(OLD).ok(5, 2), Expect::Binary), expected);
    assert_eq!(outcome(&Server::new(NEW).ok(5, 2), Expect::Text), expected);
}

#[test]
fn an_update_says_how_many_rows_matched_in_any_language() {
    for message in ["Rows matched: 7  Changed: 5  Warnings: 0", "Datens\u{e4}tze gefunden: 7  Ge\u{e4}ndert: 5  Warnungen: 0"] {
        let mut payload = vec![0, 5, 0, 2, 0, 0, 0, u8::try_from(message.len()).unwrap()];
        payload.extend_from_slice(message.as_bytes());
        // What follows the message is the state of the session.
        payload.extend_from_slice(&[3, 9, 9, 9]);
        let expected = Outcome::Ok { affected: 5, matched: Some(7), insert_id: 0, status: 2, warnings: 0 };
        assert_eq!(outcome(&Server::new(NEW).packet(&payload), Expect::Text), expected);
    }
}

#[test]
fn rows_are_counted_and_passed_in_every_dialect() {
    for dialect in [OLD, NEW, CACHED] {
        let text = Server::new(dialect).columns(&[VAR_STRING]).text_row(b"one").text_row(b"").packet(&[0xFB]).end(34);
        assert_eq!(outcome(&text, Expect::Text), Outcome::Rows { count: 3, status: 34 });
        let binary = Server::new(dialect).columns(&[VAR_STRING, LONGLONG]).binary_row(b"one").binary_row(b"").end(34);
        assert_eq!(outcome(&binary, Expect::Binary), Outcome::Rows { count: 2, status: 34 });
        let none = Server::new(dialect).columns(&[VAR_STRING]).end(2);
        assert_eq!(outcome(&none, Expect::Binary), Outcome::Rows { count: 0, status: 2 });
    }
}

#[test]
fn an_error_has_code_state_and_message() {
    let expected = Outcome::Error { code: 1213, state: *b"40001", message: "Deadlock found".into() };
    assert_eq!(outcome(&Server::new(OLD).error(), Expect::Binary), expected);
    assert_eq!(outcome(&Server::new(NEW).error(), Expect::Prepare), expected);
}

#[test]
fn an_error_ends_a_result_in_the_middle() {
    for dialect in [OLD, NEW] {
        let among_rows = Server::new(dialect).columns(&[VAR_STRING]).binary_row(b"one").error();
        assert!(matches!(outcome(&among_rows, Expect::Binary), Outcome::Error { code: 1213, .. }));
        let among_columns = Server::new(dialect).packet(&[2]).definition(VAR_STRING).error();
        assert!(matches!(outcome(&among_columns, Expect::Text), Outcome::Error { code: 1213, .. }));
        let before_rows = Server::new(dialect).columns(&[VAR_STRING]).error();
        assert!(matches!(outcome(&before_rows, Expect::Text), Outcome::Error { code: 1213, .. }));
    }
}

#[test]
fn an_error_without_a_state_is_read() {
    let bare = Server::new(OLD).packet(b"\xFF\x10\x04Too many connections");
    let expected = Outcome::Error { code: 1040, state: *b"HY000", message: "Too many connections".into() };
    assert_eq!(outcome(&bare, Expect::Text), expected);
}

#[test]
fn an_error_that_a_closing_server_sends_unasked_is_read() {
    let closing = Server::new(OLD).closing();
    let mut response = Response::new(OLD);
    let feed = response.feed(&closing.bytes, &mut Nothing).unwrap();
    assert!(matches!(feed.done, Some(Outcome::Error { code: 4031, .. })));
    assert!(matches!(outcome(&closing, Expect::Binary), Outcome::Error { code: 4031, .. }));
}

#[test]
fn an_error_of_a_closing_server_ends_a_result_in_the_middle() {
    for dialect in [OLD, NEW, CACHED] {
        let server = Server::new(dialect);
        let counted = if dialect.cached_metadata { server.clone().packet(&[2, 1]) } else { server.clone().packet(&[2]) };
        let columns = server.clone().columns(&[VAR_STRING]);
        let prepared = server.prepared(9, 2, 2);
        let places = [
            ("in the columns", Expect::Text, counted.clone().definition(VAR_STRING)),
            ("in the columns of a prepared statement", Expect::Binary, counted.definition(VAR_STRING)),
            ("after the columns", Expect::Text, columns.clone()),
            ("in the rows", Expect::Text, columns.clone().text_row(b"one").text_row(b"two")),
            ("in the rows of a prepared statement", Expect::Binary, columns.clone().binary_row(b"one").binary_row(b"two")),
            ("between two results", Expect::Text, columns.clone().text_row(b"one").end(MORE)),
            ("in the second result", Expect::Text, columns.end(MORE).columns(&[VAR_STRING]).text_row(b"two")),
            ("in the parameters", Expect::Prepare, prepared.clone().definition(VAR_STRING)),
            ("after the parameters", Expect::Prepare, prepared.definitions(&[VAR_STRING; 2])),
        ];
        for (place, expect, server) in places {
            assert_ne!(server.sequence, 0);
            let ended = outcome(&server.closing(), expect);
            assert!(matches!(ended, Outcome::Error { code: 4031, .. }), "{place}, {dialect:?}: {ended:?}");
        }
    }
}

#[test]
fn several_results_are_read_to_their_end() {
    for dialect in [OLD, NEW] {
        let server = Server::new(dialect)
            .columns(&[VAR_STRING])
            .text_row(b"one")
            .end(MORE)
            .columns(&[VAR_STRING, VAR_STRING])
            .text_row(b"two")
            .text_row(b"three")
            .end(MORE)
            .ok(7, 2);
        assert_eq!(outcome(&server, Expect::Text), Outcome::Rows { count: 3, status: 2 });
        let writes = Server::new(dialect).ok(1, MORE).ok(2, 2);
        assert_eq!(
            outcome(&writes, Expect::Text),
            Outcome::Ok { affected: 2, matched: None, insert_id: 0, status: 2, warnings: 3 }
        );
    }
}

#[test]
fn a_prepared_statement_is_read_to_its_last_definition() {
    for dialect in [OLD, NEW] {
        for (columns, parameters) in [(0, 0), (0, 2), (1, 0), (2, 3)] {
            let mut server = Server::new(dialect).prepared(9, columns, parameters);
            for count in [parameters, columns].map(usize::from) {
                server = if count > 0 { server.definitions(&vec![VAR_STRING; count]) } else { server };
            }
            let expected = Outcome::Prepared { id: 9, parameters: parameters.into(), columns: columns.into() };
            assert_eq!(outcome(&server, Expect::Prepare), expected, "{columns} {parameters}");
        }
    }
}

#[test]
fn the_first_row_is_kept_whatever_the_split() {
    for dialect in [OLD, NEW, CACHED] {
        let binary = Server::new(dialect).columns(&[VAR_STRING, VAR_STRING]).binary_row(b"one").binary_row(b"two").end(2);
        assert_eq!(kept(&binary, Expect::Binary, &Columns::default()), bytes("one"));
        let text = Server::new(dialect).columns(&[LONGLONG]).text_row(b"12").text_row(b"34").end(2);
        assert_eq!(kept(&text, Expect::Text, &Columns::default()), Value::Int(12));
    }
}

#[test]
fn without_a_row_the_slot_stays() {
    let none = Server::new(OLD).columns(&[VAR_STRING]).end(2);
    assert_eq!(kept(&none, Expect::Binary, &Columns::default()), Value::Int(-1));
}

#[test]
fn values_are_kept_of_the_first_result_only() {
    let server = Server::new(OLD).columns(&[LONGLONG]).text_row(b"1").end(MORE).columns(&[VAR_STRING]).text_row(b"x").end(2);
    assert_eq!(kept(&server, Expect::Text, &Columns::default()), Value::Int(1));
    let second = Server::new(OLD).columns(&[LONGLONG]).end(MORE).columns(&[LONGLONG]).text_row(b"5").end(2);
    assert_eq!(kept(&second, Expect::Text, &Columns::default()), Value::Int(-1));
}

#[test]
fn the_definitions_from_preparing_apply_if_they_are_left_out_later() {
    let keep = [Keep { column: 0, slot: 0 }];
    let (mut columns, mut slots) = (Columns::default(), [Value::Null]);
    let mut response = Response::new(CACHED);
    let prepared = Server::new(CACHED).prepared(1, 1, 2).definitions(&[VAR_STRING; 2]).definitions(&[LONGLONG]);
    response.expect(Expect::Prepare, 1);
    assert!(response.feed(&prepared.bytes, &mut columns).unwrap().done.is_some());
    let mut kept = KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots };
    let left_out = Server::new(CACHED).packet(&[1, 0]).packet(b"\xFE\0\0\x02\0").packet(b"\0\0\x05\0\0\0\0\0\0\0").end(2);
    response.expect(Expect::Binary, 1);
    let feed = response.feed(&left_out.bytes, &mut kept).unwrap();
    assert_eq!(feed.done, Some(Outcome::Rows { count: 1, status: 2 }));
    assert_eq!(slots, [Value::Int(5)]);
    assert_eq!(outcome(&left_out, Expect::Binary), Outcome::Rows { count: 1, status: 2 });
}

#[test]
fn sequence_numbers_go_round_after_255() {
    let server = (0..270).fold(Server::new(NEW).columns(&[VAR_STRING]), |server, _| server.binary_row(b"x")).end(2);
    assert_eq!(outcome(&server, Expect::Binary), Outcome::Rows { count: 270, status: 2 });
}

#[test]
fn a_row_longer_than_a_packet_is_one_row() {
    for length in [packet::LONGEST - 11, packet::LONGEST - 10, packet::LONGEST, 2 * packet::LONGEST + 5] {
        let row = vec![b'x'; length];
        let server = Server::new(OLD).columns(&[VAR_STRING]).binary_row(&row).binary_row(b"y").end(2);
        let mut response = Response::new(OLD);
        response.expect(Expect::Binary, 1);
        let done = server.bytes.chunks(100_003).map(|part| response.feed(part, &mut Nothing).unwrap().done).last();
        assert_eq!(done, Some(Some(Outcome::Rows { count: 2, status: 2 })), "{length}");
        assert!(response.gathered.capacity() <= 64, "a row that does not matter is not gathered");
    }
}

#[test]
fn a_text_row_whose_first_value_has_an_eight_byte_length_does_not_end_the_rows() {
    let row = vec![b'x'; 0x100_0000];
    let server = Server::new(NEW).columns(&[VAR_STRING]).text_row(&row).end(2);
    let feed = read(NEW, Expect::Text, &server.bytes).unwrap();
    assert_eq!(feed.done, Some(Outcome::Rows { count: 1, status: 2 }));
}

#[test]
fn memory_is_given_back_after_a_large_row_was_kept() {
    let server = Server::new(OLD).columns(&[VAR_STRING]).binary_row(&vec![b'x'; 1_000_000]).end(2);
    let keep = [Keep { column: 0, slot: 0 }];
    let (mut columns, mut slots) = (Columns::default(), [Value::Null]);
    let mut response = Response::new(OLD);
    response.expect(Expect::Binary, 1);
    for part in server.bytes.chunks(1000) {
        response.feed(part, &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots }).unwrap();
    }
    assert_eq!(slots, [Value::Bytes(vec![b'x'; 1_000_000])]);
    assert!(response.gathered.capacity() <= GATHERED_FOR_LONG);
}

#[test]
fn a_row_to_be_kept_is_not_gathered_without_limit() {
    let server = Server::new(OLD).columns(&[VAR_STRING]).binary_row(&vec![b'x'; 3_000_000]).end(2);
    let keep = [Keep { column: 0, slot: 0 }];
    let (mut columns, mut slots) = (Columns::default(), [Value::Null]);
    for size in [3, 1000, 100_000] {
        let mut response = Response::new(OLD);
        response.expect(Expect::Binary, 1);
        let mut parts = server.bytes.chunks(size);
        let refused = parts.find_map(|part| {
            response.feed(part, &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots }).err()
        });
        assert_eq!(refused, Some(TOO_LONG));
        assert!(response.gathered.capacity() < 200_000, "{}", response.gathered.capacity());
    }
}

#[test]
fn the_response_to_a_long_command_begins_later() {
    let mut server = Server::new(OLD);
    server.sequence = 3;
    let server = server.ok(1, 2);
    let mut response = Response::new(OLD);
    response.expect(Expect::Text, 3);
    assert!(response.feed(&server.bytes, &mut Nothing).unwrap().done.is_some());
    response.expect(Expect::Text, 1);
    assert!(response.feed(&server.bytes, &mut Nothing).is_err());
}

#[test]
fn data_after_a_response_is_not_consumed() {
    let server = Server::new(OLD).ok(1, 2);
    let twice = [&server.bytes[..], b"more"].concat();
    let feed = read(OLD, Expect::Text, &twice).unwrap();
    assert_eq!(feed.consumed, server.bytes.len());
    assert!(feed.done.is_some());
}

#[test]
fn wrong_sequence_numbers_are_malformed() {
    let server = Server::new(OLD).columns(&[VAR_STRING]).binary_row(b"one").binary_row(b"two").end(2);
    let mut at = 0;
    while let Some((length, sequence)) = packet::header(&server.bytes[at..]) {
        let mut wrong = server.bytes.clone();
        wrong[at + 3] = sequence.wrapping_add(1);
        assert!(read(OLD, Expect::Binary, &wrong).is_err(), "packet {sequence}");
        at += packet::HEADER + length;
    }
}

#[test]
fn data_that_is_not_a_response_is_malformed() {
    let cases: [(Expect, Server); 13] = [
        (Expect::Text, Server::new(OLD).packet(b"")),
        (Expect::Text, Server::new(OLD).packet(b"\xFBfile")),
        (Expect::Prepare, Server::new(OLD).packet(b"\x01")),
        (Expect::Prepare, Server::new(OLD).packet(b"\0\x01")),
        (Expect::Text, Server::new(OLD).packet(b"\0\x01")),
        (Expect::Text, Server::new(OLD).packet(b"\xFC\x00\x00")),
        (Expect::Text, Server::new(OLD).packet(b"\xFD\xFF\xFF\xFF")),
        (Expect::Text, Server::new(OLD).packet(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
        (Expect::Text, Server::new(OLD).packet(b"\xFF\xFF\xFF\x01")),
        (Expect::Text, Server::new(OLD).packet(&[1]).packet(b"")),
        (Expect::Text, Server::new(OLD).columns(&[VAR_STRING]).packet(b"")),
        (Expect::Binary, Server::new(OLD).columns(&[VAR_STRING]).packet(b"\x01\0")),
        (Expect::Binary, Server::new(OLD).columns(&[VAR_STRING]).packet(b"\xFE\0")),
    ];
    for (expect, server) in cases {
        assert!(read(OLD, expect, &server.bytes).is_err(), "{:?}", server.bytes);
    }
    assert!(Response::new(OLD).feed(&Server::new(OLD).ok(0, 0).bytes, &mut Nothing).is_err());
}

#[test]
fn a_message_is_one_line() {
    let feed = read(OLD, Expect::Text, &Server::new(OLD).packet(b"\xFF\x28\x04#42000near 'a\nb\x1B[0m'").bytes).unwrap();
    assert!(matches!(feed.done, Some(Outcome::Error { message, .. }) if message == "near 'a b [0m'"));
}

#[test]
fn an_endless_message_is_cut() {
    let long = [b"\xFF\xBD\x04#40001", &vec![b'x'; 100_000][..]].concat();
    let feed = read(OLD, Expect::Text, &Server::new(OLD).packet(&long).bytes).unwrap();
    let Some(Outcome::Error { message, .. }) = feed.done else { panic!("an error") };
    assert_eq!(message.len(), MESSAGE);
}
