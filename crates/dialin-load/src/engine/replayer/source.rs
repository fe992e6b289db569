//! The state that the scripts of a replay share: the schedule as far as it has been read, and the progress of the replay.

use super::GLANCE;
use super::digests::Digests;
use super::queues::Queues;
use super::standstill::Standstill;
use crate::engine::script::{Digest, Query, RowCounts, Setup};
use crate::errors::Result;
use crate::plan::Kind;
use crate::record::ReplayTally;
use crate::replay::{Batch, ChangedRows, DEADLOCK, Dependency, Facts, Feed, Kinds, Pace, Piece, Request, Step, Templates};
use foldhash::{HashMap, HashSet};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many bytes of the schedule are read ahead.
const AHEAD: usize = 64 << 20;
/// The number of progress marks of a replay: one is recorded each time 1/40 of its transactions has ended.
const MARKS: u64 = 40;
/// How many transactions that other connections offer are considered before a connection begins one.
const MOST_OFFERS: usize = 32;
/// How many connections that have nothing to begin try again whenever a transaction has ended.
const TRIES: usize = 2;

/// The state that the scripts of a replay share.
pub struct Source {
    pace: Pace,
    /// When the capture began, in microseconds since 1970.
    begin: i64,
    pub(super) transactions: u64,
    pub(super) kinds: Arc<Kinds>,
    templates: Arc<Templates>,
    /// The digest of each template, by template number.
    digests: Vec<Digest>,
    state: Mutex<State>,
}

/// The progress of a replay.
pub(super) struct State {
    feed: Feed,
    /// The capture has been read to its end.
    pub(super) is_read: bool,
    pub(super) queues: Queues,
    /// Whether connections execute transactions of each other.
    is_full_pace: bool,
    /// The transactions that have not been passed, in the order in which they ended in the capture.
    order: VecDeque<u64>,
    /// The transactions that have ended ahead of that order.
    ended: HashSet<u64>,
    /// The transactions whose beginning has been read and that have not ended.
    expected: HashSet<u64>,
    /// How many statements each open transaction has executed.
    executed: HashMap<u64, usize>,
    /// The connections whose next statement waits until a transaction has executed a number of statements, with that number, by
    /// that transaction.
    depending: HashMap<u64, Vec<(usize, usize)>>,
    /// How many transactions have ended without a gap in the order of the capture.
    pub(super) passed: u64,
    /// The connections whose next transaction waits for a transaction to end, by that transaction.
    awaiting: HashMap<u64, Vec<usize>>,
    /// The connections whose next transaction waits until `passed` reaches a number, with that number.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Which connections are in `awaiting` or `waiting`.
    is_registered: Vec<bool>,
    /// The connections that had nothing to begin, the one that tried least recently first, and which ones these are.
    blocked: VecDeque<usize>,
    is_blocked: Vec<bool>,
    /// Which connections have nothing to play until more of the capture is read.
    pub(super) idle: Vec<bool>,
    /// The connections that can continue.
    woken: Vec<usize>,
    /// How many transactions, session starts and session ends have begun and not ended.
    pub(super) under_way: usize,
    /// How many transactions have ended.
    finished: u64,
    pub(super) standstill: Standstill,
    pub(super) digests: Digests,
    pub(super) tally: ReplayTally,
}

/// What a transaction waits for before it may begin.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    /// That this many transactions have ended, in the order of the capture.
    Order(u64),
    /// That this transaction has ended.
    Transaction(u64),
}

impl Source {
    /// Starts to read the capture that `facts` describes.
    ///
    /// # Errors
    /// Fails if the capture cannot be read.
    pub fn new(request: &Request, facts: &Facts) -> Result<Self> {
        let mut state = State {
            feed: Feed::start(request, facts)?,
            is_read: false,
            queues: Queues::new(facts.connections),
            is_full_pace: request.pace == Pace::Full,
            order: VecDeque::new(),
            ended: HashSet::default(),
            expected: HashSet::default(),
            executed: HashMap::default(),
            depending: HashMap::default(),
            awaiting: HashMap::default(),
            passed: 0,
            waiting: BinaryHeap::new(),
            is_registered: vec![false; facts.connections],
            blocked: VecDeque::new(),
            is_blocked: vec![false; facts.connections],
            idle: vec![false; facts.connections],
            woken: Vec::new(),
            under_way: 0,
            finished: 0,
            standstill: Standstill::default(),
            digests: Digests::default(),
            tally: ReplayTally::default(),
        };
        // The load has not begun, so waiting for the reader delays no statement.
        while state.queues.bytes < AHEAD {
            let Some(batch) = state.feed.wait()? else {
                state.is_read = true;
                break;
            };
            state.take(batch);
        }
        Ok(Self {
            pace: request.pace,
            begin: facts.begin,
            transactions: facts.transactions,
            digests: facts.templates.all.iter().map(|template| Digest::of(&template.sql)).collect(),
            kinds: Arc::clone(&facts.kinds),
            templates: Arc::clone(&facts.templates),
            state: Mutex::new(state),
        })
    }

