//! Applies a plan to a server: opens the connections, starts the load threads, and reports each second.

mod attention;
mod batching;
mod channels;
mod clock;
mod collect;
mod connection;
mod cpus;
mod dealing;
mod early_wake;
mod error_policy;
mod gathering;
mod player;
mod poller;
mod replayer;
mod schedule;
mod scheduling;
mod script;
mod shared;
mod slot;
mod statements;
mod threads;
mod timers;
mod worker;

use crate::errors::{Error, Result};
use crate::net::connect::Connector;
use crate::net::leftover::{self, Leftover};
use crate::plan::Plan;
use crate::record::{Merged, Tally};
use crate::replay::{Facts, Request};
use crate::run::{Purpose, Rate, Run};
use channels::Channels;
use clock::Clock;
use collect::{Collector, ThreadReport};
use dealing::Dealing;
use gathering::Decider;
use player::{Player, Source};
use replayer::Replayer;
use script::{Script, Setup};
use serde::{Deserialize, Serialize};
use shared::Shared;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use worker::Worker;

/// A run ends with an error after this many seconds in a row with errors and without a successful transaction.
const HOPELESS: u64 = 10;
/// The number of seconds of each load thread that may wait to be collected; more means that nobody reads the output. One takes half a
/// megabyte.
const UNTOLD: usize = 100;
/// The longest and the shortest time that the collecting thread waits for a report before it checks whether a decision about gathering
/// is due.
const GLANCE: Duration = Duration::from_secs(1);
const SHORTEST_GLANCE: Duration = Duration::from_millis(1);

/// The results of one second of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Its number in the run, from 1.
    pub number: u64,
    /// Whether it is measured or part of a warm-up.
    pub purpose: Purpose,
    /// The step of the run that it belongs to, from 1.
    pub step: usize,
    /// The number of connections in that step.
    pub connections: usize,
    /// The number of load threads that run these connections.
    pub load_threads: usize,
    /// Whether these load threads gathered answers; None if that was not decided yet, or if several hosts differ.
    pub gather: Option<bool>,
    /// The target rate of that step; None in a closed loop.
    pub rate: Option<Rate>,
    /// The Unix time of its end, in seconds.
    pub at: f64,
    /// Its length in seconds: 1, or less for the last one of a run.
    pub seconds: f64,
    /// What all load threads counted.
    pub merged: Merged,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// How many seconds were reported.
    pub seconds: u64,
    /// Whether transactions that were due were dropped, because too many waited.
    pub reached_backlog_cap: bool,
    /// The statements that were still executed when the run ended.
    pub leftover: Leftover,
}

/// How many load threads each phase of a run has on this machine.
#[must_use]
pub fn load_threads(run: &Run) -> Vec<usize> {
    threads::of_phases(run)
}

/// Applies a plan until its phases are over, its number of transactions is reached, or `stop` is set. Calls `seconds` for each second
/// as it ends.
///
/// # Errors
///
/// The server cannot be reached or refuses something, the workload cannot succeed on it, or the driver fails.
pub fn play(plan: &Plan, run: &Run, stop: &AtomicBool, seconds: &mut dyn FnMut(Second)) -> Result<RunResult> {
    play_when(plan, run, stop, &mut || Ok(Instant::now()), seconds)
}

/// Like [`play`], but calls `ready` once all connections are open; it returns the instant at which the load begins.
///
/// # Errors
///
/// As [`play`], and those of `ready`.
pub fn play_when(
    plan: &Plan,
    run: &Run,
    stop: &AtomicBool,
    ready: &mut dyn FnMut() -> Result<Instant>,
    seconds: &mut dyn FnMut(Second),
) -> Result<RunResult> {
    let most = run.phases.iter().map(|phase| phase.connections).max().unwrap_or(0);
    if most == 0 || plan.transactions.is_empty() {
        return Err(Error::user(
            "There is nothing to run",
            "Give a workload with at least one transaction, and at least one connection",
        ));
    }
    let source = Source::of(plan, run);
    play_scripts::<Player<'_>>(&source, source.setup(), run, load_threads(run), stop, ready, seconds)
}

/// Replays a capture until all of it is replayed, the run's phases are over, or `stop` is set. Calls `seconds` for each second as it ends.
///
/// # Errors
///
/// The server cannot be reached or refuses the account, the capture cannot be read, or the driver fails.
pub fn replay(
    request: &Request,
    facts: &Facts,
    run: &Run,
    stop: &AtomicBool,
    seconds: &mut dyn FnMut(Second),
) -> Result<RunResult> {
    let source = replayer::Source::new(request, facts)?;
    let (setup, load_threads) = (replayer::Source::setup(facts), vec![1; run.phases.len()]);
    play_scripts::<Replayer<'_>>(&source, setup, run, load_threads, stop, &mut || Ok(Instant::now()), seconds)
}

