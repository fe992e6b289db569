//! Finds the ends of quoted text and comments in SQL, so that nothing within them is taken for a parameter or a variable.

/// The part of SQL text that begins at some byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its length in bytes; a quote or comment that is not closed extends to the end of the text.
    pub length: usize,
    /// False if it is a quote or comment that is not closed.
    pub is_closed: bool,
}

impl Token {
    const fn closed(length: usize) -> Self {
        Self { length, is_closed: true }
    }
}

/// The token at the start of `rest`, which must not be empty: quoted text, a comment, or one character.
///
/// The server may execute the content of a comment that begins with `/*!`, so only these three bytes are a token.
#[must_use]
pub fn token_at(rest: &[u8]) -> Token {
    match rest {
        [quote @ (b'\'' | b'"' | b'`'), ..] => quoted(*quote, rest),
        [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n' | b'\r', ..] | [b'-', b'-'] => {
            Token::closed(rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |length| length + 1))
        }
        [b'/', b'*', b'!', ..] => Token::closed(3),
        [b'/', b'*', inner @ ..] => match inner.windows(2).position(|pair| pair == b"*/") {
            Some(length) => Token::closed(2 + length + 2),
            None => Token { length: rest.len(), is_closed: false },
        },
        _ => Token::closed(rest.iter().skip(1).take_while(|byte| **byte & 0xC0 == 0x80).count() + 1),
    }
}

fn quoted(quote: u8, rest: &[u8]) -> Token {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match *byte {
            b'\\' if quote != b'`' => at += 2,
            end if end == quote => return Token::closed(at + 1),
            _ => at += 1,
        }
    }
    Token { length: rest.len(), is_closed: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(sql: &str) -> (&str, bool) {
        let found = token_at(sql.as_bytes());
        (&sql[..found.length], found.is_closed)
    }

    #[test]
    fn quotes_and_comments_are_one_token() {
        assert_eq!(token(r"'it\'s' = a"), (r"'it\'s'", true));
        assert_eq!(token("`a\\` b"), ("`a\\`", true));
        assert_eq!(token("-- a\nb"), ("-- a\n", true));
        assert_eq!(token("# a"), ("# a", true));
        assert_eq!(token("/* ' */ b"), ("/* ' */", true));
        assert_eq!(token("/*!50000 ? */"), ("/*!", true));
        assert_eq!(token("--1"), ("-", true));
    }

    #[test]
    fn what_is_never_closed_says_so() {
        for sql in ["'a", "\"a\\", "/* a"] {
            assert_eq!(token(sql), (sql, false));
        }
    }

    #[test]
    fn a_character_is_never_cut() {
        assert_eq!(token("üb"), ("ü", true));
    }
}
