//! Decodes the values of rows.

use super::Malformed;
use super::cursor::Cursor;
use crate::plan::{Keep, Value};
use std::io::Write as _;

/// A 1-byte integer.
pub const TINY: u8 = 1;
/// A 2-byte integer.
pub const SHORT: u8 = 2;
/// A 4-byte integer.
pub const LONG: u8 = 3;
/// A 4-byte floating-point number.
pub const FLOAT: u8 = 4;
/// An 8-byte floating-point number.
pub const DOUBLE: u8 = 5;
/// A column whose values are all NULL.
pub const NULL: u8 = 6;
/// A date and time.
pub const TIMESTAMP: u8 = 7;
/// An 8-byte integer: BIGINT.
pub const LONGLONG: u8 = 8;
/// A 3-byte integer, sent as four bytes.
pub const INT24: u8 = 9;
/// A date.
pub const DATE: u8 = 10;
/// A time of day or an interval: TIME.
pub const TIME: u8 = 11;
/// A date and time.
pub const DATETIME: u8 = 12;
/// A 2-byte year.
pub const YEAR: u8 = 13;
/// An exact number, sent as its digits: DECIMAL.
pub const NEWDECIMAL: u8 = 246;
/// Text or bytes: VARCHAR.
pub const VAR_STRING: u8 = 253;

const UNSIGNED: u16 = 32;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The code of the type.
    pub kind: u8,
    /// Whether integers of this column are unsigned.
    pub unsigned: bool,
}

impl Column {
    /// Parses a column definition packet. Only the fields of fixed size at the end of the packet are read.
    pub fn parse(definition: &[u8]) -> Result<Self, Malformed> {
        match definition.last_chunk::<13>() {
            Some(&[0x0C, _, _, _, _, _, _, kind, low, high, _, _, _]) => {
                Ok(Self { kind, unsigned: u16::from_le_bytes([low, high]) & UNSIGNED != 0 })
            }
            _ => Err(Malformed("a malformed column definition")),
        }
    }
}

/// The error for a result that has fewer columns than the workload keeps values of.
pub const FEWER_COLUMNS: Malformed = Malformed("a result has fewer columns than the workload uses");

/// The types of the columns of a result.
///
/// A server with metadata caching does not repeat them on each execution, so they are kept with the prepared statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns(Vec<Column>);

impl Columns {
    /// Takes in the definition of column number `index`, from 0. Definitions come in order.
    pub fn define(&mut self, index: usize, definition: &[u8]) -> Result<(), Malformed> {
        self.0.truncate(index);
        self.0.push(Column::parse(definition)?);
        Ok(())
    }

    fn up_to(&self, last: usize) -> Result<&[Column], Malformed> {
        self.0.get(..=last).ok_or(FEWER_COLUMNS)
    }

    /// Decodes the columns to keep from a row of the binary protocol.
    pub fn keep_binary(&self, row: &[u8], keep: &[Keep], slots: &mut [Value]) -> Result<(), Malformed> {
        for kept in keep {
            let columns = self.up_to(kept.column)?;
            let mut fields = Cursor::new(row);
            if fields.byte()? != 0 {
                return Err(Malformed("a malformed row"));
            }
            let nulls = fields.take((self.0.len() + 2).div_ceil(8))?;
            let mut unused = Value::Null;
            let slot = slots.get_mut(kept.slot).unwrap_or(&mut unused);
            for (index, column) in columns.iter().enumerate() {
                let bit = index + 2;
                let into = if index == kept.column { Some(&mut *slot) } else { None };
                if nulls[bit / 8] & (1 << (bit % 8)) == 0 {
                    binary(*column, &mut fields, into)?;
                } else if let Some(into) = into {
                    *into = Value::Null;
                }
            }
        }
        Ok(())
    }

