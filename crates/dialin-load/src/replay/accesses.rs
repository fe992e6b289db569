//! Which rows of which tables a statement touches, and what it does with them, as far as its text shows.
//!
//! An access is a table and values of columns. The rows of an UPDATE, a DELETE or a SELECT have these values if its
//! WHERE clause compares the columns with them (`=`, `BETWEEN` or `IN`, joined with other conditions by `AND`); those
//! of an INSERT have the values of its VALUES clause. Other statements access the whole table. What a text does not
//! show, such as a view or a trigger, is ignored.

mod inserted;
mod tables;

pub use tables::{TouchedTables, is_lookup, name_hash, verb_and_table};

use super::literals::Literals;
use inserted::inserted_values;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use tables::{Position, Rows, Table};

/// An INSERT of more rows accesses the whole table.
const MOST_ROWS: usize = 100;

/// What a statement does with rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// It returns them to the client. Their number depends on these columns; None if it may depend on any column.
    Read(Option<Arc<[u64]>>),
    /// It locks them, or uses their content.
    Use,
    /// It changes these columns.
    Update(Arc<[u64]>),
    /// It inserts them, with these columns.
    Insert(Arc<[u64]>),
    /// It deletes them.
    Delete,
}

impl Does {
    /// Whether the order matters if both are done to one row.
    fn matters_to(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read(_), Self::Read(_) | Self::Use) | (Self::Use, Self::Read(_)) => false,
            (Self::Read(Some(counted)), Self::Update(changed)) | (Self::Update(changed), Self::Read(Some(counted))) => {
                changed.iter().any(|column| counted.contains(column))
            }
            _ => true,
        }
    }
}

/// The rows of a table that a statement touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// A hash of the table's name.
    pub table: u64,
    /// What is done with them.
    pub does: Does,
    /// Columns that are whole numbers, with their smallest and largest value.
    columns: Arc<[(u64, i64, i64)]>,
    /// Columns that are text, with a hash of it.
    texts: Arc<[(u64, u64)]>,
}

impl Access {
    /// All rows of a table.
    #[must_use]
    pub fn whole(table: u64, does: Does) -> Self {
        Self { table, does, columns: Arc::default(), texts: Arc::default() }
    }

    /// Whether the order of two accesses to one table matters. Different texts do not separate them: whether these are
    /// equal depends on the collation.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        !self.has_other_numbers(other) && self.does.matters_to(&other.does)
    }

    /// Whether two accesses to one table may lock the same row. Texts that are not written identically count as
    /// different, even if the collation treats them as equal.
    #[must_use]
    pub fn may_share_a_lock(&self, other: &Self) -> bool {
        let has_other_texts = || {
            let differ = |one: &(u64, u64), other: &(u64, u64)| one.0 == other.0 && one.1 != other.1;
            self.texts.iter().any(|one| other.texts.iter().any(|other| differ(one, other)))
        };
        !self.has_other_numbers(other) && !has_other_texts()
    }

    /// Whether two accesses to one table name the same rows.
    #[must_use]
    pub fn has_same_rows(&self, other: &Self) -> bool {
        self.columns == other.columns && self.texts == other.texts
    }

    /// Whether it locks the rows.
    #[must_use]
    pub fn locks(&self) -> bool {
        !matches!(self.does, Does::Read(_))
    }

    /// Whether this row was inserted and `deleted` is the same row.
    pub(super) fn inserts_again(&self, deleted: &Self) -> bool {
        let is_same = |column: &(u64, i64, i64)| column.1 == column.2 && self.columns.contains(column);
        self.table == deleted.table && !deleted.columns.is_empty() && deleted.columns.iter().all(is_same)
    }

    /// Whether it names this column.
    pub(super) fn names(&self, column: u64) -> bool {
        self.columns.iter().any(|one| one.0 == column)
    }

    fn has_other_numbers(&self, other: &Self) -> bool {
        let differ = |one: &(u64, i64, i64), other: &(u64, i64, i64)| one.0 == other.0 && (one.1 > other.2 || other.1 > one.2);
        self.columns.iter().any(|one| other.columns.iter().any(|other| differ(one, other)))
    }
}

