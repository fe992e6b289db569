//! Reads the fields of a packet, one after the other.

use super::Malformed;

const SHORT: Malformed = Malformed("a packet ends before its fields do");

/// The unread rest of a packet's payload.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the beginning of a payload.
    #[must_use]
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// All unread bytes.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(head)
    }

    /// The next N bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// A two-byte integer.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A four-byte integer.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// An eight-byte integer.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer; None for NULL.
    pub fn integer(&mut self) -> Result<Option<u64>, Malformed> {
        Ok(Some(match self.byte()? {
            0xFB => return Ok(None),
            0xFC => u64::from(self.u16()?),
            0xFD => {
                let [low, middle, high] = self.array()?;
                u64::from(u32::from_le_bytes([low, middle, high, 0]))
            }
            0xFE => self.u64()?,
            0xFF => return Err(Malformed("an invalid length")),
            small => u64::from(small),
        }))
    }

    /// A length-encoded integer that cannot be NULL.
    pub fn number(&mut self) -> Result<u64, Malformed> {
        self.integer()?.ok_or(Malformed("NULL instead of a number"))
    }

    /// Length-encoded bytes; None for NULL.
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.integer()? {
            None => Ok(None),
            Some(length) => self.take(usize::try_from(length).map_err(|_| SHORT)?).map(Some),
        }
    }

    /// The bytes up to the next zero byte, which is skipped; all unread bytes if there is none.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let (head, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order() {
        let mut fields = Cursor::new(b"\x01\x02\0\x03\0\0\0\x04\0\0\0\0\0\0\0name\0\x02hi\xFBrest");
        assert_eq!(fields.byte(), Ok(1));
        assert_eq!(fields.u16(), Ok(2));
        assert_eq!(fields.u32(), Ok(3));
        assert_eq!(fields.u64(), Ok(4));
        assert_eq!(fields.until_zero(), b"name");
        assert_eq!(fields.bytes(), Ok(Some(&b"hi"[..])));
        assert_eq!(fields.bytes(), Ok(None));
        assert_eq!(fields.rest(), b"rest");
    }

    #[test]
    fn a_field_that_is_cut_off_is_malformed() {
        assert_eq!(Cursor::new(b"\x01").u16(), Err(SHORT));
        assert_eq!(Cursor::new(b"\x05abc").bytes(), Err(SHORT));
        assert_eq!(Cursor::new(b"\xFC\x01").integer(), Err(SHORT));
        assert_eq!(Cursor::new(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx").bytes(), Err(SHORT));
    }

    #[test]
    fn a_length_of_255_is_malformed() {
        assert!(Cursor::new(b"\xFF").integer().is_err());
        assert!(Cursor::new(b"\xFB").number().is_err());
    }

    #[test]
    fn a_name_without_its_zero_reaches_to_the_end() {
        let mut fields = Cursor::new(b"name");
        assert_eq!(fields.until_zero(), b"name");
        assert_eq!(fields.rest(), b"");
    }
}
