//! Assigns the sessions of a capture to the connections of the driver. A connection plays one session after another.

use super::planner::{Out, Piece};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When a session begins and ends, in microseconds since 1970, and the number of its last piece in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: i64,
    last: i64,
    last_piece: u64,
}

/// The span of a number that no session has.
const NONE: Span = Span { first: i64::MAX, last: i64::MIN, last_piece: 0 };

/// The spans of all sessions, which are known when the whole schedule was read.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    spans: Vec<Span>,
    pieces: u64,
}

impl Spans {
    /// Add further pieces of the schedule.
    pub fn take(&mut self, pieces: &Out) {
        for (session, piece) in pieces {
            let place = self.pieces;
            self.pieces += 1;
            let at = match piece {
                Piece::Ended(_) => continue,
                Piece::Connect(at) | Piece::Reset(at) | Piece::Quit(at) => *at,
                Piece::Begin { start, .. } => *start,
                Piece::Step(step) => step.start,
                Piece::Finish { end, .. } => *end,
            };
            let number = usize::try_from(*session).unwrap_or(usize::MAX);
            if number >= self.spans.len() {
                self.spans.resize(number + 1, NONE);
            }
            let span = &mut self.spans[number];
            (span.first, span.last, span.last_piece) = (span.first.min(at), span.last.max(at), place);
        }
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.spans.iter().filter(|span| **span != NONE).count()
    }
}

/// The connection of each session: the first one that is free when the session begins.
#[derive(Clone, Debug, Default)]
pub struct Seats {
    /// By number of the session: its connection, and the number of its last piece.
    seats: Vec<(usize, u64)>,
    /// The number of the next piece.
    next: u64,
    /// How many connections there are.
    pub count: usize,
}

impl Seats {
    /// Assign the sessions with these spans.
    #[must_use]
    pub fn of(spans: &Spans) -> Self {
        let mut order: Vec<usize> = (0..spans.spans.len()).filter(|session| spans.spans[*session] != NONE).collect();
        order.sort_by_key(|session| spans.spans[*session].first);
        let mut seats = vec![(0, 0); spans.spans.len()];
        let (mut taken, mut free) = (BinaryHeap::new(), BinaryHeap::new());
        let mut count = 0;
        for session in order {
            let span = spans.spans[session];
            while let Some(Reverse((last, seat))) = taken.peek().copied()
                && last < span.first
            {
                taken.pop();
                free.push(Reverse(seat));
            }
            let seat = free.pop().map_or_else(
                || {
                    count += 1;
                    count - 1
                },
                |Reverse(seat)| seat,
            );
            taken.push(Reverse((span.last, seat)));
            seats[session] = (seat, span.last_piece);
        }
        Self { seats, next: 0, count }
    }

    /// Pass further pieces and the connection of each to `to`. A session whose end is not in the capture ends after
    /// its last piece.
    pub fn place(&mut self, pieces: Out, mut to: impl FnMut(usize, Piece)) {
        for (session, piece) in pieces {
            let place = self.next;
            self.next += 1;
            let (seat, last_piece) =
                self.seats.get(usize::try_from(session).unwrap_or(usize::MAX)).copied().unwrap_or_default();
            let is_last = place == last_piece && !matches!(piece, Piece::Quit(_) | Piece::Ended(_));
            to(seat, piece);
            if is_last {
                to(seat, Piece::Quit(i64::MIN));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session with one transaction between two times.
    fn session(number: u64, start: i64, end: i64) -> Out {
        let begin = Piece::Begin { transaction: None, start, after: 0, awaits: Box::default(), settings: None };
        vec![(number, begin), (number, Piece::Finish { is_rolled_back: false, end })]
    }

    #[test]
    fn a_connection_is_used_again_once_its_session_has_ended_and_not_before() {
        // In the order of their ends, as in a schedule: the third began before the others did.
        let pieces =
            [session(0, 10, 20), session(1, 15, 25), session(3, 30, 35), session(2, 5, 40), session(4, 41, 42)].concat();
        let mut spans = Spans::default();
        spans.take(&pieces);
        let mut seats = Seats::of(&spans);
        assert_eq!((spans.sessions(), seats.count), (5, 3));
        let mut placed = Vec::new();
        seats.place(pieces, |seat, piece| {
            if matches!(piece, Piece::Quit(_)) {
                placed.push(seat);
            }
        });
        assert_eq!(placed, [1, 2, 1, 0, 0]);
    }

    #[test]
    fn a_session_that_quits_by_itself_is_not_ended_twice() {
        let pieces = vec![(0, Piece::Connect(1)), (0, Piece::Quit(5)), (0, Piece::Ended(3))];
        let mut spans = Spans::default();
        spans.take(&pieces);
        let mut placed = Vec::new();
        Seats::of(&spans).place(pieces.clone(), |_, piece| placed.push(piece));
        assert_eq!(placed, pieces.into_iter().map(|(_, piece)| piece).collect::<Vec<_>>());
    }
}
