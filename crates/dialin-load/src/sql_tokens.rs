//! The lexer of SQL as MySQL and MariaDB read it. Digests, the classes of statements, their values, parameters and variables are all
//! found with it, so that nothing within quotes or comments is taken for something else.

use memchr::{memchr, memchr2, memmem};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Blanks and line ends.
    Blank,
    /// A comment.
    Comment,
    /// The start or the end of a comment whose content servers execute, such as `/*!50000` and `*/`.
    Executed,
    /// A keyword, or a name without quotes; it may begin with a digit.
    Word,
    /// A name in backticks.
    Name,
    /// Text in single or double quotes.
    Text,
    /// A whole number.
    Whole,
    /// A number with a fraction.
    Decimal,
    /// A number with an exponent.
    Double,
    /// A value in hexadecimal or binary notation, such as `0x41`.
    Bits,
    /// Any other character.
    Sign,
}

/// The part of SQL text that begins at some byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its length in bytes; a quote or comment that is not closed extends to the end of the text.
    pub length: usize,
    /// False if it is a quote or comment that is not closed.
    pub is_closed: bool,
}

impl Token {
    const fn closed(kind: Kind, length: usize) -> Self {
        Self { kind, length, is_closed: true }
    }
}

/// The token at the start of `rest`, which must not be empty. A number after a dot is part of a name, which only the caller can know, and
/// a dot may begin a number.
#[must_use]
#[inline]
pub fn token_at(rest: &[u8]) -> Token {
    match rest {
        [b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C, ..] => Token::closed(Kind::Blank, 1),
        [b'0'..=b'9', ..] => number_or_word(rest),
        [byte, ..] if is_of_name(*byte) => Token::closed(Kind::Word, name_length(rest)),
        [quote @ (b'\'' | b'"'), ..] => quoted(*quote, rest, Kind::Text),
        [b'`', ..] => quoted(b'`', rest, Kind::Name),
        [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n' | b'\r', ..] | [b'-', b'-'] => {
            Token::closed(Kind::Comment, memchr(b'\n', rest).map_or(rest.len(), |length| length + 1))
        }
        [b'/', b'*', b'!', ..] => executed(rest, 3),
        [b'/', b'*', b'M', b'!', ..] => executed(rest, 4),
        [b'/', b'*', inner @ ..] => match memmem::find(inner, b"*/") {
            Some(length) => Token::closed(Kind::Comment, 2 + length + 2),
            None => Token { kind: Kind::Comment, length: rest.len(), is_closed: false },
        },
        [b'*', b'/', ..] => Token::closed(Kind::Executed, 2),
        _ => Token::closed(Kind::Sign, 1),
    }
}

/// Whether a byte may be part of a name without quotes.
#[must_use]
pub const fn is_of_name(byte: u8) -> bool {
    OF_NAME[byte as usize]
}

/// Which bytes may be part of a name without quotes.
static OF_NAME: [bool; 256] = {
    let (mut of_name, mut byte) = ([false; 256], 0);
    while byte < 256 {
        of_name[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | 0x80..);
        byte += 1;
    }
    of_name
};

/// The length of the word at the start of `rest`.
#[must_use]
pub fn name_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| !is_of_name(*byte)).unwrap_or(rest.len())
}

