//! How long answers are gathered before they are worked through.
//!
//! Each wake-up costs a context switch, and on a machine that client and server share it interrupts a server thread. While
//! other connections are still being served, the loop therefore gives them a little time, so that it finds several answers at
//! once. That time is bounded, and never reaches past the moment at which something is due.

use super::wake::Waiter;
use crate::errors::Result;
use std::time::Duration;

/// Gathers answers: while several connections are being served, the loop gives the server a little time, so that one wake-up
/// finds several answers. The pauses end as soon as `enough` of them are there, or after `most` pauses.
#[derive(Clone, Copy, Debug)]
pub struct Batching {
    /// One pause. The kernel adds what its timers are coarse by.
    pause: Duration,
    /// How many of them there are at most.
    most: u32,
    /// One of so many connections that wait is enough.
    share: usize,
    /// Fewer connections that wait are not gathered.
    least: usize,
}

impl Default for Batching {
    fn default() -> Self {
        let mut v = [50u64, 2, 3, 4];
        if let Ok(text) = std::env::var("DIALIN_BATCH") {
            for (place, part) in text.split(',').enumerate() {
                v[place] = part.parse().unwrap();
            }
        }
        Self { pause: Duration::from_micros(v[0]), most: v[1] as u32, share: v[2] as usize, least: v[3] as usize }
    }
}

impl Batching {
    /// Fill `ready` with what has an answer, out of `waits` connections; wait for the first one no longer than `longest`.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait.
    pub fn wait(&self, waiter: &mut Waiter, waits: usize, longest: Duration, ready: &mut Vec<usize>) -> Result<()> {
        if waits < self.least || longest < self.pause * self.most {
            return waiter.wait(longest, ready);
        }
        let enough = waits / self.share;
        for _ in 0..self.most {
            waiter.wait(Duration::ZERO, ready)?;
            if ready.len() >= enough {
                return Ok(());
            }
            if self.pause.is_zero() {
                std::thread::yield_now();
            } else {
                std::thread::sleep(self.pause);
            }
        }
        let longest = if ready.is_empty() { longest } else { Duration::ZERO };
        waiter.wait(longest, ready)
    }
}
