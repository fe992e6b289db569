//! The side that calls agents, starts them together, and adds up what they tell.

use super::clock_offset::{ClockOffset, nanoseconds_since};
use super::link::{Link, Reader, Trouble, Writer};
use super::merge::Merger;
use super::order::Order;
use super::token::Token;
use super::wire::{Command, Report};
use super::{Timeout, nonce};
use crate::engine::{Played, Second};
use crate::errors::{Error, Result};
use crate::run::Run;
use std::collections::BTreeSet;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the clocks are asked before the start; the shortest round trip counts.
const CLOCK_ROUNDS: u64 = 10;
/// How much may be told without being looked at; a second takes half a megabyte.
const UNREAD: usize = 16;
/// How often somebody who waits looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// What a conductor works with.
pub struct Conductor<'a> {
    /// Whom it trusts.
    pub token: Token,
    /// How long it waits for whom.
    pub timeout: Timeout,
    /// Set, the run ends.
    pub stop: &'a AtomicBool,
    /// Where it tells how the agents were found, a line each.
    pub say: &'a mut dyn FnMut(String),
}

/// An agent, and what it is to play.
pub struct Host {
    /// Its host and port.
    pub name: String,
    /// Its share.
    pub order: Order,
}

/// The agents that are named, each once.
///
/// # Errors
/// Of the user: none is named, one is named twice, or one is not a host with a port.
pub fn hosts(named: &[String]) -> Result<Vec<String>> {
    let remedy = "Give --agents as host:port,host:port, each once";
    let mut seen = BTreeSet::new();
    for name in named {
        let port = name.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(1..))) {
            return Err(Error::user(format!("{name:?} is not an agent's host and port"), remedy));
        }
        if !seen.insert(name) {
            return Err(Error::user(format!("Agent {name} is named twice"), remedy));
        }
    }
    if named.is_empty() { Err(Error::user("No agent is named", remedy)) } else { Ok(named.to_vec()) }
}

impl Conductor<'_> {
    /// Have the hosts play their shares together.
    ///
    /// # Errors
    /// As [`super::conduct`].
    pub fn conduct(&mut self, hosts: Vec<Host>, run: &Run, seconds: &mut dyn FnMut(Second)) -> Result<Played> {
        let links = self.meet_all(&hosts)?;
        thread::scope(|scope| {
            let (telling, told) = sync_channel(UNREAD);
            let mut members = Vec::new();
            for (place, (host, Link { reader, writer })) in hosts.into_iter().zip(links).enumerate() {
                let (telling, silence) = (telling.clone(), self.timeout.silence);
                scope.spawn(move || listen(place, reader, silence, &telling));
                let Host { name, order } = host;
                let (clock, answered) = (ClockOffset::default(), 0);
                members.push(Member { name, order: Some(Box::new(order)), writer, clock, answered, ready: false, ended: None });
            }
            drop(telling);
            let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
            let mut ensemble = Ensemble {
                merger: Merger::new(&run.phases, &names),
                members,
                told,
                timeout: Timeout { stopping: self.timeout.stopping + run.timeout, ..self.timeout },
                epoch: Instant::now(),
                asked: 0,
                beat: Instant::now(),
                started: false,
            };
            let played = ensemble.play(self.stop, self.say, seconds);
            // What listens at a closed connection ends, and so do the agents.
            ensemble.members.iter().for_each(|member| member.writer.close());
            played
        })
    }

    fn meet_all(&self, hosts: &[Host]) -> Result<Vec<Link>> {
        thread::scope(|scope| {
            let (token, timeout) = (&self.token, self.timeout.greeting);
            let meeting: Vec<_> = hosts.iter().map(|host| scope.spawn(move || meet(&host.name, token, timeout))).collect();
            let defect = |_| Err(Error::driver("A thread of the driver failed", "Report this as a defect of dialin-load"));
            meeting.into_iter().map(|each| each.join().unwrap_or_else(defect)).collect()
        })
    }
}

