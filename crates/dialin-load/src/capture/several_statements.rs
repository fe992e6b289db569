//! Packets of several statements. MariaDB, and MySQL up to 5.5, write such a packet to the general log as one entry.

use super::quoting::Quoting;
use crate::sql_tokens::{Kind, token_at};
use memchr::memchr;

/// Words after `CREATE` that begin a statement with `;` in it, and words of objects without.
const WITH_BODY: [&[u8]; 5] = [b"procedure", b"function", b"trigger", b"event", b"package"];
const WITHOUT_BODY: [&[u8]; 8] = [b"table", b"view", b"index", b"database", b"schema", b"user", b"role", b"sequence"];
/// Words that begin a compound statement of MariaDB.
const COMPOUND: [&[u8]; 7] = [b"if", b"case", b"loop", b"while", b"repeat", b"for", b"declare"];

/// Where the first of several statements ends, and where the next one begins; None if there is only one.
///
/// The body of a stored routine has statements that belong to it: from there on, everything is one statement.
pub(super) fn first_of_several(sql: &[u8]) -> Option<(usize, usize)> {
    let (mut followed, mut quoting) = (0, Quoting::Plain);
    loop {
        let next = followed + memchr(b';', &sql[followed..])? + 1;
        quoting = quoting.after(&sql[followed..next]);
        followed = next;
        if quoting == Quoting::Plain {
            break;
        }
    }
    let rest = &sql[followed..];
    let is_last = blank(rest) == rest.len();
    (!is_last && !has_body(&sql[..followed])).then(|| (followed - 1, followed + separators(rest)))
}

/// How many bytes of blanks and `;` a text begins with.
fn separators(sql: &[u8]) -> usize {
    sql.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b';').count()
}

/// How many bytes of blanks, comments and `;` a text begins with.
fn blank(sql: &[u8]) -> usize {
    let mut at = 0;
    while let Some(first) = sql.get(at) {
        let token = token_at(&sql[at..]);
        if !(matches!(token.kind, Kind::Blank | Kind::Comment) || *first == b';') {
            break;
        }
        at += token.length;
    }
    at
}

/// Whether a statement, of which this is the text up to its first `;`, has a body of statements.
fn has_body(sql: &[u8]) -> bool {
    let sql = &sql[blank(sql)..];
    let is_in = |word: &[u8], words: &[&[u8]]| words.iter().any(|each| word.eq_ignore_ascii_case(each));
    let mut words = sql.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).filter(|word| !word.is_empty());
    match words.next() {
        Some(first) if is_in(first, &[b"create", b"alter"]) => {
            words.find(|word| is_in(word, &WITH_BODY) || is_in(word, &WITHOUT_BODY)).is_some_and(|word| is_in(word, &WITH_BODY))
        }
        Some(first) if is_in(first, &[b"begin"]) => words.next().is_some_and(|word| is_in(word, &[b"not"])),
        Some(first) => is_in(first, &COMPOUND),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(mut sql: &str) -> Vec<&str> {
        let mut all = vec![];
        while let Some((end, next)) = first_of_several(sql.as_bytes()) {
            all.push(&sql[..end]);
            sql = &sql[next..];
        }
        all.push(sql);
        all
    }

    #[test]
    fn a_packet_is_split_where_statements_end() {
        for (packet, expected) in [
            ("select 1", vec!["select 1"]),
            ("select 1;", vec!["select 1;"]),
            ("select 1; -- no more", vec!["select 1; -- no more"]),
            ("select 1; /* no more */ ;\n", vec!["select 1; /* no more */ ;\n"]),
            ("begin; update p set n=1;commit", vec!["begin", "update p set n=1", "commit"]),
            ("select ';' /* ; */; select \"a;\\\";\"", vec!["select ';' /* ; */", "select \"a;\\\";\""]),
            ("select 1; /* then */ select 2;", vec!["select 1", "/* then */ select 2;"]),
            ("select 1;\n# then\nselect 2", vec!["select 1", "# then\nselect 2"]),
            ("select 1;; select 2", vec!["select 1", "select 2"]),
            ("select 1; /*!50000 select 2 */", vec!["select 1", "/*!50000 select 2 */"]),
            (
                "create table event (a int); insert into event values (1)",
                vec!["create table event (a int)", "insert into event values (1)"],
            ),
            ("select 'a;", vec!["select 'a;"]),
            ("select 1;--", vec!["select 1;--"]),
            ("select 1;/*/ no more; */", vec!["select 1;/*/ no more; */"]),
        ] {
            assert_eq!(statements(packet), expected, "{packet}");
        }
    }

    #[test]
    fn the_body_of_a_routine_is_one_statement() {
        for packet in [
            "CREATE PROCEDURE p() BEGIN select 1; select 2; END",
            "create or replace definer=`a;b`@`localhost` trigger t before insert on u for each row begin set @a=1; set @b=2; end",
            "/* x */ BEGIN NOT ATOMIC select 1; select 2; END",
            "IF @a THEN select 1; END IF",
        ] {
            assert_eq!(statements(packet), [packet]);
            let later = format!("select 0; {packet}");
            assert_eq!(statements(&later), ["select 0", packet]);
        }
    }
}
