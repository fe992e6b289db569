//! How a load thread handles answers, and the loss of a connection.

use super::Worker;
use crate::engine::connection::{Connection, Received};
use crate::engine::error_policy::{
    LOST, NO_ROW, NOT_PREPARABLE, TOO_MANY_STATEMENTS, Verdict, may_end_connection, shortened, unreadable_answer,
};
use crate::engine::script::{Action, Script};
use crate::engine::slot::{After, Awaited, State, What};
use crate::engine::statements::Prepared;
use crate::errors::{Error, Result};
use crate::plan::Kind;
use crate::protocol::command::Execution;
use crate::protocol::response::Outcome;
use crate::protocol::text::Template;

impl<'s, S: Script<'s>> Worker<'_, 's, S> {
    /// Handles an event of a connection's socket.
    pub(super) fn receive(&mut self, place: usize) -> Result<()> {
        let slot = &mut self.slots[place];
        let State::Waits(awaited, sent) = slot.state else { return self.handle_unawaited(place) };
        let Some(connection) = &mut slot.connection else { return Ok(()) };
        if !connection.is_sent() {
            match connection.send() {
                Ok(true) => self.waiter.watch_room(connection.socket(), place, false)?,
                Ok(false) => {}
                Err(_) => {
                    self.lose(place);
                    return Ok(());
                }
            }
        }
        let keep = connection.keeps().then(|| slot.script.kept());
        match connection.receive_turn(&mut self.buffer, keep) {
            Received::Nothing => Ok(()),
            // The poller reports only data that arrives from now on, so the rest is read in the next turn.
            Received::Part(_) => {
                self.read_later(place);
                Ok(())
            }
            Received::Answer(outcome) => {
                let now = self.clock.now();
                self.answered_at = now;
                self.waits -= 1;
                let slot = &mut self.slots[place];
                slot.state = State::Plays;
                let late = now.saturating_sub(self.attention.arrival(sent));
                (slot.lag, slot.answer_lag) = (slot.lag + late, slot.answer_lag + late);
                if !self.is_draining {
                    self.roll(now)?;
                }
                self.answered(place, awaited, &outcome, now)?;
                self.begin_next(place, now)
            }
            Received::Lost => {
                self.lose(place);
                Ok(())
            }
            Received::Malformed(why) => Err(unreadable_answer(why)),
        }
    }

    /// In a closed loop, begins the next transaction of a connection whose transaction has just ended. If it began only after the other
    /// answers are processed, the server's thread would fall asleep meanwhile and would have to be woken.
    fn begin_next(&mut self, place: usize, now: u64) -> Result<()> {
        let may_begin = !self.is_open_loop && !self.exhausted && now < self.phase_end && !self.shared.stops();
        if may_begin && self.free.back() == Some(&place) {
            self.free.pop_back();
            return self.take_turn(place, now);
        }
        Ok(())
    }

    /// Notes that the poller does not report the rest of what a socket holds.
    pub(super) fn read_later(&mut self, place: usize) {
        self.slots[place].is_unread = true;
        self.unread.push(place);
    }

    /// Handles an event of a connection that waits for no answer: continues a login that is under way, and checks whether an idle
    /// connection has ended.
    fn handle_unawaited(&mut self, place: usize) -> Result<()> {
        let slot = &mut self.slots[place];
        if matches!(slot.state, State::Lost | State::Connects) {
            return self.advance_login(place);
        }
        let Some(connection) = slot.connection.as_mut().filter(|_| slot.state == State::Free) else { return Ok(()) };
        match connection.receive(&mut self.buffer, None, None) {
            Received::Nothing | Received::Part(_) => {}
            Received::Malformed(why) => return Err(unreadable_answer(why)),
            // No transaction is affected, so this is not counted as an error.
            Received::Lost | Received::Answer(_) => {
                self.has_lost_idle = true;
                self.reconnect(place);
            }
        }
        Ok(())
    }

    fn answered(&mut self, place: usize, awaited: Awaited, outcome: &Outcome, now: u64) -> Result<()> {
        match awaited {
            Awaited::Statement(kind) => self.tally.statement(kind),
            Awaited::Batch => self.tally.statement(Kind::Write),
            Awaited::Rollback(_) => self.tally.statement(Kind::Other),
            // Commands that are no statements.
            Awaited::Prepare | Awaited::Reset => {}
        }
        match (awaited, outcome) {
            (Awaited::Prepare, _) => self.prepared(place, outcome, now),
            (Awaited::Rollback(after), Outcome::Error { .. }) => {
                self.close_instead_of_rollback(place, after);
                Ok(())
            }
            (Awaited::Rollback(after), _) => {
                self.rolled_back(place, after, now);
                Ok(())
            }
            (_, Outcome::Error { code, message, .. }) => self.failed(place, awaited, (*code, message), now),
            (Awaited::Batch, _) => self.go_on(place, now),
            (Awaited::Statement(_) | Awaited::Reset, _) => {
                let slot = &mut self.slots[place];
                let rows = slot.connection.as_ref().map_or_else(Default::default, Connection::rows);
                if !slot.script.succeed(rows) {
                    self.tally.error(NO_ROW);
                    self.shared.note(NO_ROW, "a statement whose values are needed returned no row");
                    return self.roll_back(place, After::Failure, NO_ROW, now);
                }
                self.go_on(place, now)
            }
        }
    }