    /// Decodes the columns to keep from a row of the text protocol.
    pub fn keep_text(&self, row: &[u8], keep: &[Keep], slots: &mut [Value]) -> Result<(), Malformed> {
        for kept in keep {
            let columns = self.up_to(kept.column)?;
            let mut fields = Cursor::new(row);
            for _ in 0..kept.column {
                fields.bytes()?;
            }
            let field = fields.bytes()?;
            if let (Some(slot), Some(column)) = (slots.get_mut(kept.slot), columns.last()) {
                match field {
                    Some(field) => text(*column, field, slot),
                    None => *slot = Value::Null,
                }
            }
        }
        Ok(())
    }
}

/// Decodes a value of the text protocol.
fn text(column: Column, field: &[u8], into: &mut Value) {
    let written = std::str::from_utf8(field).unwrap_or_default();
    let number = match column.kind {
        TINY | SHORT | LONG | INT24 | LONGLONG | YEAR => written.parse().ok().map(Value::Int),
        FLOAT | DOUBLE => written.parse().ok().map(Value::Double),
        _ => None,
    };
    match number {
        Some(number) => *into = number,
        None => set_bytes(into, field),
    }
}

/// Skips a value of the binary protocol, and decodes it into `into` if that is given.
fn binary(column: Column, fields: &mut Cursor<'_>, into: Option<&mut Value>) -> Result<(), Malformed> {
    let mut unused = Value::Null;
    let wanted = into.is_some();
    let into = into.unwrap_or(&mut unused);
    match column.kind {
        TINY => set_integer(into, column, u64::from(fields.byte()?), 8),
        SHORT | YEAR => set_integer(into, column, u64::from(fields.u16()?), 16),
        LONG | INT24 => set_integer(into, column, u64::from(fields.u32()?), 32),
        LONGLONG => set_integer(into, column, fields.u64()?, 64),
        FLOAT => *into = Value::Double(f64::from(f32::from_le_bytes(fields.array()?))),
        DOUBLE => *into = Value::Double(f64::from_le_bytes(fields.array()?)),
        NULL => *into = Value::Null,
        DATE | DATETIME | TIMESTAMP | TIME => {
            let length = usize::from(fields.byte()?);
            let moment = fields.take(length)?;
            if wanted {
                set_moment(into, column.kind, moment)?;
            }
        }
        _ => {
            let field = fields.bytes()?.ok_or(Malformed("NULL instead of a value"))?;
            if wanted {
                set_bytes(into, field);
            }
        }
    }
    Ok(())
}

fn set_integer(into: &mut Value, column: Column, raw: u64, bits: u32) {
    *into = if !column.unsigned {
        Value::Int((raw << (64 - bits)).cast_signed() >> (64 - bits))
    } else if let Ok(number) = i64::try_from(raw) {
        Value::Int(number)
    } else {
        Value::Bytes(raw.to_string().into_bytes())
    };
}

fn set_bytes(into: &mut Value, bytes: &[u8]) {
    let mut buffer = buffer_of(into);
    buffer.extend_from_slice(bytes);
    *into = Value::Bytes(buffer);
}

/// Takes the buffer of a value and clears it, so that it can be reused; an empty one if the value has none.
fn buffer_of(value: &mut Value) -> Vec<u8> {
    match std::mem::take(value) {
        Value::Bytes(mut buffer) => {
            buffer.clear();
            buffer
        }
        _ => Vec::new(),
    }
}

