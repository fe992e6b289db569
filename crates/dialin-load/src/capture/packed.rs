//! Compresses records on a thread of its own, while the next ones are made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Bytes of records that are compressed at a time.
const BLOCK: usize = 1 << 20;
const LEVEL: i32 = 3;

/// Records on their way into a file.
pub(super) struct Packed {
    /// Records that are not on their way yet.
    pub(super) records: Vec<u8>,
    way: Option<Way>,
}

struct Way {
    blocks: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    part: PathBuf,
}

/// Make a file that only its owner can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

impl Packed {
    /// Compress records into a file of this directory, or drop them.
    pub(super) fn begin(directory: Option<&Path>) -> io::Result<Self> {
        let way = directory.map(|directory| {
            let part = directory.join("records.zst");
            let mut packing = zstd::Encoder::new(create(&part)?, LEVEL)?;
            let (blocks, received) = sync_channel::<Vec<u8>>(4);
            let writer = thread::Builder::new().name("compress".into()).spawn(move || {
                for block in received {
                    packing.write_all(&block)?;
                }
                packing.finish().map(drop)
            })?;
            io::Result::Ok(Way { blocks, writer, part })
        });
        Ok(Self { records: Vec::with_capacity(2 * BLOCK), way: way.transpose()? })
    }

    /// Send records on their way, once there are enough.
    pub(super) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.records.len() < BLOCK { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(way) = &self.way else {
            self.records.clear();
            return Ok(());
        };
        let block = std::mem::replace(&mut self.records, Vec::with_capacity(2 * BLOCK));
        if way.blocks.send(block).is_err() {
            // The writer ended early: its error says why.
            return self.end();
        }
        Ok(())
    }

    /// Wait until all is written.
    fn end(&mut self) -> io::Result<()> {
        let Some(Way { blocks, writer, .. }) = self.way.take() else { return Ok(()) };
        drop(blocks);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that compresses failed")))
    }

    /// Write the file: the header as a frame of its own, and the frame of the records behind it.
    pub(super) fn finish(mut self, to: &Path, header: &[u8]) -> io::Result<()> {
        let Some(part) = self.way.as_ref().map(|way| way.part.clone()) else { return Ok(()) };
        self.flush()?;
        self.end()?;
        let mut file = create(to)?;
        file.write_all(&zstd::encode_all(header, LEVEL)?)?;
        io::copy(&mut File::open(&part)?, &mut file)?;
        file.sync_all()?;
        fs::remove_file(part)
    }
}
