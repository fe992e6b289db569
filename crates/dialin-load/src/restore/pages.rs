//! Compares the pages of a copy with the original's, and copies those that differ, in several threads.

use super::records::{Digests, Indexed, digest};
use super::tablespace::{self, BLOCK};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::ops::{AddAssign, Range};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Threads that read and write: enough to keep a disk busy that takes several requests at once.
const THREADS: usize = 8;
/// Bytes of a file that a thread takes at a time.
const SEGMENT: usize = 8 << 20;

/// A file to restore.
pub(super) struct Job<'a> {
    pub(super) name: &'a str,
    pub(super) original: File,
    pub(super) copy: File,
    pub(super) size: u64,
    /// The bytes that the copy had.
    pub(super) had: u64,
    /// Bytes of a page.
    pub(super) unit: usize,
    /// What is known of the original; without it, all of it is read, and digests are made.
    pub(super) indexed: Option<&'a Indexed>,
    /// Whether the pages are those of a tablespace, each of which shows by its first block that it was written.
    pub(super) plain: bool,
    /// Whether only the first blocks of the copy are read.
    pub(super) by_blocks: bool,
    /// Whether blocks of the original that are all zero take no room on the disk.
    pub(super) sparse: bool,
}

/// What was done, in counts; and how long reading the copies of tablespaces took, all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Work {
    pub(super) pages: u64,
    pub(super) changed: u64,
    /// Pages of tablespaces that differ, though their first block does not.
    pub(super) hidden: u64,
    /// Pages of tablespaces that differ, as their first block shows.
    pub(super) shown: u64,
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) by_blocks: Pace,
    pub(super) whole: Pace,
}

/// How many pages were read in how long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pace {
    pages: u64,
    time: Duration,
}

impl Pace {
    /// Pages per second; None for too few to tell.
    pub(super) fn rate(self) -> Option<f64> {
        const ENOUGH: u64 = 1000;
        (self.pages >= ENOUGH).then(|| self.pages as f64 / self.time.as_secs_f64().max(1e-9))
    }
}

impl AddAssign for Pace {
    fn add_assign(&mut self, other: Self) {
        self.pages += other.pages;
        self.time += other.time;
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.pages += other.pages;
        self.changed += other.changed;
        self.hidden += other.hidden;
        self.shown += other.shown;
        self.read += other.read;
        self.written += other.written;
        self.by_blocks += other.by_blocks;
        self.whole += other.whole;
    }
}

/// What is learnt of an original that is not indexed: the digests of its pages, and whether they are a plain tablespace's.
pub(super) struct Learnt {
    pub(super) digests: Vec<Digests>,
    pub(super) plain: bool,
}

/// A part of a file, in pages.
struct Segment {
    job: usize,
    pages: Range<u64>,
}

