//! Waiting for servers to answer, by epoll.

use crate::errors::{Error, Result};
use rustix::event::Timespec;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::time::Duration;

/// The place of the clock among the sockets.
const TICK: u64 = u64::MAX;

/// The sockets of a load thread that wait for an answer, and a clock that ticks: it is set once, whereas a limit of time is a
/// timer that the kernel sets and takes back at each wait.
pub struct Poller {
    epoll: OwnedFd,
    clock: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// A poller with room for so many sockets.
    ///
    /// # Errors
    ///
    /// The machine has no file descriptor left.
    pub fn new(sockets: usize) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed("made", error))?;
        let clock = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(|error| failed("given a clock", error))?;
        epoll::add(&epoll, &clock, epoll::EventData::new_u64(TICK), epoll::EventFlags::IN | epoll::EventFlags::ET)
            .map_err(|error| failed("used for a clock", error))?;
        Ok(Self { epoll, clock, events: Vec::with_capacity(sockets + 1) })
    }

    /// Let the clock tick from now on, each time after so long.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn tick(&self, every: Duration) -> Result<()> {
        let every = Timespec::try_from(every).map_err(|_| failed("given a clock", Errno::INVAL))?;
        timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: every, it_value: every })
            .map_err(|error| failed("given a clock", error))?;
        Ok(())
    }

    /// Watch a socket for answers, and for room to write where that is wanted; `place` is what tells it apart. Each answer is
    /// reported once, as it arrives.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn watch(&self, socket: impl AsFd, place: usize, room: bool) -> Result<()> {
        let mut events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        events.set(epoll::EventFlags::OUT, room);
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(place as u64), events)
            .map_err(|error| failed("used for a socket", error))
    }

    /// Watch a socket no longer, which another load thread will.
    pub fn unwatch(&self, socket: impl AsFd) {
        // One that was not watched needs nothing; one that still is tells of a place that nobody has.
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Watch a socket for room to write as well, or no longer.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn watch_room(&self, socket: impl AsFd, place: usize, wanted: bool) -> Result<()> {
        let mut events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        events.set(epoll::EventFlags::OUT, wanted);
        epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(place as u64), events)
            .map_err(|error| failed("used for a socket", error))
    }

    /// Fill `ready` with the places whose sockets have something; wait for the first of them until the next tick at most, and no
    /// longer than `longest` where that is given.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait.
    pub fn wait(&mut self, longest: Option<Duration>, ready: &mut Vec<usize>) -> Result<()> {
        let limit = longest.map(|longest| Timespec::try_from(longest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => self.events.clear(),
            Err(error) => return Err(failed("waited on", error)),
        }
        if self.events.iter().any(|event| event.data.u64() == TICK) {
            // The kernel winds the clock up again only when it is read; that there was nothing to read is no harm.
            let _ = rustix::io::read(&self.clock, &mut [0; 8]);
        }
        let places = self.events.iter().map(|event| event.data.u64()).filter(|place| *place != TICK);
        #[expect(clippy::cast_possible_truncation, reason = "places are counted in usize")]
        ready.extend(places.map(|place| place as usize));
        Ok(())
    }
}

fn failed(what: &str, error: Errno) -> Error {
    Error::driver(format!("epoll cannot be {what}: {error}"), "See the limit of open files: ulimit -n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_clock_ticks_again_and_again_while_no_socket_has_anything() {
        let mut waiter = Poller::new(1).unwrap();
        let began = Instant::now();
        waiter.tick(Duration::from_millis(20)).unwrap();
        for _ in 0..5 {
            // A limit only ends a test that fails.
            waiter.wait(Some(Duration::from_secs(10)), &mut Vec::new()).unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}
