//! Writes commands into a buffer, ready to be sent.
//!
//! Functions that write a command with a response return the sequence number that the response begins with, for
//! [`Response::expect`](super::response::Response::expect): 1 unless the command is longer than one packet.

use super::packet;
use super::parameters::Parameters;
use super::value;

const QUIT: u8 = 1;
const RESET: u8 = 0x1F;
const PREPARE: u8 = 22;
const EXECUTE: u8 = 23;
const CLOSE: u8 = 25;
pub(super) const QUERY: u8 = 3;

/// Writes a command that executes SQL as text (COM_QUERY).
pub fn query(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    command(out, QUERY, sql)
}

/// Writes a command that prepares a statement (COM_STMT_PREPARE).
pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) -> u8 {
    command(out, PREPARE, sql)
}

/// Writes a command that closes a prepared statement (COM_STMT_CLOSE). `id` is the server's number for it. There is no response.
pub fn close(out: &mut Vec<u8>, id: u32) {
    command(out, CLOSE, &id.to_le_bytes());
}

/// Writes a command that sets the session back to its beginning (COM_RESET_CONNECTION). MySQL knows it from 5.7.3 on, MariaDB from 10.2.4 on.
pub fn reset(out: &mut Vec<u8>) -> u8 {
    command(out, RESET, &[])
}

/// Writes a command that ends the session (COM_QUIT). There is no response.
pub fn quit(out: &mut Vec<u8>) {
    command(out, QUIT, &[]);
}

fn command(out: &mut Vec<u8>, code: u8, payload: &[u8]) -> u8 {
    let start = packet::begin(out);
    out.push(code);
    out.extend_from_slice(payload);
    packet::finish(out, start, 0)
}

/// The length of the fixed part: packet header, command code, statement number, flags (no cursor), iteration count (1).
const HEAD: usize = packet::HEADER + 1 + 4 + 1 + 4;

/// Executes a prepared statement of one connection (COM_STMT_EXECUTE): holds the fixed part of the command, and the parameter types that
/// were sent to the server.
///
/// Types are sent with the first execution, and again only when one has changed, as the standard client does. Integers are sent as BIGINT,
/// text as VARCHAR.
#[derive(Clone, Debug)]
pub struct Execution {
    head: [u8; HEAD],
    types: Box<[u8]>,
    bound: bool,
}

impl Execution {
    /// Creates the execution of the statement to which the server gave the number `id`, with this number of parameters.
    #[must_use]
    pub fn new(id: u32, parameters: usize) -> Self {
        let mut head = [0; HEAD];
        head[packet::HEADER] = EXECUTE;
        head[packet::HEADER + 1..][..4].copy_from_slice(&id.to_le_bytes());
        head[HEAD - 4] = 1;
        Self { head, types: vec![value::VAR_STRING; parameters].into(), bound: false }
    }

    /// The number that the server gave the statement.
    #[must_use]
    pub fn id(&self) -> u32 {
        let [a, b, c, d] = [1, 2, 3, 4].map(|place| self.head[packet::HEADER + place]);
        u32::from_le_bytes([a, b, c, d])
    }

    /// Begins an execution at the end of `out`. All parameters must be written to the result.
    pub fn begin<'a>(&'a mut self, out: &'a mut Vec<u8>) -> Execute<'a> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        let nulls = out.len();
        let parameters = self.types.len();
        if parameters > 0 {
            let types = if self.bound { 0 } else { 2 * parameters };
            out.resize(nulls + parameters.div_ceil(8) + 1 + types, 0);
        }
        Execute { execution: self, out, start, nulls, next: 0, changed: false }
    }
}

/// An execution that is being written.
#[derive(Debug)]
pub struct Execute<'a> {
    execution: &'a mut Execution,
    out: &'a mut Vec<u8>,
    start: usize,
    nulls: usize,
    next: usize,
    changed: bool,
}

impl Execute<'_> {
    fn typed(&mut self, kind: u8) {
        if let Some(known) = self.execution.types.get_mut(self.next)
            && *known != kind
        {
            *known = kind;
            self.changed = true;
        }
        self.next += 1;
    }

    fn write_types(&mut self) {
        let types = &self.execution.types;
        let flag = self.nulls + types.len().div_ceil(8);
        let pairs = types.iter().flat_map(|kind| [*kind, 0]);
        self.out[flag] = 1;
        if self.execution.bound {
            self.out.splice(flag + 1..flag + 1, pairs);
        } else {
            self.out[flag + 1..].iter_mut().zip(pairs).for_each(|(place, byte)| *place = byte);
        }
    }
}

