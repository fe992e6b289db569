//! A workload file, read and checked as a whole.

use super::compile::{Compiled, compile};
use super::number::{self, Sizes};
use super::read::{Fields, Node, Place};
use super::sql;
use super::tables::{self, Table};
use super::values::Lists;
use crate::errors::Result;
use crate::plan::{FIRST_FREE, Plan};

const KEYS: [&str; 9] = ["name", "description", "source", "sizes", "lists", "session", "table", "transaction", "check"];

/// A workload of one's own: its tables and how they are filled, its transactions, and what must hold after a run.
#[derive(Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// Its tables, in the order in which they are made.
    pub tables: Vec<Table>,
    /// What must hold.
    pub checks: Vec<Check>,
    session: Vec<String>,
    compiled: Compiled,
}

/// A condition of the data.
#[derive(Debug, PartialEq)]
pub struct Check {
    /// What must hold.
    pub name: String,
    /// A query that returns a row for each violation.
    pub sql: String,
}

impl File {
    /// Reads and checks a file's text; `given` replaces its sizes.
    ///
    /// # Errors
    /// Anything in it is wrong.
    pub fn parse(file: &str, text: &str, given: &[(String, String)]) -> Result<Self> {
        let place = &Place::file(file);
        let root = Node::parse(file, text)?;
        let fields = Fields::of(&root, place, &KEYS)?;
        fields.text("source")?;
        let sizes = number::read(fields.table("sizes")?, given, place)?;
        let lists = lists(&fields)?;
        let session = fields
            .texts("session")?
            .into_iter()
            .map(|text| sql::plain(text, &sizes, &fields.place_of("session").at("session")))
            .collect::<Result<_>>()?;
        Ok(Self {
            name: fields.needed_text("name")?.to_owned(),
            description: fields.needed_text("description")?.to_owned(),
            tables: tables::read(fields.list("table")?, &sizes, &lists, place)?,
            compiled: compile(fields.list("transaction")?, &sizes, &lists, place)?,
            checks: checks(&fields, &sizes)?,
            session,
        })
    }

    /// As the engine plays it.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan {
            name: self.name.clone(),
            statements: self.compiled.statements.clone(),
            transactions: self.compiled.transactions.clone(),
            slots: self.compiled.slots.max(FIRST_FREE),
            session: self.session.clone(),
        }
    }
}

fn lists(fields: &Fields) -> Result<Lists> {
    let list = |(name, node): &(String, Node)| {
        let wrong = || fields.place.on(node).wrong(format!("the list {name:?} is no list of texts"), "Write [\"a\", \"b\"]");
        let texts = node.texts().ok_or_else(wrong)?;
        Ok((name.clone(), texts.into_iter().map(str::to_owned).collect()))
    };
    fields.table("lists")?.iter().map(list).collect()
}

fn checks(fields: &Fields, sizes: &Sizes) -> Result<Vec<Check>> {
    let check = |(index, node): (usize, &Node)| {
        let fields = Fields::of(node, &fields.place.at(format_args!("check {}", index + 1)), &["name", "sql"])?;
        let sql = sql::plain(fields.needed_text("sql")?, sizes, &fields.place_of("sql"))?;
        Ok(Check { name: fields.needed_text("name")?.to_owned(), sql })
    };
    fields.list("check")?.iter().enumerate().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
name = 'small'
description = 'A small one'
session = ['SET @a = {rows}']
[sizes]
rows = 10
[[table]]
name = 'a'
create = 'CREATE TABLE a (id INT)'
[[transaction]]
name = 'read'
steps = [{ sql = 'SELECT {rows}' }]
[[check]]
name = 'the table is empty'
sql = 'SELECT id FROM a'
";

    fn parsed(text: &str) -> Result<File> {
        File::parse("small.toml", text, &[])
    }

    #[test]
    fn a_small_file_has_all_its_parts() {
        let file = File::parse("small.toml", SMALL, &[("rows".to_owned(), "7".to_owned())]).unwrap();
        assert_eq!((file.name.as_str(), file.tables.len(), file.checks.len()), ("small", 1, 1));
        let plan = file.plan();
        assert_eq!((plan.statements[0].sql.as_str(), plan.session[0].as_str()), ("SELECT 7", "SET @a = 7"));
        assert_eq!((plan.slots, plan.transactions[0].weight), (FIRST_FREE, 1.0));
    }

    #[test]
    fn broken_toml_is_told_by_its_line() {
        let error = parsed("name = 'a'\ndescription = \n").unwrap_err();
        assert!(error.what.starts_with("small.toml:2:15: "), "{}", error.what);
        assert!(!error.what.contains('\n'));
    }

    #[test]
    fn parts_that_are_unknown_missing_or_unsound_are_refused() {
        assert_eq!(parsed(&SMALL.replace("[[check]]", "[[chek]]")).unwrap_err().remedy, "Did you mean \"check\"?");
        for (from, to) in [
            ("name = 'small'", ""),
            ("description = 'A small one'", ""),
            ("[[transaction]]", "[[check]]"),
            ("sql = 'SELECT id FROM a'", "sql = ''"),
            ("'SET @a = {rows}'", "'SET @a = {row}'"),
            ("rows = 10", "rows = -10"),
            ("rows = 10", "rows = 'ten'"),
            ("[sizes]", "[lists]"),
        ] {
            assert!(parsed(&SMALL.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
    }
}
