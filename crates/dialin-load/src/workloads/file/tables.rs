//! The tables of a workload file: how they are created and filled.

use super::number::{Sizes, Whole, check_name};
use super::read::{Piece, Texts};
use super::sql;
use super::values::{Lists, Scope, Source, amount, source, test};
use crate::errors::Result;
use crate::plan::{Parameter, Register, Test};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The statement that creates it.
    pub create: String,
    /// What it is filled with.
    pub fills: Vec<Fill>,
    /// Statements to execute when all tables are filled.
    pub after: Vec<String>,
}

/// Rows of a table. Each combination of the loop variables is a cell. A cell has one row, or `times` rows.
#[derive(Debug, PartialEq)]
pub struct Fill {
    /// The INSERT up to its rows.
    pub head: String,
    /// The seed of its random values, made of the table's name: all fills of a table have the same.
    pub seed: u64,
    /// The loops, the outermost first.
    pub loops: Vec<Loop>,
    /// Values that are drawn once per cell. In the same cell, draws of the same name are equal in all fills of the file.
    pub draws: Vec<Draw>,
    /// The slot for the number of the row in its cell, and the number of rows of a cell; None for one row.
    pub times: Option<(Register, Parameter)>,
    /// The cases of each column.
    pub columns: Vec<Vec<Case>>,
    /// The number of slots.
    pub slots: usize,
}

/// A loop over whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loop {
    /// The slot of the loop variable.
    pub slot: Register,
    /// The first number.
    pub low: i64,
    /// How many numbers there are.
    pub count: u64,
}

/// A named value that is drawn once per cell.
#[derive(Debug, PartialEq)]
pub struct Draw {
    /// Its slot.
    pub slot: Register,
    /// The seed of the draw, made of its name.
    pub seed: u64,
    /// The cases of its value.
    pub cases: Vec<Case>,
}

/// One of several sources of a value; the first case whose test holds is used.
#[derive(Debug, PartialEq)]
pub struct Case {
    /// The test; None in the last case, which always holds.
    pub test: Option<Test>,
    /// The source of the value.
    pub source: Source,
}

impl Fill {
    /// The number of cells.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.loops.iter().map(|each| each.count).product()
    }
}

/// A `[[table]]`; its fills are parsed one by one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fill")]
struct TableText {
    name: String,
    create: String,
    fill: Option<IgnoredAny>,
    after: Option<Texts>,
}

/// A `[table.fill]`; parts with names of the user's choice are parsed separately.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "names")]
struct FillText {
    r#for: IgnoredAny,
    draw: Option<IgnoredAny>,
    times: Option<IgnoredAny>,
    columns: IgnoredAny,
    ignore: Option<bool>,
}

/// The range of a loop.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected [first, last], or a number for 1 to that number")]
enum Numbers {
    To(Whole),
    Between([Whole; 2]),
}

/// Parses all `[[table]]`.
///
/// # Errors
/// Something in one is wrong.
pub fn read(list: &[Piece], sizes: &Sizes, lists: &Lists) -> Result<Vec<Table>> {
    let mut tables: Vec<Table> = vec![];
    for (index, piece) in list.iter().enumerate() {
        let TableText { name, create, after, .. } = piece.clone().at(format_args!("table {}", index + 1)).read()?;
        let piece = &piece.clone().at(format_args!("table {name}"));
        check_name(&name, &piece.place_of("name"))?;
        if tables.iter().any(|other| other.name == name) {
            let remedy = "Write several [[table.fill]] for rows of several kinds";
            return Err(piece.place.wrong("there is another of this name", remedy));
        }
        let fills = piece.get("fill").map_or(vec![], |fill| fill.list().unwrap_or_else(|| vec![fill]));
        let fill = |fill: Piece| self::fill(&name, &fill.at("fill"), Scope::fill(sizes, lists));
        let after_place = piece.place_of("after").at("after");
        tables.push(Table {
            create: sql::plain(&create, sizes, &piece.place_of("create"))?,
            fills: fills.into_iter().map(fill).collect::<Result<_>>()?,
            after: after
                .map(Texts::all)
                .unwrap_or_default()
                .iter()
                .map(|text| sql::plain(text, sizes, &after_place))
                .collect::<Result<_>>()?,
            name,
        });
    }
    Ok(tables)
}

