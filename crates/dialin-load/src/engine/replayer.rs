//! The script of a connection that replays a capture: when it begins which transaction, and how it reacts to answers.
//!
//! A replay runs on one load thread, so the lock on the state that its scripts share is never contended.

mod digests;
mod queues;
mod source;
mod standstill;

use super::clock::SECOND;
use super::error_policy::{Verdict, ends_connection, refused};
use super::script::{Action, Script, Turn};
use crate::errors::Result;
use crate::plan::{Keep, Kind, Value};
use crate::protocol::parameters::Parameters;
use crate::record::Tally;
use crate::replay::{Piece, Step};
pub use source::Source;
use source::State;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

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

/// What a connection is doing.
#[derive(Debug)]
enum Current {
    Nothing,
    Connect { is_done: bool },
    Quit { is_done: bool },
    Transaction(Transaction),
}

/// A transaction, or statements outside of transactions.
#[derive(Debug)]
struct Transaction {
    /// The number of the transaction; None for statements outside of transactions.
    number: Option<u64>,
    /// The statements that were taken from the schedule so far.
    #[expect(clippy::vec_box, reason = "they are boxed already, and moving them out of their boxes would copy them")]
    steps: Vec<Box<Step>>,
    bytes: usize,
    /// The index of the next statement in `steps`.
    at: usize,
    /// The statement that has waited until it was due, and the one for which the session's clock and next id were set; both counted from 1.
    waited: usize,
    clocked: usize,
    /// The time since which the next statement has waited for other transactions.
    held: Option<u64>,
    has_waited: bool,
    /// A statement has waited too long for other transactions; the remaining statements do not wait.
    is_released: bool,
    executed: usize,
    is_whole: bool,
}

