//! Tests that the digest of a build is the same for the same sources in any directory, and different for different sources.

#[path = "../../build.rs"]
#[allow(dead_code, reason = "its main is for cargo")]
mod build;

use std::fs;
use std::path::{Path, PathBuf};

struct Sources(PathBuf);

impl Sources {
    fn of(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("dialin-load-digest-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn digest(&self) -> u64 {
        build::digest(&self.0, &["lock", "src"]).unwrap()
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_same_sources_have_the_same_digest_in_any_directory() {
    let files = [("lock", "a 1"), ("src/lib.rs", "x"), ("src/deep/mod.rs", "y")];
    let backwards: Vec<_> = files.iter().rev().copied().collect();
    assert_eq!(Sources::of("one", &files).digest(), Sources::of("other", &backwards).digest());
}

#[test]
fn other_contents_names_and_limits_between_files_are_another_digest() {
    let texts: [&[(&str, &str)]; 6] = [
        &[("lock", "a 1"), ("src/a", "xy"), ("src/b", "z")],
        &[("lock", "a 2"), ("src/a", "xy"), ("src/b", "z")],
        &[("lock", "a 1"), ("src/a", "xY"), ("src/b", "z")],
        &[("lock", "a 1"), ("src/a", "x"), ("src/b", "yz")],
        &[("lock", "a 1"), ("src/a", "xy"), ("src/c", "z")],
        &[("lock", "a 1"), ("src/a", "xy"), ("src/b", "z"), ("src/c", "")],
    ];
    let of = |(place, files): (usize, &&[(&str, &str)])| Sources::of(&place.to_string(), files).digest();
    let mut digests: Vec<u64> = texts.iter().enumerate().map(of).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), texts.len());
}

#[test]
fn a_missing_part_is_an_error() {
    assert!(build::digest(Path::new("/nowhere"), &["src"]).is_err());
}