/// Stores a date or time as text, in the server's format. Trailing fields that the server left out are zero.
fn set_moment(into: &mut Value, kind: u8, given: &[u8]) -> Result<(), Malformed> {
    let mut padded = [0; 12];
    padded.get_mut(..given.len()).ok_or(Malformed("a time that is too long"))?.copy_from_slice(given);
    let fraction = given.len() == if kind == TIME { 12 } else { 11 };
    let mut moment = Cursor::new(&padded);
    let mut out = buffer_of(into);
    // Writing into memory cannot fail.
    let _ = if kind == TIME {
        let sign = if moment.byte()? == 0 { "" } else { "-" };
        let days = u64::from(moment.u32()?);
        let [hour, minute, second] = moment.array()?;
        write!(out, "{sign}{:02}:{minute:02}:{second:02}", days * 24 + u64::from(hour))
    } else {
        let year = moment.u16()?;
        let [month, day, hour, minute, second] = moment.array()?;
        match kind {
            DATE => write!(out, "{year:04}-{month:02}-{day:02}"),
            _ => write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"),
        }
    };
    if fraction && kind != DATE {
        let _ = write!(out, ".{:06}", moment.u32()?);
    }
    *into = Value::Bytes(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::packet;

    fn definition(kind: u8, flags: u16) -> Vec<u8> {
        let mut out = Vec::new();
        for name in ["def", "sbtest", "t", "t", "c", "c"] {
            packet::put_bytes(&mut out, name.as_bytes());
        }
        let [low, high] = flags.to_le_bytes();
        out.extend_from_slice(&[0x0C, 45, 0, 0, 0, 0, 0, kind, low, high, 0, 0, 0]);
        out
    }

    fn columns(kinds: &[(u8, u16)]) -> Columns {
        let mut columns = Columns::default();
        for (index, (kind, flags)) in kinds.iter().enumerate() {
            columns.define(index, &definition(*kind, *flags)).unwrap();
        }
        columns
    }

    fn one(kind: u8, flags: u16, field: &[u8]) -> Value {
        let row = [&[0, 0], field].concat();
        let mut slots = [Value::Null];
        columns(&[(kind, flags)]).keep_binary(&row, &[Keep { column: 0, slot: 0 }], &mut slots).unwrap();
        let [value] = slots;
        value
    }

    fn bytes(text: &str) -> Value {
        Value::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn whole_numbers_have_their_sign_and_width() {
        assert_eq!(one(TINY, 0, &[0xFF]), Value::Int(-1));
        assert_eq!(one(TINY, UNSIGNED, &[0xFF]), Value::Int(255));
        assert_eq!(one(SHORT, 0, &[0xFE, 0xFF]), Value::Int(-2));
        assert_eq!(one(YEAR, UNSIGNED, &[0xEA, 0x07]), Value::Int(2026));
        assert_eq!(one(LONG, 0, &[0xFF; 4]), Value::Int(-1));
        assert_eq!(one(INT24, 0, &[1, 0, 0, 0]), Value::Int(1));
        assert_eq!(one(LONGLONG, 0, &[0xFF; 8]), Value::Int(-1));
        assert_eq!(one(LONGLONG, UNSIGNED, &[0xFF; 8]), bytes("18446744073709551615"));
    }

    #[test]
    fn other_values_of_the_binary_protocol() {
        assert_eq!(one(DOUBLE, 0, &1.25f64.to_le_bytes()), Value::Double(1.25));
        assert_eq!(one(FLOAT, 0, &0.5f32.to_le_bytes()), Value::Double(0.5));
        assert_eq!(one(246, 0, b"\x051.250"), bytes("1.250"));
        assert_eq!(one(VAR_STRING, 0, b"\x00"), bytes(""));
        assert_eq!(one(NULL, 0, b""), Value::Null);
    }

    #[test]
    fn dates_and_times_become_text() {
        assert_eq!(one(DATE, 0, &[4, 0xEA, 7, 11, 22]), bytes("2026-11-22"));
        assert_eq!(one(DATETIME, 0, &[0]), bytes("0000-00-00 00:00:00"));
        assert_eq!(one(DATETIME, 0, &[4, 0xEA, 7, 1, 2]), bytes("2026-01-02 00:00:00"));
        assert_eq!(one(TIMESTAMP, 0, &[7, 0xEA, 7, 1, 2, 3, 4, 5]), bytes("2026-01-02 03:04:05"));
        assert_eq!(one(DATETIME, 0, &[11, 0xEA, 7, 1, 2, 3, 4, 5, 7, 0, 0, 0]), bytes("2026-01-02 03:04:05.000007"));
        assert_eq!(one(TIME, 0, &[0]), bytes("00:00:00"));
        assert_eq!(one(TIME, 0, &[8, 1, 2, 0, 0, 0, 3, 4, 5]), bytes("-51:04:05"));
        assert_eq!(one(TIME, 0, &[12, 0, 0, 0, 0, 0, 1, 2, 3, 9, 0, 0, 0]), bytes("01:02:03.000009"));
    }

    #[test]
    fn columns_before_the_kept_one_are_passed_and_nulls_take_no_room() {
        let kinds = [(TINY, 0), (VAR_STRING, 0), (DATETIME, 0), (LONGLONG, 0)];
        let row = [&[0, 0b0000_1000][..], &[9], &[0], &7i64.to_le_bytes()].concat();
        let keep = [Keep { column: 3, slot: 2 }, Keep { column: 1, slot: 0 }];
        let mut slots = vec![Value::Int(1), Value::Int(1), Value::Int(1)];
        columns(&kinds).keep_binary(&row, &keep, &mut slots).unwrap();
        assert_eq!(slots, [Value::Null, Value::Int(1), Value::Int(7)]);
    }

    #[test]
    fn the_text_protocol_gives_the_same_values() {
        let kinds = [(LONG, 0), (DOUBLE, 0), (246, 0), (DATETIME, 0), (VAR_STRING, 0), (LONGLONG, UNSIGNED)];
        let row = b"\x02-5\x031.5\x041.50\x132026-01-02 03:04:05\xFB\x1418446744073709551615";
        let keep: Vec<Keep> = (0..6).map(|column| Keep { column, slot: column }).collect();
        let mut slots = vec![Value::Int(0); 6];
        columns(&kinds).keep_text(row, &keep, &mut slots).unwrap();
        let expected = [
            Value::Int(-5),
            Value::Double(1.5),
            bytes("1.50"),
            bytes("2026-01-02 03:04:05"),
            Value::Null,
            bytes("18446744073709551615"),
        ];
        assert_eq!(slots, expected);
    }

    #[test]
    fn a_slot_keeps_its_buffer() {
        let mut slots = [Value::Bytes(Vec::with_capacity(1000))];
        columns(&[(VAR_STRING, 0)]).keep_binary(b"\0\0\x02hi", &[Keep { column: 0, slot: 0 }], &mut slots).unwrap();
        assert_eq!(slots[0], bytes("hi"));
        let Value::Bytes(buffer) = &slots[0] else { panic!("bytes") };
        assert_eq!(buffer.capacity(), 1000);
    }

    #[test]
    fn a_column_that_a_result_does_not_have_is_an_error() {
        let mut slots = [Value::Null];
        let keep = [Keep { column: 1, slot: 0 }];
        assert!(columns(&[(TINY, 0)]).keep_binary(b"\0\0\x01", &keep, &mut slots).is_err());
        assert!(columns(&[(TINY, 0)]).keep_text(b"\x011", &keep, &mut slots).is_err());
    }

    #[test]
    fn a_row_or_definition_that_is_cut_off_is_malformed() {
        let mut slots = [Value::Null];
        let keep = [Keep { column: 0, slot: 0 }];
        for row in [&b""[..], b"\0", b"\x01\0", b"\0\0\x01\x02"] {
            assert!(columns(&[(LONG, 0)]).keep_binary(row, &keep, &mut slots).is_err());
        }
        assert!(columns(&[(DATETIME, 0)]).keep_binary(b"\0\0\x0D0123456789abc", &keep, &mut slots).is_err());
        assert!(Column::parse(b"short").is_err());
        assert!(Column::parse(&[0; 40]).is_err());
    }

    #[test]
    fn new_definitions_replace_the_old() {
        let mut columns = columns(&[(TINY, 0), (LONG, 0)]);
        columns.define(0, &definition(DOUBLE, 0)).unwrap();
        assert_eq!(columns, Columns(vec![Column { kind: DOUBLE, unsigned: false }]));
    }
}
