//! One connection: its socket, its prepared statements, and its buffers, which all statements reuse.

use super::script::{Query, RowCounts, Script};
use super::statements::{Prepared, Statements};
use crate::account::SessionId;
use crate::net::remaining;
use crate::net::session::Session;
use crate::net::stream::Stream;
use crate::plan::{Batch, Keep, Value};
use crate::protocol::Malformed;
use crate::protocol::command;
use crate::protocol::packet::HEADER;
use crate::protocol::response::{ERROR, Expect, Outcome, Response};
use crate::protocol::sink::{KeptColumns, Nothing};
use crate::protocol::value::Columns;
use rustix::fd::BorrowedFd;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

const IN_TRANSACTION: u16 = 1;

/// The number of bytes of an answer that are read before other connections get their turn. It is the size of two read buffers, so that
/// a long result delays the answers of other connections by well under a millisecond.
const TURN_BYTES: usize = 128 * 1024;

/// The result of reading from a socket.
#[derive(Debug)]
pub enum Received {
    /// Nothing has arrived.
    Nothing,
    /// This many bytes of an answer that is not complete; the socket may hold more.
    Part(usize),
    /// A complete answer.
    Answer(Outcome),
    /// The connection has ended.
    Lost,
    /// Data that violates the protocol, and why.
    Malformed(Malformed),
}

/// A connection that is logged in. Statements are prepared when they are first used: a connection that is made again after a restart
/// of the server does not keep the server busy with statements that no transaction needs yet.
pub struct Connection {
    stream: Stream,
    id: SessionId,
    statements: Statements,
    /// The numbers of the prepared statements to close, which is sent ahead of the next command.
    closing: Vec<u32>,
    /// The columns of the statement that is being prepared. Servers that cache metadata send them only then.
    preparing: Option<Columns>,
    response: Response,
    out: Vec<u8>,
    sent: usize,
    is_sent: bool,
    status: u16,
    rows: RowCounts,
    /// The index, among the open statements, of the current statement if values of its result are kept.
    keeping: Option<usize>,
    /// The rows that are collected for the next multi-row statement, and the statement that was sent last.
    batch: Vec<u8>,
    written: Vec<u8>,
}

impl Connection {
    /// Creates a connection on a session.
    #[must_use]
    pub fn new(session: Session, statements: Statements) -> Self {
        let Session { stream, dialect, status, id, .. } = session;
        Self {
            stream,
            id,
            statements,
            closing: Vec::new(),
            preparing: None,
            response: Response::new(dialect),
            out: Vec::with_capacity(1024),
            sent: 0,
            is_sent: true,
            status,
            rows: RowCounts::default(),
            keeping: None,
            batch: Vec::new(),
            written: Vec::new(),
        }
    }

    /// What identifies the session on the server.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The connection's socket.
    #[must_use]
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// The index, among the open statements, of one that is used now; None if it is not open.
    pub fn find(&mut self, query: &Query<'_>, now: u64) -> Option<usize> {
        self.statements.find(query.digest, now)
    }

    /// Adds a statement to the open statements, with the way it is sent and the columns that the server sent when it prepared the
    /// statement. Returns its index.
    pub fn learn(&mut self, query: &Query<'_>, prepared: Prepared, now: u64) -> usize {
        self.statements.insert(query.digest, prepared, self.preparing.take().unwrap_or_default(), now)
    }

    /// Its open statements.
    #[must_use]
    pub fn statements(&self) -> &Statements {
        &self.statements
    }

    /// Closes the statements that were last used at this time or before. The server learns of it with the next command, or when
    /// [`close_evicted`](Self::close_evicted) is called.
    pub fn evict(&mut self, last: u64) {
        if self.keeping.is_none() {
            self.statements.evict(last, &mut self.closing);
        }
    }

