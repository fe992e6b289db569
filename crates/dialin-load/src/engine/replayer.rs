//! The script of a connection that replays a capture: when it begins which transaction, and how it reacts to answers.
//!
//! A replay runs on one load thread, so the lock on the state that its scripts share is never contended.

mod digests;
mod queues;
mod settings;
mod source;
mod standstill;
mod transaction;

use super::clock::SECOND;
use super::error_policy::{Verdict, may_end_connection, refused};
use super::script::{Action, RowCounts, Script, Turn};
use crate::errors::Result;
use crate::plan::{Keep, Kind, Value};
use crate::protocol::parameters::Parameters;
use crate::record::Tally;
use crate::replay::{Piece, Step};
use settings::Settings;
pub use source::Source;
use source::State;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;
use transaction::{Current, Timed, Transaction};

/// A transaction with more bytes of SQL than this is not kept in memory, so it cannot be retried.
const LONGEST_AGAIN: usize = 16 << 20;
/// How long to wait for the thread that reads the capture, in nanoseconds.
const GLANCE: u64 = SECOND / 1_000;
/// Errors after which the transaction is retried: record changed since last read (1020), lock wait timeout (1205), deadlock (1213).
const AGAIN: [u16; 3] = [1020, 1205, 1213];
const MOST_RETRIES: u32 = 10;
/// Errors that say that the account lacks a privilege that the captured sessions had.
const DENIED: [u16; 5] = [1044, 1045, 1142, 1143, 1370];
/// The longest time for which a statement waits for another transaction whose statement locked the same row before it, in nanoseconds.
const LONGEST_HOLD: u64 = 10 * SECOND;
/// A transaction counts as late if it begins more than this after it was due, in nanoseconds.
const LATE: u64 = SECOND / 200;

/// What the last command to the server was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Step,
    /// A statement of the session's that set variables, on a new connection.
    Setting,
    Schema,
    Variables,
}

/// The script of one connection of a replay.
pub struct Replayer<'s> {
    source: &'s Source,
    seat: usize,
    current: Current,
    /// The default schema of the session, and a hash of its name, which distinguishes statements by schema.
    schema: Option<Arc<[u8]>>,
    mark: u64,
    settings: Settings,
    /// The numbers of the templates that the server cannot prepare.
    refused: HashSet<usize>,
    sent: Sent,
    text: Vec<u8>,
    /// The number of a failed transaction whose remaining statements are skipped.
    given_up: Option<Option<u64>>,
    /// The time since which the next transaction has been due but has waited for other transactions.
    waits_since: Option<u64>,
    /// Whether the transaction that begins next has waited for other transactions, and when it is due.
    has_waited: bool,
    due: Option<u64>,
    /// The last statement of the capture that was sent, until its time is counted.
    timed: Option<Timed>,
}

