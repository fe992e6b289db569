//! Finds the values in the text of a statement, with their positions and types, so that they can be sent as parameters.
//!
//! This is only a lexer. It treats a number with a special meaning, such as the column number in `ORDER BY 2`, as any
//! other value.

use crate::protocol::parameters::Parameters;
use crate::sql_tokens::{Kind, Token, is_of_name, name_length, number_at, token_at};
use std::hash::{DefaultHasher, Hasher as _};

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A whole number.
    Whole,
    /// A number with a fraction.
    Decimal,
    /// A number with an exponent.
    Double,
    /// Quoted text.
    Text,
    /// NULL.
    Null,
}

/// The position and the type of a value in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    begin: u32,
    end: u32,
    sort: Sort,
}

impl Literal {
    /// The value as it is written in the statement.
    #[must_use]
    pub fn of<'a>(&self, sql: &'a [u8]) -> &'a [u8] {
        sql.get(self.begin as usize..self.end as usize).unwrap_or_default()
    }

    /// Its position in the statement.
    #[must_use]
    pub fn range(&self) -> std::ops::Range<usize> {
        self.begin as usize..self.end as usize
    }

    /// Whether it is quoted text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.sort == Sort::Text
    }

    /// Write the value as a parameter.
    pub fn write(&self, sql: &[u8], parameters: &mut impl Parameters) {
        let text = self.of(sql);
        let plain = std::str::from_utf8(text).unwrap_or_default();
        match self.sort {
            Sort::Null => parameters.null(),
            Sort::Whole => match plain.parse() {
                Ok(number) => parameters.integer(number),
                Err(_) => parameters.decimal(text),
            },
            Sort::Decimal => parameters.decimal(text),
            Sort::Double => parameters.double(plain.parse().unwrap_or(f64::NAN)),
            Sort::Text => {
                let quoted = memchr::memchr2(b'\'', b'"', text).map_or(&b""[..], |at| &text[at..]);
                parameters.written(|out| unquote(quoted, out));
            }
        }
    }
}

/// Finds the values of statements. Its memory is reused for each statement.
#[derive(Debug, Default)]
pub struct Literals {
    /// The values of the last statement.
    pub found: Vec<Literal>,
    /// Whether these are all of its values: it has none in another notation, such as `0x41` or `N'a'`.
    pub are_all: bool,
}

/// What the last token means for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// A value may follow: after an operator or a comma, and at the beginning.
    Operator,
    /// A sign. It belongs to the number after it if an operator comes before it.
    Sign {
        follows_operator: bool,
        at: usize,
    },
    /// The start of a name, which a number after it is part of: `a.`, `@`.
    Name,
    /// A word, with its position.
    Word(usize, usize),
    /// A value.
    Value,
    /// Quoted text.
    Text,
    Other,
}

