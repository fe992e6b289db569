//! The side that waits for conductors and plays their orders, one run at a time.

use super::callers::{Callers, Place};
use super::link::{Link, LinkError};
use super::messages::{Report, Request};
use super::order::Order;
use super::token::Token;
use crate::BUILD;
use crate::account::SessionId;
use crate::engine::{RunResult, Second};
use crate::errors::{Error, Result};
use rustix::net::sockopt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// How often an agent that waits for a conductor checks whether it should end.
const GLANCE: Duration = Duration::from_millis(100);
/// How many connections may wait until they are accepted. If the queue of 128 of the standard library is full, the kernel ignores further
/// callers, and they try again only after a second.
const QUEUE: i32 = 4096;
/// A start further ahead than this is refused.
const FURTHEST_START: Duration = Duration::from_secs(60);

/// Applies an ordered load, as [`crate::engine::play_when`] does.
pub type Play<'a> =
    dyn Fn(&Order, &AtomicBool, &mut dyn FnMut() -> Result<Instant>, &mut dyn FnMut(Second)) -> Result<RunResult> + Sync + 'a;

/// Plays the orders of conductors.
pub struct Agent<'a> {
    /// The token of its conductors.
    pub token: Token,
    /// How it applies load.
    pub play: &'a Play<'a>,
    /// The sessions that it opens.
    pub opened: Mutex<Receiver<SessionId>>,
    /// As [`super::SILENCE`].
    pub silence: Duration,
    /// Ends the agent when set.
    pub stop: &'a AtomicBool,
    /// Receives a line about each event.
    pub say: &'a (dyn Fn(String) + Sync),
}

impl Agent<'_> {
    /// Wait for conductors until `stop` is set.
    ///
    /// # Errors
    /// The timeout or the queue of the listening socket cannot be set.
    pub fn serve(&self, listener: &TcpListener) -> io::Result<()> {
        sockopt::set_socket_timeout(listener, sockopt::Timeout::Recv, Some(GLANCE))?;
        rustix::net::listen(listener, QUEUE)?;
        let (busy, callers) = (&Mutex::new(()), &Callers::default());
        thread::scope(|scope| {
            while !self.stop.load(Relaxed) {
                if callers.is_crowded() {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
                let caller =
                    listener.accept().and_then(|(stream, peer)| Ok((callers.admit(&stream, peer.ip())?, stream, peer)));
                match caller {
                    Ok((place, stream, peer)) => {
                        // If no thread can be started, the connection is dropped, and the caller notices that it is closed.
                        let _ = thread::Builder::new().spawn_scoped(scope, move || self.receive(stream, peer, place, busy));
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // The caller gave up, or this process has too many open files.
                    Err(_) => thread::sleep(GLANCE),
                }
            }
        });
        Ok(())
    }

    fn receive(&self, stream: TcpStream, peer: SocketAddr, place: Place<'_>, busy: &Mutex<()>) {
        let met = self.meet(stream);
        if met.is_ok() {
            place.mark_proved();
        }
        drop(place);
        match met {
            Err(error) => (self.say)(format!("{peer} is refused: it {error}")),
            Ok((mut link, order)) => match turn(busy, self.silence / 10) {
                Some(_turn) => {
                    (self.say)(format!("{peer} conducts"));
                    (self.say)(format!("{peer}: {}", self.play_order(&mut link, &order)));
                }
                None => {
                    (self.say)(format!("{peer} is refused: this agent plays another run"));
                    let busy = Error::user("It plays another run", "Wait until that run is over, or stop it");
                    let _ = link.send(&Report { ended: Some(Err(busy)), ..Report::default() });
                }
            },
        }
    }

    fn meet(&self, stream: TcpStream) -> std::result::Result<(Link, Order), LinkError> {
        let until = Instant::now() + self.silence / 2;
        let mut link = Link::answer(stream, &self.token, BUILD, self.silence / 2)?;
        let order = link.receive(until)?;
        Ok((link, order))
    }

    /// The server's numbers of the sessions that were opened since the last call.
    fn opened(&self) -> Vec<u32> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).try_iter().map(|session| session.number).collect()
    }

    /// Play an order, and report until the conductor knows how the run ended; return a phrase that says how it ended.
    fn play_order(&self, link: &mut Link, order: &Order) -> String {
        let run = &ActiveRun { stop: AtomicBool::new(false), epoch: Instant::now(), progress: Mutex::default() };
        let (start, starts) = channel();
        let reported = thread::scope(|scope| {
            scope.spawn(move || {
                let ended = self.play(run, order, &starts);
                run.progress().ended = Some(ended);
            });
            let reported = self.report(link, run, start);
            run.stop.store(true, Relaxed);
            reported
        });
        match reported {
            Ok(Ok(played)) => format!("played for {} s", played.seconds),
            Ok(Err(error)) => error.what,
            Err(error) => format!("it {error}, and the load was stopped"),
        }
    }

    fn play(&self, run: &ActiveRun, order: &Order, starts: &Receiver<u64>) -> Result<RunResult> {
        let mut ready = || run.ready(starts);
        let mut seconds = |second: Second| run.progress().seconds.push(second);
        let play = AssertUnwindSafe(|| (self.play)(order, &run.stop, &mut ready, &mut seconds));
        match catch_unwind(play) {
            // A panic is reported to the conductor, too.
            Err(_) => Err(Error::driver("The load failed because of a defect", "Report this, with what the agent printed")),
            Ok(_) if self.stop.load(Relaxed) => {
                Err(Error::machine("It was stopped by a signal", "Start that agent again, and run again"))
            }
            Ok(played) => played,
        }
    }

    /// Answer requests until the end of the run has been reported; return how it ended.
    fn report(
        &self,
        link: &mut Link,
        run: &ActiveRun,
        start: Sender<u64>,
    ) -> std::result::Result<Result<RunResult>, LinkError> {
        let mut start = Some(start);
        loop {
            let report = run.report(self.opened());
            link.send(&report)?;
            if let Some(ended) = report.ended {
                return Ok(ended);
            }
            let request = link.receive(Instant::now() + self.silence)?;
            if request == Request::Stop || self.stop.load(Relaxed) {
                run.stop.store(true, Relaxed);
                // Dropping the sender ends a load that is still waiting for its start.
                start = None;
            }
            if let (Request::Start(at), Some(start)) = (request, &start) {
                // A load that has failed no longer receives a start; the next report has its error.
                let _ = start.send(at);
            }
        }
    }
}

