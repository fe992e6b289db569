//! A workload file, parsed and checked as a whole.

use super::compile::{Compiled, compile};
use super::number;
use super::read::{Piece, Texts};
use super::sql;
use super::tables::{self, Table};
use super::values::Lists;
use crate::errors::Result;
use crate::plan::{FIRST_FREE, Plan};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The top level of a file; sizes, tables and transactions are parsed one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "sizes, table, transaction, source")]
struct Text {
    name: String,
    description: String,
    source: Option<String>,
    sizes: Option<IgnoredAny>,
    lists: Option<Lists>,
    session: Option<Texts>,
    table: Option<IgnoredAny>,
    transaction: Option<IgnoredAny>,
    check: Option<Vec<CheckText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckText {
    name: String,
    sql: String,
}

/// A user-defined workload: its tables and how they are filled, its transactions, and what must hold after a run.
#[derive(Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its description, in a sentence.
    pub description: String,
    /// Its tables, in the order in which they are created.
    pub tables: Vec<Table>,
    /// The conditions on its data.
    pub checks: Vec<Check>,
    session: Vec<String>,
    compiled: Compiled,
}

/// A condition on the data.
#[derive(Debug, PartialEq)]
pub struct Check {
    /// What must hold.
    pub name: String,
    /// A query that returns a row for each violation.
    pub sql: String,
}

impl File {
    /// Parses and checks the text of a file; `given` overrides its sizes.
    ///
    /// # Errors
    /// Something in it is wrong.
    pub fn parse(file: &str, text: &str, given: &[(String, String)]) -> Result<Self> {
        let root = Piece::parse(file, text)?;
        let Text { name, description, lists, session, check, .. } = root.read()?;
        for (key, text) in [("name", &name), ("description", &description)] {
            if text.trim().is_empty() {
                return Err(root.place_of(key).wrong(format!("{key:?} is empty"), format!("Write {key} = \"...\"")));
            }
        }
        let (lists, check) = (lists.unwrap_or_default(), check.unwrap_or_default());
        let sizes = number::read(&root.entries_of("sizes")?, given, &root.place)?;
        let place = root.place_of("session").at("session");
        let session = session
            .map(Texts::all)
            .unwrap_or_default()
            .iter()
            .map(|text| sql::plain(text, &sizes, &place))
            .collect::<Result<_>>()?;
        let plain = |(CheckText { name, sql }, piece): (CheckText, Piece)| {
            let place = piece.place_of("sql").at(format_args!("check {name}"));
            Ok(Check { sql: sql::plain(&sql, &sizes, &place)?, name })
        };
        Ok(Self {
            name,
            description,
            tables: tables::read(&root.list_of("table")?, &sizes, &lists)?,
            compiled: compile(&root.list_of("transaction")?, &sizes, &lists, &root.place)?,
            checks: check.into_iter().zip(root.list_of("check")?).map(plain).collect::<Result<_>>()?,
            session,
        })
    }

    /// The plan that the engine executes.
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
    fn an_error_in_toml_has_its_line() {
        let error = parsed("name = 'a'\ndescription = \n").unwrap_err();
        assert!(error.what.starts_with("small.toml:2:15: "), "{}", error.what);
        assert!(!error.what.contains('\n'));
    }

    #[test]
    fn parts_that_are_unknown_missing_or_unsound_are_refused() {
        let unknown = parsed(&SMALL.replace("[[check]]", "[[chek]]")).unwrap_err().what;
        assert!(unknown.starts_with("small.toml:13:3: unknown field `chek`, expected one of `name`,"), "{unknown}");
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