impl Literals {
    /// Find the values of a statement. Return a hash of the rest, which is the same for statements that differ only
    /// in values. None if it is unclear which parts of the statement are values.
    pub fn shape(&mut self, sql: &[u8]) -> Option<u64> {
        self.found.clear();
        self.are_all = true;
        if u32::try_from(sql.len()).is_err() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let (mut at, mut before, mut hashed) = (0, Before::Operator, 0);
        while let Some(first) = sql.get(at) {
            let rest = &sql[at..];
            let word = |range: (usize, usize)| &sql[range.0..range.1];
            let (length, next) = match *first {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => (1, before),
                b'\'' | b'"' => {
                    let Token { length, is_closed: true, .. } = token_at(rest) else { return None };
                    let begin = match before {
                        // Adjacent quoted texts are a single value.
                        Before::Text => return None,
                        Before::Word(from, to) if is_temporal(word((from, to))) => Some(from),
                        Before::Word(from, to) if to == at || word((from, to)).first() == Some(&b'_') => None,
                        Before::Name => None,
                        _ => Some(at),
                    };
                    match begin {
                        Some(begin) => {
                            self.put(&mut hasher, sql, &mut hashed, (begin, at + length, Sort::Text));
                            (length, Before::Text)
                        }
                        None => {
                            self.are_all = false;
                            (length, Before::Other)
                        }
                    }
                }
                b'`' | b'#' | b'/' | b'-' | b'*' => match token_at(rest) {
                    Token { is_closed: false, .. } => return None,
                    Token { kind: Kind::Comment, length, .. } => (length, before),
                    Token { kind: Kind::Name, length, .. } => (length, Before::Other),
                    // The server executes what is in such a comment.
                    Token { kind: Kind::Executed, length, .. } => {
                        self.are_all = false;
                        (length, Before::Operator)
                    }
                    _ if *first == b'-' => (1, Before::Sign { follows_operator: before == Before::Operator, at }),
                    _ => (1, Before::Operator),
                },
                b'0'..=b'9' | b'.' if begins_number(rest, before) => {
                    let (length, sort) = number(rest);
                    match sort {
                        Some(sort) => {
                            let begin = match before {
                                Before::Sign { follows_operator: true, at: sign } if sign + 1 == at => sign,
                                _ => at,
                            };
                            self.put(&mut hasher, sql, &mut hashed, (begin, at + length, sort));
                            (length, Before::Value)
                        }
                        None => {
                            self.are_all = false;
                            (length, Before::Other)
                        }
                    }
                }
                b'.' | b'@' => (1, Before::Name),
                byte if is_of_name(byte) => {
                    let length = name_length(rest);
                    let is_null = rest[..length].eq_ignore_ascii_case(b"null")
                        && !matches!(before, Before::Name)
                        && !matches!(before, Before::Word(from, to) if is_before_null(word((from, to))));
                    if is_null {
                        self.put(&mut hasher, sql, &mut hashed, (at, at + length, Sort::Null));
                        (length, Before::Value)
                    } else {
                        (length, Before::Word(at, at + length))
                    }
                }
                b'+' => (1, Before::Sign { follows_operator: before == Before::Operator, at }),
                b')' => (1, Before::Value),
                b'?' => return None,
                _ => (1, Before::Operator),
            };
            at += length;
            before = next;
        }
        hasher.write(&sql[hashed..]);
        Some(hasher.finish())
    }

    fn put(&mut self, hasher: &mut DefaultHasher, sql: &[u8], hashed: &mut usize, (begin, end, sort): (usize, usize, Sort)) {
        hasher.write(&sql[*hashed..begin.max(*hashed)]);
        // Otherwise, `a?` and `?a` would have the same hash.
        hasher.write_u8(0xFF);
        *hashed = end;
        // Both fit into 32 bits, because the statement's length does.
        self.found.push(Literal { begin: begin as u32, end: end as u32, sort });
    }
}

/// Whether a number begins here: digits that are not part of a name, or a decimal point with digits where a value may follow.
fn begins_number(rest: &[u8], before: Before) -> bool {
    match rest {
        [b'.', digit, ..] => digit.is_ascii_digit() && matches!(before, Before::Operator | Before::Sign { .. }),
        [b'0'..=b'9', ..] => before != Before::Name,
        _ => false,
    }
}

