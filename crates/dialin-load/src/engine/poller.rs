//! Waits for the sockets and timers of a load thread, with epoll.
//!
//! Timeouts of epoll_wait are whole milliseconds, and epoll_pwait2, which takes nanoseconds, is missing in kernels before 5.11. So both the
//! tick and the alarm are timers with file descriptors of their own. The kernel keeps them across waits: a wait that needs no other alarm
//! than the last one is a single system call.
//!
//! For what is due soon the thread wakes up a little early, and looks at the sockets until then ([`super::early_wake`]).

use super::clock::{SECOND, monotonic};
use super::early_wake::EarlyWake;
use crate::errors::{Error, Result};
use rustix::event::Timespec;
use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

/// The epoll data of the timers; sockets have the numbers of their slots.
const TICK: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

/// The largest number of events that one wait reports, so that a load thread with thousands of answers still looks at everything else
/// about once a millisecond.
const MOST_EVENTS: usize = 256;

const NOTHING: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Until when a wait lasts if there is no event. Times are those of the kernel's monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It does not wait.
    Now,
    /// Until about this time, but no longer than until the next tick.
    At(u64),
    /// The same, for what must not be late: the thread wakes up early for it.
    Exactly(u64),
    /// Until the next tick.
    Tick,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Whether there may be more events than were reported.
    pub has_more: bool,
    /// A time at which a thread that was not stopped would have looked, by the kernel's monotonic clock, in nanoseconds: when the first
    /// timer expired, or when the thread last looked without sleeping.
    pub expired: Option<u64>,
}

/// A timer that is set.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    /// When it goes off.
    at: u64,
    /// When that which it was set for is due.
    due: u64,
}

/// An epoll instance with the sockets of a load thread, a periodic timer (the tick), and a timer for the next thing that is due (the alarm).
pub struct Poller {
    epoll: OwnedFd,
    tick: OwnedFd,
    /// When the next tick is due, and the time between two ticks.
    next_tick: u64,
    every: u64,
    alarm: OwnedFd,
    /// What the alarm is set to; None if it has gone off or was never set.
    set: Option<Alarm>,
    early: EarlyWake,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// Creates a poller.
    ///
    /// # Errors
    ///
    /// Fails if no file descriptor is left.
    pub fn new() -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed("created", error))?;
        let timer = |data| -> Result<OwnedFd> {
            let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
                .map_err(|error| failed("given a timer", error))?;
            epoll::add(&epoll, &timer, epoll::EventData::new_u64(data), epoll::EventFlags::IN | epoll::EventFlags::ET)
                .map_err(|error| failed("used for a timer", error))?;
            Ok(timer)
        };
        let (tick, alarm) = (timer(TICK)?, timer(ALARM)?);
        let events = Vec::with_capacity(MOST_EVENTS);
        Ok(Self { epoll, tick, next_tick: 0, every: 0, alarm, set: None, early: EarlyWake::default(), events })
    }

    /// Starts the tick: the first one is due at `first`, by the kernel's monotonic clock, and the others follow in intervals of `every`
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses it.
    pub fn start_ticking(&mut self, first: u64, every: u64) -> Result<()> {
        set(&self.tick, first, every)?;
        (self.next_tick, self.every) = (first, every);
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

    /// Fills `ready`, which is empty, with the places whose sockets have an event, at most [`MOST_EVENTS`] of them. Waits for the first event
    /// as long as `until` says.
    ///
    /// # Errors
    ///
    /// Fails if the kernel refuses to wait.
    pub fn wait(&mut self, until: Until, ready: &mut Vec<usize>) -> Result<Waited> {
        match until {
            Until::Now => self.look(Some(NOTHING), ready),
            Until::Tick => self.look(None, ready),
            Until::At(due) => {
                self.set_alarm(due, 0)?;
                self.look(None, ready)
            }
            Until::Exactly(due) => self.wait_until(due, ready, monotonic),
        }
    }

    /// Waits until `due`, but no longer than until the next tick. `clock` is the kernel's monotonic clock.
    fn wait_until(&mut self, due: u64, ready: &mut Vec<usize>, mut clock: impl FnMut() -> u64) -> Result<Waited> {
        let began = clock();
        let lead = self.early.lead(began);
        let sleeps = began + lead < due;
        if sleeps {
            self.set_alarm(due, lead)?;
        }
        let alarm = self.set;
        let mut waited = self.look(if sleeps { None } else { Some(NOTHING) }, ready)?;
        if !ready.is_empty() {
            return Ok(waited);
        }
        let woke = clock();
        if let (Some(alarm), None) = (alarm, self.set)
            && began < alarm.at
        {
            self.early.note(woke.saturating_sub(alarm.at));
        }
        let mut looked = woke;
        while looked < due && due - looked <= lead {
            waited = Waited { expired: Some(looked), ..self.look(Some(NOTHING), ready)? };
            if !ready.is_empty() {
                break;
            }
            looked = clock();
        }
        self.early.spend(looked - woke);
        Ok(waited)
    }

    /// Sets the alarm for what is due at `due` to go off earlier by `lead`, unless it is set for something that is due before.
    fn set_alarm(&mut self, due: u64, lead: u64) -> Result<()> {
        // An alarm that goes off too early costs one wake-up, which is less than to set the alarm again whenever a timer is cancelled.
        if self.set.is_none_or(|alarm| due < alarm.due) {
            let alarm = Alarm { at: due - lead, due };
            set(&self.alarm, alarm.at, 0)?;
            self.set = Some(alarm);
        }
        Ok(())
    }

    /// Fills `ready` with the places whose sockets have an event. Waits for the first one no longer than `limit`, or until a timer expires.
    fn look(&mut self, mut limit: Option<Timespec>, ready: &mut Vec<usize>) -> Result<Waited> {
        loop {
            self.events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), limit.as_ref()) {
                Ok(_) => break,
                // A process that was stopped and continues gets here, too. What arrived meanwhile belongs to this wait.
                Err(Errno::INTR) => limit = Some(NOTHING),
                Err(error) => return Err(failed("waited on", error)),
            }
        }
        let mut expired = None;
        for event in &self.events {
            match event.data.u64() {
                TICK => expired = earlier(expired, take_tick(&self.tick, &mut self.next_tick, self.every)),
                ALARM => expired = earlier(expired, self.set.take().map(|alarm| alarm.at)),
                #[expect(clippy::cast_possible_truncation, reason = "places are counted in usize")]
                place => ready.push(place as usize),
            }
        }
        Ok(Waited { has_more: self.events.len() == MOST_EVENTS, expired })
    }
}

