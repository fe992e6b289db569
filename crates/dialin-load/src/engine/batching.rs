//! How long a load thread waits to gather answers before it processes them.
//!
//! Each wake-up costs a context switch. Where client and server share a busy machine, it also takes a CPU from a server thread.
//! While the server still works on other connections, the event loop therefore sleeps briefly, so that it finds several answers
//! at once. The pause adapts to the time that it takes until most of the awaited answers have arrived; the server processes the
//! other statements meanwhile. Each step decides whether it gathers ([`super::gathering`]). The pause is bounded, and never extends
//! past the time at which something is due. An open loop never gathers: there, a late answer is latency that users notice, and a
//! transaction may become due at any time.

use super::poller::{Poller, Until, Waited};
use crate::errors::Result;
use std::num::NonZeroU64;
use std::time::Duration;

/// A load thread pauses only while at least this many of its connections wait for an answer.
const FEWEST_WAITS: usize = 8;
/// The shortest and the longest pause.
const SHORTEST: Duration = Duration::from_micros(5);
const LONGEST: Duration = Duration::from_micros(400);
/// A pause during which more than this share of the awaited answers arrive was too long.
const MOST: f64 = 0.7;
/// The factor for the next pause after one that was too long, and after one that was not.
const SHORTER: f64 = 0.9;
const LONGER: f64 = 1.05;

/// Gathers answers in pauses whose length adapts until most of the awaited answers arrive within one pause.
#[derive(Clone, Copy, Debug)]
pub struct Batching {
    pause: Duration,
    /// The number of pauses since [`Self::take_pauses`] was last called, and their total length.
    pauses: u64,
    paused: Duration,
    /// Whether there were more answers than the last wait reported: no others need to be waited for.
    has_more: bool,
}

impl Batching {
    /// Creates the state for the calling thread, and sets the timer slack of this thread to 1 ns so that its pauses are precise.
    pub fn new() -> Self {
        // If the kernel refuses, each pause lasts 50 microseconds longer (the default slack), and the adaptation shortens it by as much.
        let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
        Self { pause: SHORTEST, pauses: 0, paused: Duration::ZERO, has_more: false }
    }

    /// Resets the pause to the shortest one, as at the start of a run.
    pub fn restart(&mut self) {
        self.pause = SHORTEST;
    }

    /// Returns the number of pauses since the last call, and their total length in nanoseconds.
    pub fn take_pauses(&mut self) -> (u64, u64) {
        let nanoseconds = u64::try_from(self.paused.as_nanos()).unwrap_or(u64::MAX);
        let counted = (self.pauses, nanoseconds);
        (self.pauses, self.paused) = (0, Duration::ZERO);
        counted
    }

    /// Fills `ready` with the connections that have an answer. `waits` is the number of connections whose answers may be gathered.
    /// Waits for the first answer as long as `until` says; `now` is the time by the kernel's monotonic clock. Also returns whether the
    /// answers were gathered in a pause.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses to wait.
    pub fn wait(
        &mut self,
        poller: &mut Poller,
        waits: usize,
        (until, now): (Until, u64),
        ready: &mut Vec<usize>,
    ) -> Result<(Waited, bool)> {
        let has_time = match until {
            Until::Now => false,
            Until::At(at) | Until::Exactly(at) => u128::from(at.saturating_sub(now)) >= self.pause.as_nanos(),
            Until::Tick => true,
        };
        if waits < FEWEST_WAITS || !has_time || std::mem::take(&mut self.has_more) {
            let waited = poller.wait(until, ready)?;
            self.has_more = waited.has_more;
            return Ok((waited, false));
        }
        let pause = self.pause;
        std::thread::sleep(pause);
        self.pauses += 1;
        self.paused += pause;
        let waited = poller.wait(Until::Now, ready)?;
        self.has_more = waited.has_more;
        self.pause = adapted(pause, if waited.has_more { waits } else { ready.len() }, waits);
        if ready.is_empty() { Ok((poller.wait(until, ready)?, false)) } else { Ok((waited, true)) }
    }
}

/// The length of the next pause, after a pause during which `answers` of `waits` awaited answers arrived.
#[expect(clippy::cast_precision_loss, reason = "connections are counted in thousands")]
fn adapted(pause: Duration, answers: usize, waits: usize) -> Duration {
    let factor = if answers as f64 > MOST * waits as f64 { SHORTER } else { LONGER };
    pause.mul_f64(factor).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause length in microseconds, after 200 pauses in which `answers` of 16 answers arrive per 100 microseconds.
    fn settled(answers: f64) -> f64 {
        let mut pause = SHORTEST;
        for _ in 0..200 {
            let arrived = (answers * pause.as_secs_f64() * 1e4).round().min(16.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 16")]
            let arrived = arrived as usize;
            pause = adapted(pause, arrived, 16);
        }
        pause.as_secs_f64() * 1e6
    }

    #[test]
    fn a_pause_becomes_as_long_as_it_takes_until_most_answers_are_there() {
        let pause = settled(12.0);
        assert!((80.0..110.0).contains(&pause), "{pause}");
    }

    #[test]
    fn a_pause_is_bounded_whatever_the_server_does() {
        assert!((settled(0.0) - 400.0).abs() < 1.0);
        assert!((settled(1e6) - 5.0).abs() < 1.0);
    }
}
