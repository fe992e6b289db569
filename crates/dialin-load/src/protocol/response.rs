//! Reads the server's response to a command, in pieces of any size, and parses no more of it than is needed.
//!
//! The first byte of a packet shows whether it ends a result, so rows are skipped by the lengths of their packets. Only relevant packets
//! are parsed: in place if they are complete, buffered first if they come in pieces. Apart from that buffer and the message of an error,
//! nothing is allocated for a statement.

use super::Malformed;
use super::cursor::Cursor;
use super::packet::{HEADER, LONGEST, header};
use super::sink::Sink;

pub use super::outcome::{Dialect, Expect, Feed, Outcome};

/// The first byte of an OK packet.
const OK: u8 = 0x00;
/// The first byte of a packet that requests a file of the client (LOCAL INFILE).
const LOCAL_FILE: u8 = 0xFB;
/// The first byte of a packet that ends column definitions or rows.
const END: u8 = 0xFE;
/// The first byte of an error packet.
pub const ERROR: u8 = 0xFF;

/// The status flag for another result that follows.
const MORE_RESULTS: u16 = 8;

/// The packet buffer is shrunk to this size after use, in bytes.
const GATHERED_FOR_LONG: usize = 64 * 1024;

/// The longest packet that is buffered to be parsed, in bytes. Each connection has such a buffer.
const LONGEST_GATHERED: usize = 1 << 20;

/// The error for a packet that has to be parsed and is longer than 1 MiB.
pub const TOO_LONG: Malformed = Malformed("a row or definition of more than 1 MiB");

/// The longest error message that is kept, in bytes.
const MESSAGE: usize = 4096;

/// What the next packet of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No response is expected.
    Idle,
    /// The first packet of a result.
    First,
    /// The definition of a parameter. The number of definitions still to come includes this one.
    Parameters(u16),
    /// The end of the parameter definitions.
    ParametersEnd,
    /// The definition of a column. The number of definitions still to come includes this one.
    Columns(u16),
    /// The end of the column definitions.
    ColumnsEnd,
    /// A row, or the end of the rows.
    Rows,
    /// The response is complete; no packet follows.
    Done,
}

/// The part of a packet that decides whether the rest has to be parsed.
#[derive(Clone, Copy, Debug)]
struct Head {
    length: usize,
    sequence: u8,
    first: Option<u8>,
}

impl Head {
    fn of(bytes: &[u8]) -> Option<Self> {
        let (length, sequence) = header(bytes)?;
        let first = bytes.get(HEADER).copied();
        (length == 0 || first.is_some()).then_some(Self { length, sequence, first: first.filter(|_| length > 0) })
    }
}

/// Reads the responses of one connection, one after the other.
#[derive(Debug)]
pub struct Response {
    dialect: Dialect,
    expect: Expect,
    state: State,
    /// The sequence number of the next packet.
    sequence: u8,
    /// Whether the next packet continues the payload of the last one.
    continued: bool,
    /// The number of bytes to skip.
    skip: usize,
    /// The buffered beginning of a packet that has to be parsed, or may have to be.
    gathered: Vec<u8>,
    columns: u16,
    prepared: u32,
    parameters: u16,
    /// The number of results before the current one.
    results: u32,
    rows: u64,
    any_rows: bool,
    outcome: Option<Outcome>,
}

