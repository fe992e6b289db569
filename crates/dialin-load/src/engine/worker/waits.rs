//! How a load thread waits for answers and for the times at which something is due.

use super::Worker;
use crate::engine::poller::Until;
use crate::engine::script::Script;
use crate::engine::slot::{Awaited, State, What};
use crate::errors::Result;

impl<'s, S: Script<'s>> Worker<'_, 's, S> {
    /// Waits until there is an event or something is due, and handles the events. What becomes due meanwhile is not kept waiting.
    pub(super) fn listen(&mut self) -> Result<()> {
        let mut ready = std::mem::take(&mut self.ready);
        let began = self.clock.now();
        let (waited, has_paused) = if self.unread.is_empty() {
            let gathered = if self.shared.gathering.is_on(self.phase) { self.waits } else { 0 };
            let wait = (self.next_due(began), self.clock.to_monotonic(began));
            self.batching.wait(&mut self.waiter, gathered, wait, &mut ready)?
        } else {
            (self.waiter.wait(Until::Now, &mut ready)?, false)
        };
        self.answered_at = self.clock.now();
        let expired = waited.expired.map(|at| self.clock.of_monotonic(at));
        self.attention.note_wait((began, self.answered_at), expired, has_paused, waited.has_more);
        self.add_unread(&mut ready);
        for place in ready.drain(..) {
            self.receive(place)?;
            if self.timers.next().is_some_and(|(at, _)| at <= self.answered_at) && self.answered_at < self.phase_end {
                self.fire(self.answered_at)?;
            }
        }
        self.ready = ready;
        if std::mem::take(&mut self.has_lost_idle) {
            self.free.retain(|place| self.slots[*place].state == State::Free);
            self.benched.retain(|place| self.slots[*place].state == State::Free);
        }
        Ok(())
    }

    /// Adds the places whose sockets may hold more of a long answer. A socket with a new event gets only one turn, like the others.
    fn add_unread(&mut self, ready: &mut Vec<usize>) {
        if self.unread.is_empty() {
            return;
        }
        for place in &*ready {
            self.slots[*place].is_unread = false;
        }
        let slots = &mut self.slots;
        ready.extend(self.unread.drain(..).filter(|place| std::mem::take(&mut slots[*place].is_unread)));
    }

    /// Until when the thread may wait, at the time `now`.
    pub(super) fn next_due(&mut self, now: u64) -> Until {
        let timer = self.timers.next();
        // `start` may have left free connections for the next pass.
        let more = (!self.free.is_empty() && !self.exhausted && !self.is_taken).then_some(now);
        let first = [timer.map(|(at, _)| at), more, self.poll_by].into_iter().flatten().min();
        match first {
            Some(at) if at <= now => Until::Now,
            Some(at) if at >= now + self.tick => Until::Tick,
            Some(at) if timer.is_some_and(|(due, place)| due == at && self.has_due_time(place)) => {
                Until::Exactly(self.clock.to_monotonic(at))
            }
            Some(at) => Until::At(self.clock.to_monotonic(at)),
            None => Until::Tick,
        }
    }

    /// Whether the timer of a connection is one whose lateness counts: that of a transaction, a pause or a step of a replay. Deadlines do
    /// not count, nor does the time until which a connection is held that waits for others.
    fn has_due_time(&self, place: usize) -> bool {
        let slot = &self.slots[place];
        matches!(slot.state, State::Free | State::Idles | State::Pauses(_)) && !slot.is_held
    }

    /// Continues the connections whose timers have expired by `now`.
    pub(super) fn fire(&mut self, now: u64) -> Result<()> {
        while let Some((at, place)) = self.timers.take(now) {
            match self.slots[place].state {
                State::Free if self.is_open_loop => self.begin_booked(place)?,
                State::Free => self.ask_again(place, at, now)?,
                State::Pauses(What::Batch) => {
                    self.be_late(place, now - at);
                    if let Some(connection) = &mut self.slots[place].connection {
                        connection.resend_batch();
                    }
                    self.send(place, Awaited::Batch, now)?;
                }
                State::Pauses(What::Transaction) => {
                    self.be_late(place, now - at);
                    self.slots[place].script.rewind();
                    self.go_on(place, now)?;
                }
                State::Idles => {
                    // A connection that was held waited for other connections, so the lateness of its timer does not matter.
                    if !std::mem::take(&mut self.slots[place].is_held) {
                        self.be_late(place, now - at);
                    }
                    self.go_on(place, now)?;
                }
                State::Lost | State::Connects => self.time_login(place, now)?,
                State::Plays | State::Waits(..) | State::Vacant => {}
            }
        }
        Ok(())
    }

    /// Counts a timer of a transaction that expired late.
    fn be_late(&mut self, place: usize, late: u64) {
        self.tally.timer(late);
        self.slots[place].lag += late;
    }
}
