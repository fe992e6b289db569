//! The CPU time of the driver.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// The CPU time of this process since it began: user and system, all threads.
#[must_use]
pub fn process_cpu() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// The CPU time of the calling thread since it began: user and system.
#[must_use]
pub fn thread_cpu() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

/// Measures the increase of a CPU time since the last reading.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    last: Duration,
}

impl Meter {
    /// Creates a meter that starts at a first reading.
    #[must_use]
    pub fn from(now: Duration) -> Self {
        Self { last: now }
    }

    /// Takes a reading; returns the increase since the last one, in nanoseconds.
    pub fn lap(&mut self, now: Duration) -> u64 {
        let passed = now.saturating_sub(self.last);
        self.last = now;
        u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_returns_the_increase_since_the_last_reading() {
        let mut meter = Meter::from(Duration::from_millis(500));
        let readings = [700, 700, 701].map(Duration::from_millis);
        assert_eq!(readings.map(|now| meter.lap(now)), [200_000_000, 0, 1_000_000]);
    }

    #[test]
    fn work_shows_on_the_clocks_of_thread_and_process() {
        let before = (thread_cpu(), process_cpu());
        let mut sum = 0_u64;
        while thread_cpu() - before.0 < Duration::from_millis(2) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(process_cpu() - before.1 >= Duration::from_millis(1));
    }
}
