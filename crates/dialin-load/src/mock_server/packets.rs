//! The packets that the mock server writes.

use super::{Answer, Rows};

const LONG_PASSWORD: u32 = 1;
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
/// Results end with an OK packet instead of EOF packets.
pub const DEPRECATE_EOF: u32 = 1 << 24;
const CAPABILITIES: u32 = LONG_PASSWORD
    | FOUND_ROWS
    | LONG_FLAG
    | CONNECT_WITH_DB
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE_CONNECTION
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | PLUGIN_AUTH
    | PLUGIN_AUTH_LENENC
    | DEPRECATE_EOF;

const UTF8MB4: u8 = 45;
const AUTOCOMMIT: u16 = 2;
const VAR_STRING: u8 = 0xfd;

/// The format of a result.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Whether its rows are binary.
    pub binary: bool,
    /// Whether it ends with an OK packet instead of EOF packets.
    pub deprecate_eof: bool,
}

/// Writes packets one after the other.
pub struct Packets<'a> {
    out: &'a mut Vec<u8>,
    sequence: u8,
}

impl<'a> Packets<'a> {
    /// Packets whose first one has this sequence number.
    pub fn new(out: &'a mut Vec<u8>, sequence: u8) -> Self {
        Self { out, sequence }
    }

    fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.out.len();
        self.out.extend([0, 0, 0, self.sequence]);
        write(self.out);
        let length = (self.out.len() - begin - 4) as u32;
        self.out[begin..begin + 3].copy_from_slice(&length.to_le_bytes()[..3]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The greeting of the server.
    pub fn greeting(&mut self, connection: u32) {
        let [low0, low1, high0, high1] = CAPABILITIES.to_le_bytes();
        self.packet(|out| {
            out.push(10);
            out.extend(b"8.0.0-mock_server\0");
            out.extend(connection.to_le_bytes());
            out.extend(b"saltsalt\0");
            out.extend([low0, low1, UTF8MB4]);
            out.extend(AUTOCOMMIT.to_le_bytes());
            out.extend([high0, high1, 21]);
            out.extend([0; 10]);
            out.extend(b"saltsaltsalt\0");
            out.extend(b"mysql_native_password\0");
        });
    }

    /// An OK packet with this number of changed rows.
    pub fn ok(&mut self, changed: u64) {
        self.packet(|out| {
            out.push(0);
            length_encoded(out, changed);
            out.push(0);
            out.extend(AUTOCOMMIT.to_le_bytes());
            out.extend([0, 0]);
        });
    }

    /// An error packet.
    pub fn error(&mut self, code: u16, message: &str) {
        self.packet(|out| {
            out.push(0xff);
            out.extend(code.to_le_bytes());
            out.extend(b"#HY000");
            out.extend(message.as_bytes());
        });
    }

    /// The answer to the preparation of a statement.
    pub fn prepared(&mut self, id: u32, parameters: usize, columns: &[String], deprecate_eof: bool) {
        self.packet(|out| {
            out.push(0);
            out.extend(id.to_le_bytes());
            out.extend((columns.len() as u16).to_le_bytes());
            out.extend((parameters as u16).to_le_bytes());
            out.extend([0, 0, 0]);
        });
        (0..parameters).for_each(|_| self.column("?"));
        if parameters > 0 && !deprecate_eof {
            self.end(false);
        }
        columns.iter().for_each(|name| self.column(name));
        if !columns.is_empty() && !deprecate_eof {
            self.end(false);
        }
    }

    /// A result.
    pub fn rows(&mut self, result: &Rows, form: Form) {
        self.packet(|out| length_encoded(out, result.columns.len() as u64));
        result.columns.iter().for_each(|name| self.column(name));
        if !form.deprecate_eof {
            self.end(false);
        }
        for row in &result.rows {
            self.packet(|out| if form.binary { binary_row(out, row) } else { text_row(out, row) });
        }
        self.end(form.deprecate_eof);
    }

    /// The beginning of a result with one column; returns the sequence number of its first row.
    pub fn begin_rows(&mut self, form: Form) -> u8 {
        self.packet(|out| length_encoded(out, 1));
        self.column("c1");
        if !form.deprecate_eof {
            self.end(false);
        }
        self.sequence
    }

    /// A row with one column, which is text.
    pub fn row(&mut self, value: &str, form: Form) {
        let row = [Some(value.to_owned())];
        self.packet(|out| if form.binary { binary_row(out, &row) } else { text_row(out, &row) });
    }

    /// Write an answer; false if nothing is to be written for it now.
    pub fn answer(&mut self, answer: &Answer, form: Form) -> bool {
        match answer {
            Answer::Ok | Answer::Stall(_) => self.ok(0),
            Answer::Changed(rows) => self.ok(*rows),
            Answer::Error(code, message) => self.error(*code, message),
            Answer::Rows(rows) => self.rows(rows, form),
            Answer::Endless | Answer::After(..) | Answer::Silence | Answer::Close => return false,
        }
        true
    }

    fn column(&mut self, name: &str) {
        self.packet(|out| {
            for text in ["def", "", "", "", name, ""] {
                text_value(out, text);
            }
            out.extend([0x0c, UTF8MB4, 0]);
            out.extend(1020_u32.to_le_bytes());
            out.extend([VAR_STRING, 0, 0, 0, 0, 0]);
        });
    }

    fn end(&mut self, as_ok: bool) {
        self.packet(|out| {
            out.push(0xfe);
            let status = AUTOCOMMIT.to_le_bytes();
            out.extend([0, 0]);
            // After the two zeros, which are rows and id in an OK packet and the warnings in an EOF packet, both have the
            // status. An OK packet has its warnings after that.
            out.extend(status);
            if as_ok {
                out.extend([0, 0]);
            }
        });
    }
}

fn text_row(out: &mut Vec<u8>, row: &[Option<String>]) {
    for value in row {
        match value {
            Some(text) => text_value(out, text),
            None => out.push(0xfb),
        }
    }
}

fn binary_row(out: &mut Vec<u8>, row: &[Option<String>]) {
    out.push(0);
    let nulls = out.len();
    out.resize(nulls + (row.len() + 9) / 8, 0);
    for (place, value) in row.iter().enumerate() {
        match value {
            Some(text) => text_value(out, text),
            None => out[nulls + (place + 2) / 8] |= 1 << ((place + 2) % 8),
        }
    }
}

fn text_value(out: &mut Vec<u8>, text: &str) {
    length_encoded(out, text.len() as u64);
    out.extend(text.as_bytes());
}

fn length_encoded(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    let (first, length) = match number {
        0..=250 => (bytes[0], 0),
        251..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    out.push(first);
    out.extend(&bytes[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Packets<'_>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut Packets::new(&mut out, 1));
        out
    }

    #[test]
    fn an_ok_has_header_rows_and_status() {
        assert_eq!(written(|packets| packets.ok(300)), [9, 0, 0, 1, 0, 0xfc, 44, 1, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn an_error_has_code_and_state() {
        assert_eq!(written(|packets| packets.error(1213, "x")), b"\x0a\0\0\x01\xff\xbd\x04#HY000x");
    }

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let of = |number| {
            let mut out = Vec::new();
            length_encoded(&mut out, number);
            out
        };
        assert_eq!(
            [250, 251, 65_536, 1 << 24].map(of),
            [vec![250], vec![0xfc, 251, 0], vec![0xfd, 0, 0, 1], vec![0xfe, 0, 0, 0, 1, 0, 0, 0, 0]]
        );
    }

    #[test]
    fn nulls_are_bits_in_binary_rows_and_a_byte_in_text_rows() {
        let row = [Some("a".to_owned()), None];
        let (mut binary, mut text) = (Vec::new(), Vec::new());
        binary_row(&mut binary, &row);
        text_row(&mut text, &row);
        assert_eq!((binary, text), (vec![0, 0b1000, 1, b'a'], vec![1, b'a', 0xfb]));
    }

    #[test]
    fn a_result_is_numbered_packet_by_packet() {
        let Answer::Rows(rows) = Answer::row(&[Some("a")]) else { panic!("no rows") };
        for (deprecate_eof, count) in [(true, 4), (false, 5)] {
            let bytes = written(|packets| packets.rows(&rows, Form { binary: false, deprecate_eof }));
            let mut sequences = Vec::new();
            let mut rest = &bytes[..];
            while let [a, b, c, sequence, ..] = rest {
                sequences.push(*sequence);
                rest = &rest[4 + u32::from_le_bytes([*a, *b, *c, 0]) as usize..];
            }
            assert_eq!((sequences, rest.len()), ((1..=count).collect(), 0));
        }
    }
}
