//! When transactions begin: back to back, or when they are due.

use super::clock::SECOND;
use crate::random::{Rng, of_transaction};
use crate::run::{Arrivals, Phase, Rate};
use rand_distr::{Distribution, Exp1};
use std::collections::VecDeque;

/// The phases of a run with when each begins and ends, in nanoseconds since the load began.
#[derive(Clone, Debug)]
pub struct Timetable {
    phases: Vec<(Phase, u64, u64)>,
}

impl Timetable {
    /// Lay phases one behind the other; what follows a phase without an end is never reached.
    #[must_use]
    pub fn of(phases: &[Phase]) -> Self {
        let mut begin = 0;
        let laid = phases.iter().map(|phase| {
            let end = phase.seconds.map_or(u64::MAX, |seconds| begin + seconds * SECOND);
            let own = (phase.clone(), begin, end);
            begin = end;
            own
        });
        Self { phases: laid.collect() }
    }

    /// When the step began that a time belongs to; `u64::MAX` after the last.
    #[must_use]
    pub fn step_began(&self, now: u64) -> u64 {
        let step = self.at(now).map(|place| self.phases[place].0.step);
        self.phases.iter().find(|(phase, ..)| Some(phase.step) == step).map_or(u64::MAX, |(_, begin, _)| *begin)
    }

    /// The place of the phase at a time; None when all are over.
    #[must_use]
    pub fn at(&self, now: u64) -> Option<usize> {
        self.phases.iter().position(|(_, _, end)| now < *end)
    }

    /// A phase.
    #[must_use]
    pub fn phase(&self, place: usize) -> &Phase {
        &self.phases[place].0
    }

    /// When a phase begins.
    #[must_use]
    pub fn begin(&self, place: usize) -> u64 {
        self.phases[place].1
    }

    /// When a phase ends; `u64::MAX` for never.
    #[must_use]
    pub fn end(&self, place: usize) -> u64 {
        self.phases[place].2
    }
}

/// The due times of one load thread in a phase with a rate.
#[derive(Debug)]
pub struct Arriving {
    gap: f64,
    arrivals: Arrivals,
    exact: f64,
    rng: Rng,
    waiting: VecDeque<u64>,
    most: usize,
}