/// Reads the tick, which the kernel rearms only then. Returns when the first tick that had not been read was due.
fn take_tick(tick: &OwnedFd, next: &mut u64, every: u64) -> Option<u64> {
    let mut count = [0; 8];
    // Nothing to read means that it was started again since the event.
    rustix::io::read(tick, &mut count).ok()?;
    let due = *next;
    *next = due.saturating_add(every.saturating_mul(u64::from_ne_bytes(count)));
    Some(due)
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

/// Sets a timer to expire at `at`, by the monotonic clock, and then every `every` nanoseconds if that is not 0.
fn set(timer: &OwnedFd, at: u64, every: u64) -> Result<()> {
    #[expect(clippy::cast_possible_wrap, reason = "seconds and nanoseconds of a 64-bit time")]
    let of = |time: u64| Timespec { tv_sec: (time / SECOND) as i64, tv_nsec: (time % SECOND) as i64 };
    // A time of 0 would disarm the timer.
    let times = Itimerspec { it_interval: of(every), it_value: of(at.max(1)) };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &times).map_err(|error| failed("given a timer", error))?;
    Ok(())
}

fn failed(what: &str, error: Errno) -> Error {
    Error::machine(format!("epoll cannot be {what}: {error}"), "Check the limit of open files (ulimit -n)")
}

#[cfg(test)]
mod tests {
    use super::super::clock::monotonic;
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    const MILLISECOND: u64 = SECOND / 1_000;

    #[test]
    fn the_tick_goes_on_while_no_socket_has_an_event_and_says_when_it_was_due() {
        let mut poller = Poller::new().unwrap();
        let began = monotonic();
        poller.start_ticking(began + 5 * MILLISECOND, 5 * MILLISECOND).unwrap();
        let mut due = Vec::new();
        while due.len() < 5 {
            due.extend(poller.wait(Until::Tick, &mut Vec::new()).unwrap().expired);
            assert!(due.last().is_some_and(|due| *due <= monotonic()));
        }
        // On a busy machine several ticks may be read at once.
        assert!(due.is_sorted() && due.iter().all(|due| (due - began).is_multiple_of(5 * MILLISECOND)), "{due:?}");
    }

