//! The outline of a statement: its text with `0` for each whole number, and with nothing within its quotes.
//!
//! An outline has the same digest as its statement and is found faster, so a digest is made only of outlines that are new.

use crate::sql_tokens::{is_of_name, name_length, token_at};

/// Statements of more bytes have no outline.
const LONGEST: usize = 4_096;

/// Which bytes may begin what an outline leaves out, or what no outline can have.
static IS_LOOKED_AT: [bool; 256] = {
    let (mut is_looked_at, mut byte) = ([false; 256], 0);
    while byte < 256 {
        is_looked_at[byte] = matches!(byte as u8, b'0'..=b'9' | b'\'' | b'"' | b'`' | b'#' | b'-' | b'/' | b'.');
        byte += 1;
    }
    is_looked_at
};

/// Writes the outline of a statement. Returns false if it has none: it is too long, has a comment or an open quote, or may have a number
/// that is a name.
pub(super) fn outline(sql: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    if sql.len() > LONGEST {
        return false;
    }
    let (mut at, mut written) = (0, 0);
    while let Some(length) = sql[at..].iter().position(|byte| IS_LOOKED_AT[*byte as usize]) {
        at += length;
        let next = sql.get(at + 1);
        let end = match sql[at] {
            // Within a name.
            b'0'..=b'9' if at > 0 && is_of_name(sql[at - 1]) => at + name_length(&sql[at..]),
            b'0'..=b'9' => {
                let end = sql[at..].iter().position(|byte| !byte.is_ascii_digit()).map_or(sql.len(), |length| at + length);
                let is_part = |byte: &u8| *byte == b'.' || is_of_name(*byte);
                if !(at > 0 && sql[at - 1] == b'.' || sql.get(end).is_some_and(is_part)) {
                    out.extend_from_slice(&sql[written..at]);
                    out.push(b'0');
                    written = end;
                }
                end
            }
            first @ (b'\'' | b'"' | b'`') => {
                let token = token_at(&sql[at..]);
                if !token.is_closed {
                    return false;
                }
                let end = at + token.length;
                if first != b'`' {
                    out.extend_from_slice(&sql[written..=at]);
                    written = end - 1;
                }
                end
            }
            b'#' => return false,
            b'-' if next == Some(&b'-') => return false,
            b'/' if next == Some(&b'*') => return false,
            b'.' if next.is_some_and(|next| !is_of_name(*next) && *next != b'`') => return false,
            _ => at + 1,
        };
        at = end;
    }
    out.extend_from_slice(&sql[written..]);
    true
}

#[cfg(test)]
mod tests {
    use super::super::digest::Digester;
    use super::*;
    use proptest::prelude::*;

    fn of(sql: &str) -> Option<String> {
        let mut out = Vec::new();
        outline(sql.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn statements_that_differ_in_values_have_one_outline() {
        for (sql, expected) in [
            ("SELECT c FROM sbtest2 WHERE id=5022", "SELECT c FROM sbtest2 WHERE id=0"),
            ("select -17, 'it''s', \"a\\\"b\", x'41'", "select -0, '', \"\", x''"),
            ("select `a 1`, a1, 1a, 1.5, t.1, 0x41 ,22", "select `a 1`, a1, 1a, 1.5, t.1, 0x41 ,0"),
        ] {
            assert_eq!(of(sql).as_deref(), Some(expected));
        }
        for sql in ["select 1 -- it's", "select /* ' */ 1", "select 1 # '", "select 'a", "select t. 1"] {
            assert_eq!(of(sql), None, "{sql}");
        }
    }

    const PARTS: [&str; 32] = [
        "select",
        " ",
        " ",
        " ",
        "x",
        "1",
        "22",
        "333",
        ".",
        "-",
        "+",
        ",",
        "(",
        ")",
        "'",
        "\"",
        "`",
        "''",
        "'7'",
        "\\",
        "null",
        " in ",
        "is",
        "e5",
        "0x",
        "@",
        "*",
        "/",
        "#",
        "\n",
        "timestamp",
        ";",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn an_outline_has_the_digest_of_its_statement(parts in prop::collection::vec(0..PARTS.len(), 0..30)) {
            let sql: String = parts.into_iter().map(|part| PARTS[part]).collect();
            if let Some(outline) = of(&sql) {
                let (mut one, mut other) = (Digester::default(), Digester::default());
                prop_assert_eq!(one.digest(sql.as_bytes()), other.digest(outline.as_bytes()), "{}", outline);
            }
        }
    }
}
