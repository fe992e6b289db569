//! One connection: its socket, its prepared statements, and its buffers, which are used again and again.

use super::script::{Query, Script};
use super::statements::{Prepared, Statements};
use crate::net::remaining;
use crate::net::stream::Stream;
use crate::plan::{Batch, Keep, Value};
use crate::protocol::Malformed;
use crate::protocol::command;
use crate::protocol::packet::HEADER;
use crate::protocol::response::{Dialect, ERROR, Expect, Outcome, Response};
use crate::protocol::sink::{Kept, Nothing};
use crate::protocol::value::Columns;
use rustix::fd::BorrowedFd;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

const IN_TRANSACTION: u16 = 1;

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
    statements: Statements,
    /// The statement that the server is to close before it is asked for anything else.
    closing: Option<u32>,
    /// The columns of the statement that is being prepared: servers that leave out what is known tell them only then.
    preparing: Option<Columns>,
    response: Response,
    out: Vec<u8>,
    sent: usize,
    is_sent: bool,
    status: u16,
    rows: u64,
    /// Where the statement is among those that are open whose values are kept.
    keeping: Option<usize>,
    /// Rows that are collected, and those that were sent last.
    batch: Vec<u8>,
    written: Vec<u8>,
}

impl Connection {
    /// A connection on a stream that was logged in, with room for so many open statements; `status` is what the server last sent.
    #[must_use]
    pub fn new(stream: Stream, dialect: Dialect, status: u16, open_statements: usize) -> Self {
        Self {
            stream,
            statements: Statements::new(open_statements),
            closing: None,
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

    /// Where a statement is among those that are open; None where it is not open.
    pub fn find(&mut self, query: &Query<'_>) -> Option<usize> {
        self.statements.find(query.digest)
    }

    /// From now on a statement is sent so; its columns are those that the server sent as it was prepared. Return where it is.
    pub fn learn(&mut self, query: &Query<'_>, prepared: Prepared) -> usize {
        if let Some(id) = self.statements.make_room() {
            self.closing = Some(id);
        }
        self.statements.insert(query.digest, prepared, self.preparing.take().unwrap_or_default())
    }

    /// Write an open statement with the parameters of the script whose next action it is; `keeps`: whether the script keeps values.
    pub fn execute<'s>(&mut self, statement: usize, keeps: bool, script: &mut impl Script<'s>) {
        self.clear();
        self.keeping = keeps.then_some(statement);
        let (expect, sequence) = match &mut self.statements.at(statement).prepared {
            Prepared::Binary(execution) => (Expect::Binary, script.write(execution.begin(&mut self.out))),
            Prepared::Text(template) => (Expect::Text, script.write(template.begin(&mut self.out, self.status))),
        };
        self.response.expect(expect, sequence);
    }

    /// Write SQL as text.
    pub fn text(&mut self, sql: &[u8]) {
        self.clear();
        let sequence = command::query(&mut self.out, sql);
        self.response.expect(Expect::Text, sequence);
    }

    /// Write the preparation of a statement, behind the end of another one where too many are open.
    pub fn prepare(&mut self, query: &Query<'_>) {
        self.closing = self.statements.make_room();
        self.clear();
        self.preparing = Some(Columns::default());
        let sequence = command::prepare(&mut self.out, query.sql.as_bytes());
        self.response.expect(Expect::Prepare, sequence);
    }

    fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
        self.rows = 0;
        self.keeping = None;
        self.preparing = None;
        if let Some(id) = self.closing.take() {
            command::close(&mut self.out, id);
        }
    }

    /// Add row number `turn` of the connection with a number to the batch; when that would grow too large, write what was collected
    /// before, and return true.
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

    /// Write the rows that are collected; false where there are none.
    pub fn write_batch(&mut self) -> bool {
        if self.batch.is_empty() {
            return false;
        }
        std::mem::swap(&mut self.batch, &mut self.written);
        self.batch.clear();
        self.batch_again();
        true
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

    /// Read what the socket has; `within` a time, or what is there right now. Values are kept where the script says.
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

    /// Read what the socket has right now, but no more than a turn's share: [`Received::Part`] means that there may be more.
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
                self.response.feed(bytes, &mut Kept { keep, columns, slots })?
            }
            _ => match &mut self.preparing {
                Some(columns) => self.response.feed(bytes, columns)?,
                None => self.response.feed(bytes, &mut Nothing)?,
            },
        };
        // A server that closes the connection says why without having been asked; the socket tells the rest.
        let beyond = &bytes[fed.consumed..];
        if !beyond.is_empty() && beyond.get(HEADER) != Some(&ERROR) {
            return Err(Malformed("more data than was requested"));
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

    /// How many rows the statement returned that was written last.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
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

    /// Send what was collected, if the server takes it before the deadline, and end the session.
    pub fn part(&mut self, buffer: &mut [u8], deadline: Instant) {
        // The run is over, so nobody is told of a failure here.
        if !self.write_batch() || self.round_trip(buffer, deadline).is_ok() {
            self.quit();
        }
    }

    /// Close all statements and say goodbye, as far as the socket takes it at once.
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
        let mut connection = Connection::new(session.stream, session.dialect, session.status, 1);
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