impl Arriving {
    /// Transactions that arrive from `begin` on, behind those that wait already.
    ///
    /// A thread with `own` of the phase's `all` connections takes that share of its arrivals. Constant ones of several
    /// threads fall between each other: this one comes after `before` others. Those that wait without a free connection are at
    /// most `most`.
    #[must_use]
    pub fn new(
        rate: Rate,
        begin: u64,
        (before, own, all): (usize, usize, usize),
        most: usize,
        waiting: VecDeque<u64>,
        seed: (u64, u64),
    ) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "counts of connections and nanoseconds")]
        let (share, ahead, begin) = (own as f64 / all as f64, before as f64, begin as f64);
        let gap = 1e9 / (rate.per_second * share);
        let mut arriving = Self {
            gap,
            arrivals: rate.arrivals,
            exact: begin + ahead * 1e9 / rate.per_second,
            rng: of_transaction(seed.0, seed.1),
            waiting,
            most,
        };
        if rate.arrivals == Arrivals::Poisson {
            arriving.exact = begin;
            arriving.step();
        }
        arriving
    }

    fn step(&mut self) {
        self.exact += match self.arrivals {
            Arrivals::Constant => self.gap,
            Arrivals::Poisson => {
                let unit: f64 = Exp1.sample(&mut self.rng);
                self.gap * unit
            }
        };
    }

    /// When the next transaction is due, in nanoseconds since the load began.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are above 0")]
    pub fn next(&self) -> u64 {
        self.exact as u64
    }

    /// Let all that are due by now wait, `free` of them for no longer than until they are taken; return how many were dropped
    /// because too many wait already.
    pub fn arrive(&mut self, now: u64, free: usize) -> u64 {
        let mut dropped = 0;
        let most = self.most.saturating_add(free);
        while self.next() <= now {
            if self.waiting.len() < most {
                self.waiting.push_back(self.next());
            } else {
                dropped += 1;
            }
            self.step();
        }
        dropped
    }

    /// Take the one that waits longest: when it was due.
    pub fn take(&mut self) -> Option<u64> {
        self.waiting.pop_front()
    }

    /// When the one was due that waits longest.
    #[must_use]
    pub fn longest_waiting(&self) -> Option<u64> {
        self.waiting.front().copied()
    }

    /// When those were due that wait.
    #[must_use]
    pub fn into_waiting(self) -> VecDeque<u64> {
        self.waiting
    }

    /// How many wait.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Purpose;

    fn phase(seconds: Option<u64>) -> Phase {
        Phase { purpose: Purpose::Measure, step: 1, seconds, connections: 4, rate: None }
    }

    fn due(arrivals: Arrivals, share: (usize, usize, usize), count: usize) -> Vec<u64> {
        let rate = Rate { per_second: 1000.0, arrivals };
        let mut arriving = Arriving::new(rate, 5 * SECOND, share, usize::MAX, VecDeque::new(), (7, 0));
        arriving.arrive(5 * SECOND + 2 * count as u64 * 1_000_000 * share.2 as u64 / share.1 as u64, 0);
        std::iter::from_fn(|| arriving.take()).take(count).collect()
    }

    #[test]
    fn phases_follow_each_other_and_the_last_may_have_no_end() {
        let table = Timetable::of(&[phase(Some(2)), phase(Some(3)), phase(None)]);
        assert_eq!(
            [0, 2 * SECOND - 1, 2 * SECOND, 5 * SECOND, 900 * SECOND].map(|now| table.at(now)),
            [Some(0), Some(0), Some(1), Some(2), Some(2)]
        );
        assert_eq!((table.begin(1), table.end(1), table.end(2)), (2 * SECOND, 5 * SECOND, u64::MAX));
        assert_eq!(Timetable::of(&[phase(Some(2))]).at(2 * SECOND), None);
    }

    #[test]
    fn a_step_begins_with_its_warm_up() {
        let table = Timetable::of(&[phase(Some(2)), phase(Some(3)), Phase { step: 2, ..phase(Some(1)) }]);
        let began = [0, 4 * SECOND, 5 * SECOND, 6 * SECOND].map(|now| table.step_began(now));
        assert_eq!(began, [0, 0, 5 * SECOND, u64::MAX]);
    }

    #[test]
    fn constant_arrivals_of_several_threads_fall_between_each_other() {
        let (first, second) = (due(Arrivals::Constant, (0, 2, 4), 3), due(Arrivals::Constant, (1, 2, 4), 3));
        assert_eq!(first, [5_000_000_000, 5_002_000_000, 5_004_000_000]);
        assert_eq!(second, [5_001_000_000, 5_003_000_000, 5_005_000_000]);
    }

    #[test]
    #[expect(clippy::cast_precision_loss)]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_an_exponential() {
        let times = due(Arrivals::Poisson, (0, 1, 1), 20_000);
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn what_cannot_wait_is_dropped_and_counted() {
        let rate = Rate { per_second: 10.0, arrivals: Arrivals::Constant };
        let mut arriving = Arriving::new(rate, 0, (0, 1, 1), 3, VecDeque::new(), (1, 0));
        assert_eq!(arriving.arrive(SECOND - 1, 0), 7);
        assert_eq!((arriving.backlog(), arriving.take(), arriving.next()), (3, Some(0), SECOND));
    }

    #[test]
    fn what_a_free_connection_takes_at_once_needs_no_room() {
        let rate = Rate { per_second: 10.0, arrivals: Arrivals::Constant };
        let mut arriving = Arriving::new(rate, 0, (0, 1, 1), 0, VecDeque::new(), (1, 0));
        assert_eq!(arriving.arrive(SECOND - 1, 4), 6);
        assert_eq!(arriving.backlog(), 4);
    }
}
