//! What is kept between restores: digests of the original's pages, and the state in which a copy was left.

use super::tree::Stamp;
use crate::BUILD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::Path;

/// The digests of a page: of its first block, and of the rest.
pub(super) type Digests = [u64; 2];

/// The digest of some bytes. It changes with the version of the hash, which is why the records name the build.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(0x00d1_a114).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// What is known of a file of the original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Indexed {
    pub(super) stamp: Stamp,
    /// Bytes of a page.
    pub(super) unit: usize,
    /// Whether the first block of a page shows that the page was written.
    pub(super) plain: bool,
    #[serde(skip)]
    pub(super) digests: Vec<Digests>,
}

/// What is known of the original's files, by name.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index {
    build: String,
    pub(super) files: BTreeMap<String, Indexed>,
    digest: u64,
}

impl Index {
    pub(super) fn of(files: BTreeMap<String, Indexed>) -> Self {
        Self { build: BUILD.into(), files, digest: 0 }
    }

    /// Read an index; an empty one where there is none of this build, or it is damaged.
    pub(super) fn read(path: &Path) -> Self {
        fs::read(path).ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memchr(b'\n', bytes)?;
        let (head, digests) = (&bytes[..end], &bytes[end + 1..]);
        let mut index: Self = serde_json::from_slice(head).ok()?;
        if index.build != BUILD || index.digest != digest(digests) {
            return None;
        }
        let mut numbers = digests.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().expect("8 bytes")));
        for file in index.files.values_mut() {
            let pages = usize::try_from(file.stamp.size).ok()?.div_ceil(file.unit.max(1));
            file.digests = (0..pages).map(|_| Some([numbers.next()?, numbers.next()?])).collect::<Option<_>>()?;
        }
        numbers.next().is_none().then_some(index)
    }

    pub(super) fn write(mut self, path: &Path) -> io::Result<()> {
        let numbers = self.files.values().flat_map(|file| file.digests.iter().flatten());
        let digests: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
        self.digest = digest(&digests);
        let mut bytes = serde_json::to_vec(&self)?;
        bytes.push(b'\n');
        bytes.extend(digests);
        replace(path, &bytes)
    }
}

/// Whether written pages show themselves by their first block, as far as the copy has shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rule {
    /// No page was written yet.
    #[default]
    Untested,
    /// All bytes were compared: each page that was written showed it.
    Holds,
    /// A page was written without showing it.
    Broken,
}

/// The state in which a copy was left.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) build: String,
    /// The copy is equal to the original; false while it is being restored.
    pub(super) equal: bool,
    pub(super) rule: Rule,
    /// Pages per second when all bytes were compared, and when the first blocks were.
    pub(super) whole: Option<f64>,
    pub(super) blocks: Option<f64>,
    pub(super) stamps: BTreeMap<String, Stamp>,
    /// Whether a file with the same stamp was not written since.
    #[serde(default)]
    pub(super) trusted: bool,
}

impl State {
    /// Read the state of a copy; None where there is none, or it cannot be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let state: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        Some(if state.build == BUILD { state } else { Self::default() })
    }

    pub(super) fn write(&mut self, path: &Path) -> io::Result<()> {
        self.build = BUILD.into();
        replace(path, &serde_json::to_vec(self)?)
    }
}

/// Remove what processes left that were killed while they replaced a file.
fn remove_parts(path: &Path) {
    let (Some(directory), Some(stem)) = (path.parent(), path.file_stem().and_then(|stem| stem.to_str())) else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let part = name.to_str().and_then(|name| name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(".part"));
        let process = part.and_then(|number| number.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Replace a file atomically: after a crash, it is the old or the new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    remove_parts(path);
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}
