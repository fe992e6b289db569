//! What the scripts of a replay share: the schedule as far as it was read, and how far they are in it.

use super::GLANCE;
use crate::engine::script::{Digest, Query, Setup};
use crate::errors::Result;
use crate::plan::Kind;
use crate::record::ReplayTally;
use crate::replay::{Batch, Dependency, Facts, Feed, Pace, Piece, Request, Templates};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many bytes of the schedule are read ahead.
const AHEAD: usize = 64 << 20;
/// In so many parts the transactions of a replay are timed.
const MARKS: u64 = 40;
/// The most statements that all connections together have open, of the 16,382 that servers allow.
const OPEN_STATEMENTS: usize = 12_000;

/// What the scripts of a replay share.
pub struct Source {
    pace: Pace,
    /// When the capture began, in microseconds since 1970.
    begin: i64,
    pub(super) transactions: u64,
    templates: Arc<Templates>,
    /// By the number of the template.
    digests: Vec<Digest>,
    state: Mutex<State>,
}

/// How far the scripts of a replay are.
pub(super) struct State {
    feed: Feed,
    /// The capture was read to its end.
    pub(super) is_read: bool,
    /// What each connection has to play.
    queues: Vec<VecDeque<Piece>>,
    bytes: usize,
    pieces: usize,
    /// Transactions in the order in which they ended in the capture, those that have yet to end.
    order: VecDeque<u64>,
    /// Transactions that have ended before their turn in that order.
    ended: HashSet<u64>,
    /// Transactions whose beginning was read, and that have yet to end.
    expected: HashSet<u64>,
    /// How many statements each transaction under way has executed.
    executed: HashMap<u64, usize>,
    /// Connections whose next statement waits for another transaction.
    depending: HashMap<u64, Vec<usize>>,
    /// How many have ended, in that order.
    pub(super) passed: u64,
    /// Connections whose transaction waits for another one to end.
    awaiting: HashMap<u64, Vec<usize>>,
    /// Connections whose transaction waits until so many have.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    /// Connections that have nothing to play so far.
    pub(super) idle: Vec<bool>,
    woken: Vec<usize>,
    /// What connections have begun and not ended.
    pub(super) under_way: usize,
    finished: u64,
    /// When the last one did, in nanoseconds since the load began.
    pub(super) last_end: u64,
    /// How long statements of each digest took in the capture, and now, in nanoseconds.
    times: Vec<(u64, u64)>,
    pub(super) tally: ReplayTally,
}

