//! Templates: the texts of prepared statements, with a `?` for each parameter.
//!
//! A log has a prepared statement with its values filled in. Which of these were parameters is learned before the
//! capture is played: statements that differ only in values are executions of one template. A value that is always
//! the same, such as the column number in `ORDER BY 2`, stays in the text of the template. A statement that occurs
//! once is sent as text.

use super::literals::{Literal, Literals};
use foldhash::HashMap;

/// A statement of more bytes is sent as text.
const LONGEST: usize = 64 << 10;
/// The maximum number of templates.
const MAX_TEMPLATES: usize = 20_000;
/// No further template is learned when the templates have this many bytes.
const MAX_BYTES: usize = 64 << 20;

/// A statement to be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its text, with a `?` for each parameter.
    pub sql: String,
    /// For each value, whether it is a parameter.
    varies: Box<[bool]>,
}

impl Template {
    /// How many parameters it has.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.varies.iter().filter(|varies| **varies).count()
    }
}

/// An execution of a prepared statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The number of its template.
    pub template: usize,
    /// The positions of its parameters in the text of the statement.
    pub values: Box<[Literal]>,
}

/// The templates of a capture.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    by_shape: HashMap<u64, usize>,
    /// The templates, by number.
    pub all: Vec<Template>,
    /// How many statements of the capture are executed as prepared statements.
    pub prepared: u64,
    /// How many statements were prepared in the capture, but are sent as text.
    pub as_text: u64,
}

impl Templates {
    /// How to execute a prepared statement with this shape and these values; None if it is sent as text.
    #[must_use]
    pub fn execution(&self, shape: u64, literals: &Literals) -> Option<Execution> {
        let template = *self.by_shape.get(&shape)?;
        let varies = &self.all[template].varies;
        let values = literals.found.iter().zip(varies).filter(|(_, varies)| **varies).map(|(literal, _)| *literal).collect();
        (literals.found.len() == varies.len()).then_some(Execution { template, values })
    }
}

/// Learns the templates of a capture.
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
    /// Learn from a statement that was prepared.
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
        } else if self.shapes.len() < MAX_TEMPLATES && self.bytes < MAX_BYTES {
            self.bytes += sql.len();
            let seen =
                Seen { sql: sql.into(), literals: found.as_slice().into(), varies: vec![false; found.len()].into(), count: 1 };
            self.shapes.insert(shape, seen);
        }
    }

    /// The templates that were learned.
    #[must_use]
    pub fn finish(self) -> Templates {
        let mut templates = Templates::default();
        for (shape, seen) in self.shapes {
            let mut sql = Vec::with_capacity(seen.sql.len());
            let mut copied = 0;
            for (literal, _) in seen.literals.iter().zip(&seen.varies).filter(|(_, varies)| **varies) {
                sql.extend_from_slice(&seen.sql[copied..literal.range().start]);
                sql.push(b'?');
                copied = literal.range().end;
            }
            sql.extend_from_slice(&seen.sql[copied..]);
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
