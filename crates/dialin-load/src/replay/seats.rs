//! Which connection plays which session: sessions come and go, connections of the driver stay.

use super::planner::{Out, Piece};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// From which piece to which a session lasts, by their numbers in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: u64,
    last: u64,
}

/// How long each session lasts; known once the schedule was read.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    spans: Vec<Span>,
    pieces: u64,
}

impl Spans {
    /// Take further pieces of the schedule.
    pub fn take(&mut self, pieces: &Out) {
        for (session, piece) in pieces {
            let place = self.pieces;
            self.pieces += 1;
            if matches!(piece, Piece::Ended(_)) {
                continue;
            }
            let number = usize::try_from(*session).unwrap_or(usize::MAX);
            if number >= self.spans.len() {
                self.spans.resize(number + 1, Span { first: u64::MAX, last: 0 });
            }
            let span = &mut self.spans[number];
            span.first = span.first.min(place);
            span.last = span.last.max(place);
        }
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.used().count()
    }

    /// How many sessions there are at once, at the most.
    #[must_use]
    pub fn most(&self) -> usize {
        let mut changes: Vec<(u64, i64)> = self.used().flat_map(|span| [(span.first, 1), (span.last + 1, -1)]).collect();
        changes.sort_unstable();
        let mut open = 0;
        let counts = changes.iter().map(|(_, change)| {
            open += change;
            open
        });
        usize::try_from(counts.max().unwrap_or(0)).unwrap_or(0)
    }

    fn used(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.first <= span.last)
    }
}

/// Gives each session a connection for as long as it lasts.
#[derive(Debug)]
pub struct Seats {
    spans: Spans,
    free: BinaryHeap<Reverse<usize>>,
    taken: HashMap<u64, usize>,
    next: u64,
}

impl Seats {
    /// For a schedule with these sessions.
    #[must_use]
    pub fn new(spans: Spans) -> Self {
        let free = (0..spans.most()).map(Reverse).collect();
        Self { spans, free, taken: HashMap::new(), next: 0 }
    }

    /// Say of further pieces on which connection they are played. A session ends with its last piece, where the capture does not say when.
    pub fn place(&mut self, pieces: Out, mut to: impl FnMut(usize, Piece)) {
        for (session, piece) in pieces {
            let place = self.next;
            self.next += 1;
            if matches!(piece, Piece::Ended(_)) {
                to(0, piece);
                continue;
            }
            let span = self.spans.spans[usize::try_from(session).unwrap_or(usize::MAX)];
            let free = &mut self.free;
            let seat = *self.taken.entry(session).or_insert_with(|| free.pop().map_or(0, |Reverse(seat)| seat));
            let is_quit = matches!(piece, Piece::Quit(_));
            to(seat, piece);
            if place == span.last {
                if !is_quit {
                    to(seat, Piece::Quit(i64::MIN));
                }
                self.taken.remove(&session);
                self.free.push(Reverse(seat));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_used_again_once_its_session_has_ended() {
        let piece = |session| (session, Piece::Connect(0));
        let pieces =
            vec![piece(0), piece(1), piece(0), (1, Piece::Quit(5)), piece(2), piece(0), (7, Piece::Ended(3)), piece(2)];
        let mut spans = Spans::default();
        spans.take(&pieces);
        assert_eq!((spans.sessions(), spans.most()), (3, 2));
        let mut placed = Vec::new();
        Seats::new(spans).place(pieces, |seat, piece| placed.push((seat, matches!(piece, Piece::Quit(_)))));
        let expected =
            [0, 1, 0, 1, 1, 0, 0, 0, 1, 1].into_iter().zip([3, 6, 9].into_iter().fold([false; 10], |mut quits, at| {
                quits[at] = true;
                quits
            }));
        assert_eq!(placed, expected.collect::<Vec<_>>());
    }
}