    /// Tells the server which statements were closed, on a connection that waits for no answer.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost, or if the server does not read.
    pub fn close_evicted(&mut self) -> io::Result<()> {
        if self.closing.is_empty() {
            return Ok(());
        }
        self.clear();
        // The server does not answer, and a few bytes fit into the buffer of a socket that it reads.
        if self.send()? { Ok(()) } else { Err(ErrorKind::WouldBlock.into()) }
    }

    /// Writes an open statement into the send buffer, with the parameters that its script supplies. `keeps`: whether the script keeps
    /// values of the result.
    pub fn execute<'s>(&mut self, statement: usize, keeps: bool, script: &mut impl Script<'s>) {
        self.clear();
        self.keeping = keeps.then_some(statement);
        let (expect, sequence) = match &mut self.statements.at(statement).prepared {
            Prepared::Binary(execution) => (Expect::Binary, script.write(execution.begin(&mut self.out))),
            Prepared::Text(template) => (Expect::Text, script.write(template.begin(&mut self.out, self.status))),
        };
        self.response.expect(expect, sequence);
    }

    /// Writes SQL as a text command into the send buffer.
    pub fn text(&mut self, sql: &[u8]) {
        self.clear();
        let sequence = command::query(&mut self.out, sql);
        self.response.expect(Expect::Text, sequence);
    }

    /// Writes a command that sets the session back to its beginning into the send buffer. `statements`: those that it has then, none.
    pub fn reset(&mut self, statements: Statements) {
        self.closing.clear();
        self.clear();
        self.statements = statements;
        let sequence = command::reset(&mut self.out);
        self.response.expect(Expect::Text, sequence);
    }

    /// Writes a command that prepares a statement into the send buffer.
    pub fn prepare(&mut self, query: &Query<'_>) {
        self.clear();
        self.preparing = Some(Columns::default());
        let sequence = command::prepare(&mut self.out, query.sql.as_bytes());
        self.response.expect(Expect::Prepare, sequence);
    }

    fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
        self.rows = RowCounts::default();
        self.keeping = None;
        self.preparing = None;
        self.closing.drain(..).for_each(|id| command::close(&mut self.out, id));
    }

    /// Adds row number `turn` of connection number `connection` to the batch. If the batch would exceed its limit, writes the rows
    /// collected before into the send buffer first, and returns true.
    pub fn collect(&mut self, batch: &Batch, connection: i64, turn: i64) -> bool {
        let row = batch.row.replace("{turn}", &turn.to_string());
        let is_full = !self.batch.is_empty() && self.batch.len() + row.len() + 1 > batch.limit;
        if is_full {
            self.write_batch();
        }
        if self.batch.is_empty() {
            let number = (connection + 1).to_string();
            self.batch.extend_from_slice(batch.head.replace("{connection}", &number).as_bytes());
        } else {
            self.batch.push(b',');
        }
        self.batch.extend_from_slice(row.as_bytes());
        is_full
    }

    /// Writes the collected rows into the send buffer; returns false if there are none.
    pub fn write_batch(&mut self) -> bool {
        if self.batch.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.batch, &mut self.written);
        self.batch.clear();
        self.resend_batch();
        true
    }

    /// Writes the last multi-row statement into the send buffer again.
    pub fn resend_batch(&mut self) {
        let written = std::mem::take(&mut self.written);
        self.text(&written);
        self.written = written;
    }

    /// Sends the send buffer as far as the socket accepts it; returns true once all of it is sent.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost.
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

    /// Whether the whole send buffer has been sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Reads from the socket once. With `within`, waits up to that long for data; otherwise reads only what is there. `keep` names the
    /// values to keep of the first row, and the slots that they go to.
    pub fn receive(&mut self, buffer: &mut [u8], within: Option<Duration>, keep: Option<(&[Keep], &mut [Value])>) -> Received {
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

    /// Reads what the socket holds now, and stops after `TURN_BYTES` bytes: [`Received::Part`] means that there may be more.
    pub fn receive_turn(&mut self, buffer: &mut [u8], mut keep: Option<(&[Keep], &mut [Value])>) -> Received {
        let mut read = 0;
        loop {
            let kept = keep.as_mut().map(|(keep, slots)| (*keep, &mut **slots));
            match self.receive(buffer, None, kept) {
                Received::Part(bytes) => read += bytes,
                other => return other,
            }
            if read >= TURN_BYTES {
                return Received::Part(read);
            }
        }
    }

    fn feed(&mut self, bytes: &[u8], keep: Option<(&[Keep], &mut [Value])>) -> Result<Received, Malformed> {
        let fed = match (self.keeping, keep) {
            (Some(statement), Some((keep, slots))) => {
                let columns = &mut self.statements.at(statement).columns;
                self.response.feed(bytes, &mut KeptColumns { keep, columns, slots })?
            }
            _ => match &mut self.preparing {
                Some(columns) => self.response.feed(bytes, columns)?,
                None => self.response.feed(bytes, &mut Nothing)?,
            },
        };
        // A server that closes the connection may send an error packet without a request; the next read then reports the end.
        let beyond = &bytes[fed.consumed..];
        if !beyond.is_empty() && beyond.get(HEADER) != Some(&ERROR) {
            return Err(Malformed("more data than was requested"));
        }
        match &fed.done {
            Some(Outcome::Ok { status, affected, matched, .. }) => {
                self.status = *status;
                self.rows = RowCounts { returned: 0, affected: Some(*affected), matched: *matched };
            }
            Some(Outcome::Rows { status, count }) => {
                self.status = *status;
                self.rows = RowCounts { returned: *count, ..RowCounts::default() };
            }
            _ => {}
        }
        Ok(fed.done.map_or(Received::Part(bytes.len()), Received::Answer))
    }

    /// Whether values are kept of the result of the last statement.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.keeping.is_some()
    }

    /// The rows of the last statement.
    #[must_use]
    pub fn rows(&self) -> RowCounts {
        self.rows
    }

    /// Whether a transaction may be open, according to the server's last status flags.
    #[must_use]
    pub fn may_be_in_transaction(&self) -> bool {
        self.status & IN_TRANSACTION != 0
    }

    /// Sends the send buffer and waits for the answer.
    ///
    /// # Errors
    ///
    /// Fails if no answer comes before the deadline, if the connection is lost, or if the answer violates the protocol.
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

    /// Sends the collected rows, if there are any, and ends the session if the server has accepted them before the deadline.
    pub fn part(&mut self, buffer: &mut [u8], deadline: Instant) {
        // The run is over, so a failure here is not reported.
        if !self.write_batch() || self.round_trip(buffer, deadline).is_ok() {
            self.quit();
        }
    }

    /// Sends commands that close all prepared statements and the session, as far as the socket accepts them without waiting.
    pub fn quit(&mut self) {
        self.clear();
        self.statements.numbers().for_each(|id| command::close(&mut self.out, id));
        command::quit(&mut self.out);
        let _ = self.send();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::statements::Budget;
    use crate::mock_server::{Answer, MockServer};
    use crate::net::connect::connect;
    use std::sync::Arc;

    #[test]
    fn a_turn_ends_though_an_answer_does_not() {
        let path = std::env::temp_dir().join(format!("dialin-load-turn-{}.sock", std::process::id()));
        let server = MockServer::listen(&path, |command| match command.sql() {
            "" => Answer::Ok,
            _ => Answer::Endless,
        });
        let server = server.unwrap();
        let session = connect(&server.account(), Duration::from_secs(20)).unwrap();
        let mut connection = Connection::new(session, Statements::new(Arc::new(Budget::new(1))));
        connection.text(b"SELECT 1");
        assert!(connection.send().unwrap());
        let mut buffer = vec![0; 64 * 1024];
        for _ in 0..3 {
            let deadline = Instant::now() + Duration::from_secs(20);
            let read = loop {
                assert!(Instant::now() < deadline, "no turn ended");
                // Give the server time to fill the socket.
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
