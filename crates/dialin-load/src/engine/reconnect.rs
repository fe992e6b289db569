//! Makes lost connections anew, away from the load threads, so that none of them waits for it.

use super::channels::{LostConnection, Reconnected};
use super::setup::{Refused, open};
use super::shared::Shared;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);

struct Attempt {
    job: LostConnection,
    since: Instant,
    pause: Duration,
    at: Instant,
}

/// Connect what was lost, with pauses that double from 50 ms to 1 s, until the run is over.
///
/// The run fails when the server refuses the login, or when a connection stays lost for longer than the run allows; a run that ends
/// anyway does not.
pub fn reconnect(shared: &Shared<'_>, jobs: &Receiver<LostConnection>, back: &[Sender<Reconnected>]) {
    let mut open_tries: VecDeque<Attempt> = VecDeque::new();
    loop {
        match jobs.recv_timeout(if open_tries.is_empty() { GLANCE * 5 } else { GLANCE }) {
            Ok(job) => {
                let now = Instant::now();
                open_tries.push_back(Attempt { job, since: now, pause: FIRST_PAUSE, at: now });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        if shared.is_over() {
            return;
        }
        for _ in 0..open_tries.len() {
            let Some(one) = open_tries.pop_front() else { break };
            if one.at > Instant::now() {
                open_tries.push_back(one);
            } else if let Some(again) = attempt(shared, one, back) {
                open_tries.push_back(again);
            }
            if shared.is_over() {
                return;
            }
        }
    }
}

/// Attempt once; return what is to be tried again.
fn attempt(shared: &Shared<'_>, one: Attempt, back: &[Sender<Reconnected>]) -> Option<Attempt> {
    let timeout = shared.run.timeout.min(Duration::from_secs(5));
    match open(shared.plan, shared.run, shared.connector, timeout) {
        Ok(connection) => {
            // The load thread may have ended meanwhile.
            let _ = back[one.job.thread].send(Reconnected { place: one.job.place, connection });
            None
        }
        Err(Refused { error, heals }) => {
            if !heals || one.since.elapsed() > shared.run.reconnect_for {
                if !shared.is_over() {
                    shared.fail(error);
                }
                return None;
            }
            let pause = (one.pause * 2).min(LONGEST_PAUSE);
            Some(Attempt { at: Instant::now() + one.pause, pause, ..one })
        }
    }
}