impl Response {
    /// Creates a reader that expects no response yet.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            expect: Expect::Text,
            state: State::Idle,
            sequence: 0,
            continued: false,
            skip: 0,
            gathered: Vec::new(),
            columns: 0,
            prepared: 0,
            parameters: 0,
            results: 0,
            rows: 0,
            any_rows: false,
            outcome: None,
        }
    }

    /// Prepares for the response to a command, which begins with this sequence number.
    pub fn expect(&mut self, expect: Expect, sequence: u8) {
        self.expect = expect;
        self.state = State::First;
        self.sequence = sequence;
        self.continued = false;
        self.skip = 0;
        self.gathered.clear();
        self.columns = 0;
        self.results = 0;
        self.rows = 0;
        self.any_rows = false;
        self.outcome = None;
    }

    /// Takes in bytes as they arrive. An error that the server sends without a request, as it does before it closes a connection, is an
    /// outcome too.
    pub fn feed<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) -> Result<Feed, Malformed> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let step = self.skip.min(rest.len());
            self.skip -= step;
            at += step;
            if self.skip == 0
                && let Some(outcome) = self.outcome.take()
            {
                self.state = State::Idle;
                return Ok(Feed { consumed: at, done: Some(outcome) });
            }
            let rest = &rest[step..];
            if rest.is_empty() {
                return Ok(Feed { consumed: at, done: None });
            }
            at += if self.gathered.is_empty() { self.read(rest, sink)? } else { self.gather(rest, sink)? };
        }
    }

    /// Reads from the beginning of a packet; returns how many bytes were used.
    fn read<S: Sink>(&mut self, rest: &[u8], sink: &mut S) -> Result<usize, Malformed> {
        if self.state == State::Rows && !self.continued && !self.wants_row(sink) {
            let passed = self.pass_rows(rest);
            if passed > 0 {
                return Ok(passed);
            }
        }
        if let Some(head) = Head::of(rest) {
            let end = HEADER + head.length;
            let matters = self.matters(head, sink);
            match rest.get(HEADER..end) {
                Some(payload) if matters => return self.take(head, payload, sink).map(|()| end),
                Some(_) => return self.pass(head).map(|()| end),
                None if !matters => {
                    self.pass(head)?;
                    self.skip = end - rest.len();
                    return Ok(rest.len());
                }
                None if end > LONGEST_GATHERED => return Err(TOO_LONG),
                None => {}
            }
        }
        self.gathered.extend_from_slice(rest);
        Ok(rest.len())
    }

    /// Continues with a packet whose beginning is buffered; returns how many bytes were used.
    fn gather<S: Sink>(&mut self, rest: &[u8], sink: &mut S) -> Result<usize, Malformed> {
        let mut used = 0;
        let head = loop {
            if let Some(head) = Head::of(&self.gathered) {
                break head;
            }
            let Some(byte) = rest.get(used) else { return Ok(used) };
            self.gathered.push(*byte);
            used += 1;
        };
        let missing = HEADER + head.length - self.gathered.len();
        if !self.matters(head, sink) {
            self.gathered.clear();
            self.pass(head)?;
            self.skip = missing;
            return Ok(used);
        }
        if HEADER + head.length > LONGEST_GATHERED {
            return Err(TOO_LONG);
        }
        let part = &rest[used..][..missing.min(rest.len() - used)];
        self.gathered.extend_from_slice(part);
        if part.len() == missing {
            let mut packet = std::mem::take(&mut self.gathered);
            self.take(head, &packet[HEADER..], sink)?;
            packet.clear();
            packet.shrink_to(GATHERED_FOR_LONG);
            self.gathered = packet;
        }
        Ok(used + part.len())
    }

    /// Skips the rows that are complete and have the usual format; returns how many bytes were used.
    fn pass_rows(&mut self, bytes: &[u8]) -> usize {
        let most = if self.expect == Expect::Binary { OK } else { END - 1 };
        let mut at = 0;
        while let Some(&[low, middle, high, sequence, first]) = bytes[at..].first_chunk() {
            let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
            let end = at + HEADER + length;
            if first > most || sequence != self.sequence || length == 0 || length == LONGEST || end > bytes.len() {
                break;
            }
            self.sequence = self.sequence.wrapping_add(1);
            self.rows += 1;
            at = end;
        }
        at
    }

    fn wants_row<S: Sink>(&self, sink: &S) -> bool {
        self.results == 0 && sink.wants_row(self.rows)
    }

    /// Whether a packet has to be parsed.
    fn matters<S: Sink>(&self, head: Head, sink: &S) -> bool {
        match self.state {
            _ if self.continued => false,
            _ if head.first == Some(ERROR) => true,
            State::Parameters(_) => false,
            State::Columns(_) => self.results == 0 && sink.wants_columns(),
            State::Rows => (head.first == Some(END) && head.length < LONGEST) || self.wants_row(sink),
            _ => true,
        }
    }

    fn check_sequence(&mut self, sequence: u8) -> Result<(), Malformed> {
        if sequence != self.sequence {
            return Err(Malformed("a packet with a wrong sequence number"));
        }
        self.sequence = sequence.wrapping_add(1);
        Ok(())
    }

    /// Handles the beginning of a packet that is skipped.
    fn pass(&mut self, head: Head) -> Result<(), Malformed> {
        self.check_sequence(head.sequence)?;
        let goes_on = head.length == LONGEST;
        if std::mem::replace(&mut self.continued, goes_on) {
            return Ok(());
        }
        match (self.state, head.first) {
            (State::Parameters(left), Some(_)) if !goes_on => self.state = self.after_parameter(left),
            (State::Columns(left), Some(_)) if !goes_on => self.state = self.after_column(left),
            (State::Rows, Some(first)) if first == OK || self.expect != Expect::Binary => self.rows += 1,
            _ => return Err(Malformed("a packet of an unexpected type")),
        }
        Ok(())
    }

    /// Handles a complete packet that has to be parsed.
    fn take<S: Sink>(&mut self, head: Head, payload: &[u8], sink: &mut S) -> Result<(), Malformed> {
        if head.length == LONGEST {
            return Err(Malformed("a packet that is too long"));
        }
        if head.first == Some(ERROR) {
            // A server that closes the connection may send an error at any time, so its sequence number may not be the next one. No other
            // packet begins with this byte: no length of a text value does, and a binary row begins with 0x00.
            return self.error(payload);
        }
        self.check_sequence(head.sequence)?;
        match (self.state, head.first) {
            (State::Idle | State::Done, _) => Err(Malformed("an unexpected packet")),
            (State::First, Some(first)) => self.first(first, payload),
            (State::Columns(left), Some(_)) => {
                sink.column(usize::from(self.columns - left), payload)?;
                self.state = self.after_column(left);
                Ok(())
            }
            (State::ParametersEnd, Some(END)) => {
                self.state = self.after_parameters();
                Ok(())
            }
            (State::ColumnsEnd, Some(END)) => {
                self.state = self.after_columns();
                Ok(())
            }
            (State::Rows, Some(END)) => self.end_of_rows(payload),
            (State::Rows, Some(_)) => {
                sink.row(payload, self.expect == Expect::Binary)?;
                self.rows += 1;
                Ok(())
            }
            _ => Err(Malformed("a packet of an unexpected type")),
        }
    }

    fn first(&mut self, first: u8, payload: &[u8]) -> Result<(), Malformed> {
        match first {
            OK if self.expect == Expect::Prepare => self.prepared(payload),
            OK => self.ok(payload),
            LOCAL_FILE => Err(Malformed("the server requests a local file")),
            _ if self.expect == Expect::Prepare => Err(Malformed("a malformed response to a prepare command")),
            _ => self.column_count(payload),
        }
    }

    fn prepared(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut fields = Cursor::new(payload);
        fields.byte()?;
        self.prepared = fields.u32()?;
        self.columns = fields.u16()?;
        self.parameters = fields.u16()?;
        self.state = if self.parameters > 0 { State::Parameters(self.parameters) } else { self.after_parameters() };
        Ok(())
    }

    fn column_count(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut fields = Cursor::new(payload);
        let count = u16::try_from(fields.number()?).map_err(|_| Malformed("a result with more than 65,535 columns"))?;
        let defined = !self.dialect.cached_metadata || fields.byte()? != 0;
        self.columns = count;
        self.any_rows = true;
        self.state = match (defined, count) {
            (_, 0) => return Err(Malformed("a result without columns")),
            (true, _) => State::Columns(count),
            (false, _) => self.after_definitions(State::ColumnsEnd),
        };
        Ok(())
    }

    fn ok(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut fields = Cursor::new(payload);
        fields.byte()?;
        let (affected, insert_id) = (fields.number()?, fields.number()?);
        let (status, warnings) = (fields.u16()?, fields.u16()?);
        let matched = fields.bytes().ok().flatten().and_then(first_number);
        self.end_of_result(status, Outcome::Ok { affected, matched, insert_id, status, warnings });
        Ok(())
    }

    fn end_of_rows(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut fields = Cursor::new(payload);
        fields.byte()?;
        if self.dialect.deprecate_eof {
            fields.number()?;
            fields.number()?;
        } else {
            fields.u16()?;
        }
        let status = fields.u16()?;
        self.end_of_result(status, Outcome::Rows { count: self.rows, status });
        Ok(())
    }

    fn end_of_result(&mut self, status: u16, outcome: Outcome) {
        if status & MORE_RESULTS != 0 {
            self.results = self.results.saturating_add(1);
            self.state = State::First;
        } else if self.any_rows {
            self.done(Outcome::Rows { count: self.rows, status });
        } else {
            self.done(outcome);
        }
    }

    fn error(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let (code, state, message) = error(payload)?;
        self.done(Outcome::Error { code, state, message });
        Ok(())
    }

    fn done(&mut self, outcome: Outcome) {
        self.state = State::Done;
        self.outcome = Some(outcome);
    }

    fn after_parameter(&mut self, left: u16) -> State {
        if left > 1 { State::Parameters(left - 1) } else { self.after_definitions(State::ParametersEnd) }
    }

    fn after_column(&mut self, left: u16) -> State {
        if left > 1 { State::Columns(left - 1) } else { self.after_definitions(State::ColumnsEnd) }
    }

    fn after_definitions(&mut self, end: State) -> State {
        match end {
            _ if !self.dialect.deprecate_eof => end,
            State::ParametersEnd => self.after_parameters(),
            _ => self.after_columns(),
        }
    }

    fn after_parameters(&mut self) -> State {
        if self.columns > 0 { State::Columns(self.columns) } else { self.after_columns() }
    }

    fn after_columns(&mut self) -> State {
        if self.expect != Expect::Prepare {
            return State::Rows;
        }
        self.outcome = Some(Outcome::Prepared { id: self.prepared, parameters: self.parameters, columns: self.columns });
        State::Done
    }
}

/// The first number in a message, whatever its language.
fn first_number(message: &[u8]) -> Option<u64> {
    let digits = |byte: &u8| byte.is_ascii_digit();
    let begin = message.iter().position(digits)?;
    let length = message[begin..].iter().take_while(|byte| digits(byte)).count();
    std::str::from_utf8(&message[begin..begin + length]).ok()?.parse().ok()
}

/// Parses an error packet; returns its code, SQL state and message.
pub fn error(payload: &[u8]) -> Result<(u16, [u8; 5], String), Malformed> {
    let mut fields = Cursor::new(payload);
    fields.byte()?;
    let code = fields.u16()?;
    if code == 0xFFFF {
        return Err(Malformed("an unexpected progress report"));
    }
    let mut state = *b"HY000";
    // A server that refuses a connection before the handshake leaves out the SQL state.
    if fields.rest().first() == Some(&b'#') {
        fields.byte()?;
        state = fields.array()?;
    }
    let message = fields.rest();
    let message = &message[..message.len().min(MESSAGE)];
    // Messages are shown on one line of a terminal.
    let message = String::from_utf8_lossy(message).replace(char::is_control, " ");
    Ok((code, state, message))
}

#[cfg(test)]
mod tests;