fn fill(table: &str, piece: &Piece, mut scope: Scope) -> Result<Fill> {
    let FillText { ignore, .. } = piece.read()?;
    let loops = loops(piece, &mut scope)?;
    let mut draws = vec![];
    for (name, value) in piece.entries_of("draw")? {
        let value = value.at(format_args!("draw {name}"));
        let cases = cases(&value, &scope)?;
        draws.push(Draw { slot: scope.define(&name, &value.place)?, seed: seed(&name), cases });
    }
    let times = times(piece, &mut scope)?;
    let (mut names, mut columns) = (vec![], vec![]);
    for (name, value) in piece.entries_of("columns")? {
        let value = value.at(format_args!("column {name}"));
        check_name(&name, &value.place)?;
        columns.push(cases(&value, &scope)?);
        names.push(format!("`{name}`"));
    }
    if columns.is_empty() {
        return Err(piece.place.wrong("it has no columns", "Add [table.fill.columns] with a value for each column"));
    }
    let ignore = if ignore == Some(true) { "IGNORE " } else { "" };
    let head = format!("INSERT {ignore}INTO `{table}` ({}) VALUES ", names.join(","));
    Ok(Fill { head, seed: seed(table), loops, draws, times, columns, slots: scope.slots() })
}

fn loops(piece: &Piece, scope: &mut Scope) -> Result<Vec<Loop>> {
    const MOST: u64 = 1 << 40;
    let place = piece.place_of("for").at("for");
    let mut loops: Vec<Loop> = vec![];
    for (name, numbers) in piece.entries_of("for")? {
        let numbers = numbers.at("for");
        let place = &numbers.place;
        let number = |whole: &Whole| whole.number(scope.sizes, place);
        let (low, high) = match numbers.read()? {
            Numbers::To(high) => (1, number(&high)?),
            Numbers::Between([low, high]) => (number(&low)?, number(&high)?),
        };
        let count = u64::try_from((i128::from(high) - i128::from(low) + 1).max(0)).unwrap_or(u64::MAX);
        loops.push(Loop { slot: scope.define(&name, place)?, low, count });
    }
    if loops.is_empty() {
        return Err(place.wrong("it loops over nothing", "Add for = { id = 1000 }, or the name of a size"));
    }
    let cells = loops.iter().try_fold(1_u64, |cells, each| cells.checked_mul(each.count));
    if cells.is_none_or(|cells| cells > MOST) {
        return Err(place.wrong("it makes more rows than any server holds", "Make the sizes smaller"));
    }
    Ok(loops)
}

fn times(piece: &Piece, scope: &mut Scope) -> Result<Option<(Register, Parameter)>> {
    match (piece.get("times"), &piece.entries_of("times")?[..]) {
        (None, _) => Ok(None),
        (Some(_), [(name, count)]) => {
            let place = count.place.at("times");
            let count = amount(&count.read()?, &place, scope)?;
            Ok(Some((scope.define(name, &place)?, count)))
        }
        (Some(times), _) => {
            Err(times.place.wrong("\"times\" does not name exactly one variable", "Write times = { line = \":lines\" }"))
        }
    }
}

fn cases(piece: &Piece, scope: &Scope) -> Result<Vec<Case>> {
    let Some(list) = piece.list() else { return Ok(vec![Case { test: None, source: source(piece, scope)? }]) };
    let count = list.len();
    let case = |(number, case): (usize, Piece)| {
        let test = case.get("when").map(|condition| test(&condition, scope)).transpose()?;
        if test.is_none() != (number == count) {
            let has = if test.is_none() { "has no \"when\"" } else { "has a \"when\"" };
            let what = format!("case {number} of {count} {has}");
            return Err(case.place.wrong(what, "Give each case but the last a \"when\""));
        }
        Ok(Case { test, source: source(&case.without("when"), scope)? })
    };
    if list.is_empty() {
        return Err(piece.place.wrong("a list without cases", "Write a value, or [{ when = ..., ... }, otherwise]"));
    }
    (1..).zip(list).map(case).collect()
}