/// The exclusive right to play a run. Waits up to `patience` for another run that may be about to end; None if it does not.
fn turn(busy: &Mutex<()>, patience: Duration) -> Option<MutexGuard<'_, ()>> {
    (0..10).find_map(|_| match busy.try_lock() {
        Ok(turn) => Some(turn),
        // A run whose thread panicked is over as well.
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {
            thread::sleep(patience / 10);
            None
        }
    })
}

/// A run that is played for a conductor.
struct ActiveRun {
    stop: AtomicBool,
    /// When the agent's clock showed 0.
    epoch: Instant,
    /// The content of the next report.
    progress: Mutex<Report>,
}

impl ActiveRun {
    fn progress(&self) -> MutexGuard<'_, Report> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, sessions: Vec<u32>) -> Report {
        let mut progress = self.progress();
        let is_ready = progress.is_ready;
        let report = std::mem::replace(&mut *progress, Report { is_ready, ..Report::default() });
        let clock = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Report { clock, sessions, ..report }
    }

    /// Report that all connections are open, and wait for the start.
    fn ready(&self, starts: &Receiver<u64>) -> Result<Instant> {
        self.progress().is_ready = true;
        let stopped = |_| Error::driver("The run was stopped before its load began", "Run it again");
        let at = self.epoch.checked_add(Duration::from_nanos(starts.recv().map_err(stopped)?));
        let now = Instant::now();
        let what = match at {
            Some(at) if at < now => "The common start time had already passed when this host received it",
            Some(at) if at < now + FURTHEST_START => return Ok(at),
            _ => "The common start time is more than a minute ahead",
        };
        Err(Error::machine(what, "Look for what delays the network between the hosts, and run again"))
    }
}