/// Like [`play_when`], with the scripts of any source. `load_threads` is the number of load threads of each phase.
fn play_scripts<'s, S: Script<'s>>(
    source: &'s S::Source,
    setup: Setup<'_>,
    run: &Run,
    load_threads: Vec<usize>,
    stop: &AtomicBool,
    ready: &mut dyn FnMut() -> Result<Instant>,
    seconds: &mut dyn FnMut(Second),
) -> Result<RunResult> {
    let most = run.phases.iter().map(|phase| phase.connections).max().unwrap_or(0);
    let connector = Connector::new(&run.account);
    let dealing = Dealing::of(load_threads);
    let thread_count = dealing.most();
    let shared = Shared::new(setup, run, &connector, dealing, stop);
    let played = thread::scope(|scope| {
        let (filled, reports) = sync_channel(UNTOLD * thread_count);
        let (passing, passed): (Vec<_>, Vec<_>) = (0..thread_count).map(|_| channel()).unzip();
        let (mut empties, mut begins) = (Vec::new(), Vec::new());
        for (place, passed) in passed.into_iter().enumerate() {
            let ((empty_sender, empty), (begin_sender, begin)) = (channel(), channel());
            empties.push(empty_sender);
            begins.push(begin_sender);
            let lines = Channels { filled: filled.clone(), begin, empty, passed, passing: passing.clone() };
            let shared = &shared;
            let thread = thread::Builder::new().name(format!("load-{place}"));
            let spawned = thread.spawn_scoped(scope, move || drive::<S>(shared, source, place, most, lines));
            if let Err(error) = spawned {
                let what = format!("Load thread {} of {thread_count} cannot be started: {error}", place + 1);
                shared.fail(Error::machine(what, "Check the limit of processes (ulimit -u), or set a smaller --load-threads"));
            }
        }
        drop((filled, passing));
        if !wait_until_open(&reports, thread_count) {
            return shared.failure().map_or(Ok(RunResult::default()), Err);
        }
        let clock = Clock::from(ready()?);
        for begin in begins {
            // A thread that has already ended is handled by `report_seconds`.
            let _ = begin.send(clock);
        }
        let played = report_seconds(&shared, clock, empties, &reports, seconds);
        shared.failure().map_or(Ok(played), Err)
    });
    // Also after a failure: a server does not notice that a client is gone before it has executed the client's statement.
    let leftover = leftover::end(&connector, &shared.left());
    played.map(|played| RunResult { leftover, ..played })
}

/// Waits until each of `thread_count` load threads has opened its connections; returns false if one of them ends before.
fn wait_until_open(reports: &Receiver<ThreadReport>, thread_count: usize) -> bool {
    (0..thread_count).all(|_| matches!(reports.recv(), Ok(ThreadReport::Opened)))
}

fn drive<'s, S: Script<'s>>(shared: &Shared<'_>, source: &'s S::Source, place: usize, connections: usize, lines: Channels<S>) {
    // Reports the end of the thread even if it panics, so that the collecting thread does not wait for it.
    struct Ending<'a>(&'a SyncSender<ThreadReport>, usize);
    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            let _ = self.0.send(ThreadReport::Ended(self.1));
        }
    }
    let filled = lines.filled.clone();
    let _ending = Ending(&filled, place);
    if let Err(error) = Worker::<S>::new(shared, source, place, connections, lines).and_then(Worker::run) {
        shared.fail(error);
    }
}

/// Calls `seconds` for each complete second, until all load threads have ended.
fn report_seconds(
    shared: &Shared<'_>,
    clock: Clock,
    empties: Vec<Sender<Box<Tally>>>,
    reports: &Receiver<ThreadReport>,
    seconds: &mut dyn FnMut(Second),
) -> RunResult {
    let Shared { timetable, dealing, gathering, setup, .. } = shared;
    let mut collector = Collector::new(timetable, dealing, gathering, clock, setup.kinds, empties);
    let mut decider = Decider::of(&shared.run.phases, timetable, gathering);
    let mut played = RunResult::default();
    let mut fail_streak = 0;
    loop {
        let next_decision = decider.advance(clock.now(), gathering);
        let patience = next_decision.unwrap_or(GLANCE).clamp(SHORTEST_GLANCE, GLANCE);
        match reports.recv_timeout(patience) {
            Ok(report) => {
                for second in collector.take(report) {
                    let tally = &second.merged.tally;
                    played.reached_backlog_cap |= tally.dropped > 0;
                    fail_streak = if tally.all_transactions() == 0 && tally.all_errors() > 0 { fail_streak + 1 } else { 0 };
                    seconds(second);
                    if fail_streak >= HOPELESS {
                        shared.fail(hopeless(shared));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    played.seconds = collector.reported_seconds;
    played
}

fn hopeless(shared: &Shared<'_>) -> Error {
    let (code, message) = shared.last_error().unwrap_or_default();
    let what = format!("Every transaction failed for {HOPELESS} s; the last with error {code}: {message}");
    if code == error_policy::LOST || error_policy::may_end_connection(code) {
        return Error::server(what, "See the server's error log for why it ends connections");
    }
    Error::workload(what, "Check that the workload's transactions can succeed on this data, and that they limit their retries")
}

#[cfg(test)]
mod tests;
