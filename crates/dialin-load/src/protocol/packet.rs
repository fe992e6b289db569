//! Packet framing: each payload is preceded by a header of three bytes of length and one byte of sequence number.

/// The length of a packet's header, in bytes.
pub const HEADER: usize = 4;

/// The longest payload of a packet, in bytes. A payload of this length or longer continues in the next packet.
pub const LONGEST: usize = 0xFF_FF_FF;

/// The payload length and the sequence number of the packet at the beginning of `bytes`; None if the header is incomplete.
#[must_use]
pub fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let &[low, middle, high, sequence] = bytes.first_chunk::<HEADER>()?;
    Some((u32::from_le_bytes([low, middle, high, 0]) as usize, sequence))
}

/// Begins a packet at the end of `out`, with room for its header. Returns the position of the packet, for [`finish`].
pub fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header of the packet that begins at `start` and extends to the end of `out`. A payload that is too long is split into
/// several packets. Returns the sequence number of the next packet, which either side may send.
pub fn finish(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let length = out.len() - start - HEADER;
    if length >= LONGEST {
        return split(out, start, sequence);
    }
    out[start..start + HEADER].copy_from_slice(&header_of(length, sequence));
    sequence.wrapping_add(1)
}

fn header_of(length: usize, sequence: u8) -> [u8; HEADER] {
    let [low, middle, high, ..] = length.to_le_bytes();
    [low, middle, high, sequence]
}

fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let whole = payload.chunks_exact(LONGEST);
    let rest = whole.remainder();
    for part in whole.chain([rest]) {
        out.extend_from_slice(&header_of(part.len(), sequence));
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

/// Writes a length-encoded integer.
pub fn put_integer(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Writes length-encoded bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_integer(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_length_and_sequence() {
        assert_eq!(header(&[0x02, 0x01, 0x00, 7, 99]), Some((258, 7)));
        assert_eq!(header(&[0x02, 0x01, 0x00]), None);
    }

    #[test]
    fn a_packet_is_finished_where_it_began() {
        let mut out = b"before".to_vec();
        let start = begin(&mut out);
        out.extend_from_slice(b"abc");
        assert_eq!(finish(&mut out, start, 5), 6);
        assert_eq!(&out[6..], b"\x03\0\0\x05abc");
    }

    #[test]
    fn a_payload_of_the_longest_length_is_followed_by_an_empty_packet() {
        let mut out = Vec::new();
        let start = begin(&mut out);
        out.resize(HEADER + LONGEST, 7);
        assert_eq!(finish(&mut out, start, 0), 2);
        assert_eq!(header(&out), Some((LONGEST, 0)));
        assert_eq!(&out[HEADER + LONGEST..], &[0, 0, 0, 1]);
    }

    #[test]
    fn a_longer_payload_is_split() {
        let mut out = vec![1];
        let start = begin(&mut out);
        out.resize(out.len() + LONGEST + 10, 7);
        assert_eq!(finish(&mut out, start, 255), 1);
        assert_eq!(header(&out[1..]), Some((LONGEST, 255)));
        assert_eq!(header(&out[1 + HEADER + LONGEST..]), Some((10, 0)));
        assert_eq!(out.len(), 1 + 2 * HEADER + LONGEST + 10);
    }

    #[test]
    fn integers_take_one_three_four_or_nine_bytes() {
        for (value, length) in
            [(0, 1), (250, 1), (251, 3), (65_535, 3), (65_536, 4), (0xFF_FFFF, 4), (0x100_0000, 9), (u64::MAX, 9)]
        {
            let mut out = Vec::new();
            put_integer(&mut out, value);
            assert_eq!(out.len(), length, "{value}");
            assert_eq!(crate::protocol::cursor::Cursor::new(&out).integer(), Ok(Some(value)));
        }
    }
}
