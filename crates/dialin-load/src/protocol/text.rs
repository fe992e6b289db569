//! Text statements: SQL with its parameters written into it.

use super::command;
use super::packet;
use super::parameters::Parameters;
use crate::sql_tokens::token_at;
use std::io::Write as _;
use std::slice::Iter;

/// The server's status flag for the SQL mode in which a backslash in a string is an ordinary character.
pub const NO_BACKSLASH_ESCAPES: u16 = 0x200;

/// SQL, split at the `?` of its parameters. A `?` in a string, a quoted name or a comment is not a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    parts: Vec<Vec<u8>>,
}

impl Template {
    /// Splits SQL at its parameters.
    #[must_use]
    pub fn new(sql: &str) -> Self {
        Self { parts: split(sql.as_bytes()) }
    }

    /// The number of parameters.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parts.len() - 1
    }

    /// Begins the command at the end of `out`. All parameters must be written to the result. `status` is the server's last status flags.
    pub fn begin<'a>(&'a self, out: &'a mut Vec<u8>, status: u16) -> Text<'a> {
        let start = packet::begin(out);
        out.push(command::QUERY);
        let mut text = Text { parts: self.parts.iter(), out, start, backslashes: status & NO_BACKSLASH_ESCAPES == 0 };
        text.next_part();
        text
    }
}

/// A statement that is being written.
#[derive(Debug)]
pub struct Text<'a> {
    parts: Iter<'a, Vec<u8>>,
    out: &'a mut Vec<u8>,
    start: usize,
    backslashes: bool,
}

impl Text<'_> {
    fn next_part(&mut self) {
        if let Some(part) = self.parts.next() {
            self.out.extend_from_slice(part);
        }
    }

    fn print(&mut self, value: std::fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = self.out.write_fmt(value);
        self.next_part();
    }
}

impl Parameters for Text<'_> {
    fn null(&mut self) {
        self.print(format_args!("NULL"));
    }

    fn integer(&mut self, value: i64) {
        self.print(format_args!("{value}"));
    }

    fn double(&mut self, value: f64) {
        if value.is_finite() {
            // The server reads a number with an exponent as a double, and one without as a decimal.
            self.print(format_args!("{value:e}"));
        } else {
            self.null();
        }
    }

    fn decimal(&mut self, digits: &[u8]) {
        self.out.extend_from_slice(digits);
        self.next_part();
    }

    fn bytes(&mut self, value: &[u8]) {
        self.written(|out| out.extend_from_slice(value));
    }

    fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'\'');
        let at = self.out.len();
        write(self.out);
        if self.out[at..].iter().all(|byte| is_plain(*byte)) {
            self.out.push(b'\'');
        } else {
            let text = self.out.split_off(at);
            self.out.pop();
            put_literal(self.out, &text, self.backslashes);
        }
        self.next_part();
    }

    fn end(self) -> u8 {
        debug_assert!(self.parts.as_slice().is_empty(), "parameters of a statement");
        packet::finish(self.out, self.start, 0)
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'\'' && byte != b'\\'
}

