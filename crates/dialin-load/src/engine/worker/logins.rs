//! Opens connections within the load thread's event loop: the first ones, those that replace lost ones, and those that a script
//! requires. The thread's other connections do not wait for them.

use super::{TICK, Worker};
use crate::account::SessionId;
use crate::engine::clock::SECOND;
use crate::engine::connection::{Connection, Received};
use crate::engine::error_policy::{may_end_connection, one_line, refused, remedy, shortened};
use crate::engine::script::Script;
use crate::engine::slot::State;
use crate::engine::statements::Statements;
use crate::errors::{Error, Result};
use crate::net::connect::QUEUE_FULL;
use crate::net::connect_error::ConnectError;
use crate::net::opening::{Opening, Progress};
use crate::protocol::response::Outcome;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// How many connections of a run are opened at a time. It is high enough that the driver is not the bottleneck when a server is back
/// after a restart.
const AT_A_TIME: usize = 16;
/// The first and the longest pause between two attempts, in nanoseconds. The longest one bounds how late a server that is back gets its
/// load again.
const FIRST_PAUSE: u64 = SECOND / 50;
const LONGEST_PAUSE: u64 = SECOND / 10;
/// How long one attempt may take once the load has begun; another attempt follows.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connections of a load thread that are being opened.
#[derive(Default)]
pub struct Logins<'a> {
    /// The connections that are being opened, by place.
    logins: BTreeMap<usize, Login<'a>>,
    /// The places that wait for their turn.
    waiting: VecDeque<usize>,
    under_way: usize,
    at_a_time: usize,
}

/// A connection that is being opened.
struct Login<'a> {
    /// Since when the connection has been missing.
    since: u64,
    /// The length of the next pause.
    pause: u64,
    /// When the current pause ends, or the deadline of the current attempt.
    until: u64,
    stage: Stage<'a>,
}

enum Stage<'a> {
    /// It waits for its turn.
    Waits,
    /// It pauses before another attempt.
    Pauses,
    /// It connects and logs in.
    Opens(Box<Opening<'a>>),
    /// It executes the statement with this index of those that each session begins with.
    Begins(Box<Connection>, usize),
}

/// Why a connection could not be opened.
struct Refused {
    error: Error,
    /// Whether another attempt may succeed.
    is_temporary: bool,
}

impl From<ConnectError> for Refused {
    fn from(error: ConnectError) -> Self {
        Self { is_temporary: error.is_temporary(), error: error.into() }
    }
}

impl Logins<'_> {
    /// Creates an empty set for one of `threads` load threads.
    pub fn new(threads: usize) -> Self {
        Self { at_a_time: AT_A_TIME.div_ceil(threads), ..Self::default() }
    }

    /// The sessions that execute a statement that each session begins with.
    pub fn executing(&self) -> impl Iterator<Item = SessionId> {
        self.logins.values().filter_map(|login| match &login.stage {
            Stage::Begins(connection, _) => Some(connection.id()),
            _ => None,
        })
    }

    /// Whether no connection is being opened.
    pub fn is_empty(&self) -> bool {
        self.logins.is_empty()
    }
}

