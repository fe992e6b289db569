//! How long answers are gathered before they are worked through.
//!
//! Each wake-up costs a context switch, and where client and server share a busy machine it takes a CPU from a server thread.
//! While other connections are still being served, the loop therefore gives them a little time, so that it finds several answers
//! at once: about as long as it takes until most of them are there, for the server goes on with the others meanwhile. Whether it does
//! so is decided for each step ([`super::gathering`]). The time is bounded, and never reaches past the moment at which something is due.
//! In an open loop nothing is gathered: an answer there is a latency that users feel, and a transaction may become due at any moment.

use super::poller::Poller;
use crate::errors::Result;
use std::num::NonZeroU64;
use std::time::Duration;

/// A load thread pauses only while so many of its connections wait.
const FEWEST_WAITS: usize = 8;
/// The shortest and the longest pause.
const SHORTEST: Duration = Duration::from_micros(5);
const LONGEST: Duration = Duration::from_micros(400);
/// A pause in which more of the answers come than this was too long.
const MOST: f64 = 0.7;
/// By what a pause that was too long is made shorter, and one that was not longer.
const SHORTER: f64 = 0.9;
const LONGER: f64 = 1.05;

/// Gathers answers in pauses that grow and shrink, until most of them are there.
#[derive(Clone, Copy, Debug)]
pub struct Batching {
    pause: Duration,
    /// Pauses since they were last told, and how long they were.
    pauses: u64,
    paused: Duration,
}

impl Batching {
    /// For the thread that makes it, whose pauses are made exact.
    pub fn new() -> Self {
        // Where the kernel refuses, pauses are 50 microseconds longer, and shrink by as much.
        let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
        Self { pause: SHORTEST, pauses: 0, paused: Duration::ZERO }
    }

    /// Begin as a run does that has only just started.
    pub fn restart(&mut self) {
        self.pause = SHORTEST;
    }

    /// How many pauses there were since this was last asked, and how long they were, in nanoseconds.
    pub fn told(&mut self) -> (u64, u64) {
        let nanoseconds = u64::try_from(self.paused.as_nanos()).unwrap_or(u64::MAX);
        let told = (self.pauses, nanoseconds);
        (self.pauses, self.paused) = (0, Duration::ZERO);
        told
    }

    /// Fill `ready` with what has an answer, out of `waits` connections that may be gathered; wait for the first one no longer than `longest`, or than
    /// the next tick.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait.
    pub fn wait(&mut self, waiter: &mut Poller, waits: usize, longest: Option<Duration>, ready: &mut Vec<usize>) -> Result<()> {
        if waits < FEWEST_WAITS || longest.is_some_and(|longest| longest < self.pause) {
            return waiter.wait(longest, ready);
        }
        let pause = self.pause;
        std::thread::sleep(pause);
        self.pauses += 1;
        self.paused += pause;
        waiter.wait(Some(Duration::ZERO), ready)?;
        self.pause = adapted(pause, ready.len(), waits);
        if ready.is_empty() { waiter.wait(longest.map(|longest| longest.saturating_sub(pause)), ready) } else { Ok(()) }
    }
}

/// The next pause, after one in which so many of the awaited answers came.
#[expect(clippy::cast_precision_loss, reason = "connections are counted in thousands")]
fn adapted(pause: Duration, answers: usize, waits: usize) -> Duration {
    let factor = if answers as f64 > MOST * waits as f64 { SHORTER } else { LONGER };
    pause.mul_f64(factor).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pause after many in which so many answers of sixteen come for each hundred microseconds.
    fn settled(answers: f64) -> f64 {
        let mut pause = SHORTEST;
        for _ in 0..200 {
            let came = (answers * pause.as_secs_f64() * 1e4).round().min(16.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 16")]
            let came = came as usize;
            pause = adapted(pause, came, 16);
        }
        pause.as_secs_f64() * 1e6
    }

    #[test]
    fn a_pause_becomes_as_long_as_it_takes_until_most_answers_are_there() {
        let found = settled(12.0);
        assert!((80.0..110.0).contains(&found), "{found}");
    }

    #[test]
    fn it_is_bounded_whatever_the_server_does() {
        assert!((settled(0.0) - 400.0).abs() < 1.0);
        assert!((settled(1e6) - 5.0).abs() < 1.0);
    }
}
