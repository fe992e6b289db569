//! Waits for the sockets of a load thread, with epoll.

use crate::errors::{Error, Result};
use rustix::event::Timespec;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::time::Duration;

/// The epoll data of the timer; sockets have the numbers of their slots.
const TICK: u64 = u64::MAX;

/// An epoll instance with the sockets of a load thread and a periodic timer. The timer is set once, whereas the kernel would set up and
/// cancel a timeout on each wait.
pub struct Poller {
    epoll: OwnedFd,
    clock: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// Creates a poller with room for the events of `sockets` sockets.
    ///
    /// # Errors
    ///
    /// Fails if no file descriptor is left.
    pub fn new(sockets: usize) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed("created", error))?;
        let clock = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(|error| failed("given a timer", error))?;
        epoll::add(&epoll, &clock, epoll::EventData::new_u64(TICK), epoll::EventFlags::IN | epoll::EventFlags::ET)
            .map_err(|error| failed("used for a timer", error))?;
        Ok(Self { epoll, clock, events: Vec::with_capacity(sockets + 1) })
    }

    /// Starts the timer, with this interval.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses it.
    pub fn tick(&self, every: Duration) -> Result<()> {
        let every = Timespec::try_from(every).map_err(|_| failed("given a timer", Errno::INVAL))?;
        timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: every, it_value: every })
            .map_err(|error| failed("given a timer", error))?;
        Ok(())
    }

    /// Watches a socket for data to read and, with `room`, for room to write. `place` identifies the socket in [`Self::wait`]. Events are
    /// edge-triggered: each arrival of data is reported once.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses it.
    pub fn watch(&self, socket: impl AsFd, place: usize, room: bool) -> Result<()> {
        let mut events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        events.set(epoll::EventFlags::OUT, room);
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(place as u64), events)
            .map_err(|error| failed("used for a socket", error))
    }

    /// Stops watching a socket that is handed over to another load thread.
    pub fn unwatch(&self, socket: impl AsFd) {
        // Errors can be ignored: the socket may not be watched, and a stale event has no effect.
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Starts or stops watching a socket for room to write.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses it.
    pub fn watch_room(&self, socket: impl AsFd, place: usize, wanted: bool) -> Result<()> {
        let mut events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        events.set(epoll::EventFlags::OUT, wanted);
        epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(place as u64), events)
            .map_err(|error| failed("used for a socket", error))
    }

    /// Fills `ready` with the places whose sockets have an event. Waits for the first event no longer than until the next tick of the timer,
    /// and no longer than `longest` if that is given.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses to wait.
    pub fn wait(&mut self, longest: Option<Duration>, ready: &mut Vec<usize>) -> Result<()> {
        let limit = longest.map(|longest| Timespec::try_from(longest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 }));
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => self.events.clear(),
            Err(error) => return Err(failed("waited on", error)),
        }
        if self.events.iter().any(|event| event.data.u64() == TICK) {
            // The kernel rearms a periodic timer only when it is read. It does no harm if there is nothing to read.
            let _ = rustix::io::read(&self.clock, &mut [0; 8]);
        }
        let places = self.events.iter().map(|event| event.data.u64()).filter(|place| *place != TICK);
        #[expect(clippy::cast_possible_truncation, reason = "places are counted in usize")]
        ready.extend(places.map(|place| place as usize));
        Ok(())
    }
}

fn failed(what: &str, error: Errno) -> Error {
    Error::driver(format!("epoll cannot be {what}: {error}"), "Check the limit of open files (ulimit -n)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_timer_keeps_ticking_while_no_socket_has_an_event() {
        let mut waiter = Poller::new(1).unwrap();
        let began = Instant::now();
        waiter.tick(Duration::from_millis(20)).unwrap();
        for _ in 0..5 {
            // The limit only ends a failing test.
            waiter.wait(Some(Duration::from_secs(10)), &mut Vec::new()).unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
}
