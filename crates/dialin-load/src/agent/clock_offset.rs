//! Where an agent's clock stands against the conductor's.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An agent's answer to being asked what its clock shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// When it was asked, by the conductor's clock.
    pub asked: Instant,
    /// When the answer came.
    pub came: Instant,
    /// The conductor's unix time when it asked, in seconds.
    pub unix_asked: f64,
    /// Nanoseconds of the agent's steady clock.
    pub nanoseconds: u64,
    /// Its unix time, in seconds.
    pub unix: f64,
}

/// What is known of an agent's clock. The answer with the shortest round trip counts: it is off by half of that at the most.
#[derive(Clone, Debug, Default)]
pub struct ClockOffset {
    best: Option<Answer>,
}

impl ClockOffset {
    /// Take an answer in.
    pub fn note(&mut self, answer: Answer) {
        if self.best.is_none_or(|best| round_trip(&answer) < round_trip(&best)) {
            self.best = Some(answer);
        }
    }

    /// The shortest round trip; None before the first answer.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.best.as_ref().map(round_trip)
    }

    /// What the agent's clock shows at an instant after the answers; None before the first one, or beyond centuries.
    #[must_use]
    pub fn theirs(&self, at: Instant) -> Option<u64> {
        let best = self.best.as_ref()?;
        let since = at.saturating_duration_since(best.asked + round_trip(best) / 2);
        best.nanoseconds.checked_add(u64::try_from(since.as_nanos()).ok()?)
    }

    /// By how much the agent's unix time is ahead of the conductor's, in seconds; 0 before the first answer.
    #[must_use]
    pub fn ahead(&self) -> f64 {
        self.best.as_ref().map_or(0.0, |best| best.unix - best.unix_asked - round_trip(best).as_secs_f64() / 2.0)
    }
}

/// What a steady clock shows that showed 0 at `epoch`.
#[must_use]
pub fn nanoseconds_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Unix time, in seconds.
#[must_use]
pub fn unix_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn round_trip(answer: &Answer) -> Duration {
    answer.came.saturating_duration_since(answer.asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(origin: Instant, (asked, came): (u64, u64), nanoseconds: u64) -> Answer {
        let at = |milliseconds| origin + Duration::from_millis(milliseconds);
        Answer { asked: at(asked), came: at(came), unix_asked: 100.0, nanoseconds, unix: 107.5 }
    }

    #[test]
    fn an_answer_is_taken_to_be_of_the_middle_between_asking_and_hearing() {
        let origin = Instant::now();
        let mut clock = ClockOffset::default();
        clock.note(answer(origin, (100, 104), 7_000_000));
        assert_eq!(clock.round_trip(), Some(Duration::from_millis(4)));
        assert_eq!(clock.theirs(origin + Duration::from_millis(112)), Some(17_000_000));
        assert!((clock.ahead() - 7.498).abs() < 1e-9, "{}", clock.ahead());
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let origin = Instant::now();
        let mut clock = ClockOffset::default();
        for (times, nanoseconds) in [((0, 50), 1), ((100, 102), 2), ((200, 230), 3)] {
            clock.note(answer(origin, times, nanoseconds));
        }
        assert_eq!(clock.round_trip(), Some(Duration::from_millis(2)));
        assert_eq!(clock.theirs(origin + Duration::from_millis(101)), Some(2));
    }

    #[test]
    fn nothing_is_known_before_the_first_answer_and_nonsense_does_no_harm() {
        let mut clock = ClockOffset::default();
        assert_eq!((clock.round_trip(), clock.theirs(Instant::now())), (None, None));
        assert!(clock.ahead().abs() < f64::EPSILON);
        let origin = Instant::now();
        clock.note(answer(origin, (0, 1), u64::MAX));
        assert_eq!(clock.theirs(origin + Duration::from_secs(1)), None);
    }
}