fn is_temporal(word: &[u8]) -> bool {
    [&b"timestamp"[..], b"date", b"time"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn is_before_null(word: &[u8]) -> bool {
    [&b"is"[..], b"not", b"default"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// The length and the type of a number; no type if it is part of a name, or has another notation such as `0x41`.
fn number(rest: &[u8]) -> (usize, Option<Sort>) {
    let Token { kind, length, .. } = number_at(rest);
    let more = name_length(&rest[length..]);
    let sort = match kind {
        Kind::Whole => Some(Sort::Whole),
        Kind::Decimal => Some(Sort::Decimal),
        Kind::Double => Some(Sort::Double),
        _ => None,
    };
    (length + more, sort.filter(|_| more == 0))
}

/// Write the text within quotes, without its escapes.
fn unquote(quoted: &[u8], out: &mut Vec<u8>) {
    let [quote, inner @ .., _] = quoted else { return };
    let mut rest = inner;
    while let Some(at) = memchr::memchr2(b'\\', *quote, rest) {
        out.extend_from_slice(&rest[..at]);
        let Some(second) = rest.get(at + 1) else { return };
        match (rest[at], *second) {
            (b'\\', b'0') => out.push(0),
            (b'\\', b'b') => out.push(8),
            (b'\\', b'n') => out.push(b'\n'),
            (b'\\', b'r') => out.push(b'\r'),
            (b'\\', b't') => out.push(b'\t'),
            (b'\\', b'Z') => out.push(0x1A),
            // In a pattern of LIKE, these stand for the character itself, so the backslash stays.
            (b'\\', b'%' | b'_') => out.extend_from_slice(&rest[at..at + 2]),
            (_, other) => out.push(other),
        }
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(sql: &str) -> Option<Vec<&str>> {
        let mut literals = Literals::default();
        literals.shape(sql.as_bytes())?;
        Some(literals.found.iter().map(|literal| &sql[literal.range()]).collect())
    }

    fn shape(sql: &str) -> u64 {
        Literals::default().shape(sql.as_bytes()).unwrap()
    }

    #[test]
    fn values_are_found_and_names_are_not() {
        for (sql, values) in [
            ("select c1, t2.3, `4` from t5 where a=6 and b in (7,-8, 'x')", &["6", "7", "-8", "'x'"][..]),
            ("select a-1, -2 from t where b = +3 or c = - 4", &["1", "-2", "+3", "4"]),
            (
                "insert into t values (NULL, 1.5, 1e-7, .5, 0x41, x'41', _utf8'a', 'it''s \\' ok')",
                &["NULL", "1.5", "1e-7", ".5", "'it''s \\' ok'"],
            ),
            ("select * from t where a is not null and b = null /* 5 'x' */ -- 7\n limit 9", &["null", "9"]),
            ("update t set a = TIMESTAMP'2024-01-02 03:04:05', b = @1, c = t1.c", &["TIMESTAMP'2024-01-02 03:04:05'"]),
        ] {
            assert_eq!(found(sql).unwrap(), values, "{sql}");
        }
        for sql in ["select 'a' 'b'", "select 'a", "select `a", "select ?", "select 1 /* "] {
            assert_eq!(found(sql), None, "{sql}");
        }
    }

    #[test]
    fn statements_that_differ_in_values_only_have_one_shape() {
        assert_eq!(shape("select 1 from t where a='x'"), shape("select 222 from t where a='y''z'"));
        assert_ne!(shape("select 1 from t"), shape("select 1 from u"));
        assert_ne!(shape("select 1 from t where a in (1)"), shape("select 1 from t where a in (1,2)"));
        assert_ne!(shape("select a1"), shape("select 1a"));
    }

    /// Writes down what it is given.
    #[derive(Default)]
    struct Written(Vec<String>);

    impl Parameters for &mut Written {
        fn null(&mut self) {
            self.0.push("NULL".into());
        }
        fn integer(&mut self, value: i64) {
            self.0.push(value.to_string());
        }
        fn decimal(&mut self, digits: &[u8]) {
            self.0.push(format!("decimal {}", String::from_utf8_lossy(digits)));
        }
        fn double(&mut self, value: f64) {
            self.0.push(format!("double {value}"));
        }
        fn bytes(&mut self, value: &[u8]) {
            self.0.push(String::from_utf8_lossy(value).into_owned());
        }
        fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
            let mut text = Vec::new();
            write(&mut text);
            self.bytes(&text);
        }
        fn end(self) -> u8 {
            1
        }
    }

    #[test]
    fn values_are_sent_as_they_are() {
        let sql = br#"(-5, 18446744073709551615, 1.50, 2.5e3, NULL, 'a\'b\\c\n', "d''e""f", 'x\%', DATE'2024-01-02')"#;
        let mut literals = Literals::default();
        literals.shape(sql).unwrap();
        let mut written = Written::default();
        literals.found.iter().for_each(|literal| literal.write(sql, &mut &mut written));
        let sent = [
            "-5",
            "decimal 18446744073709551615",
            "decimal 1.50",
            "double 2500",
            "NULL",
            "a'b\\c\n",
            "d''e\"f",
            "x\\%",
            "2024-01-02",
        ];
        assert_eq!(written.0, sent);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(sql in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut literals = Literals::default();
            if literals.shape(&sql).is_some() {
                let mut last = 0;
                for literal in &literals.found {
                    prop_assert!(literal.range().start >= last && literal.range().end <= sql.len());
                    last = literal.range().end;
                }
            }
        }

        #[test]
        fn quoted_text_is_what_was_quoted(text in prop::collection::vec(any::<u8>(), 0..50)) {
            let mut quoted = vec![b'\''];
            for byte in &text {
                if matches!(byte, b'\'' | b'\\') {
                    quoted.push(b'\\');
                }
                quoted.push(*byte);
            }
            quoted.push(b'\'');
            let mut out = Vec::new();
            unquote(&quoted, &mut out);
            prop_assert_eq!(out, text);
        }
    }
}