/// The seed for a name: its FNV-1a hash, which is the same in every version of the driver.
fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value as Sql;

    fn read_one(text: &str) -> Result<Table> {
        let text = format!("[[table]]\nname = 'a'\ncreate = 'CREATE TABLE a (id INT)'\n{text}");
        let file = Piece::parse("a.toml", &text).unwrap();
        let sizes = Sizes::from([("banks".to_owned(), 4), ("none".to_owned(), 0), ("many".to_owned(), 1 << 30)]);
        Ok(read(&file.list_of("table").unwrap(), &sizes, &Lists::new())?.remove(0))
    }

    fn fill(text: &str) -> Result<Fill> {
        Ok(read_one(&format!("[table.fill]\n{text}"))?.fills.remove(0))
    }

    #[test]
    fn columns_and_loops_keep_their_order() {
        let found = fill("for = { z = 'banks', b = [5, 6] }\ncolumns = { y = ':b', a = ':z', c = 1 }").unwrap();
        assert_eq!(found.head, "INSERT INTO `a` (`y`,`a`,`c`) VALUES ");
        assert_eq!(found.loops, [Loop { slot: 1, low: 1, count: 4 }, Loop { slot: 2, low: 5, count: 2 }]);
        assert_eq!((found.cells(), found.slots), (8, 3));
    }

    #[test]
    fn a_cell_can_draw_how_many_rows_it_has() {
        let found = fill("for = { o = 10 }\ndraw = { lines = { integer = [5, 15] } }\ntimes = { line = ':lines' }\ncolumns = { a = ':line' }").unwrap();
        assert_eq!(found.times, Some((3, Parameter::Register(2))));
        assert_eq!(found.draws[0].slot, 2);
    }

    #[test]
    fn cases_end_with_one_that_always_holds() {
        let found =
            fill("for = { o = 10 }\ncolumns = { a = [{ when = { less = [':o', 5] }, null = true }, { value = 7 }] }").unwrap();
        let cases = &found.columns[0];
        assert_eq!(cases[0].test, Some(Test::Less(1, Parameter::Fixed(Sql::Int(5)))));
        assert_eq!((cases.len(), cases[1].test.is_none()), (2, true));
        for wrong in [
            "[]",
            "[{ null = true }, { value = 7 }]",
            "[{ when = { chance = 0.1 }, value = 7 }]",
            "{ when = { chance = 0.1 }, value = 7 }",
        ] {
            assert!(fill(&format!("for = {{ o = 10 }}\ncolumns = {{ a = {wrong} }}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_size_of_0_makes_no_rows() {
        assert_eq!(fill("for = { o = 'none' }\ncolumns = { a = 1 }").unwrap().cells(), 0);
        assert_eq!(fill("for = { o = [5, 4] }\ncolumns = { a = 1 }").unwrap().cells(), 0);
    }

    #[test]
    fn several_fills_and_statements_afterwards_are_read() {
        let text = "after = 'CREATE INDEX i ON a (id)'\n[[table.fill]]\nfor = { o = 2 }\ncolumns = { a = 1 }\n[[table.fill]]\nfor = { o = 3 }\nignore = true\ncolumns = { a = 1 }";
        let found = read_one(text).unwrap();
        assert_eq!((found.fills.len(), found.after), (2, vec!["CREATE INDEX i ON a (id)".to_owned()]));
        assert!(found.fills[1].head.starts_with("INSERT IGNORE INTO `a` "));
    }

    #[test]
    fn invalid_tables_are_refused() {
        for text in ["[table.fill]\nfor = { o = 2 }", "[table.fill]\ncolumns = { a = 1 }", "rows = 5", "fill = 5", "after = 5"]
        {
            assert!(read_one(text).is_err(), "{text}");
        }
        for text in [
            "for = { o = ['a'] }\ncolumns = { a = 1 }",
            "for = { 'o`' = 1 }\ncolumns = { a = 1 }",
            "for = { o = 1 }\ncolumns = { 'a`' = 1 }",
            "for = { o = 1 }\ncolumns = { a = ':p' }",
            "for = { o = 'many', p = 'many' }\ncolumns = { a = 1 }",
            "for = { number = 1 }\ncolumns = { a = 1 }",
            "for = { o = 1 }\ntimes = {}\ncolumns = { a = 1 }",
            "for = { o = 1 }\ntimes = { l = ':x' }\ncolumns = { a = 1 }",
            "for = { o = 1 }\ncolumns = {}",
            "for = { o = [-9223372036854775808, 9223372036854775807], p = 2 }\ncolumns = { a = 1 }",
        ] {
            assert!(fill(text).is_err(), "{text}");
        }
    }
}
