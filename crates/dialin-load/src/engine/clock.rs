//! The run's clock: nanoseconds since the load began.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds per second.
pub const SECOND: u64 = 1_000_000_000;

/// The time of the kernel's monotonic clock, by which timers are set, in nanoseconds.
#[must_use]
pub fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * SECOND + time.tv_nsec.unsigned_abs()
}

/// The clock of a run. It starts at 0 when the load begins.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// When the load begins, by the monotonic clock.
    origin: u64,
    unix: f64,
}

impl Clock {
    /// Creates a clock that shows 0 at `origin`, which may lie in the future.
    #[must_use]
    pub fn from(origin: Instant) -> Self {
        let unix_now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let ahead = origin.saturating_duration_since(Instant::now());
        let passed = origin.elapsed();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let origin = monotonic().saturating_add(nanoseconds(ahead)).saturating_sub(nanoseconds(passed));
        Self { origin, unix: unix_now + ahead.as_secs_f64() - passed.as_secs_f64() }
    }

    /// Nanoseconds since the load began; 0 before that.
    #[must_use]
    pub fn now(&self) -> u64 {
        monotonic().saturating_sub(self.origin)
    }

    /// How long until the load begins; zero once it has begun.
    #[must_use]
    pub fn until_origin(&self) -> Duration {
        // `now` is 0 at any time before the origin, so the time that is left cannot be computed from it.
        Duration::from_nanos(self.origin.saturating_sub(monotonic()))
    }

    /// The time by the monotonic clock at which the clock shows `at` nanoseconds.
    #[must_use]
    pub fn to_monotonic(self, at: u64) -> u64 {
        self.origin.saturating_add(at)
    }

    /// What the clock shows at this time by the monotonic clock; 0 before the load begins.
    #[must_use]
    pub fn of_monotonic(&self, time: u64) -> u64 {
        time.saturating_sub(self.origin)
    }

    /// The Unix time, in seconds, at which the clock shows `at` nanoseconds.
    #[must_use]
    pub fn unix(&self, at: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "exact to a microsecond for runs of years")]
        let seconds = at as f64 / 1e9;
        self.unix + seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_that_lies_ahead_is_waited_for() {
        let clock = Clock::from(Instant::now() + Duration::from_secs(1000));
        assert!(clock.until_origin() > Duration::from_secs(900));
        assert_eq!(clock.now(), 0);
        assert_eq!(Clock::from(Instant::now()).until_origin(), Duration::ZERO);
    }

    #[test]
    fn what_it_shows_and_the_time_of_the_kernels_clock_are_the_same_moment() {
        let clock = Clock::from(Instant::now());
        let (before, time, after) = (clock.now(), monotonic(), clock.now());
        assert!((before..=after).contains(&clock.of_monotonic(time)));
        assert_eq!(clock.of_monotonic(clock.to_monotonic(7)), 7);
    }
}
