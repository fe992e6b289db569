//! The side that calls agents, starts them together, and adds up their reports.

use super::link::{Link, LinkError};
use super::merge::Merger;
use super::messages::{Report, Request};
use super::order::Order;
use super::token::Token;
use crate::BUILD;
use crate::engine::{RunResult, Second};
use crate::errors::{Error, Result};
use crate::net::connect::Connector;
use crate::net::leftover::Leftover;
use crate::run::Run;
use serde::Serialize;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How many times each clock is read before the start; the reading with the shortest round trip counts.
const CLOCK_ROUNDS: usize = 10;
/// The pause between two requests to an agent.
const PAUSE: Duration = Duration::from_millis(100);
/// The time from the announcement of the common start to the start itself, in addition to some round trips of the network.
const LEAD: Duration = Duration::from_millis(500);

/// Has agents play a run together.
pub struct Conductor<'a> {
    /// The token of its agents.
    pub token: Token,
    /// As [`super::SILENCE`].
    pub silence: Duration,
    /// Ends the run when set.
    pub stop: &'a AtomicBool,
    /// Receives a line about each agent.
    pub say: &'a mut dyn FnMut(String),
}

/// Check that no agent is named twice.
///
/// # Errors
/// [`Fault::User`](crate::errors::Fault::User): one is.
pub fn check_names(names: &[String]) -> Result<()> {
    match names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
        None => Ok(()),
        Some((_, name)) => {
            Err(Error::user(format!("Agent {name} is named twice"), "Give --agents as host:port,host:port, each once"))
        }
    }
}