impl<'s> Script<'s> for Replayer<'s> {
    type Source = Source;

    fn new(source: &'s Source, connection: usize) -> Self {
        Self {
            source,
            seat: connection,
            current: Current::Nothing,
            schema: None,
            mark: 0,
            settings: Settings::default(),
            refused: HashSet::new(),
            sent: Sent::Step,
            text: Vec::new(),
            given_up: None,
            waits_since: None,
            has_waited: false,
            due: None,
            timed: None,
        }
    }

    fn turn(&mut self, now: u64) -> Turn {
        let mut state = self.source.state();
        if self.give_up(&mut state, now) {
            return Turn::Held;
        }
        let (at, is_transaction) = match state.queues.first(self.seat) {
            None if state.is_read => return Turn::Over,
            None => {
                state.idle[self.seat] = true;
                return Turn::Held;
            }
            Some(Piece::Begin { transaction, start, .. }) => (*start, transaction.is_some()),
            Some(Piece::Connect(at) | Piece::Reset(at) | Piece::Quit(at)) => (*at, false),
            Some(Piece::Step(_) | Piece::Finish { .. } | Piece::Ended(_)) => {
                unreachable!("each transaction of a schedule starts with Piece::Begin")
            }
        };
        let due = self.source.due(at);
        if let Some(due) = due.filter(|due| *due > now) {
            return Turn::At(due);
        }
        if !state.may_begin(self.seat) {
            self.waits_since.get_or_insert(now);
            return Turn::Held;
        }
        if let Some(since) = self.waits_since.take() {
            state.tally.counts.waited += 1;
            state.tally.waited_ns += now - since;
            self.has_waited = true;
        }
        self.due = due.filter(|_| is_transaction);
        if let Some(due) = self.due {
            state.tally.late.record(now - due);
            state.tally.counts.begun += 1;
            state.tally.counts.begun_late += u64::from(now - due > LATE);
        }
        Turn::Begin(due.unwrap_or(now))
    }

    fn begin(&mut self, _sequence: u64) {
        let mut state = self.source.state();
        self.current = match state.queues.begin(self.seat) {
            Some(Piece::Begin { transaction: number, .. }) => {
                let has_waited = std::mem::take(&mut self.has_waited);
                Current::Transaction(Transaction { number, has_waited, due: self.due, ..Transaction::default() })
            }
            Some(Piece::Connect(_)) => Current::Session(&[Action::Connect]),
            Some(Piece::Reset(_)) => Current::Session(&[Action::Reset]),
            Some(Piece::Quit(_)) => Current::Session(&[Action::Disconnect]),
            _ => Current::Nothing,
        };
        state.under_way += 1;
        if let Current::Transaction(Transaction { number: Some(number), .. }) = &self.current {
            state.execute(*number, 0);
        }
    }

    fn rewind(&mut self) {
        if let Current::Transaction(transaction) = &mut self.current {
            transaction.rewind();
            if let Some(number) = transaction.number {
                self.source.state().execute(number, 0);
            }
        }
    }

    fn kind(&self) -> usize {
        match &self.current {
            Current::Transaction(transaction) => self.source.kinds.number(transaction.shape),
            _ => 0,
        }
    }

    /// The time that its statements took on the server. The time from when it was due is counted as well, but at a pace most of it is
    /// the time that the captured session let pass between statements.
    fn latency(&self, now: u64) -> Option<u64> {
        let Current::Transaction(transaction) = &self.current else { return None };
        let last = self.timed.map_or(0, |timed| now.saturating_sub(timed.sent));
        Some(transaction.server_ns + last)
    }

    fn counts(&self) -> bool {
        matches!(&self.current, Current::Transaction(Transaction { number: Some(_), .. }))
    }

    fn text(&self) -> &[u8] {
        match &self.current {
            Current::Transaction(transaction) if self.sent == Sent::Step => {
                transaction.steps.get(transaction.at).map_or(&[], |step| &step.sql)
            }
            _ => &self.text,
        }
    }

    fn next(&mut self, now: u64) -> Action<'s> {
        self.count_time(now);
        let transaction = match &mut self.current {
            Current::Transaction(transaction) => transaction,
            Current::Session([next, ..]) => return *next,
            Current::Session([]) => {
                self.enter(None);
                self.settings = Settings::default();
                self.source.state().under_way -= 1;
                return Action::End;
            }
            Current::Nothing => return Action::End,
        };
        while transaction.at == transaction.steps.len() && !transaction.is_whole {
            let mut state = self.source.state();
            match state.queues.pop(self.seat) {
                Some(Piece::Step(step)) => {
                    transaction.bytes += step.sql.len();
                    transaction.steps.push(step);
                }
                Some(_) => transaction.is_whole = true,
                // The capture has not been read that far.
                None if !state.is_read => return Action::Pause(GLANCE),
                None => transaction.is_whole = true,
            }
        }
        let Some(step) = transaction.steps.get(transaction.at) else {
            let mut state = self.source.state();
            state.under_way -= 1;
            let (returned, changed) = std::mem::take(&mut transaction.rows);
            state.tally.counts.rows_returned += returned;
            state.tally.counts.rows_changed += changed;
            if let Some(due) = transaction.due {
                state.tally.from_due.record(now.saturating_sub(due));
            }
            if let Some(number) = transaction.number {
                state.end(number, self.source.transactions, now);
            }
            return Action::End;
        };
        if let Some(sql) = self.settings.missing() {
            self.text.clear();
            self.text.extend_from_slice(sql);
            self.sent = Sent::Setting;
            return Action::Send(Kind::Other);
        }
        if let Some(schema) = step.schema.as_ref().filter(|schema| self.schema.as_ref() != Some(schema)) {
            self.text.clear();
            self.text.extend_from_slice(b"USE `");
            schema
                .iter()
                .for_each(|byte| self.text.extend_from_slice(if *byte == b'`' { b"``" } else { std::slice::from_ref(byte) }));
            self.text.push(b'`');
            self.sent = Sent::Schema;
            return Action::Send(Kind::Other);
        }
        let number = transaction.at + 1;
        if let Some(due) = self.source.due(step.start).filter(|due| *due > now && transaction.waited < number && !step.is_added)
        {
            transaction.waited = number;
            return Action::WaitUntil(due);
        }
        if !step.dependencies.is_empty() && !transaction.is_released {
            let mut state = self.source.state();
            if !state.is_ready(self.seat, &step.dependencies) {
                let since = *transaction.held.get_or_insert(now);
                let limit = state.standstill.limit(state.have_begun(&step.dependencies));
                let until = (since.max(state.standstill.last_end) + limit).min(since + LONGEST_HOLD);
                if until > now {
                    return Action::HoldUntil(until);
                }
                transaction.is_released = true;
                state.tally.counts.out_of_order += 1;
                state.standstill.end_wait();
            }
            if let Some(since) = transaction.held.take() {
                state.tally.counts.waited += u64::from(!std::mem::replace(&mut transaction.has_waited, true));
                state.tally.waited_ns += now - since;
            }
        }
        if (step.clock.is_some() || step.insert_id.is_some()) && transaction.clocked < number {
            self.text.clear();
            let clock = step.clock.map(|micros| micros.max(0));
            let clock = clock.map(|micros| format!("timestamp={}.{:06}", micros / 1_000_000, micros % 1_000_000));
            let id = step.insert_id.map(|id| format!("insert_id={id}"));
            self.text.extend_from_slice(b"SET ");
            self.text.extend_from_slice([clock, id].into_iter().flatten().collect::<Vec<_>>().join(", ").as_bytes());
            self.sent = Sent::Variables;
            return Action::Send(Kind::Other);
        }
        self.sent = Sent::Step;
        self.timed = Some(Timed::sent(now));
        match &step.execution {
            Some(execution) if !self.refused.contains(&execution.template) => {
                Action::Execute { query: self.source.query(execution.template, step.kind, self.mark), keeps: false }
            }
            _ => Action::Send(step.kind),
        }
    }

    fn write(&mut self, mut parameters: impl Parameters) -> u8 {
        if let Some(step) = self.step()
            && let Some(execution) = &step.execution
        {
            execution.values.iter().for_each(|value| value.write(&step.sql, &mut parameters));
        }
        parameters.end()
    }

    fn cannot_prepare(&mut self) -> bool {
        let template = self.step().and_then(|step| step.execution.as_ref()).map(|execution| execution.template);
        self.refused.extend(template);
        template.is_some()
    }

    fn kept(&mut self) -> (&[Keep], &mut [Value]) {
        (&[], &mut [])
    }

    fn succeed(&mut self, rows: RowCounts) -> bool {
        match &mut self.current {
            Current::Session(actions) => *actions = &actions[1..],
            Current::Nothing => {}
            Current::Transaction(transaction) => {
                let Some(step) = transaction.steps.get(transaction.at) else { return true };
                match self.sent {
                    Sent::Setting => self.settings.proceed(),
                    Sent::Schema => {
                        let schema = step.schema.clone();
                        self.enter(schema);
                    }
                    Sent::Variables => {
                        transaction.clocked = transaction.at + 1;
                        self.source.state().tally.counts.clocks += u64::from(step.clock.is_some());
                    }
                    Sent::Step => {
                        self.timed.iter_mut().for_each(|timed| timed.succeed(step));
                        self.source.state().compare(step, rows);
                        self.settings.note(step);
                        transaction.add_rows(rows);
                        self.settings.complete();
                        self.advance();
                    }
                }
            }
        }
        true
    }

    fn refuse(&mut self, code: u16, message: &str, retries: u32) -> Verdict {
        if DENIED.contains(&code) && self.step().is_none_or(|step| step.error != Some(u64::from(code))) {
            let remedy = "Grant the account the privileges of the captured sessions";
            return Verdict::Fatal(refused("a captured statement", code, message, remedy));
        }
        let sent = self.sent;
        if let Current::Session(actions @ [Action::Reset]) = &mut self.current {
            // An older server, or what is between: a new session has the same effect.
            *actions = &[Action::Disconnect, Action::Connect];
            return Verdict::Continue(false);
        }
        let Current::Transaction(transaction) = &mut self.current else { return Verdict::Counted };
        let Some(step) = transaction.steps.get(transaction.at) else { return Verdict::Counted };
        match sent {
            Sent::Setting => {
                self.settings.proceed();
                return Verdict::Continue(true);
            }
            // The statement itself then fails, and its error is compared with the capture.
            Sent::Schema => {
                let schema = step.schema.clone();
                self.enter(schema);
                return Verdict::Continue(true);
            }
            Sent::Variables => {
                transaction.clocked = transaction.at + 1;
                return Verdict::Continue(true);
            }
            Sent::Step => {}
        }
        self.timed.iter_mut().for_each(|timed| timed.is_answered = true);
        if step.error == Some(u64::from(code)) {
            self.source.state().count_same_error(step);
            self.advance();
            return Verdict::Continue(false);
        }
        let may_retry = retries < MOST_RETRIES && transaction.bytes <= LONGEST_AGAIN;
        if AGAIN.contains(&code) && may_retry {
            return Verdict::Retry(if retries == 0 { Duration::ZERO } else { Duration::from_millis(1 << retries) });
        }
        if AGAIN.contains(&code) || may_end_connection(code) {
            self.source.state().count_new_error(step, code, false);
            // To continue would execute the remaining statements without those that were rolled back.
            self.given_up = Some(transaction.number);
            return Verdict::Counted;
        }
        let mut state = self.source.state();
        let is_harmless = state.queues.is_rolled_back(self.seat);
        if !step.is_added {
            state.count_new_error(step, code, is_harmless);
        }
        drop(state);
        self.advance();
        Verdict::Continue(!is_harmless)
    }

    fn lose(&mut self, now: u64) {
        self.enter(None);
        self.settings.restart();
        self.timed = None;
        let lost = std::mem::replace(&mut self.current, Current::Nothing);
        if let Current::Transaction(transaction) = lost
            && self.given_up.is_none()
            && !transaction.is_over()
        {
            transaction.steps[transaction.at..].iter().for_each(|step| self.settings.note(step));
            if transaction.is_whole {
                self.source.state().give_up(transaction.number, self.source.transactions, now);
            } else {
                self.given_up = Some(transaction.number);
            }
        }
    }

    fn poll(source: &Source, now: u64, woken: &mut Vec<usize>) -> Result<Option<u64>> {
        source.state().read_on(now, woken)
    }

    fn is_over(source: &Source) -> bool {
        source.state().is_over()
    }

    fn count(source: &Source, tally: &mut Tally) {
        tally.replay = Some(Box::new(source.state().take_tally()));
    }
}

