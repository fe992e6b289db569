//! The run's clock: nanoseconds since the load began.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds per second.
pub const SECOND: u64 = 1_000_000_000;

/// The clock of a run. It starts at 0 when the load begins.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    unix: f64,
}

impl Clock {
    /// Creates a clock that shows 0 at `origin`, which may lie in the future.
    #[must_use]
    pub fn from(origin: Instant) -> Self {
        let unix_now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let ahead = origin.saturating_duration_since(Instant::now()).as_secs_f64();
        let passed = origin.elapsed().as_secs_f64();
        Self { origin, unix: unix_now + ahead - passed }
    }

    /// Nanoseconds since the load began; 0 before that.
    #[must_use]
    pub fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long until the load begins; zero once it has begun.
    #[must_use]
    pub fn until_origin(&self) -> Duration {
        // `now` is 0 at any time before the origin, so the time that is left cannot be computed from it.
        self.origin.saturating_duration_since(Instant::now())
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
}
