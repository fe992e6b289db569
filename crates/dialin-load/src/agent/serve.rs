//! The side that waits for conductors, and plays what they order: one run at a time.

use super::clock_offset::nanoseconds_since;
use super::link::{Link, Reader, Trouble, Writer};
use super::order::Order;
use super::strangers::Strangers;
use super::token::Token;
use super::wire::{Command, Report};
use super::{Timeout, nonce};
use crate::engine::{Played, Second};
use crate::errors::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Strangers at the door at a time; a further one takes the place of another.
const MOST_STRANGERS: usize = 64;
/// Threads that listen to strangers, those included who were sent away a moment ago.
const MOST_LISTENING: usize = 2 * MOST_STRANGERS;
/// How often a thread that waits looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);
/// A start further ahead than this is a mistake.
const FURTHEST_START: Duration = Duration::from_secs(60);

/// Applies an ordered load, as [`crate::engine::play_when`] does.
pub type Play<'a> =
    dyn Fn(&Order, &AtomicBool, &mut dyn FnMut() -> Result<Instant>, &mut dyn FnMut(Second)) -> Result<Played> + Sync + 'a;

/// What an agent works with.
pub struct Agent<'a> {
    /// Whom it trusts.
    pub token: Token,
    /// How it applies load.
    pub play: &'a Play<'a>,
    /// How long it waits for whom.
    pub timeout: Timeout,
    /// Set, it ends.
    pub stop: &'a AtomicBool,
    /// Where it tells what happens, a line each.
    pub say: &'a (dyn Fn(String) + Sync),
}

impl Agent<'_> {
    /// Wait for conductors until told to stop.
    ///
    /// # Errors
    /// Of the driver: the system takes the listener away.
    pub fn serve(&self, listener: &TcpListener) -> Result<()> {
        let failed = |cause: std::io::Error| {
            Error::driver(format!("Connections cannot be waited for: {cause}"), "Start the agent again")
        };
        listener.set_nonblocking(true).map_err(failed)?;
        let (busy, strangers, listening) = (Mutex::new(()), Strangers::new(MOST_STRANGERS), Arc::new(()));
        thread::scope(|scope| {
            while !self.stop.load(Relaxed) {
                if !knocks(listener).map_err(failed)? {
                    continue;
                }
                // Whoever gave up in the meantime, or came when files had run out, calls again.
                let Ok((stream, peer)) = listener.accept() else {
                    thread::sleep(GLANCE);
                    continue;
                };
                let Ok(number) = strangers.admit(&stream, peer.ip()) else { continue };
                let stranger = Stranger { number, strangers: &strangers, _listening: Arc::clone(&listening) };
                let busy = &busy;
                // Where the system gives no thread, the stream is dropped, and the caller learns that it is closed.
                let _ = thread::Builder::new().spawn_scoped(scope, move || self.receive(stream, peer, busy, stranger));
                while Arc::strong_count(&listening) > MOST_LISTENING && !self.stop.load(Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Ok(())
        })
    }

    fn receive(&self, stream: TcpStream, peer: SocketAddr, busy: &Mutex<()>, stranger: Stranger<'_>) {
        let met = self.meet(stream);
        stranger.leave(met.is_ok());
        let mut link = match met {
            Ok(link) => link,
            Err(trouble) => return (self.say)(format!("{peer} is refused: it {trouble}")),
        };
        let Some(_turn) = turn(busy, Instant::now() + self.timeout.parting) else {
            (self.say)(format!("{peer} is refused: another run is played"));
            if link.writer.send(&Report::Busy).is_ok() {
                self.part(&mut link.reader, &link.writer);
            }
            return;
        };
        (self.say)(format!("{peer} conducts"));
        let ending = self.obey(link).unwrap_or_else(|trouble| format!("it {trouble}"));
        (self.say)(format!("{peer}: {ending}"));
    }

    fn meet(&self, stream: TcpStream) -> std::result::Result<Link, Trouble> {
        stream.set_nonblocking(false)?;
        Link::answer(stream, &self.token, &nonce()?, self.timeout.greeting)
    }

    /// Play what a conductor orders; return how it ended, in a few words.
    fn obey(&self, Link { mut reader, mut writer }: Link) -> std::result::Result<String, Trouble> {
        writer.send(&Report::Welcome)?;
        let Command::Order(order) = reader.receive(Instant::now() + self.timeout.greeting)? else {
            return Ok("it ordered nothing".into());
        };
        let run =
            &Run { writer: Mutex::new(writer), stop: AtomicBool::new(false), gone: OnceLock::new(), epoch: Instant::now() };
        thread::scope(|scope| {
            let (start, starts) = channel();
            let listening = scope.spawn(move || self.listen(run, reader, &start));
            let played = self.play(run, &order, &starts);
            let ending = match (run.gone.get(), &played) {
                (Some(trouble), _) => format!("it {trouble}, and the load was stopped"),
                (None, Ok(played)) => format!("played for {} s", played.seconds),
                (None, Err(error)) => error.what.clone(),
            };
            run.tell(&played.map_or_else(Report::Failed, Report::Played));
            if let Ok(Some(mut reader)) = listening.join() {
                self.part(&mut reader, &run.writer());
            }
            Ok(ending)
        })
    }

    fn play(&self, run: &Run, order: &Order, starts: &Receiver<u64>) -> Result<Played> {
        let mut ready = || run.ready(starts);
        let mut seconds = |second: Second| run.tell(&Report::Second(Box::new(second)));
        let play = AssertUnwindSafe(|| (self.play)(order, &run.stop, &mut ready, &mut seconds));
        match catch_unwind(play) {
            // The conductor is to learn of a defect, too.
            Err(_) => Err(Error::driver("The load failed by a defect", "Report this, with what the agent printed")),
            Ok(_) if self.stop.load(Relaxed) => {
                Err(Error::driver("It was stopped by a signal", "Start that agent again, and run again"))
            }
            Ok(played) => played,
        }
    }

    /// Heed what the conductor says until it is gone, or this agent is to stop: then the reader is handed back.
    fn listen(&self, run: &Run, mut reader: Reader, start: &Sender<u64>) -> Option<Reader> {
        let mut heard = Instant::now();
        while !self.stop.load(Relaxed) {
            let trouble = match reader.receive(Instant::now() + GLANCE) {
                Ok(command) => {
                    heard = Instant::now();
                    run.heed(&command, start)
                }
                Err(Trouble::Silent) if heard.elapsed() < self.timeout.silence => Ok(()),
                Err(trouble) => Err(trouble),
            };
            if let Err(trouble) = trouble {
                let _ = run.gone.set(trouble);
                run.stop.store(true, Relaxed);
                return None;
            }
        }
        run.stop.store(true, Relaxed);
        Some(reader)
    }

    /// Let the other side read what it was told, and close.
    fn part(&self, reader: &mut Reader, writer: &Writer) {
        writer.finish();
        reader.drain(Instant::now() + self.timeout.parting);
    }
}

/// A caller that is listened to; dropped once it has proved itself, or is refused.
struct Stranger<'a> {
    number: u64,
    strangers: &'a Strangers,
    _listening: Arc<()>,
}

