//! One connection: its socket, its prepared statements, and its buffers, which are used again and again.

use super::player::{Action, Player};
use crate::net::remaining;
use crate::net::stream::Stream;
use crate::plan::{Batch, CONNECTION, Execute, Kind, NoRow, Parameter, Plan, TURN, Value};
use crate::protocol::Malformed;
use crate::protocol::command::{self, Execution};
use crate::protocol::packet::HEADER;
use crate::protocol::parameters::Parameters;
use crate::protocol::response::{Dialect, ERROR, Expect, Outcome, Response};
use crate::protocol::sink::{Kept, Nothing};
use crate::protocol::text::Template;
use crate::protocol::value::Columns;
use rustix::fd::BorrowedFd;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

const IN_TRANSACTION: u16 = 1;

/// How a statement is sent on this connection.
pub enum Prepared {
    /// Prepared, in the binary protocol.
    Binary(Execution),
    /// As text.
    Text(Template),
}

/// So many bytes of an answer are read before other connections get their turn: two buffers, so that a long result delays the answers
/// to others by well under a millisecond.
const TURN_BYTES: usize = 128 * 1024;

/// What a socket had.
#[derive(Debug)]
pub enum Received {
    /// Nothing so far.
    Nothing,
    /// So many bytes of an answer; there may be more at once.
    Part(usize),
    /// An answer.
    Answer(Outcome),
    /// The end of the connection.
    Lost,
    /// Something that is no answer, and why.
    Malformed(Malformed),
}

/// A connection that is logged in. Its statements are prepared when they are first used: one that comes back after a restart does
/// not keep the server busy with statements that nobody waits for.
pub struct Connection {
    stream: Stream,
    statements: Vec<Option<Prepared>>,
    columns: Vec<Columns>,
    /// The columns of the statement that is being prepared: servers that leave out what is known tell them only then.
    preparing: Option<Columns>,
    response: Response,
    out: Vec<u8>,
    sent: usize,
    is_sent: bool,
    status: u16,
    rows: u64,
    keeping: Option<usize>,
    /// Rows that are collected, and those that were sent last.
    batch: Vec<u8>,
    written: Vec<u8>,
}

impl Connection {
    /// A connection on a stream that was logged in; `status` is what the server last told of it.
    #[must_use]
    pub fn new(stream: Stream, dialect: Dialect, status: u16) -> Self {
        Self {
            stream,
            statements: Vec::new(),
            columns: Vec::new(),
            preparing: None,
            response: Response::new(dialect),
            out: Vec::with_capacity(1024),
            sent: 0,
            is_sent: true,
            status,
            rows: 0,
            keeping: None,
            batch: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The number of the statement that a transaction executes. Workloads see to it that there is one; a slot out of range must not
    /// end the process.
    #[must_use]
    pub fn statement(plan: &Plan, execute: &Execute, player: &Player) -> usize {
        player.statement(execute.which).min(plan.statements.len() - 1)
    }

    /// Whether it is known how a statement is sent on this connection.
    #[must_use]
    pub fn knows(&self, statement: usize) -> bool {
        self.statements.get(statement).is_some_and(Option::is_some)
    }

    /// From now on a statement is sent so; its columns are those that were told as it was prepared.
    pub fn learn(&mut self, statement: usize, prepared: Prepared) {
        if self.statements.len() <= statement {
            self.statements.resize_with(statement + 1, || None);
            self.columns.resize_with(statement + 1, Columns::default);
        }
        self.statements[statement] = Some(prepared);
        self.columns[statement] = self.preparing.take().unwrap_or_default();
    }

    /// Write a statement with its parameters, which the connection [knows](Self::knows); tell what it counts as.
    pub fn execute(&mut self, plan: &Plan, statement: usize, execute: &Execute, player: &mut Player) -> Kind {
        self.clear();
        self.keeping = (!execute.keep.is_empty()).then_some(statement);
        let Some(prepared) = &mut self.statements[statement] else {
            unreachable!("a statement is learnt before it is executed")
        };
        let (expect, sequence) = match prepared {
            Prepared::Binary(execution) => (Expect::Binary, write(execution.begin(&mut self.out), &execute.parameters, player)),
            Prepared::Text(template) => {
                (Expect::Text, write(template.begin(&mut self.out, self.status), &execute.parameters, player))
            }
        };
        self.response.expect(expect, sequence);
        plan.statements[statement].kind
    }

    /// Write SQL as text.
    pub fn text(&mut self, sql: &[u8]) {
        self.clear();
        let sequence = command::query(&mut self.out, sql);
        self.response.expect(Expect::Text, sequence);
    }

    /// Write the preparation of a statement.
    pub fn prepare(&mut self, sql: &[u8]) {
        self.clear();
        self.preparing = Some(Columns::default());
        let sequence = command::prepare(&mut self.out, sql);
        self.response.expect(Expect::Prepare, sequence);
    }

    fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
        self.rows = 0;
        self.keeping = None;
        self.preparing = None;
    }

    /// Add a row to the batch; when that would grow too large, write what was collected before, and say so.
    pub fn collect(&mut self, batch: &Batch, player: &Player) -> bool {
        let turn = player.slots[TURN].integer().to_string();
        let row = batch.row.replace("{turn}", &turn);
        let is_full = !self.batch.is_empty() && self.batch.len() + row.len() + 1 > batch.limit;
        if is_full {
            self.write_batch();
        }
        if self.batch.is_empty() {
            let number = (player.slots[CONNECTION].integer() + 1).to_string();
            self.batch.extend_from_slice(batch.head.replace("{connection}", &number).as_bytes());
        } else {
            self.batch.push(b',');
        }
        self.batch.extend_from_slice(row.as_bytes());
        is_full
    }

    fn write_batch(&mut self) {
        std::mem::swap(&mut self.batch, &mut self.written);
        self.batch.clear();
        self.batch_again();
    }

    /// Write once more what was last written of collected rows.
    pub fn batch_again(&mut self) {
        let written = std::mem::take(&mut self.written);
        self.text(&written);
        self.written = written;
    }

    /// Send what is written, as far as the socket takes it; true when it took all.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub fn send(&mut self) -> io::Result<bool> {
        self.is_sent = false;
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.is_sent = self.stream.flush()?;
        Ok(self.is_sent)
    }

