//! The timetable of a run: when its phases begin and end, and when the transactions of an open loop are due.

use super::clock::SECOND;
use crate::random::{Rng, exponential, of_transaction};
use crate::run::{Arrivals, Phase, Rate};
use std::collections::VecDeque;

/// The phases of a run with their begin and end, in nanoseconds since the load began.
#[derive(Clone, Debug)]
pub struct Timetable {
    phases: Vec<(Phase, u64, u64)>,
}

impl Timetable {
    /// Arranges phases one after the other; phases after one without an end are never reached.
    #[must_use]
    pub fn of(phases: &[Phase]) -> Self {
        let mut begin = 0;
        let laid = phases.iter().map(|phase| {
            let end = phase.seconds.map_or(u64::MAX, |seconds| begin + seconds * SECOND);
            let timed = (phase.clone(), begin, end);
            begin = end;
            timed
        });
        Self { phases: laid.collect() }
    }

    /// When the step began that contains the time `now`; `u64::MAX` after the last step.
    #[must_use]
    pub fn step_began(&self, now: u64) -> u64 {
        let step = self.at(now).map(|place| self.phases[place].0.step);
        self.phases.iter().find(|(phase, ..)| Some(phase.step) == step).map_or(u64::MAX, |(_, begin, _)| *begin)
    }

    /// The index of the phase at time `now`; None when all phases are over.
    #[must_use]
    pub fn at(&self, now: u64) -> Option<usize> {
        self.phases.iter().position(|(_, _, end)| now < *end)
    }

    /// The phase with this index.
    #[must_use]
    pub fn phase(&self, place: usize) -> &Phase {
        &self.phases[place].0
    }

    /// When a phase begins.
    #[must_use]
    pub fn begin(&self, place: usize) -> u64 {
        self.phases[place].1
    }

    /// When a phase ends; `u64::MAX` if it has no end.
    #[must_use]
    pub fn end(&self, place: usize) -> u64 {
        self.phases[place].2
    }
}

/// Generates the due times of a phase with a rate, for all load threads together.
#[derive(Debug)]
pub struct ArrivalQueue {
    /// The mean time between two arrivals, in nanoseconds.
    gap: f64,
    arrivals: Arrivals,
    /// The due time of the next arrival, in nanoseconds since the load began, with its fraction.
    exact: f64,
    end: u64,
    rng: Rng,
    waiting: VecDeque<u64>,
    most: usize,
}

impl ArrivalQueue {
    /// Creates the arrivals from `begin` until `end`, which queue behind those in `waiting`. At most `most` transactions wait for a
    /// connection.
    #[must_use]
    pub fn new(rate: Rate, (begin, end): (u64, u64), most: usize, waiting: VecDeque<u64>, seed: (u64, u64)) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "nanoseconds of months are exact enough")]
        let exact = begin as f64;
        let gap = 1e9 / rate.per_second;
        let rng = of_transaction(seed.0, seed.1);
        let mut arriving = Self { gap, arrivals: rate.arrivals, exact, end, rng, waiting, most };
        if rate.arrivals == Arrivals::Poisson {
            arriving.step();
        }
        arriving
    }

    fn step(&mut self) {
        self.exact += match self.arrivals {
            Arrivals::Constant => self.gap,
            Arrivals::Poisson => self.gap * exponential(&mut self.rng),
        };
    }

    /// When the next arrival is due, in nanoseconds since the load began.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are above 0")]
    fn next(&self) -> u64 {
        self.exact as u64
    }

    /// Queues all transactions that are due by `now`; returns how many were dropped because the queue was full.
    pub fn arrive(&mut self, now: u64) -> u64 {
        let mut dropped = 0;
        while self.next() <= now && self.next() < self.end {
            if self.waiting.len() < self.most {
                self.waiting.push_back(self.next());
            } else {
                dropped += 1;
            }
            self.step();
        }
        dropped
    }

    /// Takes a transaction for a free connection: the one that has waited longest, or else the next one to arrive. Returns its due time; None
    /// if no more arrive in this phase.
    pub fn take(&mut self) -> Option<u64> {
        self.waiting.pop_front().or_else(|| {
            let next = self.next();
            (next < self.end).then(|| {
                self.step();
                next
            })
        })
    }

    /// Puts back a transaction that a connection took and cannot begin; the next free connection takes it.
    pub fn give_back(&mut self, due: u64) {
        let place = self.waiting.partition_point(|waiting| *waiting < due);
        self.waiting.insert(place, due);
    }

    /// How many waiting transactions were due at time `by`, and when the first of them was due.
    #[must_use]
    pub fn backlog(&self, by: u64) -> Backlog {
        let due = self.waiting.partition_point(|waiting| *waiting <= by);
        (due, self.waiting.front().copied().filter(|_| due > 0))
    }
}

/// The due times of a run, phase by phase. All load threads share this queue, so no transaction waits for a connection of one thread while
/// another thread has a free one. Connections take turns, because each takes a transaction when it becomes free.
#[derive(Debug, Default)]
pub struct Queue {
    current: Option<(usize, ArrivalQueue)>,
    /// The previous phase, and its backlog at its end.
    before: Option<(usize, Backlog)>,
}

/// The number of transactions that are due and wait, and the due time of the first of them.
pub type Backlog = (usize, Option<u64>);