impl<'r, 's, S: Script<'s>> Worker<'r, 's, S> {
    /// Opens all connections; returns false if the run is to end before.
    pub(super) fn open_all(&mut self) -> Result<bool> {
        (0..self.slots.len()).for_each(|place| self.log_in(place, 0));
        self.tick_every(TICK, 0)?;
        while !self.logins.is_empty() {
            if self.shared.stops() {
                return Ok(false);
            }
            let now = self.clock.now();
            self.fire(now)?;
            self.start_logins(now)?;
            self.listen()?;
        }
        Ok(true)
    }

    /// Schedules the opening of the connection of a place.
    pub(super) fn log_in(&mut self, place: usize, now: u64) {
        self.logins.waiting.push_back(place);
        self.logins.logins.insert(place, Login { since: now, pause: FIRST_PAUSE, until: now, stage: Stage::Waits });
    }

    /// Starts to open the connections whose turn it is.
    pub(super) fn start_logins(&mut self, now: u64) -> Result<()> {
        while self.logins.under_way < self.logins.at_a_time {
            let Some(place) = self.logins.waiting.pop_front() else { break };
            let timeout = self.shared.run.timeout;
            let limit = if self.has_begun() { timeout.min(PATIENCE) } else { timeout };
            let Some(login) = self.logins.logins.get_mut(&place) else { continue };
            self.logins.under_way += 1;
            login.until = now.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
            self.timers.set(login.until, place);
            match self.shared.connector.open() {
                Ok(opening) => {
                    self.waiter.watch(opening.socket(), place, true)?;
                    login.stage = Stage::Opens(Box::new(opening));
                    self.advance_login(place)?;
                }
                Err(error) => self.login_failed(place, error.into())?,
            }
        }
        Ok(())
    }

    /// Continues with a connection that is being opened.
    pub(super) fn advance_login(&mut self, place: usize) -> Result<()> {
        let Some(login) = self.logins.logins.get_mut(&place) else { return Ok(()) };
        match mem::replace(&mut login.stage, Stage::Waits) {
            Stage::Opens(opening) => self.open(place, *opening),
            Stage::Begins(connection, number) => self.take_answer(place, connection, number),
            other => {
                login.stage = other;
                Ok(())
            }
        }
    }

    fn set_stage(&mut self, place: usize, stage: Stage<'r>) {
        if let Some(login) = self.logins.logins.get_mut(&place) {
            login.stage = stage;
        }
    }

    fn open(&mut self, place: usize, opening: Opening<'r>) -> Result<()> {
        match opening.advance() {
            Ok(Progress::Waits(opening)) => self.set_stage(place, Stage::Opens(Box::new(opening))),
            Ok(Progress::Retries(opening)) => {
                self.set_stage(place, Stage::Opens(Box::new(opening)));
                let pause = u64::try_from(QUEUE_FULL.as_nanos()).unwrap_or(u64::MAX);
                self.timers.set(self.clock.now().saturating_add(pause), place);
            }
            Ok(Progress::Moves(opening)) => {
                self.waiter.watch(opening.socket(), place, true)?;
                return self.open(place, opening);
            }
            Ok(Progress::Open(session)) => {
                let statements = Statements::new(Arc::clone(&self.shared.statements));
                let connection = Connection::new(session, statements);
                return self.begin_session(place, Box::new(connection), 0);
            }
            Err(error) => return self.login_failed(place, error.into()),
        }
        Ok(())
    }

    /// Executes the statements that each session begins with, from this index on.
    fn begin_session(&mut self, place: usize, mut connection: Box<Connection>, number: usize) -> Result<()> {
        let Some(sql) = self.shared.setup.session.get(number) else { return self.install_connection(place, *connection) };
        connection.text(sql.as_bytes());
        match connection.send() {
            Ok(_) => {
                self.set_stage(place, Stage::Begins(connection, number));
                Ok(())
            }
            Err(error) => self.login_failed(place, ended(&error.to_string())),
        }
    }

    fn take_answer(&mut self, place: usize, mut connection: Box<Connection>, number: usize) -> Result<()> {
        if !connection.is_sent()
            && let Err(error) = connection.send()
        {
            return self.login_failed(place, ended(&error.to_string()));
        }
        match connection.receive_turn(&mut self.buffer, None) {
            Received::Answer(Outcome::Error { code, message, .. }) => {
                self.login_failed(place, refusal(&self.shared.setup.session[number], code, &message))
            }
            Received::Answer(_) => self.begin_session(place, connection, number + 1),
            Received::Nothing => {
                self.set_stage(place, Stage::Begins(connection, number));
                Ok(())
            }
            Received::Part(_) => {
                self.read_later(place);
                self.set_stage(place, Stage::Begins(connection, number));
                Ok(())
            }
            Received::Lost => self.login_failed(place, ended("it closed the connection")),
            Received::Malformed(why) => self.login_failed(place, ended(&why.to_string())),
        }
    }

    /// Puts an open connection into its place, which continues.
    fn install_connection(&mut self, place: usize, connection: Connection) -> Result<()> {
        self.logins.logins.remove(&place);
        self.logins.under_way -= 1;
        self.timers.cancel(place);
        self.waiter.watch_room(connection.socket(), place, false)?;
        let (now, has_begun) = (self.clock.now(), self.has_begun());
        let slot = &mut self.slots[place];
        slot.connection = Some(connection);
        if slot.state == State::Connects {
            slot.state = State::Plays;
            return self.go_on(place, now);
        }
        if has_begun {
            self.tally.reconnect();
        }
        self.slots[place].usable_since = now;
        self.rest(place);
        Ok(())
    }

    /// Handles a timer of a place without a connection: a pause has ended, an attempt took too long, or a server whose queue of connections
    /// was full is asked again.
    pub(super) fn time_login(&mut self, place: usize, now: u64) -> Result<()> {
        let Some(login) = self.logins.logins.get_mut(&place) else { return Ok(()) };
        let is_over = now >= login.until;
        match &login.stage {
            Stage::Waits => Ok(()),
            Stage::Pauses if is_over => {
                login.stage = Stage::Waits;
                self.logins.waiting.push_back(place);
                Ok(())
            }
            Stage::Opens(opening) if is_over => {
                let error = opening.timed_out();
                self.login_failed(place, error.into())
            }
            Stage::Begins(connection, _) if is_over => {
                self.shared.leave([connection.id()]);
                self.login_failed(place, ended("it does not answer"))
            }
            Stage::Pauses | Stage::Begins(..) => Ok(()),
            Stage::Opens(_) => self.advance_login(place),
        }
    }

    /// Handles a failed attempt: schedules another one after a pause, unless it would fail again or the load has not begun.
    ///
    /// The run fails if the server refuses the login, or if a connection stays lost for longer than the run allows. A run that is ending
    /// anyway does not fail.
    fn login_failed(&mut self, place: usize, refused: Refused) -> Result<()> {
        self.logins.under_way -= 1;
        let (now, has_begun) = (self.clock.now(), self.has_begun());
        let reconnect_for = u64::try_from(self.shared.run.reconnect_for.as_nanos()).unwrap_or(u64::MAX);
        let Some(login) = self.logins.logins.get_mut(&place) else { return Ok(()) };
        if !has_begun || !refused.is_temporary || now.saturating_sub(login.since) > reconnect_for {
            self.logins.logins.remove(&place);
            return if self.shared.stops() || self.is_draining { Ok(()) } else { Err(refused.error) };
        }
        login.stage = Stage::Pauses;
        login.until = now + login.pause;
        login.pause = (login.pause * 2).min(LONGEST_PAUSE);
        self.timers.set(login.until, place);
        Ok(())
    }
}

/// The reason for a failure when the server answers a statement that each session begins with by an error.
fn refusal(sql: &str, code: u16, message: &str) -> Refused {
    if may_end_connection(code) {
        return ended(&format!("{} ({code})", one_line(message)));
    }
    Refused { error: refused(&format!("`{}`", shortened(sql)), code, message, remedy(code)), is_temporary: false }
}

fn ended(why: &str) -> Refused {
    let what = format!("The server ended a connection while it was opened: {why}");
    Refused { error: Error::connection(what, "See the server's error log"), is_temporary: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_because_the_connection_ends_may_be_retried() {
        let is_temporary = |code| refusal("SELECT 1", code, "why").is_temporary;
        assert_eq!([1053, 1317, 1064].map(is_temporary), [true, true, false]);
        assert!(
            refusal("SELECT 1", 1927, "Connection was killed").error.what.ends_with("opened: Connection was killed (1927)")
        );
    }
}
