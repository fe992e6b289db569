//! When the answers that a load thread finds at its sockets had arrived, as far as it can know.
//!
//! What passes between the arrival of an answer and its handling is the driver's delay, not the server's. The kernel does not say when data
//! arrived at a Unix socket, but the thread knows when it would have noticed it:
//!
//! - An answer that ends a wait has just arrived.
//! - An answer that a wait finds at once arrived after the last wait, while the thread handled other answers or paused to gather some.
//!   It counts as arrived in the middle of that time, which is right on average.
//! - A thread that was stopped, or got no CPU, is late for the tick or the alarm that should have woken it, too. What it finds then counts as
//!   arrived when that timer expired. Likewise, if the thread has not looked for longer than a tick although it did not wait, something
//!   kept it from looking, and what it finds counts as arrived when that began.
//!
//! No answer counts as arrived before its statement was sent. All times are in nanoseconds since the load began.

/// A wait that takes longer than this was woken; a shorter one found something at once.
const AT_ONCE: u64 = 5_000;

/// When a load thread looked at its sockets, and what that says about the answers that it found last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention {
    /// The time between two ticks.
    tick: u64,
    /// Everything that had arrived by this time has been reported.
    looked: u64,
    /// The answers that the last wait reported arrived in this time.
    from: u64,
    to: u64,
}

impl Attention {
    /// Creates the state of a thread that ticks in intervals of `tick`.
    #[must_use]
    pub fn new(tick: u64) -> Self {
        Self { tick, ..Self::default() }
    }

    /// Notes a wait that began and ended at these times. `expired`: when the first timer expired that it reported. `has_paused`: whether
    /// the thread slept before it looked. `has_more`: whether there was more than it reported.
    pub fn note_wait(&mut self, (began, ended): (u64, u64), expired: Option<u64>, has_paused: bool, has_more: bool) {
        (self.from, self.to) = if has_paused {
            (self.looked, ended)
        } else if ended.saturating_sub(began) > AT_ONCE {
            let late_since = expired.map_or(ended, |due| due.clamp(began, ended));
            (late_since, late_since)
        } else {
            (self.looked, began)
        };
        if !has_more {
            self.looked = ended;
        }
    }

    /// When the answer to a statement that was sent at `sent` had arrived, if the last wait reported it.
    #[must_use]
    pub fn arrival(&self, sent: u64) -> u64 {
        let from = self.from.max(sent);
        let unseen = self.to.saturating_sub(from);
        if unseen > self.tick { from } else { from + unseen / 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 2_000_000;

    /// A thread that has just looked, at 10 ms.
    fn looking() -> Attention {
        let mut attention = Attention::new(TICK);
        attention.note_wait((9_000_000, 10_000_000), None, false, false);
        attention
    }

    #[test]
    fn an_answer_that_ends_a_wait_has_just_arrived() {
        let mut attention = looking();
        attention.note_wait((10_050_000, 10_900_000), None, false, false);
        assert_eq!(attention.arrival(10_020_000), 10_900_000);
    }

    #[test]
    fn an_answer_that_a_wait_finds_at_once_arrived_on_average_in_the_middle_of_the_work_before_it() {
        let mut attention = looking();
        attention.note_wait((10_080_000, 10_081_000), None, false, false);
        assert_eq!(attention.arrival(9_000_000), 10_040_000);
        // It cannot have arrived before the server was asked.
        assert_eq!(attention.arrival(10_060_000), 10_070_000);
        // A tick that was due meanwhile says nothing about a thread that was at work.
        let mut attention = looking();
        attention.note_wait((10_080_000, 10_081_000), Some(10_001_000), false, false);
        assert_eq!(attention.arrival(9_000_000), 10_040_000);
    }

    #[test]
    fn answers_that_were_gathered_arrived_on_average_in_the_middle_of_the_pause_and_the_work_before_it() {
        let mut attention = looking();
        attention.note_wait((10_100_000, 10_400_000), None, true, false);
        assert_eq!(attention.arrival(9_000_000), 10_200_000);
    }

    #[test]
    fn answers_wait_for_a_thread_that_was_stopped_since_its_timer_expired() {
        let mut attention = looking();
        attention.note_wait((10_050_000, 61_000_000), Some(11_000_000), false, false);
        assert_eq!(attention.arrival(10_040_000), 11_000_000);
        // Stopped while it was at work, and not while it waited.
        let mut attention = looking();
        attention.note_wait((60_000_000, 60_001_000), None, false, false);
        assert_eq!([9_000_000, 10_040_000].map(|sent| attention.arrival(sent)), [10_000_000, 10_040_000]);
    }

    #[test]
    fn a_server_that_stalls_while_the_thread_looks_is_not_the_drivers_delay() {
        let mut attention = looking();
        for tick in 6..=30 {
            let due = tick * TICK;
            attention.note_wait((due - TICK + 30_000, due + 20_000), Some(due), false, false);
        }
        attention.note_wait((30 * TICK + 30_000, 30 * TICK + 500_000), None, false, false);
        assert_eq!(attention.arrival(10_040_000), 30 * TICK + 500_000);
    }

    #[test]
    fn answers_that_the_thread_does_not_get_to_wait_since_it_last_saw_all() {
        let mut attention = looking();
        for wait in 1..=40 {
            let at = 10_000_000 + wait * 1_000_000;
            attention.note_wait((at, at + 1_000), None, false, true);
        }
        assert_eq!(attention.arrival(9_000_000), 10_000_000);
    }
}
