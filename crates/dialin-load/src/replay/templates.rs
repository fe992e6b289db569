//! What was prepared: the texts behind statements that were executed with parameters.
//!
//! Logs have a prepared statement with its values. Which of these were parameters is learned while the capture is read for the first
//! time: statements that differ in values only are executions of one text, and a value that is always the same, such as
//! the column number in `ORDER BY 2`, may as well stand in it. A text that occurs once is sent as text.

use super::literals::{Literal, Literals};
use std::collections::HashMap;

/// A longer statement is sent as text.
const LONGEST: usize = 64 << 10;
/// The most texts that are remembered, and how many bytes of them.
const MOST: usize = 20_000;
const MOST_BYTES: usize = 64 << 20;

/// A statement to be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its text, with a `?` for each parameter.
    pub sql: String,
    /// Which of its values are parameters.
    varies: Box<[bool]>,
}

impl Template {
    /// How many parameters it has.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.varies.iter().filter(|varies| **varies).count()
    }
}

/// How a statement is executed that was prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The number of its text.
    pub template: usize,
    /// Its parameters, within the statement.
    pub values: Box<[Literal]>,
}

/// Statements to be prepared, by number.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    by_shape: HashMap<u64, usize>,
    /// By number.
    pub all: Vec<Template>,
    /// How many statements of the capture are executed so.
    pub prepared: u64,
    /// How many were prepared, and are sent as text.
    pub as_text: u64,
}

impl Templates {
    /// How a statement that was prepared is executed, whose values were found; None where it is sent as text.
    #[must_use]
    pub fn execution(&self, shape: u64, literals: &Literals) -> Option<Execution> {
        let template = *self.by_shape.get(&shape)?;
        let varies = &self.all[template].varies;
        let values = literals.found.iter().zip(varies).filter(|(_, varies)| **varies).map(|(literal, _)| *literal).collect();
        (literals.found.len() == varies.len()).then_some(Execution { template, values })
    }
}

/// Learns what was prepared.
#[derive(Debug, Default)]
pub struct Learner {
    shapes: HashMap<u64, Seen>,
    literals: Literals,
    bytes: usize,
    all: u64,
}

#[derive(Debug)]
struct Seen {
    sql: Box<[u8]>,
    literals: Box<[Literal]>,
    varies: Box<[bool]>,
    count: u64,
}

impl Learner {
    /// Take a statement that was prepared.
    pub fn take(&mut self, sql: &[u8]) {
        self.all += 1;
        if sql.len() > LONGEST {
            return;
        }
        let Some(shape) = self.literals.shape(sql) else { return };
        let found = &self.literals.found;
        if let Some(seen) = self.shapes.get_mut(&shape) {
            if seen.literals.len() == found.len() {
                seen.count += 1;
                for ((varies, first), literal) in seen.varies.iter_mut().zip(&seen.literals).zip(found) {
                    *varies |= first.of(&seen.sql) != literal.of(sql);
                }
            }
        } else if self.shapes.len() < MOST && self.bytes < MOST_BYTES {
            self.bytes += sql.len();
            let seen =
                Seen { sql: sql.into(), literals: found.as_slice().into(), varies: vec![false; found.len()].into(), count: 1 };
            self.shapes.insert(shape, seen);
        }
    }

    /// What was learned.
    #[must_use]
    pub fn finish(self) -> Templates {
        let mut templates = Templates::default();
        for (shape, seen) in self.shapes {
            let mut sql = Vec::with_capacity(seen.sql.len());
            let mut kept = 0;
            for (literal, _) in seen.literals.iter().zip(&seen.varies).filter(|(_, varies)| **varies) {
                sql.extend_from_slice(&seen.sql[kept..literal.range().start]);
                sql.push(b'?');
                kept = literal.range().end;
            }
            sql.extend_from_slice(&seen.sql[kept..]);
            if let (Ok(sql), true) = (String::from_utf8(sql), seen.count > 1) {
                templates.by_shape.insert(shape, templates.all.len());
                templates.all.push(Template { sql, varies: seen.varies });
                templates.prepared += seen.count;
            }
        }
        templates.as_text = self.all - templates.prepared;
        templates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_are_parameters_and_others_stand_in_the_text() {
        let mut learner = Learner::default();
        let statements = [
            "select a, 7 from t where id=1 and b='x' order by 2 limit 10",
            "select a, 7 from t where id=2 and b='y' order by 2 limit 10",
            "select only from once",
            "commit",
            "commit",
            "select 'a",
        ];
        statements.iter().for_each(|sql| learner.take(sql.as_bytes()));
        let templates = learner.finish();
        assert_eq!((templates.prepared, templates.as_text), (4, 2));
        let mut literals = Literals::default();
        let mut of = |sql: &str| {
            let shape = literals.shape(sql.as_bytes())?;
            let execution = templates.execution(shape, &literals)?;
            let values: Vec<String> = execution.values.iter().map(|value| sql[value.range()].to_owned()).collect();
            Some((templates.all[execution.template].sql.as_str(), templates.all[execution.template].parameters(), values))
        };
        let text = "select a, 7 from t where id=? and b=? order by 2 limit 10";
        assert_eq!(of(statements[1]), Some((text, 2, vec!["2".to_owned(), "'y'".to_owned()])));
        assert_eq!(of("commit"), Some(("commit", 0, vec![])));
        assert_eq!((of("select only from once"), of("select 'a")), (None, None));
    }
}