impl Stranger<'_> {
    fn leave(self, proved: bool) {
        self.strangers.leave(self.number, proved);
    }
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        self.strangers.leave(self.number, false);
    }
}

/// Wait a moment for a caller.
fn knocks(listener: &TcpListener) -> std::io::Result<bool> {
    let moment = Timespec { tv_sec: 0, tv_nsec: GLANCE.subsec_nanos().into() };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&moment)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The turn to play; None while another has it, who may be about to leave.
fn turn(busy: &Mutex<()>, until: Instant) -> Option<MutexGuard<'_, ()>> {
    loop {
        match busy.try_lock() {
            Ok(turn) => return Some(turn),
            // A run that failed badly is over all the same.
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(GLANCE / 10),
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// A run that is played for a conductor.
struct Run {
    writer: Mutex<Writer>,
    stop: AtomicBool,
    /// Why the conductor is heard no longer.
    gone: OnceLock<Trouble>,
    /// When its steady clock showed 0.
    epoch: Instant,
}

impl Run {
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tell the conductor something; if it does not take it, stop.
    fn tell(&self, report: &Report) {
        let mut writer = self.writer();
        if let Err(trouble) = writer.send(report) {
            let _ = self.gone.set(trouble);
            self.stop.store(true, Relaxed);
            writer.close();
        }
    }

    fn heed(&self, command: &Command, start: &Sender<u64>) -> std::result::Result<(), Trouble> {
        match command {
            Command::Ask(ask) => self.tell(&self.clock(*ask)),
            Command::Start(at) => start.send(*at).map_err(|_| Trouble::Malformed)?,
            Command::Stop => self.stop.store(true, Relaxed),
            Command::Conduct | Command::Order(_) => return Err(Trouble::Malformed),
        }
        Ok(())
    }

    /// Say that all is ready, and wait to be told when to start.
    fn ready(&self, starts: &Receiver<u64>) -> Result<Instant> {
        self.tell(&Report::Ready);
        loop {
            match starts.recv_timeout(GLANCE) {
                Ok(nanoseconds) => return self.start(nanoseconds, Instant::now()),
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Relaxed) => {}
                Err(_) => return Err(Error::driver("The run was stopped before its load began", "Run it again")),
            }
        }
    }

    fn start(&self, nanoseconds: u64, now: Instant) -> Result<Instant> {
        let at = self.epoch.checked_add(Duration::from_nanos(nanoseconds));
        at.filter(|at| (now..now + FURTHEST_START).contains(at)).ok_or_else(|| {
            let what = "The common start time had already passed when this host received it";
            Error::driver(what, "Look for what delays the network between the hosts, and run again")
        })
    }

    fn clock(&self, ask: u64) -> Report {
        Report::Clock { ask, nanoseconds: nanoseconds_since(self.epoch) }
    }
}