/// Restore all files. Returns what was done, and for each file what was learnt of it.
pub(super) fn restore(jobs: &[Job<'_>]) -> io::Result<(Work, Vec<Learnt>)> {
    let segments: Vec<Segment> = jobs.iter().enumerate().flat_map(|(number, job)| segments_of(number, job)).collect();
    let empty = |job: &Job<'_>| Learnt { digests: vec![], plain: job.plain };
    let done = Mutex::new((Work::default(), jobs.iter().map(empty).collect::<Vec<_>>()));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> io::Result<()> {
        let mut buffer = Buffer::default();
        while let Some(segment) = segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let job = &jobs[segment.job];
            let (work, learnt) = restore_segment(job, segment.pages.clone(), &mut buffer)
                .inspect_err(|_| failed.store(true, Ordering::Relaxed))
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", job.name)))?;
            let mut done = done.lock().expect("no thread panics with the lock");
            done.0 += work;
            if let Some(learnt) = learnt {
                let of_job = &mut done.1[segment.job];
                let first = segment.pages.start as usize;
                let end = first + learnt.digests.len();
                of_job.digests.resize(of_job.digests.len().max(end), [0; 2]);
                of_job.digests[first..end].copy_from_slice(&learnt.digests);
                of_job.plain &= learnt.plain;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS.min(segments.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a panic ends the program"))
    })?;
    Ok(done.into_inner().expect("no thread panics with the lock"))
}

fn segments_of(number: usize, job: &Job<'_>) -> impl Iterator<Item = Segment> {
    let (pages, step) = (job.size.div_ceil(job.unit as u64), SEGMENT / job.unit);
    (0..pages).step_by(step).map(move |first| Segment { job: number, pages: first..pages.min(first + step as u64) })
}

/// The buffers of a thread.
#[derive(Default)]
struct Buffer {
    original: Vec<u8>,
    copy: Vec<u8>,
}

fn restore_segment(job: &Job<'_>, pages: Range<u64>, buffer: &mut Buffer) -> io::Result<(Work, Option<Learnt>)> {
    let start = pages.start * job.unit as u64;
    let length = usize::try_from(job.size.min(pages.end * job.unit as u64) - start).expect("a segment is small");
    let had = usize::try_from(job.had.saturating_sub(start).min(length as u64)).expect("a segment is small");
    let mut work = Work { pages: pages.end - pages.start, ..Work::default() };
    let mut learnt = None;
    if job.indexed.is_none() {
        read(&job.original, &mut buffer.original, start, length, &mut work)?;
        let digests = buffer.original.chunks(job.unit).map(digests_of).collect();
        let plain =
            job.plain && buffer.original.chunks(job.unit).zip(pages.clone()).all(|(page, at)| tablespace::is_plain(page, at));
        learnt = Some(Learnt { digests, plain });
    }
    let known = match (job.indexed, &learnt) {
        (Some(indexed), _) => &indexed.digests[pages.start as usize..pages.end as usize],
        (None, Some(learnt)) => &learnt.digests,
        (None, None) => unreachable!("it is learnt if it is not known"),
    };
    let begun = Instant::now();
    let changed = if job.by_blocks {
        changed_blocks(job, start, had, known, buffer, &mut work)?
    } else {
        changed_pages(job, start, had, known, buffer, &mut work)?
    };
    let pace = Pace { pages: (had / job.unit) as u64, time: begun.elapsed() };
    match (job.plain, job.by_blocks) {
        (true, true) => work.by_blocks += pace,
        (true, false) => work.whole += pace,
        _ => {}
    }
    work.changed = changed.len() as u64;
    for run in changed.chunk_by(|a, b| a + 1 == *b) {
        let part = run[0] * job.unit..length.min((run[run.len() - 1] + 1) * job.unit);
        if job.indexed.is_some() {
            read(&job.original, &mut buffer.original, start + part.start as u64, part.len(), &mut work)?;
            write(job, &buffer.original, start, part, had, &mut work)?;
        } else {
            write(job, &buffer.original[part.clone()], start, part, had, &mut work)?;
        }
    }
    Ok((work, learnt))
}

fn digests_of(page: &[u8]) -> Digests {
    let (first, rest) = page.split_at(page.len().min(BLOCK));
    [digest(first), digest(rest)]
}

/// The pages of a part of a copy that differ from the original, of which all bytes are read.
fn changed_pages(
    job: &Job<'_>,
    start: u64,
    had: usize,
    known: &[Digests],
    buffer: &mut Buffer,
    work: &mut Work,
) -> io::Result<Vec<usize>> {
    read(&job.copy, &mut buffer.copy, start, had, work)?;
    let mut changed = Vec::new();
    for (number, expected) in known.iter().enumerate() {
        let Some(page) = whole_page(&buffer.copy, job, start, number) else {
            changed.push(number); // the copy is shorter
            continue;
        };
        let found = digests_of(page);
        if found == *expected {
            continue;
        }
        changed.push(number);
        if found[0] == expected[0] { work.hidden += u64::from(job.plain) } else { work.shown += u64::from(job.plain) }
    }
    Ok(changed)
}

/// A page within a buffer, if all of it is there.
fn whole_page<'a>(bytes: &'a [u8], job: &Job<'_>, start: u64, number: usize) -> Option<&'a [u8]> {
    let first = number * job.unit;
    let end = usize::try_from((job.size - start).min((first + job.unit) as u64)).expect("a segment is small");
    bytes.get(first..end)
}

/// The pages of a part of a copy that differ from the original, as their first blocks show.
fn changed_blocks(
    job: &Job<'_>,
    start: u64,
    had: usize,
    known: &[Digests],
    buffer: &mut Buffer,
    work: &mut Work,
) -> io::Result<Vec<usize>> {
    let mut changed = Vec::new();
    for (number, expected) in known.iter().enumerate() {
        let first = number * job.unit;
        if first + job.unit > had {
            changed.push(number); // the copy is shorter
            continue;
        }
        let at = start + first as u64;
        let in_full = tablespace::describes_pages(at / job.unit as u64, job.unit);
        read(&job.copy, &mut buffer.copy, at, if in_full { job.unit } else { BLOCK.min(job.unit) }, work)?;
        let found = digests_of(&buffer.copy);
        if found[0] != expected[0] || (in_full && found[1] != expected[1]) {
            changed.push(number);
            work.shown += 1;
        }
    }
    Ok(changed)
}

fn read(file: &File, buffer: &mut Vec<u8>, at: u64, length: usize, work: &mut Work) -> io::Result<()> {
    buffer.resize(length, 0);
    file.read_exact_at(buffer, at)?;
    work.read += length as u64;
    Ok(())
}

/// Write bytes of the original into the copy; `part` is where they belong in the segment that begins at `start`, of which the copy
/// had the first `had` bytes.
fn write(job: &Job<'_>, bytes: &[u8], start: u64, part: Range<usize>, had: usize, work: &mut Work) -> io::Result<()> {
    if !job.sparse {
        return write_at(job, bytes, start + part.start as u64, work);
    }
    let blocks: Vec<&[u8]> = bytes.chunks(BLOCK).collect();
    let mut first = part.start;
    for run in blocks.chunk_by(|a, b| is_zero(a) == is_zero(b)) {
        let length: usize = run.iter().map(|block| block.len()).sum();
        let (at, bytes) = (start + first as u64, &bytes[first - part.start..][..length]);
        if !is_zero(run[0]) {
            write_at(job, bytes, at, work)?;
        } else if first < had {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Not every file system can do this.
            fallocate(&job.copy, flags, at, length as u64).or_else(|_| write_at(job, bytes, at, work))?;
        } // else the copy has a hole there already
        first += length;
    }
    Ok(())
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

fn write_at(job: &Job<'_>, bytes: &[u8], at: u64, work: &mut Work) -> io::Result<()> {
    job.copy.write_all_at(bytes, at)?;
    work.written += bytes.len() as u64;
    Ok(())
}
