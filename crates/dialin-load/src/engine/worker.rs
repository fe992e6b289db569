//! One load thread: an event loop over its connections.

mod answers;
mod connections;
mod logins;
mod turns;
mod waits;

use super::attention::Attention;
use super::batching::Batching;
use super::channels::Channels;
use super::clock::{Clock, SECOND};
use super::collect::ThreadReport;
use super::connection::Connection;
use super::dealing::Handover;
use super::poller::Poller;
use super::schedule::ArrivalQueue;
use super::scheduling::Scheduling;
use super::script::{Action, RowCounts, Script};
use super::shared::Shared;
use super::slot::{Awaited, Slot, State};
use super::statements::{Prepared, Statements};
use super::timers::Timers;
use crate::errors::{Error, Result};
use crate::protocol::text::Template;
use crate::record::{Meter, Tally, thread_cpu};
use logins::Logins;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError};
use std::time::{Duration, Instant};

/// The longest time between two checks whether a run is to stop that waits for its begin, in nanoseconds.
const GLANCE: u64 = SECOND / 10;
/// The time between two ticks of a load thread, in nanoseconds: how long it may overlook that it was stopped ([`super::attention`]), and
/// the longest time until it notices what another thread did. A tick takes a few microseconds.
const TICK: u64 = SECOND / 500;
/// The same for a thread none of whose connections is used in the phase.
const IDLE_TICK: u64 = SECOND / 10;
/// How long transactions that are open at the end may take to finish, in nanoseconds.
const DRAIN: u64 = SECOND;
/// How long the last commands of all connections may take when the thread ends.
const PARTING: Duration = Duration::from_secs(1);
/// The smallest limit of transactions that begin in one pass of the event loop; it bounds the time for transactions that need no server.
const TURNS: usize = 256;

/// A load thread with its connections. A "place" is the index of a connection's slot.
pub struct Worker<'r, 's, S: Script<'s>> {
    shared: &'r Shared<'r>,
    source: &'s S::Source,
    /// The run's clock; until the load begins, a clock of this thread.
    clock: Clock,
    slots: Vec<Slot<S>>,
    logins: Logins<'r>,
    /// Places that may begin a transaction; the one that has been free for longest is first.
    free: VecDeque<usize>,
    /// Places that are not used in this phase.
    benched: Vec<usize>,
    /// Empty slots, whose connections were handed over.
    vacant: Vec<usize>,
    timers: Timers,
    waiter: Poller,
    batching: Batching,
    attention: Attention,
    /// The time between two ticks.
    tick: u64,
    scheduling: Scheduling,
    ready: Vec<usize>,
    /// Places whose scripts can continue.
    woken: Vec<usize>,
    /// When [`Script::poll`] is to be called again at the latest.
    poll_by: Option<u64>,
    /// Places whose sockets may hold more of a long answer, which is read in their next turn.
    unread: Vec<usize>,
    /// When the last wait ended or the last answer was handled.
    answered_at: u64,
    /// Whether a connection was lost that had no transaction, and whose place is still among the free or the unused ones.
    has_lost_idle: bool,
    buffer: Vec<u8>,
    /// The number of connections that wait for an answer.
    waits: usize,
    /// The number of connections of this phase that other load threads have yet to hand over.
    missing: usize,
    phase: usize,
    active: usize,
    /// When this phase ends, in nanoseconds since the load began.
    phase_end: u64,
    /// Transactions that began before this time belong to another step, and are not counted.
    counted_from: u64,
    /// Whether this phase has a rate.
    is_open_loop: bool,
    /// Whether no more transactions arrive in this phase.
    is_taken: bool,
    /// Whether no more transactions are to begin in this run.
    exhausted: bool,
    /// Whether the run has ended, and only open transactions are finished.
    is_draining: bool,
    tally: Box<Tally>,
    cpu: Meter,
    second: u64,
    filled: SyncSender<ThreadReport>,
    empty: Receiver<Box<Tally>>,
    begin: Receiver<Clock>,
    passed: Receiver<Handover<S>>,
    passing: Vec<Sender<Handover<S>>>,
    place: usize,
}

