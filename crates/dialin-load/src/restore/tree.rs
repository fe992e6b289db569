//! The files of a data directory, and what tells whether one was written.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// What the file system knows of a file: with the same stamp, it is the same file, which nobody wrote meanwhile.
///
/// The time of the last change is the kernel's, which no program sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { inode: metadata.ino(), size: metadata.len(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

/// What is at a path of a data directory.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) metadata: Metadata,
    /// Where a symbolic link points.
    target: Option<PathBuf>,
}

impl Entry {
    pub(super) fn is_file(&self) -> bool {
        self.metadata.is_file()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.metadata.file_type() == other.metadata.file_type() && self.target == other.target
    }
}

/// All that is in a directory, by relative path; a directory comes before what is in it.
pub(super) type Tree = BTreeMap<String, Entry>;

/// Read what is in a directory, and in those in it. Links are not followed; sockets and pipes are left out.
pub(super) fn scan(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    let mut open = vec![(root.to_owned(), String::new())];
    while let Some((directory, prefix)) = open.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let name = entry.file_name().into_string().map_err(|name| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{} is no UTF-8", Path::new(&name).display()))
            })?;
            let name = format!("{prefix}{name}");
            let metadata = entry.metadata()?;
            let target = if metadata.is_symlink() { Some(fs::read_link(entry.path())?) } else { None };
            if metadata.is_dir() {
                open.push((entry.path(), format!("{name}/")));
            } else if !metadata.is_file() && target.is_none() {
                continue;
            }
            tree.insert(name, Entry { metadata, target });
        }
    }
    Ok(tree)
}

/// Remove from a copy what the original does not have, and add its directories and links.
pub(super) fn align(original: &Tree, copy: &mut Tree, root: &Path) -> io::Result<()> {
    let surplus: Vec<String> = copy
        .iter()
        .filter(|(name, entry)| !original.get(*name).is_some_and(|one| one.is_like(entry)))
        .map(|(n, _)| n.clone())
        .collect();
    for name in surplus.iter().rev() {
        let entry = copy.remove(name).expect("it is there");
        let path = root.join(name);
        if entry.metadata.is_dir() { fs::remove_dir(path)? } else { fs::remove_file(path)? }
    }
    for (name, entry) in original {
        let path = root.join(name);
        match &entry.target {
            Some(target) if !copy.contains_key(name) => symlink(target, path)?,
            None if entry.metadata.is_dir() && !copy.contains_key(name) => fs::create_dir(path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Give what is in a copy the owner and the permissions of the original.
pub(super) fn give_owner(original: &Tree, root: &Path) -> io::Result<()> {
    for (name, entry) in original.iter().filter(|(_, entry)| entry.target.is_none()) {
        let (path, wanted) = (root.join(name), &entry.metadata);
        let now = fs::metadata(&path)?;
        if (now.uid(), now.gid()) != (wanted.uid(), wanted.gid()) {
            chown(&path, Some(wanted.uid()), Some(wanted.gid()))?;
        }
        if now.permissions().mode() != wanted.permissions().mode() {
            fs::set_permissions(&path, wanted.permissions())?;
        }
    }
    Ok(())
}