    /// What the scripts require of each connection: no statements at the beginning of a session.
    #[must_use]
    pub fn setup(facts: &Facts) -> Setup<'static> {
        Setup { kinds: facts.kinds.all.len().max(1), session: &[], open_statements: facts.open_statements }
    }

    /// The statement of a template. `mark` is a hash of the default schema: the same text refers to other tables in another schema.
    pub(super) fn query(&self, template: usize, kind: Kind, mark: u64) -> Query<'_> {
        let entry = &self.templates.all[template];
        let digest = self.digests[template].marked(mark);
        Query { sql: &entry.sql, digest, parameters: entry.parameters(), kind, is_text: false }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When an event at time `at` of the capture is due, in nanoseconds since the load began; None at full pace.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "times above 0")]
    pub(super) fn due(&self, at: i64) -> Option<u64> {
        match self.pace {
            Pace::Full => None,
            Pace::Times(times) => Some((at.saturating_sub(self.begin).max(0) as f64 * 1e3 / times) as u64),
        }
    }
}

impl State {
    fn take(&mut self, batch: Batch) {
        for (seat, piece) in batch {
            if let Piece::Ended(transaction) = piece {
                self.order.push_back(transaction);
                self.advance();
                continue;
            }
            if let Piece::Begin { transaction: Some(transaction), .. } = piece {
                self.expected.insert(transaction);
            }
            self.queues.push(seat, piece);
            if std::mem::take(&mut self.idle[seat]) {
                self.woken.push(seat);
            }
        }
    }

    /// Advances `passed` over the transactions that have ended, and wakes the connections that waited for it.
    fn advance(&mut self) {
        while self.order.front().is_some_and(|first| self.ended.remove(first)) {
            self.order.pop_front();
            self.passed += 1;
        }
        while let Some(Reverse((after, seat))) = self.waiting.peek().copied() {
            if after > self.passed {
                break;
            }
            self.waiting.pop();
            self.is_registered[seat] = false;
            self.woken.push(seat);
        }
    }

    pub(super) fn end(&mut self, transaction: u64, transactions: u64, now: u64) {
        self.ended.insert(transaction);
        self.expected.remove(&transaction);
        self.executed.remove(&transaction);
        self.woken.extend(self.depending.remove(&transaction).into_iter().flatten().map(|(_, seat)| seat));
        for seat in self.awaiting.remove(&transaction).into_iter().flatten() {
            self.is_registered[seat] = false;
            self.woken.push(seat);
        }
        self.advance();
        for seat in self.blocked.drain(..TRIES.min(self.blocked.len())) {
            self.is_blocked[seat] = false;
            self.woken.push(seat);
        }
        self.finished += 1;
        self.standstill.end(now);
        let is_mark = self.finished * MARKS / transactions > (self.finished - 1) * MARKS / transactions;
        if is_mark {
            self.tally.marks.push((self.finished, now));
        }
    }

    /// Records that a transaction has executed this many statements, and wakes the connections that wait for it.
    pub(super) fn execute(&mut self, transaction: u64, statements: usize) {
        self.executed.insert(transaction, statements);
        if let Some(depending) = self.depending.get_mut(&transaction) {
            let can_continue = depending.extract_if(.., |(awaited, _)| *awaited <= statements);
            self.woken.extend(can_continue.map(|(_, seat)| seat));
        }
    }

    /// Returns what was counted since the last call.
    pub(super) fn take_tally(&mut self) -> ReplayTally {
        self.tally.time_distance = self.digests.distance();
        self.tally.digests = self.digests.lines();
        std::mem::take(&mut self.tally)
    }

    /// Whether a connection's next statement can be sent. If not, the connection is woken when that may have changed.
    pub(super) fn is_ready(&mut self, seat: usize, dependencies: &[Dependency]) -> bool {
        match dependencies.iter().find(|dependency| !self.has_executed(dependency.transaction, dependency.statements)) {
            Some(dependency) => {
                self.depending.entry(dependency.transaction).or_default().push((dependency.statements, seat));
            }
            None => return true,
        }
        false
    }

    /// Whether a transaction has begun and executed this many statements, or has ended.
    fn has_executed(&self, transaction: u64, statements: usize) -> bool {
        !self.expected.contains(&transaction) || self.executed.get(&transaction).is_some_and(|executed| *executed >= statements)
    }

    /// Whether a connection has something to begin: its next transaction or, at full pace, one that a busy connection offers. It
    /// begins the one that began first in the capture and need not wait. If it has nothing, it is woken when that may have changed.
    pub(super) fn may_begin(&mut self, seat: usize) -> bool {
        let Some(Piece::Begin { start, settings, .. }) = self.queues.first(seat) else { return true };
        if let Some(settings) = settings.filter(|_| self.is_full_pace) {
            let latest = if self.need_not_wait(seat, settings) { *start } else { i64::MAX };
            let mut earlier = self.queues.offers().take(MOST_OFFERS).take_while(|(start, _)| *start < latest);
            let found = earlier.find(|(_, other)| self.need_not_wait(*other, settings));
            drop(earlier);
            if let Some((_, other)) = found {
                self.queues.move_offered(other, seat);
                return true;
            }
        }
        let Some(obstacle) = self.queues.first(seat).and_then(|piece| self.obstacle(piece)) else { return true };
        if self.is_full_pace && !std::mem::replace(&mut self.is_blocked[seat], true) {
            self.blocked.push_back(seat);
        }
        if !std::mem::replace(&mut self.is_registered[seat], true) {
            match obstacle {
                Obstacle::Order(after) => self.waiting.push(Reverse((after, seat))),
                Obstacle::Transaction(awaited) => self.awaiting.entry(awaited).or_default().push(seat),
            }
        }
        false
    }