    /// Handles the answer to a command that prepares a statement. A statement that the server cannot prepare is sent as text.
    fn prepared(&mut self, place: usize, outcome: &Outcome, now: u64) -> Result<()> {
        let Action::Execute { query, .. } = self.slots[place].script.next(now) else { return self.go_on(place, now) };
        let (sql, needed) = (query.sql, query.parameters);
        let is_prepared = matches!(outcome, Outcome::Prepared { parameters, .. } if usize::from(*parameters) == needed);
        if !is_prepared && self.slots[place].script.cannot_prepare() {
            return self.go_on(place, now);
        }
        let prepared = match outcome {
            Outcome::Prepared { id, parameters, .. } if usize::from(*parameters) == needed => {
                Prepared::Binary(Execution::new(*id, needed))
            }
            Outcome::Prepared { parameters, .. } => {
                let what = format!("`{}` has {parameters} parameters, not {needed}", shortened(sql));
                return Err(Error::workload(what, "Correct the statement in the workload"));
            }
            Outcome::Error { code: NOT_PREPARABLE, .. } => Prepared::Text(Template::new(sql)),
            Outcome::Error { code: TOO_MANY_STATEMENTS, .. } => {
                self.tally.unprepared += 1;
                Prepared::Text(Template::new(sql))
            }
            Outcome::Error { code, message, .. } => {
                return self.failed(place, Awaited::Prepare, (*code, message), now);
            }
            Outcome::Ok { .. } | Outcome::Rows { .. } => {
                return Err(Error::server(
                    "The server's answer to COM_STMT_PREPARE is not a prepared statement",
                    "Check that it is a MySQL or MariaDB server",
                ));
            }
        };
        if let Some(connection) = &mut self.slots[place].connection {
            connection.learn(&query, prepared, now);
        }
        self.go_on(place, now)
    }

    /// Handles an error that the server returned for a statement.
    fn failed(&mut self, place: usize, awaited: Awaited, (code, message): (u16, &str), now: u64) -> Result<()> {
        let slot = &mut self.slots[place];
        match slot.script.refuse(code, message, slot.retries) {
            Verdict::Expected => self.roll_back(place, After::Success, code, now),
            Verdict::Retry(pause) => {
                self.shared.note(code, message);
                self.tally.error(code);
                self.tally.retry();
                self.slots[place].retries += 1;
                let what = if awaited == Awaited::Batch { What::Batch } else { What::Transaction };
                self.roll_back(place, After::Again(what, pause), code, now)
            }
            Verdict::Continue(counts) => {
                if counts {
                    self.shared.note(code, message);
                    self.tally.error(code);
                }
                self.go_on(place, now)
            }
            Verdict::Counted => {
                self.shared.note(code, message);
                self.tally.error(code);
                self.roll_back(place, After::Failure, code, now)
            }
            Verdict::Fatal(error) => Err(error),
        }
    }

    /// Rolls back the transaction that may be open after the error `code`. If the server may have closed the connection, the answer to the
    /// ROLLBACK shows it, so that the next transaction does not fail because of that.
    fn roll_back(&mut self, place: usize, after: After, code: u16, now: u64) -> Result<()> {
        let Some(connection) = &mut self.slots[place].connection else { return Ok(()) };
        if !connection.may_be_in_transaction() && !may_end_connection(code) {
            self.rolled_back(place, after, now);
            return Ok(());
        }
        connection.text(b"ROLLBACK");
        self.send(place, Awaited::Rollback(after), now)
    }

    fn rolled_back(&mut self, place: usize, after: After, now: u64) {
        match after {
            After::Success => self.finish(place, now, true),
            After::Failure => self.finish(place, now, false),
            After::Again(what, pause) => {
                self.slots[place].state = State::Pauses(what);
                let nanoseconds = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
                self.timers.set(now.saturating_add(nanoseconds), place);
            }
        }
    }

    /// Handles the loss of a connection, and with it of its transaction.
    pub(super) fn lose(&mut self, place: usize) {
        if let State::Waits(Awaited::Rollback(after), _) = self.slots[place].state {
            return self.close_instead_of_rollback(place, after);
        }
        self.tally.error(LOST);
        self.shared.note(LOST, "the connection was lost");
        self.count(place, self.clock.now(), false);
        self.reconnect(place);
    }

    /// Ends a transaction whose ROLLBACK failed: when its connection closes, the server rolls it back. Its error is counted already, so the
    /// connection is not counted as another one.
    fn close_instead_of_rollback(&mut self, place: usize, after: After) {
        self.count(place, self.clock.now(), after == After::Success);
        self.reconnect(place);
    }

    /// Discards a connection and starts a new one.
    fn reconnect(&mut self, place: usize) {
        let slot = &mut self.slots[place];
        if matches!(slot.state, State::Waits(..)) {
            self.waits -= 1;
        }
        slot.state = State::Lost;
        slot.connection = None;
        slot.is_held = false;
        slot.script.lose(self.clock.now());
        self.timers.cancel(place);
        if let Some(due) = slot.booked.take()
            && let Some(arriving) = self.shared.queue().of(self.phase)
        {
            arriving.give_back(due);
        }
        self.log_in(place, self.clock.now());
    }
}
