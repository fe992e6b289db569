//! Waiting for servers to answer, by epoll.

use crate::errors::{Error, Result};
use rustix::event::Timespec;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::time::Duration;

/// The sockets of a load thread that wait for an answer.
pub struct Waiter {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Waiter {
    /// A waiter with room for so many sockets.
    ///
    /// # Errors
    ///
    /// The machine has no file descriptor left.
    pub fn new(sockets: usize) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed("made", error))?;
        Ok(Self { epoll, events: Vec::with_capacity(sockets.max(1)) })
    }

    /// Watch a socket for answers; `place` is what tells it apart. Each answer is told once, as it arrives.
    ///
    /// # Errors
    ///
    /// The kernel refuses it.
    pub fn watch(&self, socket: impl AsFd, place: usize) -> Result<()> {
        let events = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&self.epoll, socket, epoll::EventData::new_u64(place as u64), events)
            .map_err(|error| failed("used for a socket", error))
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

    /// Fill `ready` with the places whose sockets have something; wait for the first of them no longer than `longest`.
    ///
    /// # Errors
    ///
    /// The kernel refuses to wait.
    pub fn wait(&mut self, longest: Duration, ready: &mut Vec<usize>) -> Result<()> {
        let limit = Timespec::try_from(longest).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&limit)) {
            Ok(_) => {}
            Err(Errno::INTR) => self.events.clear(),
            Err(error) => return Err(failed("waited on", error)),
        }
        #[expect(clippy::cast_possible_truncation, reason = "places are counted in usize")]
        ready.extend(self.events.iter().map(|event| event.data.u64() as usize));
        Ok(())
    }
}

fn failed(what: &str, error: Errno) -> Error {
    Error::driver(format!("epoll cannot be {what}: {error}"), "See the limit of open files: ulimit -n")
}