fn executed(rest: &[u8], opening: usize) -> Token {
    let version = rest[opening..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    Token::closed(Kind::Executed, opening + version)
}

/// Quoted text, in which a quote may be doubled, or a name.
fn quoted(quote: u8, rest: &[u8], kind: Kind) -> Token {
    let mut at = 1;
    loop {
        let inner = &rest[at..];
        let found = if quote == b'`' { memchr(quote, inner) } else { memchr2(quote, b'\\', inner) };
        let Some(found) = found else { return Token { kind, length: rest.len(), is_closed: false } };
        at += found + 1;
        if inner[found] == b'\\' {
            // The next byte is escaped. It may be missing.
            at = (at + 1).min(rest.len());
        } else if rest.get(at) == Some(&quote) {
            at += 1;
        } else {
            return Token::closed(kind, at);
        }
    }
}

fn number_or_word(rest: &[u8]) -> Token {
    let number = number_at(rest);
    if rest.get(number.length).copied().is_some_and(is_of_name) {
        return Token::closed(Kind::Word, name_length(rest));
    }
    number
}

/// The number at the start of `rest`, which begins with a digit, or with a dot and a digit.
#[must_use]
pub fn number_at(rest: &[u8]) -> Token {
    let digits = |at: usize| rest.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    match rest {
        [b'0', b'x', first, ..] if first.is_ascii_hexdigit() => {
            return Token::closed(Kind::Bits, 2 + rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count());
        }
        [b'0', b'b', b'0' | b'1', ..] => {
            return Token::closed(Kind::Bits, 2 + rest[2..].iter().take_while(|byte| matches!(byte, b'0' | b'1')).count());
        }
        _ => {}
    }
    let (mut kind, mut length) = (Kind::Whole, digits(0));
    if rest.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
        kind = Kind::Decimal;
    }
    if matches!(rest.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
            kind = Kind::Double;
        }
    }
    Token::closed(kind, length)
}

/// The tokens of SQL text that servers take into account, each with its text: neither blanks nor comments.
pub fn tokens(sql: &[u8]) -> impl Iterator<Item = (Kind, &[u8])> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        loop {
            let token = (!rest.is_empty()).then(|| token_at(rest))?;
            let text;
            (text, rest) = rest.split_at(token.length);
            if !matches!(token.kind, Kind::Blank | Kind::Comment | Kind::Executed) {
                return Some((token.kind, text));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(sql: &str) -> (&str, Kind, bool) {
        let found = token_at(sql.as_bytes());
        (&sql[..found.length], found.kind, found.is_closed)
    }

    #[test]
    fn quotes_and_comments_are_one_token() {
        for (sql, text, kind) in [
            (r"'it\'s' = a", r"'it\'s'", Kind::Text),
            ("'it''s' = a", "'it''s'", Kind::Text),
            ("`a\\` b", "`a\\`", Kind::Name),
            ("-- a\nb", "-- a\n", Kind::Comment),
            ("# a", "# a", Kind::Comment),
            ("/* ' */ b", "/* ' */", Kind::Comment),
            ("/*!50000 ? */", "/*!50000", Kind::Executed),
            ("/*M!100100 ? */", "/*M!100100", Kind::Executed),
            ("*/", "*/", Kind::Executed),
            ("--1", "-", Kind::Sign),
        ] {
            assert_eq!(token(sql), (text, kind, true), "{sql}");
        }
    }

    #[test]
    fn what_is_never_closed_says_so() {
        for sql in ["'a", "\"a\\", "/* a", "`a", "'a''"] {
            let (text, _, is_closed) = token(sql);
            assert_eq!((text, is_closed), (sql, false));
        }
    }

    #[test]
    fn names_and_numbers_are_one_token_and_no_character_is_cut() {
        for (sql, text, kind) in [
            ("üb c", "üb", Kind::Word),
            ("a_1$(", "a_1$", Kind::Word),
            ("1st col", "1st", Kind::Word),
            ("12, 3", "12", Kind::Whole),
            ("1.50)", "1.50", Kind::Decimal),
            ("2.5e-3 ", "2.5e-3", Kind::Double),
            ("0x4F,", "0x4F", Kind::Bits),
            ("0b01", "0b01", Kind::Bits),
            ("0X41", "0X41", Kind::Word),
            ("?", "?", Kind::Sign),
        ] {
            assert_eq!(token(sql), (text, kind, true), "{sql}");
        }
    }

    proptest! {
        #[test]
        fn tokens_cover_all_bytes(sql in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut at = 0;
            while at < sql.len() {
                let length = token_at(&sql[at..]).length;
                prop_assert!(length > 0 && at + length <= sql.len());
                at += length;
            }
        }
    }
}
