//! Which load thread has which connection, phase by phase.
//!
//! Each step of a run has as many load threads as a run of this step alone, and its connections are dealt over them by their numbers.
//! Where the next step deals them differently, a thread passes on each connection as soon as it has nothing to do: a transaction that
//! is open goes on where it began. Threads that have no connection in a step sleep.

use super::slot::Slot;

/// A connection on its way to another load thread.
pub struct Passed<S> {
    /// The phase by whose dealing it is passed on; the thread that takes it may not have entered it yet, or have left it.
    pub phase: usize,
    /// The connection, which has nothing to do.
    pub slot: Slot<S>,
}

/// How the connections of a run are dealt over its load threads.
pub struct Dealing {
    load_threads: Vec<usize>,
}

impl Dealing {
    /// For so many load threads in each phase.
    #[must_use]
    pub fn of(load_threads: Vec<usize>) -> Self {
        Self { load_threads }
    }

    /// How many load threads the run needs.
    #[must_use]
    pub fn most(&self) -> usize {
        self.load_threads.iter().max().copied().unwrap_or(1)
    }

    /// How many load threads a phase has.
    #[must_use]
    pub fn load_threads(&self, phase: usize) -> usize {
        self.load_threads[phase]
    }

    /// The load thread that has a connection in a phase.
    #[must_use]
    pub fn owner(&self, phase: usize, number: usize) -> usize {
        number % self.load_threads[phase]
    }

    /// How many of the connections of a phase a load thread has.
    #[must_use]
    pub fn share(&self, phase: usize, connections: usize, thread: usize) -> usize {
        let threads = self.load_threads[phase];
        if thread < threads { connections.saturating_sub(thread).div_ceil(threads) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_dealt_in_turn_over_the_threads_of_their_phase() {
        let dealing = Dealing::of(vec![2, 1, 3]);
        assert_eq!(dealing.most(), 3);
        assert_eq!([0, 1, 2].map(|phase| dealing.load_threads(phase)), [2, 1, 3]);
        let owners = |phase| (0..5).map(|number| dealing.owner(phase, number)).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(owners), [vec![0, 1, 0, 1, 0], vec![0; 5], vec![0, 1, 2, 0, 1]]);
    }

    #[test]
    fn the_shares_of_the_threads_are_all_connections() {
        let dealing = Dealing::of(vec![1, 3, 8]);
        for (phase, connections) in [(0, 5), (1, 5), (1, 1), (2, 64), (2, 3)] {
            for thread in 0..8 {
                let owned = (0..connections).filter(|number| dealing.owner(phase, *number) == thread).count();
                assert_eq!(dealing.share(phase, connections, thread), owned, "{phase} {connections} {thread}");
            }
        }
    }
}
