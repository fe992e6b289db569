//! Computes a digest of all sources of a build, so that two programs of the same version can be distinguished.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The sources of a build: files, and directories with all of their contents.
const PARTS: [&str; 5] = ["Cargo.toml", "build.rs", "crates.lock", "src", "workloads"];

fn main() {
    for part in PARTS {
        println!("cargo::rerun-if-changed={part}");
    }
    let digest = digest(Path::new("."), &PARTS).expect("the sources can be read");
    println!("cargo::rustc-env=DIALIN_LOAD_DIGEST={digest:016x}");
}

/// A digest (FNV-1a) of the names and contents of files below a directory.
///
/// # Errors
/// A file or directory cannot be read.
pub fn digest(root: &Path, parts: &[&str]) -> io::Result<u64> {
    let mut files = Vec::new();
    for part in parts {
        collect(root, PathBuf::from(part), &mut files)?;
    }
    files.sort();
    let mut digest = 0xCBF2_9CE4_8422_2325;
    for file in files {
        let name = file.to_string_lossy().into_owned().into_bytes();
        for bytes in [name, fs::read(root.join(&file))?] {
            let length = (bytes.len() as u64).to_be_bytes();
            digest = length
                .iter()
                .chain(&bytes)
                .fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3));
        }
    }
    Ok(digest)
}

fn collect(root: &Path, part: PathBuf, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !root.join(&part).is_dir() {
        files.push(part);
        return Ok(());
    }
    for entry in fs::read_dir(root.join(&part))? {
        collect(root, part.join(entry?.file_name()), files)?;
    }
    Ok(())
}
