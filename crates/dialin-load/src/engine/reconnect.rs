//! Makes lost connections anew, away from the load threads, so that none of them waits for it.

use super::channels::{LostConnection, Reconnected};
use super::setup::{Refused, open};
use super::shared::Shared;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// So many connections are made at a time: enough that a server which is back is the limit, not the driver.
pub const AT_A_TIME: usize = 16;

/// Pauses between tries. The longest one bounds how late a server that is back gets its load again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How often a thread that waits looks whether the run is over.
const GLANCE: Duration = Duration::from_millis(100);

/// Connect what was lost, one connection after the other, until the run is over; several threads do so side by side.
///
/// The run fails when the server refuses the login, or when a connection stays lost for longer than the run allows; a run that ends
/// anyway does not.
pub fn reconnect(shared: &Shared<'_>, jobs: &Mutex<Receiver<LostConnection>>, back: &[Sender<Reconnected>]) {
    while !shared.is_over() {
        // Only one thread waits in the channel; the others wait for it, and wake up nobody.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(GLANCE);
        match job {
            Ok(job) => bring_back(shared, job, back),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Try until the connection is there, the run is over, or it fails for lack of it.
fn bring_back(shared: &Shared<'_>, job: LostConnection, back: &[Sender<Reconnected>]) {
    let timeout = shared.run.timeout.min(Duration::from_secs(5));
    let mut pause = FIRST_PAUSE;
    while !shared.is_over() {
        match open(shared.plan, shared.connector, timeout) {
            Ok(connection) => {
                // The load thread may have ended meanwhile.
                let _ = back[job.thread].send(Reconnected { place: job.place, connection });
                return;
            }
            Err(Refused { error, heals }) => {
                if !heals || job.since.elapsed() > shared.run.reconnect_for {
                    if !shared.is_over() {
                        shared.fail(error);
                    }
                    return;
                }
            }
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
