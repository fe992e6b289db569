//! The state that the load threads of a run share.

use super::dealing::Dealing;
use super::error_policy::one_line;
use super::gathering::Gathering;
use super::schedule::{ArrivalQueue, Queue, Timetable};
use super::script::Setup;
use super::statements::Budget;
use crate::account::SessionId;
use crate::errors::Error;
use crate::net::connect::Connector;
use crate::run::{Arrivals, Rate, Run};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value on separate cache lines, so that writes to it do not slow down reads of neighbouring values (false sharing).
#[repr(align(128))]
struct CacheAligned<T>(T);

/// The state that the load threads of a run share. Apart from a few counters and the queue, it is only read.
pub struct Shared<'a> {
    /// What the scripts require of each connection.
    pub setup: Setup<'a>,
    /// The run's settings.
    pub run: &'a Run,
    /// Makes the connections.
    pub connector: &'a Connector<'a>,
    /// How many prepared statements the connections may have open.
    pub statements: Arc<Budget>,
    /// When the phases begin and end.
    pub timetable: Timetable,
    /// Whether the load threads gather answers in each phase.
    pub gathering: Gathering,
    /// Which load thread runs which connection in each phase.
    pub dealing: Dealing,
    /// Set from outside to end the run.
    pub stop: &'a AtomicBool,
    taken: CacheAligned<AtomicU64>,
    queue: Mutex<Queue>,
    failed: AtomicBool,
    error: Mutex<Option<Error>>,
    last: Mutex<Option<(u16, String)>>,
    left: Mutex<Vec<SessionId>>,
}

impl<'a> Shared<'a> {
    /// Creates the shared state of a run.
    #[must_use]
    pub fn new(setup: Setup<'a>, run: &'a Run, connector: &'a Connector<'a>, dealing: Dealing, stop: &'a AtomicBool) -> Self {
        let timetable = Timetable::of(&run.phases);
        Self {
            setup,
            run,
            connector,
            statements: Arc::new(Budget::new(setup.open_statements)),
            gathering: Gathering::of(&run.phases, &timetable, &dealing),
            timetable,
            dealing,
            stop,
            taken: CacheAligned(AtomicU64::new(0)),
            queue: Mutex::default(),
            failed: AtomicBool::new(false),
            error: Mutex::new(None),
            last: Mutex::new(None),
            left: Mutex::default(),
        }
    }

    /// Takes the next sequence number; None if the run has begun its number of transactions.
    pub fn take(&self) -> Option<u64> {
        let place = self.taken.0.fetch_add(1, Ordering::Relaxed);
        match self.run.transactions {
            Some(most) if place >= most => None,
            _ => Some(self.run.first.wrapping_add(place.wrapping_mul(self.run.stride))),
        }
    }

    /// Whether the run has begun its number of transactions.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.run.transactions.is_some_and(|most| self.taken.0.load(Ordering::Relaxed) >= most)
    }

    /// The number of a connection among the connections of all hosts. `own` is its number within this process.
    #[must_use]
    pub fn number(&self, own: usize) -> usize {
        let number = self.run.first.saturating_add((own as u64).saturating_mul(self.run.stride));
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// Enters a phase; returns how many due transactions were dropped at the end of the previous phase (see [`Queue::enter`]).
    pub fn enter(&self, phase: usize, goes_on: bool) -> u64 {
        self.queue().enter(phase, goes_on, |waiting| self.arriving(phase, waiting))
    }

    /// The queue of due transactions of an open loop.
    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The due times of a phase, which follow those in `waiting`; None for a closed loop.
    fn arriving(&self, phase: usize, waiting: VecDeque<u64>) -> Option<ArrivalQueue> {
        let rate = self.timetable.phase(phase).rate?;
        let most = usize::try_from(self.run.backlog).unwrap_or(usize::MAX);
        let begin = self.timetable.begin(phase) + self.turn(rate);
        let seed = (self.run.seed ^ self.run.first, u64::MAX - phase as u64);
        Some(ArrivalQueue::new(rate, (begin, self.timetable.end(phase)), most, waiting, seed))
    }

    /// By how much the constant arrivals of this host are shifted against those of the first host, in nanoseconds, so that the transactions
    /// of several hosts do not arrive at the same time.
    #[must_use]
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times above 0")]
    fn turn(&self, rate: Rate) -> u64 {
        match rate.arrivals {
            Arrivals::Poisson => 0,
            Arrivals::Constant => (self.run.first as f64 / self.run.stride as f64 / rate.per_second * 1e9) as u64,
        }
    }

    /// Whether the run is to end: it was stopped or has failed.
    #[must_use]
    pub fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.has_failed()
    }

    /// Whether the run has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Ends the run with an error; only the first error is kept.
    pub fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// The error that ended the run; None if it has not failed.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records an error of a transaction as the last one.
    pub fn note(&self, code: u16, message: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((code, one_line(message)));
    }

    /// Records sessions that may still execute a statement whose answer nobody awaits any more.
    pub fn leave(&self, sessions: impl IntoIterator<Item = SessionId>) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).extend(sessions);
    }

    /// The sessions that were left.
    #[must_use]
    pub fn left(self) -> Vec<SessionId> {
        self.left.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code and the message of the last error of a transaction.
    #[must_use]
    pub fn last_error(&self) -> Option<(u16, String)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