impl<'r, 's, S: Script<'s>> Worker<'r, 's, S> {
    /// Creates load thread number `place`. It starts with its share, in the first phase, of the run's `connections`.
    ///
    /// # Errors
    ///
    /// Fails if no epoll instance can be created.
    pub fn new(
        shared: &'r Shared<'r>,
        source: &'s S::Source,
        place: usize,
        connections: usize,
        lines: Channels<S>,
    ) -> Result<Self> {
        let numbers = (0..connections).filter(|number| shared.dealing.owner(0, *number) == place);
        let slots: Vec<Slot<S>> = numbers.map(|number| Slot::new(number, S::new(source, shared.number(number)))).collect();
        Ok(Self {
            shared,
            source,
            clock: Clock::from(Instant::now()),
            free: VecDeque::with_capacity(slots.len()),
            benched: Vec::with_capacity(slots.len()),
            vacant: Vec::new(),
            logins: Logins::new(shared.dealing.most()),
            waiter: Poller::new()?,
            batching: Batching::new(),
            attention: Attention::new(TICK),
            tick: TICK,
            scheduling: Scheduling::of_this_thread(),
            ready: Vec::with_capacity(slots.len()),
            woken: Vec::new(),
            poll_by: None,
            unread: Vec::new(),
            answered_at: 0,
            has_lost_idle: false,
            slots,
            timers: Timers::default(),
            buffer: vec![0; 64 * 1024],
            waits: 0,
            missing: 0,
            phase: usize::MAX,
            active: 0,
            phase_end: 0,
            counted_from: 0,
            is_open_loop: false,
            is_taken: false,
            exhausted: false,
            is_draining: false,
            tally: Box::new(Tally::new(shared.setup.kinds)),
            cpu: Meter::from(thread_cpu()),
            second: 1,
            filled: lines.filled,
            empty: lines.empty,
            begin: lines.begin,
            passed: lines.passed,
            passing: lines.passing,
            place,
        })
    }

    /// Opens the connections, applies the load until the run is over, and reports each second.
    ///
    /// # Errors
    ///
    /// Fails if a connection cannot be opened, or if the load cannot continue.
    pub fn run(mut self) -> Result<()> {
        if !self.open_all()? || !self.wait_for_origin() {
            return self.close();
        }
        self.tick_every(TICK, 0)?;
        self.cpu = Meter::from(thread_cpu());
        loop {
            let now = self.clock.now();
            self.roll(now)?;
            if self.shared.stops() || !self.enter(now)? {
                break;
            }
            self.exhausted |= self.shared.is_exhausted() || S::is_over(self.source);
            self.welcome()?;
            self.fire(now)?;
            self.start(now)?;
            self.wake(now)?;
            self.start_logins(now)?;
            if self.is_over() {
                break;
            }
            self.listen()?;
        }
        self.end()
    }

    /// Ticks in intervals of `tick`. The end of each second coincides with a tick.
    fn tick_every(&mut self, tick: u64, now: u64) -> Result<()> {
        self.tick = tick;
        self.waiter.start_ticking(self.clock.to_monotonic((now / tick + 1) * tick), tick)
    }

    /// Whether the load has begun.
    fn has_begun(&self) -> bool {
        self.phase != usize::MAX
    }

    /// Reports that all connections are open, and sleeps until the load begins; returns false if the run is to end before.
    fn wait_for_origin(&mut self) -> bool {
        let opened = self.filled.send(ThreadReport::Opened);
        let (Ok(()), Ok(clock)) = (opened, self.begin.recv()) else { return false };
        (self.clock, self.attention) = (clock, Attention::new(TICK));
        self.slots.iter_mut().for_each(|slot| slot.usable_since = 0);
        loop {
            let left = self.clock.until_origin();
            if left.is_zero() || self.shared.stops() {
                return left.is_zero();
            }
            std::thread::sleep(left.min(Duration::from_nanos(GLANCE)));
        }
    }

    /// Reports the seconds that have ended.
    fn roll(&mut self, now: u64) -> Result<()> {
        while now >= self.second * SECOND {
            self.arrive(self.second * SECOND - 1);
            let end = self.second * SECOND;
            self.hand_over(end);
            self.counted_from = self.shared.timetable.step_began(now);
            self.lose_unresponsive_connections(now);
            if self.has_begun() {
                self.adjust_tick(now)?;
            }
        }
        Ok(())
    }

    /// Reports the current second, which ended at `end`, and begins the next one.
    fn hand_over(&mut self, end: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a second at the most")]
        let seconds = (end - (self.second - 1) * SECOND) as f64 / 1e9;
        self.tally.busy = self.slots.iter().filter(|slot| slot.is_busy()).count() as u64;
        // All threads share one queue, so only one of them counts its backlog.
        let counted = (self.place == 0).then(|| self.shared.queue().backlog(self.phase, end - 1));
        let (backlog, longest_waiting) = counted.unwrap_or_default();
        self.tally.backlog = backlog as u64;
        let oldest_due = [self.oldest_open(), longest_waiting].into_iter().flatten().min();
        self.tally.oldest_ns = oldest_due.map_or(0, |due| end.saturating_sub(due));
        (self.tally.gather_pauses, self.tally.gather_ns) = self.batching.take_pauses();
        self.tally.cpu_ns = self.cpu.lap(thread_cpu());
        S::count(self.source, &mut self.tally);
        let next = self.empty.try_recv().unwrap_or_else(|_| Box::new(Tally::new(self.shared.setup.kinds)));
        let full = std::mem::replace(&mut self.tally, next);
        let report = ThreadReport::Second { thread: self.place, second: self.second, seconds, tally: full };
        // The receiver is gone only if the run has failed, so only a full channel is an error.
        if let Err(TrySendError::Full(_)) = self.filled.try_send(report) {
            self.shared.fail(Error::user(
                "The output of dialin-load has not been read for more than a minute",
                "Read the output continuously, or write it to a file",
            ));
        }
        self.second += 1;
    }

    /// When the oldest open transaction was due.
    fn oldest_open(&self) -> Option<u64> {
        self.slots.iter().filter(|slot| slot.is_busy()).map(|slot| slot.due).min()
    }

    fn lose_unresponsive_connections(&mut self, now: u64) {
        let timeout = u64::try_from(self.shared.run.timeout.as_nanos()).unwrap_or(u64::MAX);
        for place in 0..self.slots.len() {
            if matches!(self.slots[place].state, State::Waits(_, since) if now.saturating_sub(since) > timeout) {
                self.shared.leave(self.slots[place].connection.as_ref().map(Connection::id));
                self.lose(place);
            }
        }
    }

    /// In an open loop, queues the transactions that are due by `now`.
    fn arrive(&mut self, now: u64) {
        if self.is_open_loop
            && let Some(arriving) = self.shared.queue().of(self.phase)
        {
            self.tally.dropped += arriving.arrive(now);
        }
    }

    /// Begins transactions on free connections, or sets their timers to the next transaction that is due.
    fn start(&mut self, now: u64) -> Result<()> {
        self.arrive(now);
        for _ in 0..TURNS.max(self.free.len()) {
            if self.exhausted || self.is_taken {
                break;
            }
            let Some(place) = self.free.pop_front() else { break };
            if !self.is_open_loop {
                // The clock is read again, so that the time for sending on other connections does not count as latency.
                let now = self.clock.now();
                self.take_turn(place, now)?;
                continue;
            }
            let Some(due) = self.shared.queue().of(self.phase).and_then(ArrivalQueue::take) else {
                self.is_taken = true;
                self.free.push_front(place);
                break;
            };
            self.slots[place].booked = Some(due);
            if due <= now {
                self.begin_booked(place)?;
            } else {
                self.timers.set(due, place);
            }
        }
        Ok(())
    }

    /// Begins a transaction on a connection, unless the run has begun its number of transactions.
    fn begin(&mut self, place: usize, due: u64, now: u64) -> Result<()> {
        let sequence = if self.exhausted { None } else { self.shared.take() };
        let Some(sequence) = sequence else {
            self.exhausted = true;
            self.rest(place);
            return Ok(());
        };
        let slot = &mut self.slots[place];
        (slot.state, slot.due, slot.began, slot.retries) = (State::Plays, due, now, 0);
        (slot.lag, slot.answer_lag) = (now.saturating_sub(due.max(slot.usable_since)), 0);
        slot.script.begin(sequence);
        self.go_on(place, now)
    }

    /// Performs the actions of a connection's script, until it has to wait for something.
    fn go_on(&mut self, place: usize, now: u64) -> Result<()> {
        loop {
            let slot = &mut self.slots[place];
            match (slot.script.next(now), &mut slot.connection) {
                (Action::Execute { query, keeps }, Some(connection)) => {
                    let statement = match connection.find(&query, now) {
                        Some(statement) => statement,
                        None if query.is_text => connection.learn(&query, Prepared::Text(Template::new(query.sql)), now),
                        None => return self.prepare(place, &query, now),
                    };
                    connection.execute(statement, keeps, &mut slot.script);
                    return self.send(place, Awaited::Statement(query.kind), now);
                }
                (Action::Send(kind), Some(connection)) => {
                    connection.text(slot.script.text());
                    return self.send(place, Awaited::Statement(kind), now);
                }
                (Action::Collect { batch, connection: number, turn }, Some(connection)) => {
                    let is_full = connection.collect(batch, number, turn);
                    slot.script.succeed(RowCounts::default());
                    if is_full {
                        return self.send(place, Awaited::Batch, now);
                    }
                }
                (Action::Pause(nanoseconds), _) => {
                    slot.state = State::Idles;
                    self.timers.set(now.saturating_add(nanoseconds), place);
                    return Ok(());
                }
                (Action::WaitUntil(at), _) => {
                    // Whatever was late before, what comes next is due at that time.
                    (slot.state, slot.lag) = (State::Idles, 0);
                    self.timers.set(at, place);
                    return Ok(());
                }
                (Action::HoldUntil(at), _) => {
                    (slot.state, slot.is_held) = (State::Idles, true);
                    self.timers.set(at, place);
                    return Ok(());
                }
                (Action::Execute { .. } | Action::Send(_) | Action::Collect { .. } | Action::Connect | Action::Reset, None) => {
                    slot.state = State::Connects;
                    self.log_in(place, now);
                    return Ok(());
                }
                (Action::Connect, Some(_)) => {
                    slot.script.succeed(RowCounts::default());
                }
                (Action::Reset, Some(connection)) => {
                    connection.reset(Statements::new(Arc::clone(&self.shared.statements)));
                    return self.send(place, Awaited::Reset, now);
                }
                (Action::Disconnect, connection) => {
                    if connection.as_mut().is_some_and(Connection::write_batch) {
                        return self.send(place, Awaited::Batch, now);
                    }
                    if let Some(mut connection) = connection.take() {
                        connection.quit();
                    }
                    slot.script.succeed(RowCounts::default());
                }
                (Action::End, _) => {
                    self.finish(place, now, true);
                    return Ok(());
                }
            }
        }
    }

    fn send(&mut self, place: usize, awaited: Awaited, now: u64) -> Result<()> {
        let slot = &mut self.slots[place];
        slot.state = State::Waits(awaited, now);
        self.waits += 1;
        let Some(connection) = &mut slot.connection else { return Ok(()) };
        match connection.send() {
            Ok(true) => Ok(()),
            Ok(false) => self.waiter.watch_room(connection.socket(), place, true),
            Err(_) => {
                self.lose(place);
                Ok(())
            }
        }
    }

    /// Ends a transaction and counts it as a success or a failure.
    fn finish(&mut self, place: usize, now: u64, success: bool) {
        self.count(place, now, success);
        let slot = &mut self.slots[place];
        slot.usable_since = now.saturating_sub(slot.lag);
        self.rest(place);
    }

    /// Counts the transaction of a connection as a success or a failure, unless it began in another step.
    fn count(&mut self, place: usize, now: u64, success: bool) {
        let slot = &self.slots[place];
        if slot.began >= self.counted_from && slot.script.counts() {
            let ((latency, lag), service) = (slot.latency(now), now.saturating_sub(slot.began));
            if success {
                self.tally.transaction(slot.script.kind(), latency, service, lag);
            } else {
                self.tally.failure(latency);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.exhausted && self.waits == 0 && !self.slots.iter().any(Slot::is_busy)
    }

    /// Lets open transactions finish, without counting them, and closes the connections.
    fn end(mut self) -> Result<()> {
        let now = self.clock.now();
        if self.shared.timetable.at(now).is_some() {
            self.arrive(now);
            self.hand_over(now);
        }
        self.exhausted = true;
        self.is_draining = true;
        let limit = now + DRAIN;
        while self.waits > 0 && !self.shared.has_failed() && self.clock.now() < limit {
            let now = self.clock.now();
            self.fire(now)?;
            self.listen()?;
        }
        self.close()
    }

    /// Sends the collected rows of idle connections and closes all connections.
    fn close(mut self) -> Result<()> {
        let deadline = Instant::now() + PARTING;
        self.slots.extend(self.passed.try_iter().map(|passed| passed.slot));
        for slot in &mut self.slots {
            if let (Some(connection), State::Free) = (&mut slot.connection, slot.state) {
                connection.part(&mut self.buffer, deadline);
            }
        }
        Ok(())
    }
}

impl<'s, S: Script<'s>> Drop for Worker<'_, 's, S> {
    /// Records what the thread's connections still execute, however the thread ends.
    fn drop(&mut self) {
        let waiting = self.slots.iter().filter(|slot| matches!(slot.state, State::Waits(..)));
        self.shared.leave(waiting.filter_map(|slot| slot.connection.as_ref().map(Connection::id)));
        self.shared.leave(self.logins.executing());
    }
}

#[cfg(test)]
mod tests;
