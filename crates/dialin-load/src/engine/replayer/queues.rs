//! What each connection of a replay has yet to play, as far as the capture has been read.

use crate::replay::Piece;
use std::collections::{BTreeSet, VecDeque};

/// A transaction, or the start or end of a session: its pieces that were read and not taken.
#[derive(Debug)]
struct Item {
    pieces: VecDeque<Piece>,
    /// Whether all of its pieces have been read.
    is_whole: bool,
}

/// The items of one connection.
#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Whether the first item is a transaction that the connection is executing.
    has_begun: bool,
    /// When the next transaction of a connection that executes one began in the capture, if another connection may execute it.
    offered: Option<i64>,
}

/// The queues of all connections.
#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    /// The connections that offer a transaction to others, by when it began in the capture.
    offers: BTreeSet<(i64, usize)>,
    /// The approximate size of all pieces in memory.
    pub(super) bytes: usize,
    pieces: usize,
}

impl Queues {
    pub(super) fn new(connections: usize) -> Self {
        Self { queues: (0..connections).map(|_| Queue::default()).collect(), offers: BTreeSet::new(), bytes: 0, pieces: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    /// Adds the next piece of a connection.
    pub(super) fn push(&mut self, seat: usize, piece: Piece) {
        self.bytes += weight(&piece);
        self.pieces += 1;
        let items = &mut self.queues[seat].items;
        let ends = matches!(piece, Piece::Finish { .. });
        match items.back_mut().filter(|last| !last.is_whole) {
            Some(last) => {
                last.pieces.push_back(piece);
                last.is_whole = ends;
            }
            None => {
                let is_whole = !matches!(piece, Piece::Begin { .. });
                items.push_back(Item { pieces: VecDeque::from([piece]), is_whole });
            }
        }
        if ends {
            self.offer(seat);
        }
    }

    /// The first piece of what a connection plays next; None if that has not been read.
    pub(super) fn first(&self, seat: usize) -> Option<&Piece> {
        self.next(seat).next()
    }

    /// Takes the first piece of what a connection plays next.
    pub(super) fn begin(&mut self, seat: usize) -> Option<Piece> {
        let queue = &mut self.queues[seat];
        let piece = queue.items.front_mut()?.pieces.pop_front()?;
        if matches!(piece, Piece::Begin { .. }) {
            queue.has_begun = true;
        } else {
            queue.items.pop_front();
        }
        self.offer(seat);
        self.remove(&piece);
        Some(piece)
    }

    /// Takes the next piece of the transaction that a connection is executing; None if it has not been read.
    pub(super) fn pop(&mut self, seat: usize) -> Option<Piece> {
        let queue = &mut self.queues[seat];
        let piece = queue.items.front_mut()?.pieces.pop_front()?;
        if matches!(piece, Piece::Finish { .. }) {
            queue.items.pop_front();
            queue.has_begun = false;
            self.offer(seat);
        }
        self.remove(&piece);
        Some(piece)
    }

    fn remove(&mut self, piece: &Piece) {
        self.bytes -= weight(piece);
        self.pieces -= 1;
    }

    /// Whether the transaction that a connection is executing was rolled back in the capture; false if its end has not been read yet.
    pub(super) fn is_rolled_back(&self, seat: usize) -> bool {
        let current = self.queues[seat].items.front();
        matches!(current.and_then(|item| item.pieces.back()), Some(Piece::Finish { is_rolled_back: true, .. }))
    }

    /// The transactions that other connections offer, in the order in which they began in the capture: when, and by which connection.
    pub(super) fn offers(&self) -> impl Iterator<Item = (i64, usize)> + '_ {
        self.offers.iter().copied()
    }

    /// The pieces of what a connection plays next, as far as they have been read.
    pub(super) fn next(&self, seat: usize) -> impl Iterator<Item = &Piece> {
        let queue = self.queues.get(seat);
        queue.and_then(|queue| queue.items.get(usize::from(queue.has_begun))).into_iter().flat_map(|item| &item.pieces)
    }

    /// Moves the transaction that one connection offers to another one, which plays it next.
    pub(super) fn move_offered(&mut self, from: usize, to: usize) {
        if let Some(item) = self.queues[from].items.remove(1) {
            self.queues[to].items.push_front(item);
        }
        self.offer(from);
    }

    /// Offers the next transaction of a connection to others if it is executing one.
    fn offer(&mut self, seat: usize) {
        let queue = &mut self.queues[seat];
        let next = queue.items.get(1).filter(|item| queue.has_begun && item.is_whole);
        let offered = match next.and_then(|item| item.pieces.front()) {
            Some(Piece::Begin { start, settings: Some(_), .. }) => Some(*start),
            _ => None,
        };
        let before = std::mem::replace(&mut queue.offered, offered);
        if before != offered {
            before.map(|start| self.offers.remove(&(start, seat)));
            offered.map(|start| self.offers.insert((start, seat)));
        }
    }
}

/// The approximate size of a piece in memory, in bytes.
fn weight(piece: &Piece) -> usize {
    64 + if let Piece::Step(step) = piece { 96 + step.sql.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(start: i64, settings: Option<u64>) -> Piece {
        Piece::Begin { transaction: Some(0), start, after: 0, awaits: Box::default(), settings }
    }

    const FINISH: Piece = Piece::Finish { is_rolled_back: true, end: 0 };

    fn offers(queues: &Queues) -> Vec<(i64, usize)> {
        queues.offers().collect()
    }

    #[test]
    fn a_connection_offers_its_next_whole_transaction_while_it_executes_one() {
        let mut queues = Queues::new(2);
        for piece in [Piece::Connect(1), begin(2, Some(7)), FINISH, begin(5, Some(7))] {
            queues.push(1, piece);
        }
        assert_eq!(queues.begin(1), Some(Piece::Connect(1)));
        assert_eq!((queues.first(1), offers(&queues)), (Some(&begin(2, Some(7))), vec![]));
        queues.begin(1);
        assert_eq!((queues.first(1), offers(&queues)), (Some(&begin(5, Some(7))), vec![]), "it is not whole");
        queues.push(1, FINISH);
        queues.push(1, begin(9, Some(7)));
        queues.push(1, FINISH);
        assert_eq!((offers(&queues), queues.next(1).count()), (vec![(5, 1)], 2));
        queues.move_offered(1, 0);
        assert_eq!((queues.first(0), offers(&queues)), (Some(&begin(5, Some(7))), vec![(9, 1)]));
        assert!(queues.is_rolled_back(1));
        assert_eq!((queues.pop(1), offers(&queues)), (Some(FINISH), vec![]), "its connection is about to begin it");
        queues.begin(1);
        assert_eq!(
            (queues.pop(1), queues.pop(1), queues.begin(0), queues.pop(0)),
            (Some(FINISH), None, Some(begin(5, Some(7))), Some(FINISH))
        );
        assert!(queues.is_empty() && queues.bytes == 0);
    }

    #[test]
    fn what_its_session_alone_may_execute_is_not_offered() {
        for next in [vec![begin(5, None), FINISH], vec![Piece::Quit(5)]] {
            let mut queues = Queues::new(1);
            [begin(2, Some(7)), FINISH].into_iter().chain(next).for_each(|piece| queues.push(0, piece));
            queues.begin(0);
            assert_eq!(offers(&queues), []);
        }
    }
}
