//! The run's own time: nanoseconds since the load began.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// When a run began.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    unix: f64,
}

impl Clock {
    /// A clock that shows 0 at an instant, which may lie ahead.
    #[must_use]
    pub fn from(origin: Instant) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let ahead = origin.saturating_duration_since(Instant::now()).as_secs_f64();
        let passed = origin.elapsed().as_secs_f64();
        Self { origin, unix: since + ahead - passed }
    }

    /// Nanoseconds since the load began; 0 before it.
    #[must_use]
    pub fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long until the clock shows something.
    #[must_use]
    pub fn until(&self, at: u64) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.now()))
    }

    /// The unix time at which the clock shows something, in seconds.
    #[must_use]
    pub fn unix(&self, at: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "microseconds of years are exact enough")]
        let seconds = at as f64 / 1e9;
        self.unix + seconds
    }
}
