//! Merges the seconds of all load threads.

use super::dealing::Dealing;
use super::gathering::Gathering;
use super::schedule::Timetable;
use super::{Second, clock::Clock, clock::SECOND};
use crate::record::{Merged, Meter, Tally, process_cpu};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

/// A report of a load thread to the collecting thread.
pub enum ThreadReport {
    /// A load thread has opened all its connections.
    Opened,
    /// A second has ended.
    Second {
        /// The number of the load thread, from 0.
        thread: usize,
        /// The second's number, from 1.
        second: u64,
        /// Its length in seconds: 1, or less for the last one of a run.
        seconds: f64,
        /// What the load thread counted in this second.
        tally: Box<Tally>,
    },
    /// This load thread has ended, and sends no more reports.
    Ended(usize),
}

/// Merges the seconds of all load threads. A second is complete once each load thread has reported it or has ended.
pub struct Collector<'a> {
    timetable: &'a Timetable,
    dealing: &'a Dealing,
    gathering: &'a Gathering,
    clock: Clock,
    transactions: usize,
    waiting: BTreeMap<u64, (Merged, f64)>,
    last: Vec<u64>,
    empties: Vec<Sender<Box<Tally>>>,
    meter: Meter,
    /// How many complete seconds [`Self::take`] has returned.
    pub reported_seconds: u64,
}

impl<'a> Collector<'a> {
    /// Creates a collector. `transactions` is the number of kinds of transactions of the load. `empties` has a sender for each load
    /// thread, which returns cleared tallies to it.
    #[must_use]
    pub fn new(
        timetable: &'a Timetable,
        dealing: &'a Dealing,
        gathering: &'a Gathering,
        clock: Clock,
        transactions: usize,
        empties: Vec<Sender<Box<Tally>>>,
    ) -> Self {
        let last = vec![0; empties.len()];
        let meter = Meter::from(process_cpu());
        Self {
            timetable,
            dealing,
            gathering,
            clock,
            transactions,
            waiting: BTreeMap::new(),
            last,
            empties,
            meter,
            reported_seconds: 0,
        }
    }

    /// Takes in a report of a load thread; returns the seconds that are complete now, in order.
    pub fn take(&mut self, report: ThreadReport) -> Vec<Second> {
        match report {
            ThreadReport::Opened => {}
            ThreadReport::Ended(thread) => self.last[thread] = u64::MAX,
            ThreadReport::Second { thread, second, seconds, mut tally } => {
                let (merged, length) = self.waiting.entry(second).or_insert_with(|| (Merged::new(self.transactions), 0.0));
                merged.add(thread, &tally);
                *length = length.max(seconds);
                self.last[thread] = second;
                // Tallies are cleared here, where no load thread waits for it: clearing half a megabyte takes as long as processing
                // several answers. A thread that has ended needs no tally, so a failed send does not matter.
                tally.clear();
                let _ = self.empties[thread].send(tally);
            }
        }
        let complete = self.last.iter().min().copied().unwrap_or(u64::MAX);
        let mut seconds = Vec::new();
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() <= complete) {
            let (number, (merged, length)) = entry.remove_entry();
            seconds.extend(self.second(number, merged, length));
        }
        seconds
    }

    fn second(&mut self, number: u64, mut merged: Merged, length: f64) -> Option<Second> {
        let begin = (number - 1) * SECOND;
        let place = self.timetable.at(begin)?;
        let phase = self.timetable.phase(place);
        merged.have_threads(self.last.len());
        merged.driver_cpu_ns = self.meter.lap(process_cpu());
        self.reported_seconds += 1;
        Some(Second {
            number,
            purpose: phase.purpose,
            step: phase.step,
            connections: phase.connections,
            load_threads: self.dealing.load_threads(place),
            gather: self.gathering.in_force(place, begin),
            rate: phase.rate,
            at: self.clock.unix(begin) + length,
            seconds: length,
            merged,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Gather, Phase, Purpose};
    use std::sync::mpsc::channel;
    use std::time::Instant;

    fn report(thread: usize, second: u64, transactions: u64) -> ThreadReport {
        let mut tally = Box::new(Tally::new(1));
        (0..transactions).for_each(|_| tally.transaction(0, 1_000_000, 1_000_000, 0));
        ThreadReport::Second { thread, second, seconds: 1.0, tally }
    }

    fn phase(purpose: Purpose, seconds: Option<u64>) -> Phase {
        Phase { purpose, step: 1, seconds, connections: 64, rate: None, load_threads: None, gather: Gather::On }
    }

    fn numbers(seconds: &[Second]) -> Vec<(u64, u64)> {
        seconds.iter().map(|second| (second.number, second.merged.tally.all_transactions())).collect()
    }

    #[test]
    fn a_second_is_complete_once_every_thread_has_reported_it() {
        let phases = [phase(Purpose::WarmUp, Some(1)), phase(Purpose::Measure, None)];
        let timetable = Timetable::of(&phases);
        let dealing = Dealing::of(vec![2, 2]);
        let gathering = Gathering::of(&phases, &timetable, &dealing);
        let (empties, backs): (Vec<_>, Vec<_>) = (0..2).map(|_| channel()).unzip();
        let mut collector = Collector::new(&timetable, &dealing, &gathering, Clock::from(Instant::now()), 1, empties);
        assert!(collector.take(report(0, 1, 3)).is_empty());
        assert!(collector.take(report(0, 2, 4)).is_empty());
        let first = collector.take(report(1, 1, 5));
        assert_eq!((numbers(&first), first[0].purpose), (vec![(1, 8)], Purpose::WarmUp));
        let second = collector.take(ThreadReport::Ended(1));
        assert_eq!((numbers(&second), second[0].purpose, second[0].gather), (vec![(2, 4)], Purpose::Measure, Some(true)));
        assert_eq!(numbers(&collector.take(report(0, 3, 1))), [(3, 1)]);
        let given_back: Vec<Box<Tally>> = backs.iter().flat_map(|back| back.try_iter()).collect();
        assert_eq!((collector.reported_seconds, given_back.len()), (3, 4));
        assert!(given_back.iter().all(|tally| **tally == Tally::new(1)), "load threads would have to clear them");
    }

    #[test]
    fn seconds_after_the_last_phase_are_dropped() {
        let phases = [phase(Purpose::Measure, Some(1))];
        let timetable = Timetable::of(&phases);
        let dealing = Dealing::of(vec![1]);
        let gathering = Gathering::of(&phases, &timetable, &dealing);
        let mut collector = Collector::new(&timetable, &dealing, &gathering, Clock::from(Instant::now()), 1, vec![channel().0]);
        assert_eq!(numbers(&collector.take(report(0, 1, 2))), [(1, 2)]);
        assert!(collector.take(report(0, 2, 2)).is_empty());
    }
}
