//! Determines whether a position in SQL is inside quoted text or a comment. The SQL may be read in pieces.

use memchr::{memchr, memchr2, memmem};

/// What a position in SQL is inside of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quoting {
    /// Neither quoted text nor a comment.
    #[default]
    Plain,
    /// Quoted text that ends with this quote character.
    Quoted(u8),
    /// A comment that ends with its line.
    LineComment,
    /// A comment that ends with `*/`.
    BlockComment,
}

impl Quoting {
    /// The state at the end of `bytes`, if `self` is the state at their start.
    ///
    /// `bytes` must not end within a pair of characters, such as `--` or `*/`. Bytes that end with a line end never do.
    #[must_use]
    pub fn after(self, bytes: &[u8]) -> Self {
        let (mut state, mut rest) = (self, bytes);
        loop {
            let (length, next) = match state {
                Self::Plain => {
                    match rest.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'#' | b'-' | b'/' | b'*')) {
                        Some(at) => {
                            let (length, next) = opening(&rest[at..]);
                            (at + length, next)
                        }
                        None => return state,
                    }
                }
                Self::Quoted(b'`') => match memchr(b'`', rest) {
                    Some(at) => (at + 1, Self::Plain),
                    None => return state,
                },
                Self::Quoted(quote) => match memchr2(quote, b'\\', rest) {
                    Some(at) if rest[at] == quote => (at + 1, Self::Plain),
                    Some(at) => (at + 2, state),
                    None => return state,
                },
                Self::LineComment => match memchr(b'\n', rest) {
                    Some(at) => (at + 1, Self::Plain),
                    None => return state,
                },
                Self::BlockComment => match memmem::find(rest, b"*/") {
                    Some(at) => (at + 2, Self::Plain),
                    None => return state,
                },
            };
            state = next;
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

/// The length of the token at the start of `rest`, and the state after it. A comment that servers execute stays plain.
fn opening(rest: &[u8]) -> (usize, Quoting) {
    match rest {
        [quote @ (b'\'' | b'"' | b'`'), ..] => (1, Quoting::Quoted(*quote)),
        [b'#', ..] => (1, Quoting::LineComment),
        [b'-', b'-', b' ' | b'\t' | b'\n' | b'\r', ..] => (2, Quoting::LineComment),
        [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => (3, Quoting::Plain),
        [b'/', b'*', ..] => (2, Quoting::BlockComment),
        [b'*', b'/', ..] => (2, Quoting::Plain),
        _ => (1, Quoting::Plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_tokens::token_at;
    use proptest::prelude::*;

    #[test]
    fn quotes_and_comments_are_followed_to_their_end() {
        for (sql, end) in [
            (&b"select 1;\n"[..], Quoting::Plain),
            (b"select 'a;\n", Quoting::Quoted(b'\'')),
            (b"select 'it''s', \"b\\\"\", `a\\`;\n", Quoting::Plain),
            (b"select 'it\\';\n", Quoting::Quoted(b'\'')),
            (b"select 1 -- it's\n", Quoting::Plain),
            (b"select 1 # it's", Quoting::LineComment),
            (b"select 5--'a'", Quoting::Plain),
            (b"select /* it's */ 1;\n", Quoting::Plain),
            (b"select /* it's", Quoting::BlockComment),
            (b"/*!50000 select 'a' */;\n", Quoting::Plain),
            (b"/*M! select 'a", Quoting::Quoted(b'\'')),
            (b"'\\", Quoting::Quoted(b'\'')),
        ] {
            assert_eq!(Quoting::Plain.after(sql), end, "{}", String::from_utf8_lossy(sql));
        }
    }

    #[test]
    fn pieces_end_like_the_whole() {
        let pieces: [&[u8]; 3] = [b"insert into p values ('a;\n", b"# Time: x;\n", b"b', /* ' */ \"c\");\n"];
        let end = pieces.iter().fold(Quoting::Plain, |state, piece| state.after(piece));
        assert_eq!(end, Quoting::Plain);
        assert_eq!(Quoting::Plain.after(&pieces.concat()), end);
    }

    const PARTS: [&str; 18] =
        ["'", "\"", "`", "\\", "--", "-- ", "#", "/*", "/*!", "/*M!", "*/", "/", "-", "*", "!", "\n", "a", "''"];

    proptest! {
        #[test]
        fn it_agrees_with_the_lexer(parts in prop::collection::vec(0..PARTS.len(), 0..12)) {
            let sql: String = parts.into_iter().map(|part| PARTS[part]).chain(["\n"]).collect();
            let (mut rest, mut open) = (sql.as_bytes(), Quoting::Plain);
            while let Some(first) = rest.first() {
                let token = token_at(rest);
                if !token.is_closed {
                    open = if *first == b'/' { Quoting::BlockComment } else { Quoting::Quoted(*first) };
                }
                rest = &rest[token.length..];
            }
            prop_assert_eq!(Quoting::Plain.after(sql.as_bytes()), open, "{}", sql);
        }
    }
}
