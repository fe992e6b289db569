//! Makes a copy of a stopped server's data equal to the original again, by copying what was changed only.
//!
//! Files that the kernel says nobody wrote since are left alone. Of the others, the copy's pages are read, and compared with digests
//! of the original's, which are made once. The first restore after a load compares all bytes. If each page of a tablespace that was
//! written shows so in its first block, as pages with a new LSN do, later restores read only the first blocks of those files,
//! unless that is slower here. A copy whose restore was interrupted is compared in full.

mod pages;
mod records;
mod tablespace;
mod tree;
mod writers;

use crate::errors::{Error, Result};
use pages::{Job, Work};
use records::{Index, Indexed, Rule, State};
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tablespace::{BLOCK, UNIT};
use tree::{Entry, Stamp, Tree};

/// How long the kernel's clock for files may take to pass a stamp; where it takes longer, stamps are another clock's.
const TICK: Duration = Duration::from_secs(1);

/// How long a killed server's last writes may take.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// How many files are open at a time, and as many of the original: a process may have 1024 in most shells.
const OPEN_FILES: usize = 200;

/// What to restore.
#[derive(Clone, Debug)]
pub struct Request {
    /// The data directory of a server that was stopped cleanly; it is only read.
    pub original: PathBuf,
    /// The copy; it is created if it does not exist.
    pub copy: PathBuf,
    /// Where digests of the original are kept.
    pub index: PathBuf,
    /// Where the state of the copy is kept.
    pub state: PathBuf,
    /// Whether all bytes are compared, whatever earlier restores have shown.
    pub whole: bool,
    /// Whether all bytes of files that were written are compared: by another load than those of earlier restores.
    pub prove: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Done {
    /// Files of the original.
    pub files: usize,
    /// Of these, files that nobody wrote, which were not read.
    pub untouched: usize,
    /// Pages that were compared.
    pub pages: u64,
    /// Pages that differed, or that the copy did not have.
    pub changed: u64,
    /// Bytes that were read, of both.
    pub bytes_read: u64,
    /// Bytes that were written to the copy.
    pub bytes_written: u64,
    /// Whether only the first blocks of tablespaces' pages were read.
    pub by_blocks: bool,
    /// Seconds that it took, with writing to the disk.
    pub seconds: f64,
}

/// Make the copy equal to the original.
///
/// # Errors
/// A file cannot be read or written; or the copy is a directory with files that no restore has made.
pub fn restore(request: &Request) -> Result<Done> {
    check(request)?;
    run(request).map_err(|error| {
        let what = format!("{} could not be restored: {error}", request.copy.display());
        Error::machine(what, "Check that the disk is healthy and has space")
    })
}

/// Refuse directories in which files would be lost.
fn check(request: &Request) -> Result<()> {
    let Request { original, copy, state, .. } = request;
    let Ok(source) = original.canonicalize() else {
        return Err(Error::user(format!("There is no directory {}", original.display()), "Name a data directory"));
    };
    let Ok(target) = copy.canonicalize() else { return Ok(()) };
    if target.starts_with(&source) || source.starts_with(&target) {
        return Err(Error::user("The copy and the original are in each other", "Name two directories"));
    }
    let is_empty = fs::read_dir(copy).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty && State::read(state).is_none() {
        let what = format!("{} is not empty, and {} does not say that it is a copy", copy.display(), state.display());
        return Err(Error::user(what, "Name a directory that does not exist: its files would be removed"));
    }
    Ok(())
}

fn run(request: &Request) -> io::Result<Done> {
    let begun = Instant::now();
    let Request { original, copy, index, state: state_file, whole, prove } = request;
    let mut before = State::read(state_file).filter(|state| state.equal).unwrap_or_default();
    if *prove && before.rule == Rule::Holds {
        before.rule = Rule::Untested;
    }
    State::default().write(state_file)?; // not equal

    fs::create_dir_all(copy)?;
    writers::wait_for(copy, LAST_WRITES)?;
    let (source, mut target) = (tree::scan(original)?, tree::scan(copy)?);
    tree::align(&source, &mut target, copy)?;
    let mut known = Index::read(index);
    known.files.retain(|name, file| source.get(name).is_some_and(|entry| Stamp::of(&entry.metadata) == file.stamp));

    let by_blocks = !whole && may_read_blocks(&before);
    let all = tasks(&source, &target, &known, &before, *whole, by_blocks);
    let (mut work, mut learnt) = (Work::default(), BTreeMap::new());
    for tasks in all.chunks(OPEN_FILES) {
        let jobs = tasks.iter().map(|task| job(request, task)).collect::<io::Result<Vec<_>>>()?;
        let (of_jobs, learnt_of_jobs) = pages::restore(&jobs)?;
        work += of_jobs;
        for (job, one) in jobs.iter().zip(learnt_of_jobs) {
            job.copy.sync_data()?;
            fadvise(&job.original, 0, None, Advice::DontNeed)?; // the servers read the copy
            if job.indexed.is_none() {
                let stamp = Stamp::of(&source[job.name].metadata);
                let indexed = Indexed { stamp, unit: job.unit, plain: one.plain, digests: one.digests };
                learnt.insert(job.name.to_owned(), indexed);
            }
        }
    }
    let (untouched, blocks_were_read) =
        (source.values().filter(|entry| entry.is_file()).count() - all.len(), all.iter().any(|task| task.by_blocks));
    if !learnt.is_empty() || known.files.len() != source.values().filter(|entry| entry.is_file()).count() {
        known.files.extend(learnt);
        Index::of(known.files).write(index)?;
    }
    tree::give_owner(&source, copy)?;
    let mut after = state_after(&before, &work);
    after.stamps = stamps(copy)?;
    after.trusted = are_passed(&after.stamps);
    after.write(state_file)?;
    Ok(Done {
        files: after.stamps.len(),
        untouched,
        pages: work.pages,
        changed: work.changed,
        bytes_read: work.read,
        bytes_written: work.written,
        by_blocks: blocks_were_read,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Whether the first blocks of pages suffice, and reading only them is not slower here.
fn may_read_blocks(before: &State) -> bool {
    let is_slower = matches!((before.blocks, before.whole), (Some(blocks), Some(whole)) if blocks < whole);
    before.equal && before.rule == Rule::Holds && !is_slower
}

fn state_after(before: &State, work: &Work) -> State {
    let rule = match before.rule {
        _ if work.hidden > 0 && before.equal => Rule::Broken,
        Rule::Untested if work.shown > 0 && before.equal => Rule::Holds,
        rule => rule,
    };
    State {
        equal: true,
        rule,
        whole: work.whole.rate().or(before.whole),
        blocks: work.by_blocks.rate().or(before.blocks),
        ..State::default()
    }
}

/// Wait until any write gives a file another stamp than these; return false where stamps cannot show that.
///
/// The kernel's clock for files is coarse, and a file system's may be of whole seconds.
fn are_passed(stamps: &BTreeMap<String, Stamp>) -> bool {
    let Some(newest) = stamps.values().map(|stamp| stamp.changed).max() else { return true };
    if stamps.values().all(|stamp| stamp.changed.1 == 0) {
        return false;
    }
    let begun = Instant::now();
    loop {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        if (now.tv_sec, now.tv_nsec) > newest {
            return true;
        }
        if begun.elapsed() > TICK {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn stamps(copy: &Path) -> io::Result<BTreeMap<String, Stamp>> {
    let files = tree::scan(copy)?.into_iter().filter(|(_, entry)| entry.is_file());
    Ok(files.map(|(name, entry)| (name, Stamp::of(&entry.metadata))).collect())
}

/// A file to compare.
struct Task<'a> {
    name: &'a str,
    entry: &'a Entry,
    /// The bytes that the copy has.
    had: u64,
    indexed: Option<&'a Indexed>,
    by_blocks: bool,
}

/// The files to compare: all but those that nobody wrote.
fn tasks<'a>(source: &'a Tree, target: &Tree, known: &'a Index, before: &State, whole: bool, by_blocks: bool) -> Vec<Task<'a>> {
    let files = source.iter().filter(|(_, entry)| entry.is_file());
    files
        .filter_map(|(name, entry)| {
            let (was, is) = (before.stamps.get(name), target.get(name).map(|entry| Stamp::of(&entry.metadata)));
            let indexed = known.files.get(name);
            if !whole && before.trusted && indexed.is_some() && is.is_some() && was == is.as_ref() {
                return None;
            }
            let is_same_file = was.map(|stamp| stamp.inode) == is.map(|stamp| stamp.inode) && is.is_some();
            let by_blocks = by_blocks && is_same_file && indexed.is_some_and(|indexed| indexed.plain);
            Some(Task { name, entry, had: is.map_or(0, |stamp| stamp.size), indexed, by_blocks })
        })
        .collect()
}

fn job<'a>(request: &Request, task: &Task<'a>) -> io::Result<Job<'a>> {
    open(request, task).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", task.name)))
}

fn open<'a>(request: &Request, task: &Task<'a>) -> io::Result<Job<'a>> {
    let Task { name, entry, had, indexed, by_blocks } = *task;
    let original = File::open(request.original.join(name))?;
    let mut open = OpenOptions::new();
    let copy = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(request.copy.join(name))?;
    let size = entry.metadata.len();
    let sparse = entry.metadata.blocks() * 512 < size;
    if had != size {
        copy.set_len(size)?;
        if had < size && !sparse {
            // So that it lies in one piece. Not every file system can do this.
            let _ = fallocate(&copy, FallocateFlags::empty(), had, size - had);
        }
    }
    let (unit, plain) = match indexed {
        Some(indexed) => (indexed.unit, indexed.plain),
        None => {
            let page_size = tablespace::plain_page_size(name, &start_of(&original)?);
            (page_size.unwrap_or(UNIT), page_size.is_some())
        }
    };
    if by_blocks {
        fadvise(&copy, 0, None, Advice::Random)?;
    }
    Ok(Job { name, original, copy, size, had: had.min(size), unit, indexed, plain, by_blocks, sparse })
}

fn start_of(file: &File) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    file.take(BLOCK as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