impl Replayer<'_> {
    /// Records the default schema of the session.
    fn enter(&mut self, schema: Option<Arc<[u8]>>) {
        let mut hasher = DefaultHasher::new();
        hasher.write(schema.as_deref().unwrap_or_default());
        (self.mark, self.schema) = (hasher.finish(), schema);
    }

    fn step(&self) -> Option<&Step> {
        match &self.current {
            Current::Transaction(transaction) => transaction.steps.get(transaction.at).map(|step| &**step),
            _ => None,
        }
    }

    /// Counts the time of the last statement, once it is answered: it is now.
    fn count_time(&mut self, now: u64) {
        let Some(Timed { sent, digest, captured, .. }) = self.timed.take_if(|timed| timed.is_answered) else { return };
        let took = now.saturating_sub(sent);
        if let Current::Transaction(transaction) = &mut self.current {
            transaction.server_ns += took;
        }
        if let Some(digest) = digest {
            self.source.state().digests.time(digest, captured, took);
        }
    }

    /// Proceeds to the next statement.
    fn advance(&mut self) {
        if let Current::Transaction(transaction) = &mut self.current {
            transaction.advance(&self.source.kinds);
            if let Some(number) = transaction.number {
                self.source.state().execute(number, transaction.executed);
            }
            if transaction.bytes > LONGEST_AGAIN {
                // It will not be retried.
                transaction.forget_executed();
            }
        }
    }

    /// Skips the remaining statements of a failed transaction; returns true if the capture has not been read that far.
    fn give_up(&mut self, state: &mut State, now: u64) -> bool {
        let Some(transaction) = self.given_up else { return false };
        loop {
            match state.queues.pop(self.seat) {
                // Later statements of the session count on it.
                Some(Piece::Step(step)) => {
                    self.settings.note(&step);
                    self.settings.restart();
                }
                None if !state.is_read => {
                    state.idle[self.seat] = true;
                    return true;
                }
                _ => break,
            }
        }
        self.given_up = None;
        state.give_up(transaction, self.source.transactions, now);
        false
    }
}

#[cfg(test)]
mod tests;
