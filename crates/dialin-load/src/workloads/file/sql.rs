//! The SQL of workload files: its variables and sizes, and how a statement is counted.

use super::number::{Sizes, evaluate, is_name};
use super::read::Place;
use crate::errors::Result;
use crate::plan::Kind;
use crate::sql_tokens::token_at;

/// SQL with a `?` in place of each variable.
#[derive(Debug, PartialEq)]
pub struct Scanned {
    /// The SQL.
    pub sql: String,
    /// The names of the variables, one for each `?`.
    pub names: Vec<String>,
}

/// Replaces each `:name` by `?` and each `{size}` by its number; quoted text and comments remain as they are.
///
/// # Errors
/// A quote, comment or brace is not closed, a size is unknown, or the SQL has a `?` or a second statement.
pub fn scan(text: &str, sizes: &Sizes, place: &Place) -> Result<Scanned> {
    let text = text.trim().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let bytes = text.as_bytes();
    let (mut sql, mut names) = (String::with_capacity(text.len()), vec![]);
    let mut at = 0;
    while at < bytes.len() {
        if let Some(end) = name_at(bytes, at) {
            names.push(text[at + 1..end].to_owned());
            sql.push('?');
            at = end;
            continue;
        }
        let end = match bytes[at] {
            b'?' => {
                return Err(place.wrong("the SQL has a `?`", "Name the value instead: write :name, and draw it with let"));
            }
            b';' => {
                return Err(place.wrong("the SQL has more than one statement", "Make a step of each"));
            }
            b'{' => {
                at = put_size(text, at, sizes, place, &mut sql)?;
                continue;
            }
            _ => token_end(bytes, at).ok_or_else(|| unclosed(place))?,
        };
        sql.push_str(&text[at..end]);
        at = end;
    }
    Ok(Scanned { sql, names })
}

/// Replaces each `{size}` by its number in SQL that has no variables: that of tables, checks and sessions.
///
/// # Errors
/// A quote, comment or brace is not closed, a size is unknown, or the SQL is empty.
pub fn plain(text: &str, sizes: &Sizes, place: &Place) -> Result<String> {
    let text = text.trim().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    let bytes = text.as_bytes();
    let (mut sql, mut at) = (String::with_capacity(text.len()), 0);
    while at < bytes.len() {
        if bytes[at] == b'{' {
            at = put_size(text, at, sizes, place, &mut sql)?;
            continue;
        }
        let end = token_end(bytes, at).ok_or_else(|| unclosed(place))?;
        sql.push_str(&text[at..end]);
        at = end;
    }
    if sql.is_empty() { Err(place.wrong("the SQL is empty", "Write a statement")) } else { Ok(sql) }
}

/// How a statement is counted, by its first word.
#[must_use]
pub fn kind(sql: &str) -> Kind {
    match first_word(sql).to_ascii_uppercase().as_str() {
        "SELECT" | "WITH" | "TABLE" | "VALUES" => Kind::Read,
        "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" => Kind::Write,
        _ => Kind::Other,
    }
}

/// Whether a statement has the clause RETURNING of MariaDB: it returns rows although it changes some.
#[must_use]
pub fn is_returning(sql: &str) -> bool {
    let bytes = sql.as_bytes();
    let is_in_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_in_word(byte)).count();
        if sql[at..at + length].eq_ignore_ascii_case("RETURNING") {
            return true;
        }
        at = if length > 0 { at + length } else { token_end(bytes, at).unwrap_or(bytes.len()) };
    }
    false
}

fn first_word(sql: &str) -> &str {
    let bytes = sql.as_bytes();
    let mut at = 0;
    while at < bytes.len() && !bytes[at].is_ascii_alphabetic() {
        at = token_end(bytes, at).unwrap_or(bytes.len());
    }
    let rest = sql.get(at..).unwrap_or_default();
    &rest[..rest.find(|each: char| !each.is_ascii_alphabetic()).unwrap_or(rest.len())]
}

fn unclosed(place: &Place) -> crate::errors::Error {
    place.wrong("a quote or comment in the SQL is never closed", "Close it")
}