impl Source {
    /// Begin to read the capture that these facts are of.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn new(request: &Request, facts: &Facts) -> Result<Self> {
        let mut state = State {
            feed: Feed::start(request, facts)?,
            is_read: false,
            queues: (0..facts.connections).map(|_| VecDeque::new()).collect(),
            bytes: 0,
            pieces: 0,
            order: VecDeque::new(),
            ended: HashSet::new(),
            expected: HashSet::new(),
            executed: HashMap::new(),
            depending: HashMap::new(),
            awaiting: HashMap::new(),
            passed: 0,
            waiting: BinaryHeap::new(),
            idle: vec![false; facts.connections],
            woken: Vec::new(),
            under_way: 0,
            finished: 0,
            last_end: 0,
            times: Vec::new(),
            tally: ReplayTally::default(),
        };
        // Nothing waits yet, so reading disturbs nobody.
        while state.bytes < AHEAD / 2 {
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
            templates: Arc::clone(&facts.templates),
            state: Mutex::new(state),
        })
    }

    /// What its scripts ask of every connection: one kind of transactions, and nothing that sessions begin with.
    #[must_use]
    pub fn setup(facts: &Facts) -> Setup<'static> {
        Setup { kinds: 1, session: &[], open_statements: (OPEN_STATEMENTS / facts.connections.max(1)).max(1) }
    }

    /// A statement that was prepared, by its number; `mark` tells schemas apart, in which its names mean something else.
    pub(super) fn query(&self, template: usize, kind: Kind, mark: u64) -> Query<'_> {
        let one = &self.templates.all[template];
        let digest = self.digests[template].marked(mark);
        Query { sql: &one.sql, digest, parameters: one.parameters(), kind, is_text: false }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When something of the capture is due, in nanoseconds since the load began; None at full pace.
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
            self.bytes += weight(&piece);
            self.pieces += 1;
            self.queues[seat].push_back(piece);
            if std::mem::take(&mut self.idle[seat]) {
                self.woken.push(seat);
            }
        }
    }

    pub(super) fn pop(&mut self, seat: usize) -> Option<Piece> {
        let piece = self.queues[seat].pop_front()?;
        self.bytes -= weight(&piece);
        self.pieces -= 1;
        Some(piece)
    }

    /// Let those begin that waited for what has ended.
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
            self.woken.push(seat);
        }
    }

    pub(super) fn end(&mut self, transaction: u64, transactions: u64, now: u64) {
        self.ended.insert(transaction);
        self.expected.remove(&transaction);
        self.executed.remove(&transaction);
        self.woken.extend(self.depending.remove(&transaction).into_iter().flatten());
        self.woken.extend(self.awaiting.remove(&transaction).into_iter().flatten());
        self.advance();
        self.finished += 1;
        self.last_end = now;
        let is_mark = self.finished * MARKS / transactions > (self.finished - 1) * MARKS / transactions;
        if is_mark {
            self.tally.marks.push((self.finished, now));
        }
    }

    /// A transaction has executed so many statements.
    pub(super) fn execute(&mut self, transaction: u64, statements: usize) {
        self.executed.insert(transaction, statements);
        if !self.depending.is_empty() {
            self.woken.extend(self.depending.remove(&transaction).into_iter().flatten());
        }
    }

    /// A statement of a digest took so long in the capture, and now, in nanoseconds.
    pub(super) fn time(&mut self, digest: usize, captured: u64, now: u64) {
        if digest >= self.times.len() {
            self.times.resize(digest + 1, (0, 0));
        }
        let times = &mut self.times[digest];
        *times = (times.0 + captured, times.1 + now);
    }

    /// What was counted since this was last asked.
    pub(super) fn take_tally(&mut self) -> ReplayTally {
        self.tally.time_distance = distance(&self.times);
        std::mem::take(&mut self.tally)
    }

    /// Whether a connection's next statement can be sent; else it is woken when that may have changed.
    pub(super) fn is_ready(&mut self, seat: usize, dependencies: &[Dependency]) -> bool {
        let has_done = |one: &&Dependency| {
            !self.expected.contains(&one.transaction)
                || self.executed.get(&one.transaction).is_some_and(|statements| *statements >= one.statements)
        };
        match dependencies.iter().find(|one| !has_done(one)) {
            Some(one) => self.depending.entry(one.transaction).or_default().push(seat),
            None => return true,
        }
        false
    }

    /// The next piece of a connection.
    pub(super) fn first(&self, seat: usize) -> Option<&Piece> {
        self.queues.get(seat).and_then(VecDeque::front)
    }

    /// Whether the next transaction of a connection may begin, after so many others and these; else the connection is woken when that may
    /// have changed.
    pub(super) fn may_begin(&mut self, seat: usize) -> bool {
        let Some(Piece::Begin { after, awaits, .. }) = self.queues.get(seat).and_then(VecDeque::front) else { return true };
        if *after > self.passed {
            self.waiting.push(Reverse((*after, seat)));
            return false;
        }
        let Some(one) = awaits.iter().find(|one| self.expected.contains(one)) else { return true };
        self.awaiting.entry(*one).or_default().push(seat);
        false
    }

    /// Take what was read of the capture; name the connections that can go on, and say when to look again at the latest.
    pub(super) fn read_on(&mut self, now: u64, woken: &mut Vec<usize>) -> Result<Option<u64>> {
        if !self.is_read && self.bytes < AHEAD {
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
        Ok((!self.is_read && self.bytes < AHEAD / 4).then_some(now + GLANCE))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_read && self.pieces == 0 && self.under_way == 0
    }

    /// Whether the transaction that a connection has under way was rolled back in the capture, as far as it was read.
    pub(super) fn is_rolled_back(&self, seat: usize) -> bool {
        let end = self.queues[seat].iter().find(|piece| !matches!(piece, Piece::Step(_)));
        matches!(end, Some(Piece::Finish { is_rolled_back: true, .. }))
    }

    /// A transaction failed: those that wait for it go on.
    pub(super) fn give_up(&mut self, transaction: Option<u64>, transactions: u64, now: u64) {
        self.under_way -= 1;
        if let Some(transaction) = transaction {
            self.end(transaction, transactions, now);
        }
    }
}

/// How differently time is spread over digests, from 0 to 1: the share of it that other digests took than in the capture.
#[expect(clippy::cast_precision_loss, reason = "shares")]
fn distance(times: &[(u64, u64)]) -> Option<f64> {
    let (captured, now) = times.iter().fold((0, 0), |sums, one| (sums.0 + one.0, sums.1 + one.1));
    if captured == 0 || now == 0 {
        return None;
    }
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    Some(times.iter().map(|one| (share(one.0, captured) - share(one.1, now)).abs()).sum::<f64>() / 2.0)
}

/// About how many bytes a piece takes.
fn weight(piece: &Piece) -> usize {
    64 + if let Piece::Step(step) = piece { 96 + step.sql.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn time_that_other_digests_take_is_the_distance() {
        assert_eq!(distance(&[(10, 5), (30, 15)]), Some(0.0));
        assert_eq!(distance(&[(50, 0), (50, 7)]), Some(0.5));
        assert_eq!((distance(&[]), distance(&[(0, 7)])), (None, None));
    }
}
