//! Reads text with the line ends of Windows (CR LF) as if it had those of Unix (LF).

use std::io::{Read, Result};

/// Reads a file. If it has the line ends of Windows, each is read as LF.
#[derive(Debug)]
pub(super) struct UnixLines<R> {
    from: R,
    is_windows: bool,
    /// Whether the last byte that was read is a CR, which is returned if no LF follows it.
    holds_cr: bool,
}

/// Whether all lines of a text end with CR LF.
pub(super) fn is_windows(text: &[u8]) -> bool {
    let mut ends = memchr::memchr_iter(b'\n', text).peekable();
    ends.peek().is_some() && ends.all(|end| end > 0 && text[end - 1] == b'\r')
}

impl<R: Read> UnixLines<R> {
    pub(super) fn new(from: R, is_windows: bool) -> Self {
        Self { from, is_windows, holds_cr: false }
    }
}

impl<R: Read> Read for UnixLines<R> {
    /// `buffer` has room for at least two bytes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.is_windows {
            return self.from.read(buffer);
        }
        loop {
            let held = usize::from(std::mem::take(&mut self.holds_cr));
            buffer[..held].fill(b'\r');
            let length = held + self.from.read(&mut buffer[held..])?;
            if length == held {
                return Ok(held);
            }
            self.holds_cr = buffer[length - 1] == b'\r';
            let length = without_crs(&mut buffer[..length - usize::from(self.holds_cr)]);
            if length > 0 {
                return Ok(length);
            }
        }
    }
}

/// Remove each CR before an LF, and return the new length.
fn without_crs(bytes: &mut [u8]) -> usize {
    let Some(first) = memchr::memmem::find(bytes, b"\r\n") else { return bytes.len() };
    let mut to = first;
    for from in first..bytes.len() {
        if bytes[from] != b'\r' || bytes.get(from + 1) != Some(&b'\n') {
            bytes[to] = bytes[from];
            to += 1;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], piece: usize) -> Vec<u8> {
        let mut from = UnixLines::new(text, true);
        let (mut buffer, mut all) = (vec![0; piece], vec![]);
        loop {
            match from.read(&mut buffer).unwrap() {
                0 => return all,
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[test]
    fn line_ends_are_those_of_unix_whatever_the_pieces() {
        for piece in 2..20 {
            for (text, expected) in
                [(&b"a\r\nb\r\n\r\n"[..], &b"a\nb\n\n"[..]), (b"a\r\r\n\rb\r", b"a\r\n\rb\r"), (b"\r", b"\r"), (b"", b"")]
            {
                assert_eq!(read(text, piece), expected, "{piece}");
            }
        }
    }

    #[test]
    fn a_text_is_of_windows_if_all_its_lines_are() {
        assert!(is_windows(b"a\r\nb\r\nc"));
        for text in [&b"a\nb\r\n"[..], b"a\r\nb\n", b"\n", b"a", b""] {
            assert!(!is_windows(text));
        }
    }
}
