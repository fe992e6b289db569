//! Compresses records in a separate thread while the next records are made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Records are compressed in blocks of at least this many bytes.
const BLOCK: usize = 1 << 20;
/// The compression level of zstd.
const LEVEL: i32 = 3;

/// Records that are compressed into a file.
pub(super) struct RecordWriter {
    /// Records that the compression thread does not have yet.
    pub(super) records: Vec<u8>,
    /// None if the records are dropped.
    compressor: Option<Compressor>,
}

/// The compression thread.
struct Compressor {
    blocks: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    /// The temporary file with the compressed records.
    part: PathBuf,
}

/// Create a file that only its owner can read.
pub(super) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// An encoder of one frame, with a checksum of its content: damage is found by whoever reads the frame to its end.
fn encoder<W: Write>(to: W) -> io::Result<zstd::Encoder<'static, W>> {
    let mut encoder = zstd::Encoder::new(to, LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

impl RecordWriter {
    /// Compress records into a temporary file in this directory. Without a directory, the records are dropped.
    pub(super) fn begin(directory: Option<&Path>) -> io::Result<Self> {
        let compressor = directory.map(|directory| {
            let part = directory.join("records.zst");
            let mut encoder = encoder(create(&part)?)?;
            let (blocks, received) = sync_channel::<Vec<u8>>(4);
            let writer = thread::Builder::new().name("compress".into()).spawn(move || {
                for block in received {
                    encoder.write_all(&block)?;
                }
                encoder.finish().map(drop)
            })?;
            io::Result::Ok(Compressor { blocks, writer, part })
        });
        Ok(Self { records: Vec::with_capacity(2 * BLOCK), compressor: compressor.transpose()? })
    }

    /// Send the records to the compression thread if they fill a block.
    pub(super) fn flush_if_full(&mut self) -> io::Result<()> {
        if self.records.len() < BLOCK { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Some(compressor) = &self.compressor else {
            self.records.clear();
            return Ok(());
        };
        let block = std::mem::replace(&mut self.records, Vec::with_capacity(2 * BLOCK));
        if compressor.blocks.send(block).is_err() {
            // The thread ended early: its result holds the error.
            return self.end();
        }
        Ok(())
    }

    /// Wait until everything is written.
    fn end(&mut self) -> io::Result<()> {
        let Some(Compressor { blocks, writer, .. }) = self.compressor.take() else { return Ok(()) };
        drop(blocks);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the compression thread panicked")))
    }

    /// Write the file `to`: the header as a separate frame of zstd, then the frame with the records.
    pub(super) fn finish(mut self, to: &Path, header: &[u8]) -> io::Result<()> {
        let Some(part) = self.compressor.as_ref().map(|compressor| compressor.part.clone()) else { return Ok(()) };
        self.flush()?;
        self.end()?;
        let mut file = create(to)?;
        let mut first = encoder(&mut file)?;
        first.write_all(header)?;
        first.finish()?;
        io::copy(&mut File::open(&part)?, &mut file)?;
        file.sync_all()?;
        fs::remove_file(part)
    }
}
