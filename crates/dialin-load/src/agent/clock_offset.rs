//! Where an agent's clock stands against the conductor's.

use std::time::{Duration, Instant};

/// What is known of an agent's steady clock: what it showed when it was asked, as the answer with the shortest round trip told. That is
/// off by half of the round trip at the most.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    /// The round trip, the middle of it by the conductor's clock, and the nanoseconds that the agent's clock showed.
    best: Option<(Duration, Instant, u64)>,
}

impl ClockOffset {
    /// Take an answer in, and when it was asked for and came.
    pub fn note(&mut self, asked: Instant, came: Instant, nanoseconds: u64) {
        let round_trip = came.saturating_duration_since(asked);
        if self.round_trip().is_none_or(|shortest| round_trip < shortest) {
            self.best = Some((round_trip, asked + round_trip / 2, nanoseconds));
        }
    }

    /// The shortest round trip; None before the first answer.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.best.map(|(round_trip, ..)| round_trip)
    }

    /// What the agent's clock shows at an instant after the answers; None before the first one, or beyond centuries.
    #[must_use]
    pub fn theirs(&self, at: Instant) -> Option<u64> {
        let (_, middle, nanoseconds) = self.best?;
        nanoseconds.checked_add(u64::try_from(at.saturating_duration_since(middle).as_nanos()).ok()?)
    }
}

/// What a steady clock shows that showed 0 at `epoch`.
#[must_use]
pub fn nanoseconds_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_with_the_shortest_round_trip_counts_as_of_its_middle() {
        let origin = Instant::now();
        let at = |milliseconds| origin + Duration::from_millis(milliseconds);
        let mut clock = ClockOffset::default();
        assert_eq!((clock.round_trip(), clock.theirs(origin)), (None, None));
        for (asked, came, nanoseconds) in [(0, 50, 1), (100, 104, 7_000_000), (200, 230, 3)] {
            clock.note(at(asked), at(came), nanoseconds);
        }
        assert_eq!(clock.round_trip(), Some(Duration::from_millis(4)));
        assert_eq!(clock.theirs(at(112)), Some(17_000_000));
    }

    #[test]
    fn a_clock_that_cannot_be_does_no_harm() {
        let mut clock = ClockOffset::default();
        clock.note(Instant::now(), Instant::now(), u64::MAX);
        assert_eq!(clock.theirs(Instant::now() + Duration::from_secs(1)), None);
    }
}