    /// Why a transaction may not begin, given its first piece; None if it may.
    fn obstacle(&self, piece: &Piece) -> Option<Obstacle> {
        let Piece::Begin { after, awaits, .. } = piece else { return None };
        if *after > self.passed {
            return Some(Obstacle::Order(*after));
        }
        awaits.iter().find(|awaited| self.expected.contains(awaited)).copied().map(Obstacle::Transaction)
    }

    /// Whether a session with these settings may begin the next transaction of a connection, and all transactions have begun for which
    /// its statements will wait: one that has not needs a connection, too.
    fn need_not_wait(&self, seat: usize, own_settings: u64) -> bool {
        self.queues.next(seat).all(|piece| match piece {
            Piece::Begin { settings, .. } => *settings == Some(own_settings) && self.obstacle(piece).is_none(),
            Piece::Step(step) => self.have_begun(&step.dependencies),
            _ => true,
        })
    }

    /// Whether the transactions that a statement waits for have begun.
    pub(super) fn have_begun(&self, dependencies: &[Dependency]) -> bool {
        dependencies.iter().all(|dependency| self.has_executed(dependency.transaction, 0))
    }

    /// Takes over what the reader has read of the capture. Adds the connections that can continue to `woken`; returns when to call this
    /// again at the latest.
    pub(super) fn read_on(&mut self, now: u64, woken: &mut Vec<usize>) -> Result<Option<u64>> {
        if !self.is_read && self.queues.bytes < AHEAD {
            match self.feed.take()? {
                Some(Some(batch)) => self.take(batch),
                Some(None) => {
                    self.is_read = true;
                    for seat in 0..self.idle.len() {
                        if std::mem::take(&mut self.idle[seat]) {
                            self.woken.push(seat);
                        }
                    }
                }
                None => {}
            }
        }
        woken.append(&mut self.woken);
        Ok((!self.is_read && self.queues.bytes < AHEAD / 4).then_some(now + GLANCE))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_read && self.queues.is_empty() && self.under_way == 0
    }

    /// Ends a transaction that failed, so that the connections that wait for it continue.
    pub(super) fn give_up(&mut self, transaction: Option<u64>, transactions: u64, now: u64) {
        self.under_way -= 1;
        if let Some(transaction) = transaction {
            self.end(transaction, transactions, now);
        }
    }

    /// Compares the result of a statement that succeeded with its result in the capture.
    pub(super) fn compare(&mut self, step: &Step, rows: RowCounts) {
        if step.is_added {
            return;
        }
        let (counts, mut digest) = (&mut self.tally.counts, self.digests.count(step));
        if let Some(error) = step.error {
            counts.outcomes += 1;
            if error != 0 {
                counts.missing_errors += 1;
                counts.repaired += u64::from(error == DEADLOCK);
                if let Some(digest) = &mut digest {
                    digest.missing_errors += 1;
                }
                return;
            }
        }
        if let Some(captured) = step.rows {
            counts.row_counts += 1;
            if captured != rows.returned {
                counts.other_row_counts += 1;
                if let Some(digest) = &mut digest {
                    digest.other_row_counts += 1;
                }
            }
        }
        let Some(affected) = rows.affected.filter(|_| step.kind == Kind::Write) else { return };
        counts.changes += 1;
        counts.idle_changes += u64::from(rows.matched.unwrap_or(affected) == 0);
        counts.change_counts += u64::from(step.changed != ChangedRows::Unknown);
        if !step.changed.are_same(affected, rows.matched) {
            counts.other_change_counts += 1;
            if let Some(digest) = digest {
                digest.other_change_counts += 1;
            }
        }
    }

    /// Counts a statement that failed with the same error as in the capture.
    pub(super) fn count_same_error(&mut self, step: &Step) {
        self.tally.counts.outcomes += 1;
        self.digests.count(step);
    }

    /// Counts a statement that failed, and did not fail with the same error in the capture. The error is harmless if the transaction
    /// was rolled back in the capture.
    pub(super) fn count_new_error(&mut self, step: &Step, code: u16, is_harmless: bool) {
        let (counts, digest) = (&mut self.tally.counts, self.digests.count(step));
        counts.outcomes += u64::from(step.error.is_some());
        if is_harmless {
            counts.harmless_errors += 1;
            return;
        }
        counts.new_errors += 1;
        if let Some(digest) = digest {
            digest.new_errors += 1;
            digest.last_error = Some(code);
        }
    }
}