/// What the last command to the server was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Step,
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
    /// The numbers of the templates that the server cannot prepare.
    refused: HashSet<usize>,
    sent: Sent,
    text: Vec<u8>,
    /// The number of a failed transaction whose remaining statements are skipped.
    given_up: Option<Option<u64>>,
    /// The time since which the next transaction has been due but has waited for other transactions.
    waits_since: Option<u64>,
    /// Whether the transaction that begins next has waited for other transactions.
    has_waited: bool,
    /// The digest of the statement that was just answered, its captured duration, and when it was sent; both in nanoseconds.
    answered: Option<(usize, u64, u64)>,
    now: u64,
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
            refused: HashSet::new(),
            sent: Sent::Step,
            text: Vec::new(),
            given_up: None,
            waits_since: None,
            has_waited: false,
            answered: None,
            now: 0,
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
            Some(Piece::Connect(at) | Piece::Quit(at)) => (*at, false),
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
        if let (Some(due), true) = (due, is_transaction) {
            state.tally.late.record(now - due);
            state.tally.counts.begun += 1;
            state.tally.counts.begun_late += u64::from(now - due > LATE);
        }
        Turn::Begin(due.unwrap_or(now))
    }

    fn begin(&mut self, _sequence: u64) {
        let mut state = self.source.state();
        self.current = match state.queues.begin(self.seat) {
            Some(Piece::Begin { transaction: number, .. }) => Current::Transaction(Transaction {
                number,
                steps: Vec::new(),
                bytes: 0,
                at: 0,
                waited: 0,
                clocked: 0,
                held: None,
                has_waited: std::mem::take(&mut self.has_waited),
                is_released: false,
                executed: 0,
                is_whole: false,
            }),
            Some(Piece::Connect(_)) => Current::Connect { is_done: false },
            Some(Piece::Quit(_)) => Current::Quit { is_done: false },
            _ => Current::Nothing,
        };
        state.under_way += 1;
        if let Current::Transaction(Transaction { number: Some(number), .. }) = &self.current {
            state.execute(*number, 0);
        }
    }

    fn rewind(&mut self) {
        if let Current::Transaction(transaction) = &mut self.current {
            (transaction.at, transaction.clocked, transaction.held) = (0, 0, None);
            (transaction.executed, transaction.is_released) = (0, false);
            if let Some(number) = transaction.number {
                self.source.state().execute(number, 0);
            }
        }
    }

    fn kind(&self) -> usize {
        0
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
        if let Some((digest, captured, sent)) = self.answered.take() {
            self.source.state().digests.time(digest, captured, now - sent);
        }
        self.now = now;
        let transaction = match &mut self.current {
            Current::Transaction(transaction) => transaction,
            Current::Connect { is_done: false } => return Action::Connect,
            Current::Quit { is_done: false } => return Action::Disconnect,
            Current::Connect { .. } | Current::Quit { .. } => {
                self.enter(None);
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
                None if !state.is_read => return Action::WaitUntil(now + GLANCE),
                None => transaction.is_whole = true,
            }
        }
        let Some(step) = transaction.steps.get(transaction.at) else {
            let mut state = self.source.state();
            state.under_way -= 1;
            if let Some(number) = transaction.number {
                state.end(number, self.source.transactions, now);
            }
            return Action::End;
        };
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

    fn succeed(&mut self, rows: u64) -> bool {
        match &mut self.current {
            Current::Connect { is_done } | Current::Quit { is_done } => *is_done = true,
            Current::Nothing => {}
            Current::Transaction(transaction) => {
                let Some(step) = transaction.steps.get(transaction.at) else { return true };
                match self.sent {
                    Sent::Schema => {
                        let schema = step.schema.clone();
                        self.enter(schema);
                    }
                    Sent::Variables => {
                        transaction.clocked = transaction.at + 1;
                        self.source.state().tally.counts.clocks += u64::from(step.clock.is_some());
                    }
                    Sent::Step => {
                        let captured = step.duration.and_then(|micros| u64::try_from(micros).ok());
                        self.answered = step.digest.zip(captured).map(|(digest, micros)| (digest, micros * 1_000, self.now));
                        self.source.state().compare(step, rows);
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
        let Current::Transaction(transaction) = &mut self.current else { return Verdict::Counted };
        let Some(step) = transaction.steps.get(transaction.at) else { return Verdict::Counted };
        match sent {
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
        if step.error == Some(u64::from(code)) {
            self.source.state().count_same_error(step);
            self.advance();
            return Verdict::Continue(false);
        }
        if ends_connection(code) {
            return Verdict::Lost;
        }
        if AGAIN.contains(&code) {
            if retries < MOST_RETRIES && transaction.bytes <= LONGEST_AGAIN {
                return Verdict::Retry(if retries == 0 { Duration::ZERO } else { Duration::from_millis(1 << retries) });
            }
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
        self.now = now;
        let lost = std::mem::replace(&mut self.current, Current::Nothing);
        if let Current::Transaction(transaction) = lost
            && self.given_up.is_none()
            && !transaction.is_over()
        {
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

impl Transaction {
    fn is_over(&self) -> bool {
        self.is_whole && self.at == self.steps.len()
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

    /// Proceeds to the next statement.
    fn advance(&mut self) {
        if let Current::Transaction(transaction) = &mut self.current {
            transaction.at += 1;
            transaction.executed += 1;
            if let Some(number) = transaction.number {
                self.source.state().execute(number, transaction.executed);
            }
            if transaction.bytes > LONGEST_AGAIN {
                // It will not be retried, so its executed statements are no longer needed.
                transaction.steps.drain(..transaction.at);
                (transaction.at, transaction.waited, transaction.clocked, transaction.held) = (0, 0, 0, None);
            }
        }
    }

    /// Skips the remaining statements of a failed transaction; returns true if the capture has not been read that far.
    fn give_up(&mut self, state: &mut State, now: u64) -> bool {
        let Some(transaction) = self.given_up else { return false };
        loop {
            match state.queues.pop(self.seat) {
                Some(Piece::Step(_)) => {}
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
