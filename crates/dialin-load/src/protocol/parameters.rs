//! The interface for writing the parameters of a statement, whether it is prepared or sent as text.

use crate::plan::Value;

/// Writes a statement's parameters one after the other, then ends the command.
pub trait Parameters: Sized {
    /// Writes NULL as the next parameter.
    fn null(&mut self);

    /// Writes an integer as the next parameter.
    fn integer(&mut self, value: i64);

    /// Writes a double as the next parameter; NULL if it is not finite.
    fn double(&mut self, value: f64);

    /// Writes an exact number, given as its digits, as the next parameter.
    fn decimal(&mut self, digits: &[u8]);

    /// Writes a string as the next parameter.
    fn bytes(&mut self, value: &[u8]);

    /// Writes, as the next parameter, the text that `write` appends to the buffer. `write` must only append.
    fn written(&mut self, write: impl FnOnce(&mut Vec<u8>));

    /// Completes the command. Returns the sequence number that the server's response begins with, for
    /// [`Response::expect`](super::response::Response::expect).
    fn end(self) -> u8;

    /// Writes a value as the next parameter.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Int(number) => self.integer(*number),
            Value::Double(number) => self.double(*number),
            Value::Bytes(bytes) => self.bytes(bytes),
        }
    }
}