fn meet(name: &str, token: &Token, timeout: Duration) -> Result<Link> {
    let until = Instant::now() + timeout;
    let met = loop {
        let stream = connect(name, timeout).map_err(|cause| {
            let remedy =
                "Start `dialin-load agent --listen HOST:PORT --token-file FILE` there, and let this host through to it";
            Error::user(format!("Agent {name} cannot be reached: {cause}"), remedy)
        })?;
        let met = nonce().map_err(Trouble::from).and_then(|nonce| Link::call(stream, token, &nonce, timeout));
        match met {
            // A crowd of strangers may have taken its place before it was heard.
            Err(Trouble::Closed) if Instant::now() < until => thread::sleep(GLANCE),
            met => break met,
        }
    };
    met.map_err(|trouble| {
        let remedy = match &trouble {
            Trouble::Build(_) => "Install the same build of dialin-load on all hosts",
            Trouble::Token => "Give all of them the same token file",
            Trouble::Busy => "Wait until that run is over, or stop it",
            _ => "See that it is an agent of dialin-load that listens there",
        };
        Error::user(format!("Agent {name} {trouble}"), remedy)
    })
}

fn connect(name: &str, timeout: Duration) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("its name has no address");
    for address in name.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// What was heard of an agent, and when.
struct Heard {
    place: usize,
    at: Instant,
    what: std::result::Result<Report, Trouble>,
}

/// Hand on what an agent tells, until it is lost or nobody wants to know.
fn listen(place: usize, mut reader: Reader, silence: Duration, telling: &SyncSender<Heard>) {
    loop {
        let what = reader.receive(Instant::now() + silence);
        let last = what.is_err();
        if telling.send(Heard { place, at: reader.arrived(), what }).is_err() || last {
            return;
        }
    }
}

/// An agent that takes part.
struct Member {
    name: String,
    /// What it has yet to be told to play.
    order: Option<Box<Order>>,
    writer: Writer,
    clock: ClockOffset,
    /// When it was asked what it answered last.
    answered: u64,
    ready: bool,
    ended: Option<Played>,
}

impl Member {
    fn say(&mut self, command: &Command) -> Result<()> {
        match self.writer.send(command) {
            Err(trouble) if self.ended.is_none() => Err(self.lost(&trouble)),
            _ => Ok(()),
        }
    }

    fn lost(&self, trouble: &Trouble) -> Error {
        let what = format!("Agent {} is lost: it {trouble}; the load was stopped everywhere", self.name);
        Error::driver(what, "See what that agent printed, and run again")
    }

    fn confused(&self, why: &str) -> Error {
        Error::driver(format!("Agent {} {why}", self.name), "Install the same build of dialin-load on all hosts")
    }
}

/// All agents of a run.
struct Ensemble {
    members: Vec<Member>,
    merger: Merger,
    told: Receiver<Heard>,
    timeout: Timeout,
    /// When its clock showed 0.
    epoch: Instant,
    /// When all were asked last, by that clock in nanoseconds.
    asked: u64,
    /// When the next question is due.
    beat: Instant,
    started: bool,
}

impl Ensemble {
    fn play(&mut self, stop: &AtomicBool, say: &mut dyn FnMut(String), seconds: &mut dyn FnMut(Second)) -> Result<Played> {
        for member in &mut self.members {
            if let Some(order) = member.order.take() {
                member.say(&Command::Order(order))?;
            }
        }
        if self.gather(stop)? {
            self.start(say)?;
            self.attend(stop, seconds)?;
        }
        let ended = || self.members.iter().filter_map(|member| member.ended);
        Ok(Played { seconds: self.merger.handed(), reached_backlog_cap: ended().any(|ended| ended.reached_backlog_cap) })
    }

