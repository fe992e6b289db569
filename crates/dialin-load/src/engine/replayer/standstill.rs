//! Whether a replay is stuck: a statement waits for another transaction, which waits in the server for a lock of this one.
//!
//! That happens if locks differ from those in the capture. No log shows the locks on gaps between rows, for example.

use crate::engine::clock::SECOND;
use std::ops::RangeInclusive;

/// A replay counts as stuck if no transaction has ended for this many times the longest time between two ends so far, within these limits
/// in nanoseconds.
const STUCK: u64 = 4;
const LIMITS: RangeInclusive<u64> = SECOND / 50..=SECOND / 4;
/// The upper limit while the other transaction has not begun: perhaps no connection is left that could execute it.
const LONGEST_BEFORE_BEGIN: u64 = SECOND / 20;
/// The longest time between two ends decreases by this part at each end.
const FORGETTING: u64 = 512;

/// The times between the ends of transactions.
#[derive(Debug)]
pub(super) struct Standstill {
    /// When the last transaction ended, in nanoseconds since the load began.
    pub(super) last_end: u64,
    /// The longest time between two ends; it decreases slowly.
    longest: u64,
    /// Whether a statement has stopped waiting since the last end.
    is_broken: bool,
}

impl Default for Standstill {
    fn default() -> Self {
        Self { last_end: 0, longest: SECOND, is_broken: false }
    }
}

impl Standstill {
    /// Records that a transaction has ended.
    pub(super) fn end(&mut self, now: u64) {
        if !std::mem::take(&mut self.is_broken) {
            self.longest = (self.longest - self.longest / FORGETTING).max(now.saturating_sub(self.last_end));
        }
        self.last_end = now;
    }

    /// Records that a statement has stopped waiting, so that the time until the next end does not count.
    pub(super) fn end_wait(&mut self) {
        self.is_broken = true;
    }

    /// Returns how long, in nanoseconds, no transaction may end before a statement stops waiting for another transaction.
    pub(super) fn limit(&self, has_begun: bool) -> u64 {
        let limit = (STUCK * self.longest).clamp(*LIMITS.start(), *LIMITS.end());
        if has_begun { limit } else { limit.min(LONGEST_BEFORE_BEGIN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_steadily_transactions_end_the_sooner_a_standstill_is_noticed() {
        let mut standstill = Standstill::default();
        assert_eq!((standstill.limit(true), standstill.limit(false)), (SECOND / 4, SECOND / 20));
        let mut now = 0;
        let mut end_after = |standstill: &mut Standstill, time| {
            now += time;
            standstill.end(now);
        };
        (0..3_000).for_each(|_| end_after(&mut standstill, SECOND / 1_000));
        assert_eq!((standstill.limit(true), standstill.limit(false)), (SECOND / 50, SECOND / 50));
        standstill.end_wait();
        end_after(&mut standstill, SECOND / 50);
        assert_eq!(standstill.limit(true), SECOND / 50, "it was no stall of the server");
        end_after(&mut standstill, SECOND / 25);
        assert_eq!((standstill.limit(true), standstill.limit(false)), (4 * SECOND / 25, SECOND / 20));
    }
}
