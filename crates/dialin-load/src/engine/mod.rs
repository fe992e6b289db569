//! Applies a plan to a server: opens the connections, starts the load threads, and tells each second.

mod batching;
mod channels;
mod clock;
mod collect;
mod connection;
mod cpus;
mod dealing;
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
mod worker;

use crate::errors::{Error, Result};
use crate::net::connect::Connector;
use crate::plan::Plan;
use crate::record::{Merged, Tally};
use crate::replay::{Facts, Request};
use crate::run::{Purpose, Rate, Run};
use channels::Channels;
use clock::Clock;
use collect::{Collector, Told};
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

/// A run in which no transaction succeeds for so many seconds, but errors come, ends.
const HOPELESS: u64 = 10;
/// So many seconds may wait to be told, because nobody reads them; a second takes half a megabyte for each load thread.
const UNTOLD: usize = 100;
/// How long the thread that tells seconds waits for one, at the most and at the least, before it looks what else is to be done.
const GLANCE: Duration = Duration::from_secs(1);
const SHORTEST_GLANCE: Duration = Duration::from_millis(1);

/// What one second of a run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Its number in the run, from 1.
    pub number: u64,
    /// Whether it counts.
    pub purpose: Purpose,
    /// Which step of the run it belongs to, from 1.
    pub step: usize,
    /// Connections at work in that step.
    pub connections: usize,
    /// Load threads that they are dealt over.
    pub load_threads: usize,
    /// Whether these gathered answers; None if that was not decided yet, and where several hosts differ.
    pub gather: Option<bool>,
    /// The rate asked for in that step.
    pub rate: Option<Rate>,
    /// Unix time of its end, in seconds.
    pub at: f64,
    /// How long it was: 1, but for the last one of a run that was stopped.
    pub seconds: f64,
    /// What was counted, by all load threads.
    pub merged: Merged,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// How many seconds were told.
    pub seconds: u64,
    /// Whether due transactions had to be dropped.
    pub reached_backlog_cap: bool,
}

/// How many load threads each phase of a run has on this machine.
#[must_use]
pub fn load_threads(run: &Run) -> Vec<usize> {
    threads::of_phases(run)
}

/// Apply a plan until its phases are over, its transactions are done, or `stop` is set; tell each second as it ends.
///
/// # Errors
///
/// The server cannot be reached or refuses something, the workload cannot succeed on it, or the driver fails.
pub fn play(plan: &Plan, run: &Run, stop: &AtomicBool, seconds: &mut dyn FnMut(Second)) -> Result<Played> {
    play_when(plan, run, stop, &mut || Ok(Instant::now()), seconds)
}

/// As [`play`]; once all connections are open, `ready` is asked at which instant the load shall begin.
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
) -> Result<Played> {
    let most = run.phases.iter().map(|phase| phase.connections).max().unwrap_or(0);
    if most == 0 || plan.transactions.is_empty() {
        return Err(Error::user("There is nothing to run", "Give a workload with a transaction, and a connection"));
    }
    let source = Source::of(plan, run);
    play_scripts::<Player<'_>>(&source, source.setup(), run, load_threads(run), stop, ready, seconds)
}

/// Replay a capture until it is over, the run's phases are, or `stop` is set; tell each second as it ends.
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
) -> Result<Played> {
    let source = replayer::Source::new(request, facts)?;
    let (setup, load_threads) = (replayer::Source::setup(facts), vec![1; run.phases.len()]);
    play_scripts::<Replayer<'_>>(&source, setup, run, load_threads, stop, &mut || Ok(Instant::now()), seconds)
}

/// As [`play_when`], with the scripts of any source, on so many load threads in each phase.
fn play_scripts<'s, S: Script<'s>>(
    source: &'s S::Source,
    setup: Setup<'_>,
    run: &Run,
    load_threads: Vec<usize>,
    stop: &AtomicBool,
    ready: &mut dyn FnMut() -> Result<Instant>,
    seconds: &mut dyn FnMut(Second),
) -> Result<Played> {
    let most = run.phases.iter().map(|phase| phase.connections).max().unwrap_or(0);
    let connector = Connector::new(&run.account);
    let dealing = Dealing::of(load_threads);
    let thread_count = dealing.most();
    let shared = Shared::new(setup, run, &connector, dealing, stop);
    thread::scope(|scope| {
        let (filled, told) = sync_channel(UNTOLD * thread_count);
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
                shared.fail(Error::driver(what, "See the limit of processes (ulimit -u), or give a smaller --load-threads"));
            }
        }
        drop((filled, passing));
        if !are_open(&told, thread_count) {
            return shared.failure().map_or(Ok(Played { seconds: 0, reached_backlog_cap: false }), Err);
        }
        let clock = Clock::from(ready()?);
        for begin in begins {
            // A thread that has ended is reported by `tell`.
            let _ = begin.send(clock);
        }
        let played = tell(&shared, clock, empties, &told, seconds);
        shared.failure().map_or(Ok(played), Err)
    })
}

/// Wait until the connections of so many load threads are open; false if one of them ends before.
fn are_open(told: &Receiver<Told>, thread_count: usize) -> bool {
    (0..thread_count).all(|_| matches!(told.recv(), Ok(Told::Opened)))
}

fn drive<'s, S: Script<'s>>(shared: &Shared<'_>, source: &'s S::Source, place: usize, connections: usize, lines: Channels<S>) {
    // Told however the thread ends, so that nobody waits for it.
    struct Ending<'a>(&'a SyncSender<Told>, usize);
    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            let _ = self.0.send(Told::Ended(self.1));
        }
    }
    let filled = lines.filled.clone();
    let _ending = Ending(&filled, place);
    if let Err(error) = Worker::<S>::new(shared, source, place, connections, lines).and_then(Worker::run) {
        shared.fail(error);
    }
}

/// Tell the seconds until all load threads have ended.
fn tell(
    shared: &Shared<'_>,
    clock: Clock,
    empties: Vec<Sender<Box<Tally>>>,
    told: &Receiver<Told>,
    seconds: &mut dyn FnMut(Second),
) -> Played {
    let Shared { timetable, dealing, gathering, setup, .. } = shared;
    let mut collector = Collector::new(timetable, dealing, gathering, clock, setup.kinds, empties);
    let mut decider = Decider::of(&shared.run.phases, timetable, gathering);
    let mut played = Played { seconds: 0, reached_backlog_cap: false };
    let mut in_vain = 0;
    loop {
        let next = decider.advance(clock.now(), gathering);
        let patience = next.unwrap_or(GLANCE).clamp(SHORTEST_GLANCE, GLANCE);
        match told.recv_timeout(patience) {
            Ok(one) => {
                for second in collector.take(one) {
                    let tally = &second.merged.tally;
                    played.reached_backlog_cap |= tally.dropped > 0;
                    in_vain = if tally.all_transactions() == 0 && tally.all_errors() > 0 { in_vain + 1 } else { 0 };
                    seconds(second);
                    if in_vain >= HOPELESS {
                        shared.fail(hopeless(shared));
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    played.seconds = collector.told;
    played
}

fn hopeless(shared: &Shared<'_>) -> Error {
    let (code, message) = shared.last_error().unwrap_or_default();
    let what = format!("Every transaction failed for {HOPELESS} s; the last with error {code}: {message}");
    if code == error_policy::LOST {
        return Error::server(what, "See the server's error log for why it ends connections");
    }
    Error::workload(what, "See that the workload's transactions can succeed on this data, and that its retries end")
}

#[cfg(test)]
mod tests;
