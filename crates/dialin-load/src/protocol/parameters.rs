//! The parameters of a statement, whichever way it is sent.

use crate::plan::Value;

/// Takes a statement's parameters one after the other, then ends the command. Nothing is sent before that.
pub trait Parameters: Sized {
    /// The next parameter is NULL.
    fn null(&mut self);

    /// The next parameter is this number.
    fn integer(&mut self, value: i64);

    /// The next parameter is this number; NULL if it is none.
    fn double(&mut self, value: f64);

    /// The next parameter is the number of these digits, exactly.
    fn decimal(&mut self, digits: &[u8]);

    /// The next parameter is this text.
    fn bytes(&mut self, value: &[u8]);

    /// The next parameter is the text that `write` appends to the buffer it is given. It must append only.
    fn written(&mut self, write: impl FnOnce(&mut Vec<u8>));

    /// The command is whole. Gives the sequence number that the server's response begins with, for
    /// [`Response::expect`](super::response::Response::expect).
    fn end(self) -> u8;

    /// The next parameter is this value.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Int(number) => self.integer(*number),
            Value::Double(number) => self.double(*number),
            Value::Bytes(bytes) => self.bytes(bytes),
        }
    }
}