impl Queue {
    /// Enters a phase, unless another load thread has already done so; returns how many transactions were dropped at the end of the previous
    /// phase.
    ///
    /// With `goes_on`, the phase belongs to the same step, and takes over the backlog of the previous phase (its warm-up); a new step begins
    /// with an empty queue.
    pub fn enter(&mut self, phase: usize, goes_on: bool, make: impl FnOnce(VecDeque<u64>) -> Option<ArrivalQueue>) -> u64 {
        if self.current.as_ref().is_some_and(|(current, _)| *current >= phase) {
            return 0;
        }
        let mut dropped = 0;
        let waiting = match self.current.take() {
            Some((number, mut before)) => {
                dropped = before.arrive(u64::MAX - 1);
                self.before = Some((number, before.backlog(u64::MAX)));
                if goes_on { before.waiting } else { VecDeque::new() }
            }
            None => VecDeque::new(),
        };
        self.current = make(waiting).map(|arriving| (phase, arriving));
        dropped
    }

    /// The backlog of a phase at time `by`. Other threads may already have entered the next phase.
    #[must_use]
    pub fn backlog(&self, phase: usize, by: u64) -> Backlog {
        match (&self.current, &self.before) {
            (Some((current, arriving)), _) if *current == phase => arriving.backlog(by),
            (_, Some((before, backlog))) if *before == phase => *backlog,
            _ => (0, None),
        }
    }

    /// The due times of a phase, if it is the current phase and has a rate.
    pub fn of(&mut self, phase: usize) -> Option<&mut ArrivalQueue> {
        self.current.as_mut().filter(|(current, _)| *current == phase).map(|(_, arriving)| arriving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Gather, Purpose};

    fn phase(seconds: Option<u64>) -> Phase {
        Phase {
            purpose: Purpose::Measure,
            step: 1,
            seconds,
            connections: 4,
            rate: None,
            load_threads: None,
            gather: Gather::Auto,
        }
    }

    fn at(per_second: f64, arrivals: Arrivals, most: usize) -> ArrivalQueue {
        ArrivalQueue::new(Rate { per_second, arrivals }, (5 * SECOND, 100 * SECOND), most, VecDeque::new(), (7, 0))
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
    fn constant_arrivals_are_evenly_spaced_and_can_be_taken_before_they_are_due() {
        let mut arriving = at(1000.0, Arrivals::Constant, usize::MAX);
        let times: Vec<u64> = (0..3).filter_map(|_| arriving.take()).collect();
        assert_eq!(times, [5_000_000_000, 5_001_000_000, 5_002_000_000]);
        assert_eq!(arriving.arrive(5_004_000_000), 0);
        assert_eq!(arriving.backlog(5_004_000_000), (2, Some(5_003_000_000)));
    }

    #[test]
    fn nothing_arrives_after_the_end_of_its_phase() {
        let mut arriving = at(1.0, Arrivals::Constant, 10);
        assert_eq!(arriving.arrive(1000 * SECOND), 95 - 10);
        assert_eq!(std::iter::from_fn(|| arriving.take()).count(), 10);
    }

    #[test]
    fn what_is_given_back_is_taken_next_and_waits_only_once_it_is_due() {
        let mut arriving = at(1.0, Arrivals::Constant, 10);
        let (first, second) = (arriving.take().unwrap(), arriving.take().unwrap());
        arriving.give_back(second);
        arriving.give_back(first);
        assert_eq!(arriving.backlog(first), (1, Some(first)));
        assert_eq!(arriving.backlog(first - 1), (0, None));
        assert_eq!([arriving.take(), arriving.take()], [Some(first), Some(second)]);
    }

    #[test]
    fn a_phase_is_entered_once_and_its_backlog_is_carried_over_only_within_a_step() {
        let make = |waiting| {
            Some(ArrivalQueue::new(Rate { per_second: 1.0, arrivals: Arrivals::Constant }, (0, 9 * SECOND), 5, waiting, (1, 0)))
        };
        let mut queue = Queue::default();
        assert_eq!(queue.enter(0, false, make), 0);
        assert_eq!(queue.of(0).unwrap().take(), Some(0));
        assert_eq!(queue.enter(1, true, make), 3, "eight are left, and five may wait");
        assert!(queue.of(0).is_none());
        assert_eq!(queue.backlog(0, 9 * SECOND), (5, Some(SECOND)), "a thread that is late still counts the backlog");
        assert_eq!(queue.enter(1, true, make), 0);
        assert_eq!(queue.of(1).unwrap().backlog(u64::MAX).0, 5);
        queue.enter(2, false, make);
        assert_eq!(queue.of(2).unwrap().backlog(u64::MAX).0, 0);
    }

    #[test]
    #[expect(clippy::cast_precision_loss)]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_an_exponential() {
        let mut arriving = at(1000.0, Arrivals::Poisson, usize::MAX);
        let times: Vec<u64> = (0..20_000).filter_map(|_| arriving.take()).collect();
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((variance.sqrt() - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn what_cannot_wait_is_dropped_and_counted() {
        let mut arriving = at(10.0, Arrivals::Constant, 3);
        assert_eq!(arriving.arrive(6 * SECOND - 1), 7);
        assert_eq!((arriving.backlog(6 * SECOND).0, arriving.take(), arriving.next()), (3, Some(5 * SECOND), 6 * SECOND));
    }
}