/// The end of the variable whose colon is at `at`; None if there is none. `::a` and `:=` are not variables.
fn name_at(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b':' {
        return None;
    }
    let behind_colon = at > 0 && bytes[at - 1] == b':';
    let length = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let name = std::str::from_utf8(&bytes[at + 1..at + 1 + length]).ok()?;
    (!behind_colon && is_name(name)).then_some(at + 1 + length)
}

fn put_size(text: &str, at: usize, sizes: &Sizes, place: &Place, sql: &mut String) -> Result<usize> {
    let length = text[at..]
        .find('}')
        .ok_or_else(|| place.wrong("a { in the SQL is never closed", "Write {size}, or quote the brace"))?;
    sql.push_str(&evaluate(&text[at + 1..at + length], sizes, place)?.to_string());
    Ok(at + length + 1)
}

/// The end of the token at `at`; None if it is a quote or comment that is never closed.
fn token_end(bytes: &[u8], at: usize) -> Option<usize> {
    let token = token_at(&bytes[at..]);
    token.is_closed.then_some(at + token.length)
}

#[cfg(test)]
mod tests {
    use super::super::read::Piece;
    use super::*;

    fn place() -> Place {
        Piece::parse("a.toml", "").unwrap().place
    }

    fn scanned(text: &str) -> Result<Scanned> {
        scan(text, &[("banks".to_owned(), 4)].into(), &place())
    }

    #[test]
    fn names_become_question_marks_and_sizes_numbers() {
        let found = scanned("SELECT :a + :b_2, {banks * 2} FROM t WHERE x=:a;\n").unwrap();
        assert_eq!(found.sql, "SELECT ? + ?, 8 FROM t WHERE x=?");
        assert_eq!(found.names, ["a", "b_2", "a"]);
    }

    #[test]
    fn quotes_and_comments_stay_as_they_are() {
        let text = r#"SELECT ':a ? {x} \' ;', "it's :b", `c:d`, 'x''y' /* :e ? */ -- :f
 , '2026-01-01 10:11:12', @v := 1 # ? ' :g"#;
        let found = scanned(text).unwrap();
        assert_eq!((found.sql.as_str(), found.names.len()), (text, 0));
    }

    #[test]
    fn text_beyond_ascii_passes() {
        assert_eq!(scanned("SELECT 'ü', ü, :é FROM t").unwrap().sql, "SELECT 'ü', ü, :é FROM t");
    }

    #[test]
    fn invalid_sql_is_refused() {
        for text in
            ["SELECT ?", "SELECT 1; SELECT 2", "SELECT 'a", "SELECT /* a", "SELECT {banks", "SELECT {none}", "SELECT 'a\\"]
        {
            assert!(scanned(text).is_err(), "{text}");
        }
    }

    #[test]
    fn returning_is_found_outside_of_quotes_names_and_comments() {
        for sql in ["INSERT INTO t VALUES (1) RETURNING id", "DELETE FROM t returning\n*", "DELETE FROM `ü` RETURNING 'ü'"] {
            assert!(is_returning(sql), "{sql}");
        }
        for sql in ["INSERT INTO t VALUES ('a RETURNING b')", "DELETE FROM returning_1", "DELETE FROM t -- RETURNING"] {
            assert!(!is_returning(sql), "{sql}");
        }
    }

    #[test]
    fn statements_count_by_their_first_word() {
        let kinds =
            ["SELECT 1", " ( select 1)", "/* a */ update t", "Insert INTO t", "COMMIT", "# x\nDELETE FROM t", ""].map(kind);
        assert_eq!(kinds, [Kind::Read, Kind::Read, Kind::Write, Kind::Write, Kind::Other, Kind::Write, Kind::Other]);
    }

    #[test]
    fn plain_sql_may_be_a_procedure_but_not_empty() {
        let sizes = [("banks".to_owned(), 4)].into();
        let place = place();
        assert_eq!(
            plain("CREATE PROCEDURE p() BEGIN DO {banks}; DO 1; END;", &sizes, &place).unwrap(),
            "CREATE PROCEDURE p() BEGIN DO 4; DO 1; END"
        );
        assert!(plain(" ; ", &sizes, &place).is_err());
    }
}
