//! How early a load thread wakes up for what is due.
//!
//! An idle CPU takes tens of microseconds to wake up, on virtual machines most of all, so a thread that sleeps until something is due is
//! late by as much. It therefore sleeps a little less, by the time that its last wake-ups took, and passes what is left by looking at its
//! sockets, so that no answer waits either. Where wake-ups are exact, it sleeps until the due time.
//!
//! What this costs is bounded twice: by [`MOST`] for each due time, and by one part in [`SHARE`] of the thread's time. A thread for which
//! nothing is due soon, as in a closed loop without pauses, never looks without sleeping.

use super::clock::SECOND;

/// The part of its wake-ups that a thread allows for is four of five: to allow for the slowest ones would cost more than it saves.
const FASTER: f64 = 0.8;
/// By how much one wake-up changes the estimate, in nanoseconds.
const STEP: f64 = 2_000.0;
/// The most that a thread wakes up early, in nanoseconds.
pub const MOST: u64 = SECOND / 8_000;
/// Wake-ups that take longer, in nanoseconds, say that the CPUs are busy and not how long one that is idle takes.
const BUSY: u64 = SECOND / 4_000;
/// Wake-ups that take less, in nanoseconds, are exact enough.
const EXACT: u64 = SECOND / 100_000;
/// A thread may look without sleeping for one part in this many of its time.
pub const SHARE: u64 = 10;
/// The most time for it that it can save up, in nanoseconds.
pub const SAVINGS: u64 = SECOND / 500;

/// How early a load thread wakes up. All times are in nanoseconds.
#[derive(Debug, Default)]
pub struct EarlyWake {
    /// How long wake-ups take; None before the first one.
    latency: Option<f64>,
    /// How long the thread may still look without sleeping, as of `counted`.
    savings: u64,
    counted: u64,
}

impl EarlyWake {
    /// By how much the thread is to wake up early at present; `now` never decreases.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "microseconds, and not negative")]
    pub fn lead(&mut self, now: u64) -> u64 {
        self.savings = SAVINGS.min(self.savings + now.saturating_sub(self.counted) / SHARE);
        self.counted = now;
        let lead = self.latency.map_or(0, |latency| latency as u64).min(MOST);
        if (EXACT..=self.savings).contains(&lead) { lead } else { 0 }
    }

    /// Notes that a wake-up took this long.
    #[expect(clippy::cast_precision_loss, reason = "microseconds")]
    pub fn note(&mut self, took: u64) {
        if took > BUSY {
            return;
        }
        let took = took as f64;
        let latency = self.latency.unwrap_or(took);
        // The steps are in balance where the faster ones are this part of all.
        let step = if took > latency { FASTER * STEP } else { (FASTER - 1.0) * STEP };
        self.latency = Some((latency + step).max(0.0));
    }

    /// Notes that the thread looked without sleeping for this long.
    pub fn spend(&mut self, time: u64) {
        self.savings = self.savings.saturating_sub(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lead after a thousand wake-ups that took `took(number)` microseconds, one each millisecond.
    fn settled(took: impl Fn(u64) -> u64) -> u64 {
        let mut early = EarlyWake::default();
        (0..1_000).for_each(|number| early.note(1_000 * took(number)));
        early.lead(SECOND)
    }

    #[test]
    fn the_lead_is_what_four_of_five_wake_ups_take() {
        let lead = settled(|number| 30 + number * 7 % 50);
        assert!((64_000..=76_000).contains(&lead), "{lead}");
        assert!((58_000..=62_000).contains(&settled(|_| 60)));
    }

    #[test]
    fn there_is_no_lead_where_wake_ups_are_exact_or_before_one_was_seen() {
        assert_eq!((settled(|number| number % 8), EarlyWake::default().lead(SECOND)), (0, 0));
    }

    #[test]
    fn the_lead_is_bounded_and_busy_cpus_do_not_count() {
        assert_eq!(settled(|_| 200), MOST);
        assert_eq!(settled(|_| 4_000), 0);
        assert!((58_000..=62_000).contains(&settled(|number| if number % 2 == 0 { 60 } else { 4_000 })));
    }

    #[test]
    fn all_of_it_takes_no_more_than_a_part_of_the_time() {
        for gap in [1_000, 20_000, 100_000, 10_000_000] {
            let (mut early, mut spent, mut now) = (EarlyWake::default(), 0, 0);
            while now < SECOND {
                early.note(100_000);
                let lead = early.lead(now);
                early.spend(lead);
                spent += lead;
                now += gap.max(lead);
            }
            assert!(spent <= SECOND / SHARE + SAVINGS, "{gap}: {spent}");
            // What is due rarely is always waited for this way, once there are savings.
            assert!(gap < 10_000_000 || spent >= 90 * 98_000, "{spent}");
        }
    }
}