/// Writes a string literal of SQL; bytes that are not UTF-8 are written in hexadecimal. `backslashes`: whether the server treats a
/// backslash as an escape character.
pub fn put_literal(out: &mut Vec<u8>, bytes: &[u8], backslashes: bool) {
    if std::str::from_utf8(bytes).is_err() {
        out.extend_from_slice(b"x'");
        bytes
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .for_each(|digit| out.push(b"0123456789ABCDEF"[usize::from(digit)]));
        out.push(b'\'');
        return;
    }
    out.push(b'\'');
    for byte in bytes {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' if backslashes => out.extend_from_slice(b"\\\\"),
            0 if backslashes => out.extend_from_slice(b"\\0"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
}

fn split(sql: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(byte) = sql.get(at) {
        if *byte == b'?' {
            parts.push(sql[from..at].to_vec());
            from = at + 1;
        }
        at += token_at(&sql[at..]).length;
    }
    parts.push(sql[from..].to_vec());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;
    use proptest::prelude::*;

    fn written(sql: &str, status: u16, values: &[Value]) -> String {
        let template = Template::new(sql);
        assert_eq!(template.parameters(), values.len());
        let mut out = Vec::new();
        let mut text = template.begin(&mut out, status);
        values.iter().for_each(|value| text.value(value));
        assert_eq!(text.end(), 1);
        assert_eq!(packet::header(&out), Some((out.len() - packet::HEADER, 0)));
        assert_eq!(out[packet::HEADER], command::QUERY);
        String::from_utf8(out.split_off(packet::HEADER + 1)).unwrap()
    }

    fn text(value: &str) -> Value {
        Value::Bytes(value.as_bytes().to_vec())
    }

    #[test]
    fn values_take_the_places_of_their_marks() {
        let values = [Value::Int(-5), text("it"), Value::Null, Value::Double(0.5)];
        assert_eq!(written("SELECT ?,? , ?+?", 0, &values), "SELECT -5,'it' , NULL+5e-1");
        assert_eq!(written("BEGIN", 0, &[]), "BEGIN");
        assert_eq!(written("?", 0, &[Value::Double(f64::INFINITY)]), "NULL");
    }

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(written("DO ?", 0, &[text("a'b\\c\0d")]), "DO 'a''b\\\\c\\0d'");
    }

    #[test]
    fn without_backslash_escapes_a_backslash_stays_alone() {
        assert_eq!(written("DO ?", NO_BACKSLASH_ESCAPES, &[text("a'b\\c")]), "DO 'a''b\\c'");
    }

    #[test]
    fn text_in_other_scripts_stays_and_bytes_become_hexadecimal() {
        assert_eq!(written("DO ?", 0, &[text("na\u{ef}ve")]), "DO 'na\u{ef}ve'");
        assert_eq!(written("DO ?", 0, &[Value::Bytes(vec![0xFF, 0x0A])]), "DO x'FF0A'");
    }

    #[test]
    fn a_mark_in_a_string_a_name_or_a_comment_is_no_parameter() {
        for sql in ["'?'", "'it''s ?'", "'\\'?'", "\"?\"", "`?`", "1 -- ?", "1 # ?", "/* ? */ 1", "/*+ ? */ 1", "'open ?"] {
            assert_eq!(Template::new(sql).parameters(), 0, "{sql}");
        }
        for sql in ["'a' ?", "? 'a'", "1 -- x\n?", "1--?", "/* a */ ?", "/*!50000 ? */", "`a\\` ?", "5 - ?", "7 / ?"] {
            assert_eq!(Template::new(sql).parameters(), 1, "{sql}");
        }
    }

    /// The value of a string literal, as the server reads it.
    fn unquoted(literal: &[u8], backslashes: bool) -> Option<Vec<u8>> {
        let inner = literal.strip_prefix(b"'")?.strip_suffix(b"'")?;
        let mut plain = Vec::new();
        let mut bytes = inner.iter();
        while let Some(byte) = bytes.next() {
            match *byte {
                b'\'' => (bytes.next()? == &b'\'').then(|| plain.push(b'\''))?,
                b'\\' if backslashes => plain.push(if *bytes.next()? == b'0' { 0 } else { b'\\' }),
                other => plain.push(other),
            }
        }
        Some(plain)
    }

    proptest! {
        #[test]
        fn no_text_gets_out_of_its_quotes(value in ".*", backslashes in any::<bool>()) {
            let mut out = Vec::new();
            put_literal(&mut out, value.as_bytes(), backslashes);
            prop_assert_eq!(unquoted(&out, backslashes), Some(value.into_bytes()));
        }

        #[test]
        fn splitting_loses_nothing(sql in "[?'\"`#/*\\\\a \n-]*") {
            let template = Template::new(&sql);
            prop_assert_eq!(template.parts.join(&b'?'), sql.into_bytes());
        }
    }
}
