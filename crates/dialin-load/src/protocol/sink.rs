//! Who takes what is looked into of a response.

use super::Malformed;
use super::value::Columns;
use crate::plan::{Keep, Value};

/// Who takes what is looked into of the first result of a command.
pub trait Sink {
    /// Whether the definitions of columns are looked into.
    fn wants_columns(&self) -> bool;

    /// Whether the row with this number, from 0, is looked into.
    fn wants_row(&self, index: u64) -> bool;

    /// The definition of the column with this number, from 0.
    fn column(&mut self, index: usize, definition: &[u8]) -> Result<(), Malformed>;

    /// A row, in the binary protocol or as text.
    fn row(&mut self, row: &[u8], binary: bool) -> Result<(), Malformed>;
}

/// Keeps columns of the first row, decoded into slots. Nothing is looked into if there is nothing to keep.
#[derive(Debug)]
pub struct Kept<'a> {
    /// What to keep.
    pub keep: &'a [Keep],
    /// What the statement's columns are, from when it was prepared or last executed.
    pub columns: &'a mut Columns,
    /// Where values go.
    pub slots: &'a mut [Value],
}

impl Sink for Kept<'_> {
    fn wants_columns(&self) -> bool {
        !self.keep.is_empty()
    }

    fn wants_row(&self, index: u64) -> bool {
        index == 0 && !self.keep.is_empty()
    }

    fn column(&mut self, index: usize, definition: &[u8]) -> Result<(), Malformed> {
        self.columns.define(index, definition)
    }

    fn row(&mut self, row: &[u8], binary: bool) -> Result<(), Malformed> {
        if binary {
            self.columns.keep_binary(row, self.keep, self.slots)
        } else {
            self.columns.keep_text(row, self.keep, self.slots)
        }
    }
}

/// Takes in what columns a statement has, as it is prepared: a server that leaves out what is known does not say it again when the
/// statement is executed.
impl Sink for Columns {
    fn wants_columns(&self) -> bool {
        true
    }

    fn wants_row(&self, _index: u64) -> bool {
        false
    }

    fn column(&mut self, index: usize, definition: &[u8]) -> Result<(), Malformed> {
        self.define(index, definition)
    }

    fn row(&mut self, _row: &[u8], _binary: bool) -> Result<(), Malformed> {
        Ok(())
    }
}

/// Looks into nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Sink for Nothing {
    fn wants_columns(&self) -> bool {
        false
    }

    fn wants_row(&self, _index: u64) -> bool {
        false
    }

    fn column(&mut self, _index: usize, _definition: &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    fn row(&mut self, _row: &[u8], _binary: bool) -> Result<(), Malformed> {
        Ok(())
    }
}
