//! The receivers of the parsed parts of a response.

use super::Malformed;
use super::value::Columns;
use crate::plan::{Keep, Value};

/// Receives the parsed parts of the first result of a command.
pub trait Sink {
    /// Whether column definitions are parsed.
    fn wants_columns(&self) -> bool;

    /// Whether row number `index`, from 0, is parsed.
    fn wants_row(&self, index: u64) -> bool;

    /// Receives the definition of column number `index`, from 0.
    fn column(&mut self, index: usize, definition: &[u8]) -> Result<(), Malformed>;

    /// Receives a row, in the binary or the text protocol.
    fn row(&mut self, row: &[u8], binary: bool) -> Result<(), Malformed>;
}

/// Decodes columns of the first row into slots. If there is nothing to keep, nothing is parsed.
#[derive(Debug)]
pub struct KeptColumns<'a> {
    /// The columns to keep, and their slots.
    pub keep: &'a [Keep],
    /// The types of the statement's columns, from when it was prepared or last executed.
    pub columns: &'a mut Columns,
    /// The slots that the values are decoded into.
    pub slots: &'a mut [Value],
}

impl Sink for KeptColumns<'_> {
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

/// Receives the column definitions while a statement is prepared. A server with metadata caching does not send them again when the
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

/// A sink for responses of which nothing is parsed.
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