impl TouchedTables {
    /// What a statement accesses, given its values if they were found; None if it may access anything.
    #[must_use]
    pub fn accesses(&self, sql: &[u8], literals: Option<&Literals>) -> Option<Vec<Access>> {
        let Self::Tables(tables) = self else { return None };
        let mut accesses = Vec::with_capacity(tables.len());
        for table in tables {
            let before = accesses.len();
            if let Some(literals) = literals {
                table.accesses(sql, literals, &mut accesses);
            }
            if accesses.len() == before {
                accesses.push(Access::whole(table.name, table.does.clone()));
            }
        }
        Some(accesses)
    }

    /// How many rows an INSERT inserts; None if that is unknown.
    #[must_use]
    pub fn inserted_rows(&self, sql: &[u8], literals: &Literals) -> Option<u64> {
        let Self::Tables(tables) = self else { return None };
        let names = tables.iter().find_map(|table| if let Rows::Inserted(names) = &table.rows { Some(names) } else { None })?;
        inserted_values(sql, literals, names.len(), usize::MAX).map(|rows| rows.len() as u64)
    }
}

impl Table {
    /// Adds the accesses to this table; none if its rows are unknown.
    fn accesses(&self, sql: &[u8], literals: &Literals, to: &mut Vec<Access>) {
        let mut put = |values: Values| to.push(values.access(self));
        match &self.rows {
            Rows::All => {}
            Rows::Where { conditions, values, is_exact } => {
                let found = literals.found.len();
                if !literals.are_all || if *is_exact { found != *values } else { found < *values } {
                    return;
                }
                let at = |position: Position| match position {
                    Position::FromStart(number) => Some(number),
                    Position::FromEnd(number) => found.checked_sub(number),
                };
                let mut all = Values::default();
                for condition in conditions {
                    if let Some((first, last)) = at(condition.first).zip(at(condition.last)) {
                        all.add(condition.column, sql, literals, first..=last);
                    }
                }
                put(all);
            }
            Rows::Inserted(names) => {
                for row in inserted_values(sql, literals, names.len(), MOST_ROWS).unwrap_or_default() {
                    let mut all = Values::default();
                    for (column, literal) in row {
                        // The server may store another value for 0, as for NULL.
                        if whole(sql, literals, literal) != Some(0) {
                            all.add(names[column], sql, literals, literal..=literal);
                        }
                    }
                    put(all);
                }
            }
        }
    }
}

/// The columns of an access while they are collected.
#[derive(Default)]
struct Values {
    columns: Vec<(u64, i64, i64)>,
    texts: Vec<(u64, u64)>,
}

impl Values {
    /// Adds a column that has one of these values, or one between them.
    fn add(&mut self, column: u64, sql: &[u8], literals: &Literals, values: std::ops::RangeInclusive<usize>) {
        let (first, is_one) = (*values.start(), values.start() == values.end());
        let mut range: Option<(i64, i64)> = None;
        for value in values {
            let Some(number) = whole(sql, literals, value) else {
                if is_one && literals.found[first].is_text() {
                    let mut hasher = DefaultHasher::new();
                    hasher.write(literals.found[first].of(sql));
                    self.texts.push((column, hasher.finish()));
                }
                return;
            };
            range = Some(range.map_or((number, number), |(least, most)| (least.min(number), most.max(number))));
        }
        self.columns.extend(range.map(|(least, most)| (column, least, most)));
    }

    fn access(self, table: &Table) -> Access {
        // A conversion allocates memory also for an empty list, which most lists of texts are.
        let texts = if self.texts.is_empty() { Arc::default() } else { self.texts.into() };
        Access { table: table.name, does: table.does.clone(), columns: self.columns.into(), texts }
    }
}

/// A value as a whole number, quoted or not.
fn whole(sql: &[u8], literals: &Literals, at: usize) -> Option<i64> {
    let text = literals.found.get(at)?.of(sql);
    std::str::from_utf8(text).ok()?.trim_matches(['\'', '"']).parse().ok()
}