    /// Whether all that was written has been sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Read what the socket has; `within` a time, or what is there right now. Values that the statement keeps go to the player.
    pub fn receive(&mut self, buffer: &mut [u8], within: Option<Duration>, keep: Option<(&Execute, &mut Player)>) -> Received {
        let read = match within {
            Some(longest) => self.stream.read_within(buffer, longest),
            None => self.stream.read(buffer),
        };
        match read {
            Ok(0) => Received::Lost,
            Ok(count) => self.feed(&buffer[..count], keep).unwrap_or_else(Received::Malformed),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Received::Nothing,
                _ => Received::Lost,
            },
        }
    }

    /// Read what the socket has right now, but no more than a turn's share: [`Received::Part`] means that there may be more.
    pub fn receive_turn(&mut self, buffer: &mut [u8], mut keep: Option<(&Execute, &mut Player)>) -> Received {
        let mut read = 0;
        loop {
            let kept = keep.as_mut().map(|(execute, player)| (*execute, &mut **player));
            match self.receive(buffer, None, kept) {
                Received::Part(bytes) => read += bytes,
                other => return other,
            }
            if read >= TURN_BYTES {
                return Received::Part(read);
            }
        }
    }

    fn feed(&mut self, bytes: &[u8], keep: Option<(&Execute, &mut Player)>) -> Result<Received, Malformed> {
        let fed = match (self.keeping, keep) {
            (Some(statement), Some((execute, player))) => {
                let (keep, columns) = (execute.keep.as_slice(), &mut self.columns[statement]);
                self.response.feed(bytes, &mut Kept { keep, columns, slots: &mut player.slots })?
            }
            _ => match &mut self.preparing {
                Some(columns) => self.response.feed(bytes, columns)?,
                None => self.response.feed(bytes, &mut Nothing)?,
            },
        };
        // A server that closes the connection says why without having been asked; the socket tells the rest.
        let beyond = &bytes[fed.consumed..];
        if !beyond.is_empty() && beyond.get(HEADER) != Some(&ERROR) {
            return Err(Malformed("more than was asked for"));
        }
        match &fed.done {
            Some(Outcome::Ok { status, .. }) => self.status = *status,
            Some(Outcome::Rows { status, count }) => (self.status, self.rows) = (*status, *count),
            _ => {}
        }
        Ok(fed.done.map_or(Received::Part(bytes.len()), Received::Answer))
    }

    /// Whether values are kept of the statement that was written last.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.keeping.is_some()
    }

    /// See that values which the statement keeps have come; false where it needs a row and there was none.
    pub fn has_kept(&self, execute: &Execute, player: &mut Player) -> bool {
        if self.rows > 0 {
            return true;
        }
        execute.keep.iter().for_each(|keep| player.slots[keep.slot] = Value::Null);
        execute.no_row != NoRow::Fail
    }

    /// Whether a transaction may be open, by what the server last told.
    #[must_use]
    pub fn may_be_in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// Send what is written and wait for the answer.
    ///
    /// # Errors
    ///
    /// None came before the deadline, or the connection is lost.
    pub fn round_trip(&mut self, buffer: &mut [u8], deadline: Instant) -> io::Result<Outcome> {
        while !self.send()? {
            remaining(deadline)?;
            std::thread::sleep(Duration::from_millis(1));
        }
        loop {
            match self.receive(buffer, Some(remaining(deadline)?), None) {
                Received::Answer(outcome) => return Ok(outcome),
                Received::Part(_) => {}
                Received::Nothing => return Err(ErrorKind::TimedOut.into()),
                Received::Lost => return Err(ErrorKind::UnexpectedEof.into()),
                Received::Malformed(why) => return Err(io::Error::new(ErrorKind::InvalidData, why)),
            }
        }
    }

    /// Send what was collected, if the server takes it before the deadline, and say goodbye.
    pub fn part(&mut self, buffer: &mut [u8], deadline: Instant) {
        if !self.batch.is_empty() {
            self.write_batch();
            // The run is over, so nobody is told of a failure here.
            if self.round_trip(buffer, deadline).is_err() {
                return;
            }
        }
        self.clear();
        command::quit(&mut self.out);
        let _ = self.send();
    }
}

