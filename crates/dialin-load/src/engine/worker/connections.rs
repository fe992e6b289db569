//! The connections of a load thread: which of them begin transactions in a phase, which are unused, and which are handed over to other
//! threads or received from them.

use super::{IDLE_TICK, TICK, Worker};
use crate::engine::dealing::Handover;
use crate::engine::script::{Query, Script};
use crate::engine::slot::{Awaited, Slot, State};
use crate::engine::threads::FEW;
use crate::errors::Result;
use std::mem;

impl<'s, S: Script<'s>> Worker<'_, 's, S> {
    /// Enters the phase at time `now`, if it has not been entered yet; returns false when all phases are over.
    pub(super) fn enter(&mut self, now: u64) -> Result<bool> {
        let Some(phase) = self.shared.timetable.at(now) else { return Ok(false) };
        if phase == self.phase {
            return Ok(true);
        }
        let settings = self.shared.timetable.phase(phase);
        let goes_on = self.phase != usize::MAX && self.shared.timetable.phase(self.phase).step == settings.step;
        self.tally.dropped += self.shared.enter(phase, goes_on);
        if !goes_on {
            self.unbook();
            self.batching.restart();
        }
        self.phase = phase;
        (self.is_open_loop, self.is_taken) = (settings.rate.is_some(), false);
        self.active = settings.connections;
        self.phase_end = self.shared.timetable.end(phase);
        let mut resting: Vec<usize> = self.free.drain(..).chain(self.benched.drain(..)).collect();
        resting.sort_by_key(|place| self.slots[*place].usable_since);
        resting.into_iter().for_each(|place| self.rest(place));
        let present = self.slots.iter().filter(|slot| slot.state != State::Vacant && self.is_own(slot)).count();
        let connections = self.shared.dealing.share(phase, self.active, self.place);
        self.missing = connections.saturating_sub(present);
        self.scheduling.set_batch(!self.is_open_loop && connections > FEW);
        self.adjust_tick(now)?;
        Ok(true)
    }

    /// Ticks more slowly while the thread has nothing to do.
    pub(super) fn adjust_tick(&mut self, now: u64) -> Result<()> {
        let is_unused = self.shared.dealing.share(self.phase, self.active, self.place) == 0;
        let is_idle = is_unused && self.slots.iter().all(|slot| matches!(slot.state, State::Vacant | State::Free));
        let tick = if is_idle { IDLE_TICK } else { TICK };
        if tick == self.tick { Ok(()) } else { self.tick_every(tick, now) }
    }

    /// Whether a connection belongs to this thread in this phase and is used in it.
    fn is_own(&self, slot: &Slot<S>) -> bool {
        slot.number < self.active && self.shared.dealing.owner(self.phase, slot.number) == self.place
    }

    /// Takes over the connections that other threads have handed over.
    pub(super) fn welcome(&mut self) -> Result<()> {
        while let Ok(passed) = self.passed.try_recv() {
            self.take_over(passed)?;
        }
        Ok(())
    }

    fn take_over(&mut self, Handover { phase, slot }: Handover<S>) -> Result<()> {
        let place = self.vacant.pop().unwrap_or(self.slots.len());
        if let Some(connection) = &slot.connection {
            self.waiter.watch(connection.socket(), place, false)?;
        }
        if place == self.slots.len() {
            self.slots.push(slot);
        } else {
            self.slots[place] = slot;
        }
        if self.is_own(&self.slots[place]) {
            self.missing = self.missing.saturating_sub(1);
        }
        if phase > self.phase {
            // It waits until this thread enters that phase too.
            self.benched.push(place);
        } else {
            self.rest(place);
        }
        Ok(())
    }

    /// Handles a connection that has become idle.
    pub(super) fn rest(&mut self, place: usize) {
        self.slots[place].state = State::Free;
        if self.slots[place].number >= self.active {
            self.benched.push(place);
        } else if self.is_draining || self.is_own(&self.slots[place]) {
            self.free.push_back(place);
        } else {
            self.pass_on(place);
        }
    }

    /// Hands a connection over to the thread to which it belongs in this phase.
    fn pass_on(&mut self, place: usize) {
        let slot = mem::replace(&mut self.slots[place], Slot::vacant(self.source));
        if let Some(connection) = &slot.connection {
            self.waiter.unwatch(connection.socket());
        }
        self.vacant.push(place);
        let owner = self.shared.dealing.owner(self.phase, slot.number);
        // The send fails only if the other thread has ended, because the run ends or has failed; the connection is then closed.
        let _ = self.passing[owner].send(Handover { phase: self.phase, slot });
    }

    /// Sends the command that prepares a statement. If the connections have too many open, those used least recently are closed first.
    pub(super) fn prepare(&mut self, place: usize, query: &Query<'_>, now: u64) -> Result<()> {
        self.make_room(place);
        if let Some(connection) = &mut self.slots[place].connection {
            self.tally.prepared_again += u64::from(connection.statements().was_evicted(query.digest));
            connection.prepare(query);
        }
        self.send(place, Awaited::Prepare, now)
    }

    fn make_room(&mut self, place: usize) {
        let excess = self.shared.statements.excess();
        if excess == 0 {
            return;
        }
        let connections = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        let mut uses: Vec<u64> = connections.flat_map(|connection| connection.statements().uses()).collect();
        let Some(last) = uses.len().min(excess).checked_sub(1) else { return };
        let (_, &mut last, _) = uses.select_nth_unstable(last);
        for other in 0..self.slots.len() {
            let Slot { connection: Some(connection), state, .. } = &mut self.slots[other] else { continue };
            connection.evict(last);
            let is_idle = other != place && !matches!(state, State::Waits(..));
            if is_idle && connection.close_evicted().is_err() {
                self.lose(other);
            }
        }
    }

    /// Discards the transactions that connections took and that are not due yet, because their step is over.
    fn unbook(&mut self) {
        let booked: Vec<usize> = (0..self.slots.len()).filter(|place| self.slots[*place].booked.is_some()).collect();
        for place in booked {
            self.timers.cancel(place);
            self.slots[place].booked = None;
            self.rest(place);
        }
    }
}
