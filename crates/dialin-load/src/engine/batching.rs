//! How long answers are gathered before they are worked through.
//!
//! Each wake-up costs a context switch, and where client and server share a busy machine it takes a CPU from a server thread.
//! While other connections are still being served, the loop therefore gives them a little time, so that it finds several answers
//! at once. It does so only while the machine's CPUs are all at work: where one is idle, a wake-up takes nothing from anybody, and
//! waiting would merely make answers late. The time is bounded, and never reaches past the moment at which something is due.

use super::wake::Waiter;
use crate::errors::Result;
use std::time::Duration;

/// A pause between two looks. The kernel's timers make it about half as long again.
const PAUSE: Duration = Duration::from_micros(100);
/// How many pauses there are at most.
const PAUSES: u32 = 2;
/// Fewer connections that wait are not gathered.
const LEAST: usize = 4;
/// A machine of which less is idle counts as busy.
const IDLE: f64 = 0.4;

/// Gathers answers in pauses, until half of them are there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batching {
    is_busy: bool,
}

impl Batching {
    /// Take in which share of the machine's CPU time was idle in the last second.
    pub fn learn(&mut self, idle: f64) {
        self.is_busy = idle < IDLE;
    }

    /// Fill `ready` with what has an answer, out of `waits` connections; wait for the first one no longer than `longest`.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait.
    pub fn wait(&self, waiter: &mut Waiter, waits: usize, longest: Duration, ready: &mut Vec<usize>) -> Result<()> {
        if !self.is_busy || waits < LEAST || longest < PAUSE * PAUSES {
            return waiter.wait(longest, ready);
        }
        for _ in 0..PAUSES {
            waiter.wait(Duration::ZERO, ready)?;
            if ready.len() >= waits.div_ceil(2) {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        let longest = if ready.is_empty() { longest } else { Duration::ZERO };
        waiter.wait(longest, ready)
    }
}