    /// Wait until all are ready and their clocks known; false if stopped before.
    fn gather(&mut self, stop: &AtomicBool) -> Result<bool> {
        while !self.members.iter().all(|member| member.ready) {
            if stop.load(Relaxed) {
                return Ok(false);
            }
            self.turn()?;
        }
        for _ in 0..CLOCK_ROUNDS {
            self.ask()?;
            while self.members.iter().any(|member| member.answered < self.asked) {
                if stop.load(Relaxed) {
                    return Ok(false);
                }
                self.turn()?;
            }
        }
        Ok(true)
    }

    /// Tell all when to start.
    fn start(&mut self, say: &mut dyn FnMut(String)) -> Result<()> {
        let furthest = self.members.iter().filter_map(|member| member.clock.round_trip()).max().unwrap_or_default();
        let start = Instant::now() + self.timeout.lead + 4 * furthest;
        self.started = true;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.merger.started_at = (now + start.saturating_duration_since(Instant::now())).as_secs_f64();
        for member in &mut self.members {
            let theirs = member.clock.theirs(start).ok_or_else(|| member.confused("has a clock that cannot be"))?;
            member.say(&Command::Start(theirs))?;
            let round_trip = member.clock.round_trip().unwrap_or_default().as_secs_f64() * 1e3;
            say(format!("agent {}: ready; round trip {round_trip:.3} ms", member.name));
        }
        Ok(())
    }

    /// Hand on the seconds until all have played.
    fn attend(&mut self, stop: &AtomicBool, seconds: &mut dyn FnMut(Second)) -> Result<()> {
        let mut stopping = None;
        while self.members.iter().any(|member| member.ended.is_none()) {
            if stopping.is_none() && stop.load(Relaxed) {
                stopping = Some(Instant::now());
                self.members.iter_mut().try_for_each(|member| member.say(&Command::Stop))?;
            }
            if stopping.is_some_and(|since| since.elapsed() > self.timeout.stopping) {
                let slow = self.members.iter().find(|member| member.ended.is_none());
                return slow.map_or(Ok(()), |member| Err(member.lost(&Trouble::Deaf)));
            }
            self.turn()?;
            while let Some(second) = self.merger.complete() {
                seconds(second);
            }
        }
        Ok(())
    }

    /// Take in the next thing that is told, or see that there is none for a moment.
    fn turn(&mut self) -> Result<()> {
        let now = Instant::now();
        if now >= self.beat {
            self.ask()?;
        }
        match self.told.recv_timeout(self.beat.saturating_duration_since(now).min(GLANCE)) {
            Ok(heard) => self.take(heard),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::driver("All agents are lost", "See what they printed, and run again"))
            }
        }
    }

    /// Ask all for their clocks, which is also how both sides see that the other is there.
    fn ask(&mut self) -> Result<()> {
        self.beat = Instant::now() + self.timeout.beat;
        self.asked = nanoseconds_since(self.epoch);
        self.members.iter_mut().try_for_each(|member| member.say(&Command::Ask(nanoseconds_since(self.epoch))))
    }

    fn take(&mut self, Heard { place, at, what }: Heard) -> Result<()> {
        let member = &mut self.members[place];
        match what {
            Err(_) if member.ended.is_some() => {}
            Err(trouble) => return Err(member.lost(&trouble)),
            Ok(Report::Clock { ask, nanoseconds }) if ask <= nanoseconds_since(self.epoch) => {
                member.clock.note(self.epoch + Duration::from_nanos(ask), at, nanoseconds);
                member.answered = ask;
            }
            Ok(Report::Clock { .. } | Report::Welcome | Report::Busy) => {
                return Err(member.confused("answered what was not asked"));
            }
            Ok(Report::Ready) => member.ready = true,
            Ok(Report::Failed(error)) => {
                return Err(Error { what: format!("Agent {}: {}", member.name, error.what), ..error });
            }
            Ok(_) if !self.started => return Err(member.confused("reported load before the start")),
            Ok(Report::Second(told)) => self.merger.take(place, *told)?,
            Ok(Report::Played(ended)) => {
                member.ended = Some(ended);
                self.merger.end(place);
            }
        }
        Ok(())
    }
}
