//! Random bytes, packets and pieces: the parser neither panics nor loops.

use super::*;
use proptest::prelude::*;

/// Feeds pieces until the response ends, and checks the invariants on the way.
fn survive(dialect: Dialect, expect: Expect, keep: &[Keep], pieces: &[Vec<u8>]) {
    let (mut columns, mut slots) = (Columns::default(), [Value::Null]);
    let mut response = Response::new(dialect);
    response.expect(expect, 1);
    for piece in pieces {
        match response.feed(piece, &mut KeptColumns { keep, columns: &mut columns, slots: &mut slots }) {
            Ok(Feed { consumed, done: None }) => assert_eq!(consumed, piece.len()),
            Ok(Feed { consumed, done: Some(_) }) => {
                assert!(consumed <= piece.len());
                response.expect(expect, 1);
            }
            Err(_) => response.expect(expect, 1),
        }
    }
}

fn dialects() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(OLD), Just(NEW), Just(CACHED)]
}

fn expectations() -> impl Strategy<Value = Expect> {
    prop_oneof![Just(Expect::Text), Just(Expect::Binary), Just(Expect::Prepare)]
}

proptest! {
    #[test]
    fn random_bytes_neither_panic_nor_loop(
        dialect in dialects(),
        expect in expectations(),
        column in 0..3usize,
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
    ) {
        survive(dialect, expect, &[Keep { column, slot: 0 }], &pieces);
        survive(dialect, expect, &[], &pieces);
    }

    /// Packets with valid framing and random payloads reach more of the parser.
    #[test]
    fn random_packets_neither_panic_nor_loop(
        dialect in dialects(),
        expect in expectations(),
        payloads in prop::collection::vec(
            (prop_oneof![Just(0u8), Just(1), Just(2), Just(0xFB), Just(0xFE), Just(0xFF), any::<u8>()], prop::collection::vec(any::<u8>(), 0..20)),
            0..12,
        ),
        cut in 1..50usize,
    ) {
        let server = payloads.iter().fold(Server::new(dialect), |server, (first, rest)| server.packet(&[&[*first], &rest[..]].concat()));
        let pieces: Vec<Vec<u8>> = server.bytes.chunks(cut).map(<[u8]>::to_vec).collect();
        survive(dialect, expect, &[Keep { column: 0, slot: 0 }], &pieces);
        survive(dialect, expect, &[], &pieces);
    }

    #[test]
    fn pieces_do_not_change_the_outcome(
        dialect in dialects(),
        rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..30),
        cuts in prop::collection::vec(1..2000usize, 1..20),
    ) {
        let server = rows.iter().fold(Server::new(dialect).columns(&[VAR_STRING]), |server, row| server.binary_row(row)).end(2);
        let mut response = Response::new(dialect);
        response.expect(Expect::Binary, 1);
        let (mut rest, mut done) = (&server.bytes[..], None);
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            done = response.feed(piece, &mut Nothing).unwrap().done;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(done, Some(Outcome::Rows { count: rows.len() as u64, status: 2 }));
    }
}
