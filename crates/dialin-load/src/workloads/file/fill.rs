//! The rows of a fill, as INSERT statements. The rows of a cell depend only on the seed, the table and the cell, not on the
//! connection or the time of the INSERT.

use super::tables::{Case, Fill};
use super::values::Source;
use crate::plan::{Parameter, Value};
use crate::random::{Rng, of_transaction, whole_number};
use std::io::Write as _;

/// Writes rows of a fill.
#[derive(Debug)]
pub struct Rows<'f> {
    fill: &'f Fill,
    seed: u64,
    slots: Vec<Value>,
    drawn: Value,
}

impl<'f> Rows<'f> {
    /// The rows of a fill; `seed` determines all random values.
    #[must_use]
    pub fn new(fill: &'f Fill, seed: u64) -> Self {
        Self { fill, seed, slots: vec![Value::Null; fill.slots], drawn: Value::Null }
    }

    /// Writes the rows of `cells` as statements of at most `limit` bytes, and passes each to `send`. A statement with a single
    /// row may be longer.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn insert<E>(
        &mut self,
        cells: std::ops::Range<u64>,
        limit: usize,
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let head = self.fill.head.as_bytes();
        let mut statement = head.to_vec();
        let mut row = vec![];
        for cell in cells {
            let mut rng = self.enter(cell);
            for number in 1..=self.times() {
                row.clear();
                self.row(number, &mut rng, &mut row);
                if statement.len() > head.len() && statement.len() + 1 + row.len() > limit {
                    send(&statement)?;
                    statement.truncate(head.len());
                }
                if statement.len() > head.len() {
                    statement.push(b',');
                }
                statement.extend_from_slice(&row);
            }
        }
        if statement.len() > head.len() { send(&statement) } else { Ok(()) }
    }

    /// Sets the loop variables and draws the values that are drawn once per cell; returns the generator for the rows of the
    /// cell.
    fn enter(&mut self, cell: u64) -> Rng {
        self.slots[0] = Value::Int(signed(cell).saturating_add(1));
        let mut rest = cell;
        for each in self.fill.loops.iter().rev() {
            self.slots[each.slot] = Value::Int(each.low.saturating_add(signed(rest % each.count)));
            rest /= each.count;
        }
        for draw in &self.fill.draws {
            let mut value = std::mem::take(&mut self.slots[draw.slot]);
            evaluate(&draw.cases, &self.slots, &mut of_transaction(self.seed ^ draw.seed, cell), &mut value);
            self.slots[draw.slot] = value;
        }
        of_transaction(self.seed ^ self.fill.seed, cell)
    }

    fn times(&self) -> i64 {
        match &self.fill.times {
            None => 1,
            Some((_, Parameter::Register(slot))) => self.slots[*slot].integer(),
            Some((_, Parameter::Fixed(count))) => count.integer(),
            Some(_) => 0,
        }
    }

    fn row(&mut self, number: i64, rng: &mut Rng, out: &mut Vec<u8>) {
        if let Some((slot, _)) = self.fill.times {
            self.slots[slot] = Value::Int(number);
        }
        for (index, cases) in self.fill.columns.iter().enumerate() {
            out.push(if index == 0 { b'(' } else { b',' });
            evaluate(cases, &self.slots, rng, &mut self.drawn);
            literal(&self.drawn, out);
        }
        out.push(b')');
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn evaluate(cases: &[Case], slots: &[Value], rng: &mut Rng, into: &mut Value) {
    for case in cases {
        if case.test.as_ref().is_none_or(|test| test.holds(slots, rng)) {
            return value_of(&case.source, slots, rng, into);
        }
    }
}

fn value_of(source: &Source, slots: &[Value], rng: &mut Rng, into: &mut Value) {
    match source {
        Source::Parameter(parameter) => parameter.evaluate(slots, rng, into),
        Source::Scaled { slot, times, modulo, plus } => {
            let product = i128::from(slots[*slot].integer()) * i128::from(*times);
            let number = modulo.map_or(product, |modulo| product.rem_euclid(i128::from(modulo))) + i128::from(*plus);
            *into = Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }
}

/// Appends a value as an SQL literal that means the same under every sql_mode of the server.
fn literal(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) => whole_number(*number, out),
        // Writing into memory cannot fail.
        Value::Double(number) => drop(write!(out, "{number:e}")),
        Value::Bytes(bytes) if bytes.contains(&b'\\') => {
            out.extend_from_slice(b"X'");
            for byte in bytes {
                drop(write!(out, "{byte:02X}"));
            }
            out.push(b'\'');
        }
        Value::Bytes(bytes) => {
            out.push(b'\'');
            for byte in bytes {
                if *byte == b'\'' {
                    out.push(b'\'');
                }
                out.push(*byte);
            }
            out.push(b'\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read::Piece;
    use super::super::tables;
    use super::super::values::Lists;
    use super::*;

    fn fills(text: &str) -> Vec<Fill> {
        let file = Piece::parse("a.toml", text).unwrap();
        let sizes = [("customers".to_owned(), 7)].into();
        let tables = tables::read(&file.list_of("table").unwrap(), &sizes, &Lists::new()).unwrap();
        tables.into_iter().flat_map(|table| table.fills).collect()
    }

    fn table(name: &str, fill: &str) -> String {
        format!("[[table]]\nname = '{name}'\ncreate = 'CREATE'\n[table.fill]\n{fill}\n")
    }

    fn statements(fill: &Fill, cells: std::ops::Range<u64>, limit: usize) -> Vec<String> {
        let mut sent = vec![];
        let collect = |sql: &[u8]| {
            sent.push(String::from_utf8(sql.to_vec()).unwrap());
            Ok::<(), ()>(())
        };
        Rows::new(fill, 1).insert(cells, limit, collect).unwrap();
        sent
    }

    fn rows(fill: &Fill) -> Vec<String> {
        let head = fill.head.len();
        (0..fill.cells()).flat_map(|cell| statements(fill, cell..cell + 1, 1)).map(|sql| sql[head..].to_owned()).collect()
    }

    #[test]
    fn loops_go_through_all_combinations_the_last_one_fastest() {
        let fill = &fills(&table("a", "for = { w = 2, d = [5, 7] }\ncolumns = { n = ':number', w = ':w', d = ':d' }"))[0];
        assert_eq!(rows(fill), ["(1,1,5)", "(2,1,6)", "(3,1,7)", "(4,2,5)", "(5,2,6)", "(6,2,7)"]);
        assert_eq!(statements(fill, 0..3, 1000), ["INSERT INTO `a` (`n`,`w`,`d`) VALUES (1,1,5),(2,1,6),(3,1,7)"]);
    }

    #[test]
    fn rows_do_not_depend_on_how_they_are_shared_out() {
        let fill = &fills(&table(
            "a",
            "for = { i = 50 }\ncolumns = { i = ':i', a = { integer = [1, 1000] }, b = { template = '@@##' }, c = { text = [1, 9] } }",
        ))[0];
        let apart = rows(fill).join(",");
        let head = fill.head.len();
        assert_eq!(statements(fill, 0..50, 1 << 20)[0][head..], apart);
        let pieces: Vec<String> = [0..13, 13..50]
            .into_iter()
            .flat_map(|cells| statements(fill, cells, 200))
            .map(|sql| sql[head..].to_owned())
            .collect();
        assert!(pieces.len() > 5);
        assert_eq!(pieces.join(","), apart);
    }

    #[test]
    fn statements_keep_within_their_limit() {
        let fill = &fills(&table("a", "for = { i = 500 }\ncolumns = { i = ':i' }"))[0];
        assert!(statements(fill, 0..500, 100).iter().all(|sql| sql.len() <= 100));
    }

    #[test]
    fn a_draw_of_the_same_name_and_cell_is_the_same_in_every_table() {
        let draw = "for = { o = 40 }\ndraw = { lines = { integer = [0, 15] } }\n";
        let both = fills(
            &(table("a", &format!("{draw}columns = {{ o = ':o', n = ':lines' }}"))
                + &table("b", &format!("{draw}times = {{ line = ':lines' }}\ncolumns = {{ o = ':o', l = ':line' }}"))),
        );
        let mut expected = vec![];
        for row in rows(&both[0]) {
            let (order, lines) = row.trim_matches(['(', ')']).split_once(',').unwrap();
            expected.extend((1..=lines.parse().unwrap()).map(|line: i64| format!("({order},{line})")));
        }
        assert_eq!(rows(&both[1]), expected);
        assert!(expected.len() > 100);
    }

    #[test]
    fn numbers_are_scaled_and_cases_chosen() {
        let columns = "columns = { p = { value = ':c', times = 3, modulo = 'customers', plus = 1 }, q = [{ when = { less = [':c', 3] }, null = true }, { value = ':c', plus = -1 }] }";
        let fill = &fills(&table("a", &format!("for = {{ c = 'customers' }}\n{columns}")))[0];
        assert_eq!(rows(fill), ["(4,NULL)", "(7,NULL)", "(3,2)", "(6,3)", "(2,4)", "(5,5)", "(1,6)"]);
    }

    #[test]
    fn chances_come_as_often_as_they_should() {
        let fill = &fills(&table(
            "a",
            "for = { c = 10000 }\ncolumns = { a = [{ when = { chance = 0.1 }, value = 'x' }, { value = 'y' }] }",
        ))[0];
        let found = rows(fill).iter().filter(|row| row.as_str() == "('x')").count();
        assert!((850..1150).contains(&found), "{found}");
    }

    #[test]
    fn literals_mean_themselves_under_every_mode() {
        let written = |value: Value| {
            let mut out = vec![];
            literal(&value, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(Value::Bytes(b"it's".to_vec())), "'it''s'");
        assert_eq!(written(Value::Bytes(b"a\\'".to_vec())), "X'615C27'");
        assert_eq!(written(Value::Int(-5)), "-5");
        assert_eq!(written(Value::Double(0.25)), "2.5e-1");
        assert_eq!(written(Value::Null), "NULL");
    }
}