impl Parameters for Execute<'_> {
    fn null(&mut self) {
        if self.next < self.execution.types.len() {
            self.out[self.nulls + self.next / 8] |= 1 << (self.next % 8);
        }
        self.next += 1;
    }

    fn integer(&mut self, value: i64) {
        self.typed(value::LONGLONG);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn double(&mut self, value: f64) {
        if !value.is_finite() {
            return self.null();
        }
        self.typed(value::DOUBLE);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn decimal(&mut self, digits: &[u8]) {
        self.typed(value::NEWDECIMAL);
        packet::put_bytes(self.out, digits);
    }

    fn bytes(&mut self, value: &[u8]) {
        self.typed(value::VAR_STRING);
        packet::put_bytes(self.out, value);
    }

    fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.typed(value::VAR_STRING);
        let at = self.out.len();
        self.out.push(0);
        write(self.out);
        match u8::try_from(self.out.len() - at - 1) {
            Ok(length @ 0..=0xFA) => self.out[at] = length,
            _ => {
                let text = self.out.split_off(at + 1);
                self.out.truncate(at);
                packet::put_bytes(self.out, &text);
            }
        }
    }

    fn end(mut self) -> u8 {
        debug_assert_eq!(self.next, self.execution.types.len(), "parameters of an execution");
        if !self.execution.types.is_empty() && (self.changed || !self.execution.bound) {
            self.write_types();
        }
        self.execution.bound = true;
        packet::finish(self.out, self.start, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;

    fn execute(execution: &mut Execution, values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut parameters = execution.begin(&mut out);
        values.iter().for_each(|value| parameters.value(value));
        assert_eq!(parameters.end(), 1);
        out
    }

    #[test]
    fn simple_commands_have_their_code_and_sequence_number_0() {
        let mut out = Vec::new();
        assert_eq!(query(&mut out, b"DO 0"), 1);
        assert_eq!(out, b"\x05\0\0\0\x03DO 0");
        out.clear();
        prepare(&mut out, b"DO ?");
        assert_eq!(out, b"\x05\0\0\0\x16DO ?");
        out.clear();
        close(&mut out, Execution::new(0x0102_0304, 2).id());
        assert_eq!(out, b"\x05\0\0\0\x19\x04\x03\x02\x01");
        out.clear();
        quit(&mut out);
        assert_eq!(out, b"\x01\0\0\0\x01");
    }

    #[test]
    fn an_execution_without_parameters_ends_after_the_iteration_count() {
        let mut execution = Execution::new(7, 0);
        let expected = b"\x0A\0\0\0\x17\x07\0\0\0\0\x01\0\0\0";
        assert_eq!(execute(&mut execution, &[]), expected);
        assert_eq!(execute(&mut execution, &[]), expected);
    }

    #[test]
    fn the_first_execution_binds_a_whole_number_as_bigint_and_later_ones_send_no_types() {
        let mut execution = Execution::new(1, 1);
        let first = execute(&mut execution, &[Value::Int(5)]);
        assert_eq!(&first[14..], b"\0\x01\x08\0\x05\0\0\0\0\0\0\0");
        assert_eq!(first[0], 22);
        let second = execute(&mut execution, &[Value::Int(-1)]);
        assert_eq!(&second[14..], b"\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
        assert_eq!(second[0], 20);
    }

    #[test]
    fn text_and_doubles_have_their_types() {
        let mut execution = Execution::new(1, 2);
        let first = execute(&mut execution, &[Value::Bytes(b"abc".to_vec()), Value::Double(1.5)]);
        assert_eq!(&first[14..], b"\0\x01\xFD\0\x05\0\x03abc\0\0\0\0\0\0\xF8\x3F");
    }

    #[test]
    fn null_is_a_bit_and_takes_no_room() {
        let mut execution = Execution::new(1, 9);
        let mut values = vec![Value::Int(1); 9];
        execute(&mut execution, &values);
        values[0] = Value::Null;
        values[8] = Value::Null;
        let second = execute(&mut execution, &values);
        assert_eq!(&second[14..17], b"\x01\x01\0");
        assert_eq!(second.len(), 17 + 7 * 8);
    }

    #[test]
    fn a_double_that_is_not_finite_is_null() {
        let mut execution = Execution::new(1, 1);
        let out = execute(&mut execution, &[Value::Double(f64::NAN)]);
        assert_eq!(&out[14..], b"\x01\x01\xFD\0");
    }

    #[test]
    fn a_changed_type_is_sent_again_once() {
        let mut execution = Execution::new(1, 2);
        execute(&mut execution, &[Value::Int(1), Value::Int(2)]);
        let changed = execute(&mut execution, &[Value::Int(1), Value::Bytes(b"x".to_vec())]);
        assert_eq!(&changed[14..], b"\0\x01\x08\0\xFD\0\x01\0\0\0\0\0\0\0\x01x");
        let after = execute(&mut execution, &[Value::Int(1), Value::Bytes(b"x".to_vec())]);
        assert_eq!(&after[14..], b"\0\0\x01\0\0\0\0\0\0\0\x01x");
        assert_eq!(usize::from(after[0]), after.len() - packet::HEADER);
    }

    #[test]
    fn written_text_is_the_same_as_given_text_at_every_length() {
        for length in [0, 1, 250, 251, 300, 70_000] {
            let text = vec![b'a'; length];
            let (mut given, mut written) = (Vec::new(), Vec::new());
            let mut execution = Execution::new(1, 1);
            let mut parameters = execution.begin(&mut given);
            parameters.bytes(&text);
            parameters.end();
            let mut execution = Execution::new(1, 1);
            let mut parameters = execution.begin(&mut written);
            parameters.written(|out| out.extend_from_slice(&text));
            parameters.end();
            assert_eq!(given, written, "{length}");
        }
    }

    #[test]
    fn a_long_execution_is_split_and_its_response_begins_later() {
        let mut execution = Execution::new(1, 1);
        let mut out = Vec::new();
        let mut parameters = execution.begin(&mut out);
        parameters.bytes(&vec![b'a'; packet::LONGEST]);
        assert_eq!(parameters.end(), 2);
        assert_eq!(packet::header(&out), Some((packet::LONGEST, 0)));
    }
}
