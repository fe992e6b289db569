//! The values of the rows that an INSERT inserts.

use crate::replay::literals::Literals;

/// For each row of `INSERT ... (columns) VALUES (...), ...`: the columns whose value is a literal and not an expression, by position, and
/// these literals. None if the text is not understood, or if it has more than `most_rows` rows.
pub fn inserted_values(sql: &[u8], literals: &Literals, columns: usize, most_rows: usize) -> Option<Vec<Vec<(usize, usize)>>> {
    let behind_columns = memchr::memchr(b')', sql)? + 1;
    let word = sql[behind_columns..].trim_ascii_start();
    let letters = word.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if ![&b"values"[..], b"value"].iter().any(|one| word[..letters].eq_ignore_ascii_case(one)) {
        return None;
    }
    let mut at = sql.len() - word.len() + letters;
    let mut literal = literals.found.iter().position(|one| one.range().start >= at).unwrap_or(literals.found.len());
    let mut rows = Vec::new();
    loop {
        at += 1 + sql[at..].iter().position(|byte| !byte.is_ascii_whitespace()).filter(|next| sql[at + next] == b'(')?;
        rows.push(row(sql, literals, &mut at, &mut literal, columns)?);
        match sql[at..].trim_ascii() {
            [b',', ..] if rows.len() < most_rows => at += 1 + memchr::memchr(b',', &sql[at..])?,
            [b',', ..] => return None,
            // The digest ends here, so that only a comment may follow.
            _ => return Some(rows),
        }
    }
}

/// One row: `at` is the position behind its `(` before, and behind its `)` afterwards; `literal` is the next literal.
fn row(sql: &[u8], literals: &Literals, at: &mut usize, literal: &mut usize, columns: usize) -> Option<Vec<(usize, usize)>> {
    let (mut found, mut column, mut depth) = (Vec::with_capacity(columns), 0, 0);
    let (mut only, mut has_other) = (None, false);
    loop {
        if let Some(next) = literals.found.get(*literal).filter(|next| next.range().start == *at) {
            has_other |= only.replace(*literal).is_some();
            (*literal, *at) = (*literal + 1, next.range().end);
            continue;
        }
        let byte = *sql.get(*at)?;
        *at += 1;
        match byte {
            b',' | b')' if depth == 0 => {
                if let (Some(only), false) = (only.take(), std::mem::take(&mut has_other)) {
                    found.push((column, only));
                }
                column += 1;
                if byte == b')' {
                    return (column == columns).then_some(found);
                }
            }
            b'(' => (depth, has_other) = (depth + 1, true),
            b')' => depth -= 1,
            // Other quotes, and what may be a comment.
            b'\'' | b'"' | b'`' | b'#' => return None,
            b'/' | b'-' if matches!(sql.get(*at), Some(b'*' | b'-')) => return None,
            byte if byte.is_ascii_whitespace() => {}
            _ => has_other = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(sql: &str, columns: usize) -> Option<Vec<Vec<(usize, &str)>>> {
        let mut literals = Literals::default();
        literals.shape(sql.as_bytes()).unwrap();
        let rows = inserted_values(sql.as_bytes(), &literals, columns, 100)?;
        let text = |at: usize| std::str::from_utf8(literals.found[at].of(sql.as_bytes())).unwrap();
        Some(rows.into_iter().map(|row| row.into_iter().map(|(column, at)| (column, text(at))).collect()).collect())
    }

    #[test]
    fn values_that_are_literals_are_found_in_each_row() {
        let one = "INSERT INTO t (a, b, c, d) VALUES (7, NOW(), concat('x', 'y'), 'it''s, (5)')";
        assert_eq!(values(one, 4).unwrap(), [vec![(0, "7"), (3, "'it''s, (5)'")]]);
        let two = "insert t (a,b) value ( 1 , 2 / 3 ),\n(NULL,-4) /*x*/;";
        assert_eq!(values(two, 2).unwrap(), [vec![(0, "1")], vec![(0, "NULL"), (1, "-4")]]);
    }

    #[test]
    fn what_is_not_understood_has_no_values() {
        for sql in [
            "insert into t (a, b) values (1)",
            "insert into t (a) select 1",
            "insert into t (a) values (/* ) */ 1)",
            "insert into t (a) values (1",
        ] {
            assert_eq!(values(sql, 1).filter(|_| !sql.contains("(a, b)")), None, "{sql}");
            assert_eq!(values(sql, 2), None, "{sql}");
        }
        let many = vec!["(1)"; 101].join(", ");
        assert_eq!(values(&format!("insert into t (a) values {many}"), 1), None);
    }
}
