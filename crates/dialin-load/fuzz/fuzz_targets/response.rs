//! The reader of responses: it neither panics nor loops, and the size of the pieces that it reads does not change its result.
//!
//! The first byte of the input says which response is expected and which values are kept. The second byte gives the
//! size of the pieces. The rest is what the server sends.
#![no_main]

use dialin_load::plan::{Keep, Value};
use dialin_load::protocol::Malformed;
use dialin_load::protocol::response::{Dialect, Expect, Outcome, Response};
use dialin_load::protocol::sink::KeptColumns;
use dialin_load::protocol::value::Columns;
use libfuzzer_sys::fuzz_target;

#[derive(Debug, PartialEq)]
struct End {
    outcome: Result<Option<Outcome>, Malformed>,
    consumed: usize,
    slots: [Value; 1],
}

fn read(dialect: Dialect, expect: Expect, keep: &[Keep], bytes: &[u8], piece: usize) -> End {
    let (mut columns, mut slots) = (Columns::default(), [Value::Null]);
    let mut response = Response::new(dialect);
    response.expect(expect, 1);
    let (mut outcome, mut consumed) = (Ok(None), 0);
    for part in bytes.chunks(piece) {
        match response.feed(part, &mut KeptColumns { keep, columns: &mut columns, slots: &mut slots }) {
            Ok(feed) => {
                assert!(feed.consumed == part.len() || feed.done.is_some());
                assert!(feed.consumed <= part.len());
                consumed += feed.consumed;
                outcome = Ok(feed.done);
            }
            Err(malformed) => outcome = Err(malformed),
        }
        if outcome != Ok(None) {
            break;
        }
    }
    let consumed = if outcome.is_ok() { consumed } else { 0 };
    End { outcome, consumed, slots }
}

/// The result as text, because NaN is not equal to itself.
fn comparable(end: &End) -> String {
    format!("{end:?}")
}

fuzz_target!(|input: &[u8]| {
    let [how, piece, bytes @ ..] = input else { return };
    let expect = [Expect::Text, Expect::Binary, Expect::Prepare, Expect::Binary][usize::from(how & 3)];
    let dialect = Dialect { deprecate_eof: how & 4 != 0, cached_metadata: how & 8 != 0 };
    let keep = [Keep { column: usize::from(how >> 6), slot: 0 }];
    let keep = if how & 16 != 0 { &keep[..] } else { &[] };
    let whole = read(dialect, expect, keep, bytes, bytes.len().max(1));
    let parts = read(dialect, expect, keep, bytes, usize::from(*piece) + 1);
    assert_eq!(comparable(&whole), comparable(&parts));
});