impl Conductor<'_> {
    /// Have agents play their orders together. `orders`: the name (host:port) and the order of each agent.
    ///
    /// # Errors
    /// As [`super::conduct`].
    pub fn conduct(&mut self, orders: &[(String, Order)], run: &Run, seconds: &mut dyn FnMut(Second)) -> Result<RunResult> {
        let connector = Connector::new(&run.account);
        let mut members = self.meet_all(orders, &connector)?;
        if !self.wait_until_ready(&mut members)? {
            return Ok(RunResult::default());
        }
        let started_at = self.start(&mut members)?;
        let mut merger = Merger::new(&run.phases, members.iter().map(|member| member.name.clone()), started_at);
        let mut stop_by = None;
        while members.iter().any(|member| member.ended.is_none()) {
            thread::sleep(PAUSE);
            let is_stopped = self.stop.load(Relaxed);
            if is_stopped && stop_by.is_none() {
                // A running statement may take up to its timeout; everything else ends far sooner.
                stop_by = Some(Instant::now() + 3 * self.silence + run.timeout);
            }
            let request = if is_stopped { Request::Stop } else { Request::Report };
            for (place, member) in members.iter_mut().enumerate().filter(|(_, member)| member.ended.is_none()) {
                for second in member.ask(request)? {
                    merger.take(place, second)?;
                }
                if member.ended.is_some() {
                    merger.end(place);
                } else if stop_by.is_some_and(|by| Instant::now() > by) {
                    return Err(member.lost("does not end its load"));
                }
            }
            while let Some(second) = merger.complete()? {
                seconds(second);
            }
        }
        let ended = || members.iter().filter_map(|member| member.ended);
        let reached_backlog_cap = ended().any(|ended| ended.reached_backlog_cap);
        let leftover: Leftover = ended().map(|ended| ended.leftover).sum();
        if leftover.left == 0 {
            connector.forget_sessions();
        }
        Ok(RunResult { seconds: merger.completed(), reached_backlog_cap, leftover })
    }

    /// Wait until all agents have opened their connections, then read their clocks; false if the run was stopped before.
    fn wait_until_ready(&self, members: &mut [Member<'_>]) -> Result<bool> {
        while !members.iter().all(|member| member.is_ready) {
            if self.stop.load(Relaxed) {
                return Ok(false);
            }
            thread::sleep(PAUSE);
            ask_all(members)?;
        }
        (0..CLOCK_ROUNDS).try_for_each(|_| ask_all(members))?;
        Ok(true)
    }

    /// Call one agent after the other, and after each request reports from all called so far: otherwise they would take the
    /// conductor for lost.
    fn meet_all<'a>(&self, orders: &[(String, Order)], connector: &'a Connector<'a>) -> Result<Vec<Member<'a>>> {
        let mut members = vec![];
        for (name, order) in orders {
            members.push(Member::meet(name, order, (&self.token, self.silence), connector)?);
            ask_all(&mut members)?;
        }
        Ok(members)
    }

    /// Announce the common start to all agents, one after the other; return its Unix time in seconds.
    fn start(&mut self, members: &mut [Member<'_>]) -> Result<f64> {
        let start = Instant::now() + LEAD + 4 * members.iter().map(|member| member.clock.round_trip).sum::<Duration>();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = now + start.saturating_duration_since(Instant::now());
        for member in members {
            member.ask(Request::Start(member.clock.at(start)))?;
            let round_trip = member.clock.round_trip.as_secs_f64() * 1e3;
            (self.say)(format!("agent {}: ready; round trip {round_trip:.3} ms", member.name));
        }
        Ok(started_at.as_secs_f64())
    }
}

/// Request a report from all agents before the start, when reports contain no seconds yet.
fn ask_all(members: &mut [Member<'_>]) -> Result<()> {
    members.iter_mut().try_for_each(|member| member.ask(Request::Report).map(drop))
}

/// A reading of an agent's clock, with an error of at most half the round trip.
#[derive(Clone, Copy, Debug)]
struct Clock {
    round_trip: Duration,
    /// The middle of the round trip by the conductor's clock, and the time of the agent's clock then, in nanoseconds.
    middle: Instant,
    nanoseconds: u64,
}

impl Clock {
    fn of(asked: Instant, answered: Instant, nanoseconds: u64) -> Self {
        let round_trip = answered - asked;
        Self { round_trip, middle: asked + round_trip / 2, nanoseconds }
    }

    /// The time of the agent's clock at a later instant, in nanoseconds.
    fn at(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.middle).as_nanos();
        self.nanoseconds.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

/// An agent that takes part in the run.
struct Member<'a> {
    name: String,
    link: Link,
    /// Records its sessions here, because an agent that is killed cannot end them.
    connector: &'a Connector<'a>,
    /// How long an answer may take.
    silence: Duration,
    /// The reading with the shortest round trip.
    clock: Clock,
    is_ready: bool,
    ended: Option<RunResult>,
}

impl<'a> Member<'a> {
    /// Call an agent, and send it its order.
    fn meet(name: &str, order: &Order, (token, silence): (&Token, Duration), connector: &'a Connector<'a>) -> Result<Self> {
        let until = Instant::now() + silence / 2;
        let met = loop {
            match Self::call(name, order, token, silence / 2) {
                // The agent may have closed this connection because it had too many callers without the token.
                Err(LinkError::Closed) if Instant::now() < until => thread::sleep(PAUSE),
                met => break met,
            }
        };
        let (link, report, clock) = met.map_err(|error| {
            let remedy = match &error {
                LinkError::Build(_) => "Install the same build of dialin-load on all hosts",
                LinkError::Token => "Give all of them the same token file",
                _ => "Start `dialin-load agent --listen HOST:PORT --token-file FILE` of this build there, and allow connections from here",
            };
            Error::user(format!("Agent {name} {error}"), remedy)
        })?;
        let mut member = Self { name: name.to_owned(), link, connector, silence, clock, is_ready: false, ended: None };
        member.take(report)?;
        Ok(member)
    }

    fn call(
        name: &str,
        order: &Order,
        token: &Token,
        timeout: Duration,
    ) -> std::result::Result<(Link, Report, Clock), LinkError> {
        let stream = connect(name, timeout).map_err(|error| LinkError::Failed(error.to_string()))?;
        let mut link = Link::call(stream, token, BUILD, timeout)?;
        let (report, clock) = exchange(&mut link, order, timeout)?;
        Ok((link, report, clock))
    }

    /// Send a request, and return the seconds in the agent's report.
    fn ask(&mut self, request: Request) -> Result<Vec<Second>> {
        let answer = exchange(&mut self.link, &request, self.silence);
        let (report, clock) = answer.map_err(|error| self.lost(&error.to_string()))?;
        if clock.round_trip < self.clock.round_trip {
            self.clock = clock;
        }
        self.take(report)
    }

    fn take(&mut self, report: Report) -> Result<Vec<Second>> {
        report.sessions.iter().try_for_each(|number| self.connector.record(*number))?;
        self.is_ready = report.is_ready;
        self.ended = report.ended.transpose().map_err(|error| {
            let what = format!("Agent {}: {}", self.name, error.what);
            Error { what, ..error }
        })?;
        Ok(report.seconds)
    }

    fn lost(&self, why: &str) -> Error {
        let what = format!("Agent {} is lost: it {why}; the load was stopped everywhere", self.name);
        Error::machine(what, "See what that agent printed, and run again")
    }
}

/// Send a message, and receive the agent's report.
fn exchange<T: Serialize>(link: &mut Link, message: &T, timeout: Duration) -> std::result::Result<(Report, Clock), LinkError> {
    let asked = Instant::now();
    link.send(message)?;
    let report: Report = link.receive(asked + timeout)?;
    let clock = Clock::of(asked, Instant::now(), report.clock);
    Ok((report, clock))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_as_of_the_middle_of_its_round_trip_and_an_impossible_clock_does_no_harm() {
        let asked = Instant::now();
        let at = |milliseconds| asked + Duration::from_millis(milliseconds);
        let clock = Clock::of(asked, at(4), 7_000_000);
        assert_eq!((clock.round_trip, clock.at(at(12))), (Duration::from_millis(4), 17_000_000));
        assert_eq!(Clock::of(asked, at(4), u64::MAX).at(at(12)), u64::MAX);
    }
}
