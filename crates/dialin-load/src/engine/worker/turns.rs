//! When idle connections begin their next transaction.

use super::Worker;
use crate::engine::script::{Script, Turn};
use crate::engine::slot::State;
use crate::errors::Result;

impl<'s, S: Script<'s>> Worker<'_, 's, S> {
    /// In a closed loop, begins the next transaction of a connection, or waits for the time that its script sets.
    pub(super) fn take_turn(&mut self, place: usize, now: u64) -> Result<()> {
        let slot = &mut self.slots[place];
        match slot.script.turn(now) {
            Turn::Begin(due) => return self.begin(place, due, now),
            Turn::At(time) => {
                slot.booked = Some(time);
                self.timers.set(time, place);
            }
            Turn::Held => slot.is_held = true,
            Turn::Over => {}
        }
        Ok(())
    }

    /// Asks a script for its turn again, at the time that it set.
    pub(super) fn ask_again(&mut self, place: usize, at: u64, now: u64) -> Result<()> {
        if self.slots[place].booked.take_if(|time| *time == at).is_none() {
            return Ok(());
        }
        self.tally.timer(now - at);
        self.take_turn(place, now)
    }

    /// Continues the connections whose scripts waited for other connections.
    pub(super) fn wake(&mut self, now: u64) -> Result<()> {
        let mut woken = std::mem::take(&mut self.woken);
        loop {
            self.poll_by = S::poll(self.source, now, &mut woken)?;
            if woken.is_empty() {
                break;
            }
            for place in woken.drain(..) {
                let is_held = self.slots.get_mut(place).is_some_and(|slot| std::mem::take(&mut slot.is_held));
                match is_held.then(|| self.slots[place].state) {
                    Some(State::Free) => {
                        // It waited for other connections.
                        self.slots[place].usable_since = now;
                        self.take_turn(place, now)?;
                    }
                    Some(State::Idles) => {
                        self.timers.cancel(place);
                        self.go_on(place, now)?;
                    }
                    _ => {}
                }
            }
        }
        self.woken = woken;
        Ok(())
    }

    /// Begins the transaction that a connection took, if it is due.
    pub(super) fn begin_booked(&mut self, place: usize) -> Result<()> {
        // The clock is read again, so that the time for sending on other connections is the driver's delay, and not the server's.
        let now = self.clock.now();
        let slot = &mut self.slots[place];
        let Some(due) = slot.booked.filter(|due| *due <= now) else { return Ok(()) };
        slot.booked = None;
        // If the connection could not have been free at the due time, the transaction waited for the server, not for the driver's timer.
        if slot.usable_since <= due {
            self.tally.timer(now - due);
        }
        self.begin(place, due, now)
    }
}
