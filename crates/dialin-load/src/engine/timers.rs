//! The times at which connections of a load thread are to be looked after.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries of cancelled timers are removed together once there are more than this many, and more of them than of others.
const FEW: usize = 64;

/// The timers of a load thread's connections. A connection may have several. To cancel those of a connection takes the same time however
/// many timers there are: each connection has a turn, a timer belongs to the turn in which it was set, and a cancellation begins the next.
#[derive(Debug, Default)]
pub struct Timers {
    entries: BinaryHeap<Reverse<(u64, usize, u32)>>,
    /// The turn of each connection, by place.
    turns: Vec<u32>,
    /// How many entries there may be before those of cancelled timers are removed.
    limit: usize,
}

impl Timers {
    /// Sets a timer of the connection at `place` to the time `at`, in nanoseconds since the load began.
    pub fn set(&mut self, at: u64, place: usize) {
        if place >= self.turns.len() {
            self.turns.resize(place + 1, 0);
        }
        self.entries.push(Reverse((at, place, self.turns[place])));
        if self.entries.len() > self.limit {
            self.entries.retain(|Reverse((_, place, turn))| self.turns[*place] == *turn);
            self.limit = FEW.max(2 * self.entries.len());
        }
    }

    /// Cancels all timers of the connection at `place`.
    pub fn cancel(&mut self, place: usize) {
        if let Some(turn) = self.turns.get_mut(place) {
            *turn = turn.wrapping_add(1);
        }
    }

    /// When the next timer expires, and its place.
    pub fn next(&mut self) -> Option<(u64, usize)> {
        while let Some(Reverse((at, place, turn))) = self.entries.peek() {
            if self.turns[*place] == *turn {
                return Some((*at, *place));
            }
            self.entries.pop();
        }
        None
    }

    /// Removes a timer that has expired by `now`, the earliest first. Returns when it expired, and its place.
    pub fn take(&mut self, now: u64) -> Option<(u64, usize)> {
        self.next().filter(|(at, _)| *at <= now)?;
        self.entries.pop().map(|Reverse((at, place, _))| (at, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn timers_expire_in_order_and_only_when_they_are_due() {
        let mut timers = Timers::default();
        [(30, 1), (10, 2), (20, 1)].into_iter().for_each(|(at, place)| timers.set(at, place));
        assert_eq!((timers.next(), timers.take(9)), (Some((10, 2)), None));
        assert_eq!([timers.take(25), timers.take(25), timers.take(25)], [Some((10, 2)), Some((20, 1)), None]);
        assert_eq!((timers.take(30), timers.next()), (Some((30, 1)), None));
    }

    #[test]
    fn a_cancellation_ends_all_timers_of_a_place_that_were_set_before_it() {
        let mut timers = Timers::default();
        [(10, 1), (20, 1), (20, 2)].into_iter().for_each(|(at, place)| timers.set(at, place));
        timers.cancel(1);
        timers.cancel(7);
        timers.set(30, 1);
        assert_eq!([timers.take(99), timers.take(99), timers.take(99)], [Some((20, 2)), Some((30, 1)), None]);
    }

    #[test]
    fn cancelled_timers_take_no_more_memory_than_others() {
        let mut timers = Timers::default();
        for turn in 0..100_000 {
            timers.set(turn, 3);
            timers.cancel(3);
        }
        assert!(timers.entries.len() <= FEW, "{}", timers.entries.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn they_do_the_same_as_a_list_that_is_searched(steps in prop::collection::vec((0..3_u8, 0..50_u64, 0..5_usize), 0..400)) {
            let (mut timers, mut list) = (Timers::default(), Vec::new());
            for (step, at, place) in steps {
                match step {
                    0 => {
                        timers.set(at, place);
                        list.push((at, place));
                    }
                    1 => {
                        timers.cancel(place);
                        list.retain(|(_, timed)| *timed != place);
                    }
                    _ => {
                        let first = list.iter().copied().min().filter(|(due, _)| *due <= at);
                        prop_assert_eq!(timers.take(at), first);
                        if let Some(found) = list.iter().position(|entry| Some(*entry) == first) {
                            list.remove(found);
                        }
                    }
                }
                prop_assert_eq!(timers.next(), list.iter().copied().min());
            }
        }
    }
}
