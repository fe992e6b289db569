//! The part of a file that is in memory: from the position of the reader to the last byte that it had to look at.

use std::io::{ErrorKind, Read, Result};

const CHUNK: usize = 256 * 1024;

/// The bytes of a file after those that were consumed.
#[derive(Debug)]
pub(super) struct Window<R> {
    from: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    at_end: bool,
    passed: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: vec![0; 2 * CHUNK], begin: 0, end: 0, at_end: false, passed: 0 }
    }

    /// The bytes in memory.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.begin..self.end]
    }

    /// Move past the first `count` bytes in memory, or past all of them if there are fewer.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.begin);
        self.begin += count;
        self.passed += count as u64;
    }

    /// How many bytes were consumed so far.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }

    /// Read more of the file into memory. Return false at the end of the file.
    pub(super) fn more(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.buffer.len() - self.end < CHUNK {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
            // The memory is released after a very long statement.
            let needed = (self.end + CHUNK).next_power_of_two();
            if needed > self.buffer.len() || needed < self.buffer.len() / 4 {
                self.buffer.resize(needed.max(2 * CHUNK), 0);
                self.buffer.shrink_to_fit();
            }
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    self.at_end = count == 0;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Read until `count` bytes are in memory. Return false if the file has fewer.
    pub(super) fn has(&mut self, count: usize) -> Result<bool> {
        while self.bytes().len() < count {
            if !self.more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The position where the line that begins at `at` ends: that of its line end, or the end of the file.
    ///
    /// A line of more than `most` bytes is cut off after `most` bytes.
    pub(super) fn line_end(&mut self, at: usize, most: usize) -> Result<usize> {
        let mut from = at;
        loop {
            let bytes = self.bytes();
            let looked_at = bytes.len().min(at + most);
            if let Some(found) = bytes.get(from..looked_at).and_then(|part| memchr::memchr(b'\n', part)) {
                return Ok(from + found);
            }
            from = looked_at.max(at);
            if looked_at == at + most || !self.more()? {
                return Ok(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file in pieces of this many bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let count = self.0.len().min(self.1).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn lines_are_found_whatever_the_pieces() {
        for piece in [1, 2, 5, 100] {
            let mut window = Window::new(Pieces(b"first\nsecond\n\nlast", piece));
            let mut lines = Vec::new();
            while window.has(1).unwrap() {
                let end = window.line_end(0, 100).unwrap();
                lines.push(window.bytes()[..end].to_vec());
                window.consume(end + 1);
            }
            assert_eq!(lines, [&b"first"[..], b"second", b"", b"last"]);
        }
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut window = Window::new(Pieces(&[b'x'; 1000], 7));
        assert_eq!(window.line_end(0, 100).unwrap(), 100);
        window.consume(100);
        assert_eq!(window.line_end(0, 5_000).unwrap(), 900);
    }

    #[test]
    fn memory_is_given_back_after_a_long_look() {
        let bytes = vec![0; 60 * CHUNK];
        let mut window = Window::new(&bytes[..]);
        assert!(window.has(10 * CHUNK).unwrap());
        let most = window.buffer.len();
        window.consume(10 * CHUNK);
        while window.more().unwrap() {
            window.consume(usize::MAX);
        }
        assert!(window.buffer.len() <= most / 4, "{} of {most}", window.buffer.len());
    }
}