/// Write a command's parameters; return the sequence number that its answer begins with.
fn write(mut command: impl Parameters, parameters: &[Parameter], player: &mut Player) -> u8 {
    for parameter in parameters {
        match parameter {
            Parameter::Draw(generator) if generator.is_integer() => {
                command.integer(generator.draw_integer(&mut player.rng, &player.slots));
            }
            Parameter::Draw(generator) => {
                command.written(|out| generator.write_text(&mut player.rng, &player.slots, out));
            }
            Parameter::Register(slot) => command.value(&player.slots[*slot]),
            Parameter::Plus(slot, more) => command.integer(player.slots[*slot].integer().saturating_add(*more)),
            Parameter::Fixed(value) => command.value(value),
        }
    }
    command.end()
}

/// The statement that a player waits for, where it keeps something.
#[must_use]
pub fn awaited<'p>(plan: &'p Plan, player: &mut Player) -> Option<&'p Execute> {
    match player.action(plan) {
        Action::Execute(execute) if !execute.keep.is_empty() => Some(execute),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock_server::{Answer, MockServer};
    use crate::net::connect::connect;

    #[test]
    fn a_turn_ends_though_an_answer_does_not() {
        let path = std::env::temp_dir().join(format!("dialin-load-turn-{}.sock", std::process::id()));
        let server = MockServer::listen(&path, |command| match command.sql() {
            "" => Answer::Ok,
            _ => Answer::Endless,
        });
        let server = server.unwrap();
        let session = connect(&server.account(), Duration::from_secs(20)).unwrap();
        let mut connection = Connection::new(session.stream, session.dialect, session.status);
        connection.text(b"SELECT 1");
        assert!(connection.send().unwrap());
        let mut buffer = vec![0; 64 * 1024];
        for _ in 0..3 {
            let deadline = Instant::now() + Duration::from_secs(20);
            let read = loop {
                assert!(Instant::now() < deadline, "no turn ended");
                // The server fills the socket meanwhile.
                std::thread::sleep(Duration::from_millis(5));
                match connection.receive_turn(&mut buffer, None) {
                    Received::Part(read) => break read,
                    Received::Nothing => {}
                    other => panic!("{other:?}"),
                }
            };
            assert!((TURN_BYTES..TURN_BYTES + buffer.len()).contains(&read), "{read}");
        }
    }
}