    #[test]
    fn an_alarm_ends_a_wait_between_two_ticks_and_not_before_its_time() {
        let mut poller = Poller::new().unwrap();
        for number in 0..200 {
            let at = monotonic() + MILLISECOND / 10;
            let until = if number % 2 == 0 { Until::At(at) } else { Until::Exactly(at) };
            let waited = poller.wait(until, &mut Vec::new()).unwrap();
            let is_alarm = waited == Waited { has_more: false, expired: Some(at) };
            assert!(is_alarm || number > 1 && until == Until::Exactly(at), "{waited:?}");
            // Once it wakes up early, it looks without sleeping until then.
            assert!(monotonic() >= at);
        }
    }

    /// A poller for wake-ups that take 60 microseconds, and a clock of which each reading takes one.
    fn early(begin: u64) -> (Poller, impl FnMut() -> u64) {
        let mut poller = Poller::new().unwrap();
        (0..200).for_each(|_| poller.early.note(60_000));
        let mut now = begin;
        (poller, move || {
            now += 1_000;
            now
        })
    }

    #[test]
    fn what_is_due_soon_is_looked_for_until_then_and_what_is_due_later_is_slept_for() {
        // This time has passed by the kernel's clock, so that the alarm goes off at once.
        let begin = monotonic() - MILLISECOND;
        for due in [begin + 40_000, begin + 500_000] {
            let (mut poller, mut clock) = early(begin);
            let mut readings = Vec::new();
            let mut read = || {
                readings.push(clock());
                readings.last().copied().unwrap()
            };
            poller.wait_until(due, &mut Vec::new(), &mut read).unwrap();
            let last = readings.pop().unwrap();
            // The alarm went off much too early for what is due later: the next wait sleeps on.
            assert!(if due < begin + 100_000 { last == due } else { readings.len() == 1 }, "{readings:?} {last}");
        }
    }

    #[test]
    fn an_answer_that_arrives_shortly_before_something_is_due_does_not_wait_for_it() {
        let (mut poller, mut clock) = early(SECOND);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        poller.watch(&ours, 7, false).unwrap();
        let (mut ready, mut readings) = (Vec::new(), 0);
        let read = || {
            readings += 1;
            if readings == 10 {
                theirs.write_all(b"1").unwrap();
            }
            clock()
        };
        let waited = poller.wait_until(SECOND + 50_000, &mut ready, read).unwrap();
        // What it finds then arrived after it looked last.
        assert_eq!((ready, waited.expired, readings), (vec![7], Some(SECOND + 10_000), 10));
    }

    #[test]
    fn an_alarm_that_is_set_stays_set_until_it_goes_off() {
        let mut poller = Poller::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        poller.watch(&ours, 7, false).unwrap();
        theirs.write_all(b"1").unwrap();
        let (soon, later) = (monotonic() + 300 * MILLISECOND, monotonic() + 3_600 * SECOND);
        let mut ready = Vec::new();
        assert_eq!(poller.wait(Until::At(soon), &mut ready).unwrap().expired, None);
        assert_eq!(ready, [7]);
        // What was due is no longer needed, and something else is due later.
        assert_eq!(poller.wait(Until::At(later), &mut Vec::new()).unwrap().expired, Some(soon));
        assert!(poller.wait(Until::Now, &mut Vec::new()).unwrap().expired.is_none());
    }

    #[test]
    fn a_wait_reports_a_bounded_number_of_sockets_and_the_next_one_the_others() {
        let mut poller = Poller::new().unwrap();
        let (ours, mut theirs): (Vec<_>, Vec<_>) = (0..=MOST_EVENTS).map(|_| UnixStream::pair().unwrap()).unzip();
        ours.iter().enumerate().for_each(|(place, socket)| poller.watch(socket, place, false).unwrap());
        theirs.iter_mut().for_each(|socket| socket.write_all(b"1").unwrap());
        let mut ready = Vec::new();
        assert!(poller.wait(Until::Now, &mut ready).unwrap().has_more);
        assert_eq!(ready.len(), MOST_EVENTS);
        assert!(!poller.wait(Until::Now, &mut ready).unwrap().has_more);
        ready.sort_unstable();
        assert!(ready.into_iter().eq(0..=MOST_EVENTS));
    }
}
