//! How connections are distributed over load threads, for each phase.
//!
//! Each step of a run has as many load threads as a run of this step alone. Its connections are distributed over them round-robin, by
//! connection number. If the next step distributes them differently, a thread hands each connection over as soon as it is idle: an
//! open transaction finishes on the thread on which it began. Threads that have no connection in a step sleep.

use super::slot::Slot;

/// A connection that is handed over to another load thread.
pub struct Handover<S> {
    /// The phase whose distribution requires the handover. The receiving thread may not have entered this phase yet, or may have left it.
    pub phase: usize,
    /// The connection, which is idle.
    pub slot: Slot<S>,
}

/// How the connections of a run are distributed over its load threads.
pub struct Dealing {
    load_threads: Vec<usize>,
}

impl Dealing {
    /// Creates a distribution from the number of load threads of each phase.
    #[must_use]
    pub fn of(load_threads: Vec<usize>) -> Self {
        Self { load_threads }
    }

    /// How many load threads the run needs: the maximum over all phases.
    #[must_use]
    pub fn most(&self) -> usize {
        self.load_threads.iter().max().copied().unwrap_or(1)
    }

    /// The number of load threads of a phase.
    #[must_use]
    pub fn load_threads(&self, phase: usize) -> usize {
        self.load_threads[phase]
    }

    /// The load thread that runs connection `number` in a phase.
    #[must_use]
    pub fn owner(&self, phase: usize, number: usize) -> usize {
        number % self.load_threads[phase]
    }

    /// How many of the `connections` of a phase a load thread runs.
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
