use super::*;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

const PAGE: usize = 16 * 1024;

/// An original and a copy in a directory that is removed at the end.
struct World {
    root: PathBuf,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A page of a tablespace with a number and an LSN; `filler` is the rest.
fn page(number: u32, lsn: u64, filler: u8) -> Vec<u8> {
    let mut page = vec![filler; PAGE];
    page[..64].fill(0);
    page[4..8].copy_from_slice(&number.to_be_bytes());
    page[16..24].copy_from_slice(&lsn.to_be_bytes());
    page
}

impl World {
    /// An original with a tablespace of 1000 pages, system files, a MyISAM table, a link and a file with holes.
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("dialin-restore-{}-{name}", std::process::id()));
        let world = Self { root };
        fs::create_dir_all(world.original().join("shop")).unwrap();
        fs::create_dir_all(world.original().join("empty")).unwrap();
        let pages: Vec<u8> = (0..1100).flat_map(|number| page(number, 100 + u64::from(number), 7)).collect();
        fs::write(world.original().join("shop/orders.ibd"), pages).unwrap();
        fs::write(world.original().join("ibdata1"), vec![1; 5 * PAGE + 300]).unwrap();
        fs::write(world.original().join("shop/notes.MYD"), "rows").unwrap();
        fs::write(world.original().join("shop/nothing"), "").unwrap();
        symlink("notes.MYD", world.original().join("shop/link")).unwrap();
        let holes = File::create(world.original().join("holes")).unwrap();
        holes.set_len(40 * PAGE as u64).unwrap();
        holes.write_all_at(b"island", 20 * PAGE as u64).unwrap();
        fs::set_permissions(world.original().join("ibdata1"), fs::Permissions::from_mode(0o640)).unwrap();
        world
    }

    fn original(&self) -> PathBuf {
        self.root.join("original")
    }

    fn copy(&self) -> PathBuf {
        self.root.join("copy")
    }

    fn request(&self) -> Request {
        let (original, copy) = (self.original(), self.copy());
        let (index, state) = (self.root.join("index"), self.root.join("state"));
        Request { original, copy, index, state, whole: false, prove: false }
    }

    fn restore(&self) -> Done {
        let done = restore(&self.request()).unwrap();
        self.check();
        done
    }

    /// Compare every byte, the kinds and the permissions.
    fn check(&self) {
        let (source, target) = (tree::scan(&self.original()).unwrap(), tree::scan(&self.copy()).unwrap());
        assert!(source.keys().eq(target.keys()), "{:?} {:?}", source.keys(), target.keys());
        for (name, entry) in source {
            let (wanted, found) = (self.original().join(&name), self.copy().join(&name));
            assert_eq!(entry.metadata.mode(), target[&name].metadata.mode(), "{name}");
            if entry.is_file() {
                assert!(fs::read(wanted).unwrap() == fs::read(found).unwrap(), "{name} differs");
            }
        }
    }

    fn write(&self, name: &str, number: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(self.copy().join(name)).unwrap();
        file.write_all_at(bytes, number * PAGE as u64).unwrap();
    }

    fn state(&self) -> State {
        State::read(&self.root.join("state")).unwrap()
    }

    fn change_page(&self, number: u32, lsn: u64) {
        self.write("shop/orders.ibd", u64::from(number), &page(number, lsn, 9));
    }
}

#[test]
fn a_copy_is_made_whole_and_keeps_holes_permissions_and_links() {
    let world = World::new("first");
    let done = world.restore();
    assert_eq!((done.files, done.untouched, done.changed), (5, 0, done.pages));
    assert!(fs::metadata(world.copy().join("holes")).unwrap().blocks() < 40);
    assert_eq!(fs::read_link(world.copy().join("shop/link")).unwrap(), Path::new("notes.MYD"));
}

#[test]
fn the_holes_of_pages_that_are_compressed_take_no_room_in_the_copy_before_and_after_a_trial_has_filled_them() {
    let world = World::new("compressed");
    // As a server writes pages that it compresses: the rest of each takes no room.
    let compressed = File::create(world.original().join("shop/compressed.ibd")).unwrap();
    for number in 0..64 {
        let start = [page(number, 100, 5)[..BLOCK - 8].to_vec(), vec![6; 8]].concat();
        compressed.write_all_at(&start, u64::from(number) * PAGE as u64).unwrap();
    }
    compressed.set_len(64 * PAGE as u64).unwrap();
    compressed.sync_all().unwrap();
    let is_sparse = |root: PathBuf| {
        let file = File::open(root.join("shop/compressed.ibd")).unwrap();
        file.sync_all().unwrap();
        file.metadata().unwrap().blocks() * 512 < 20 * PAGE as u64 // a quarter of 64, and what the file system notes
    };
    assert!(is_sparse(world.original()));
    world.restore();
    assert!(is_sparse(world.copy()));
    for number in 0..64 {
        world.write("shop/compressed.ibd", number, &[7; PAGE]);
    }
    let done = world.restore();
    assert_eq!((done.changed, done.bytes_written), (64, 64 * BLOCK as u64));
    assert!(is_sparse(world.copy()));
}

#[test]
fn files_that_nobody_wrote_are_not_read() {
    let world = World::new("untouched");
    world.restore();
    let done = world.restore();
    assert_eq!((done.untouched, done.bytes_read, done.bytes_written), (5, 0, 0));
}

#[test]
fn after_a_first_full_comparison_only_first_blocks_are_read_and_changed_pages_written() {
    let world = World::new("blocks");
    world.restore();
    world.change_page(3, 5000);
    world.change_page(900, 5001);
    let first = world.restore();
    assert_eq!((first.by_blocks, first.changed, world.state().rule), (false, 2, Rule::Holds));
    world.change_page(4, 5000);
    let second = world.restore();
    assert_eq!((second.by_blocks, second.changed, second.bytes_written), (true, 1, PAGE as u64));
    assert!(second.bytes_read < first.bytes_read / 3, "{second:?}");
}

#[test]
fn pages_with_a_lower_lsn_empty_pages_and_pages_of_extents_are_restored_too() {
    let world = World::new("lower");
    world.restore();
    world.change_page(3, 5000);
    world.restore();
    world.change_page(7, 1);
    world.write("shop/orders.ibd", 8, &vec![0; PAGE]);
    let mut described = page(1, 101, 7);
    described[PAGE - 1] = 0;
    world.write("shop/orders.ibd", 1, &described);
    let done = world.restore();
    assert_eq!((done.by_blocks, done.changed), (true, 3));
}

#[test]
fn a_page_that_is_written_without_showing_it_ends_the_reading_of_first_blocks() {
    let world = World::new("hidden");
    world.restore();
    let mut hidden = page(5, 105, 7);
    hidden[PAGE - 100] = 0;
    world.write("shop/orders.ibd", 5, &hidden);
    world.change_page(6, 5000);
    assert_eq!(world.restore().changed, 2);
    assert_eq!(world.state().rule, Rule::Broken);
    world.write("shop/orders.ibd", 5, &hidden);
    assert!(!world.restore().by_blocks);
}

#[test]
fn what_one_load_has_shown_is_not_believed_of_another_which_is_asked_to_prove_it() {
    let world = World::new("another");
    world.restore();
    world.change_page(3, 5000);
    world.restore();
    let mut hidden = page(5, 105, 7);
    hidden[PAGE - 100] = 0;
    world.write("shop/orders.ibd", 5, &hidden);
    let done = restore(&Request { prove: true, ..world.request() }).unwrap();
    world.check();
    assert_eq!((done.by_blocks, done.changed, world.state().rule), (false, 1, Rule::Broken));
    assert!(done.untouched > 0, "files that nobody wrote need no proof");
    world.change_page(6, 5000);
    restore(&Request { prove: true, ..world.request() }).unwrap();
    assert_eq!(world.state().rule, Rule::Broken, "it stays so");
}

#[test]
fn first_blocks_are_not_read_where_that_is_slower() {
    let state = |blocks, whole| State { equal: true, rule: Rule::Holds, blocks, whole, ..State::default() };
    assert!(may_read_blocks(&state(None, Some(5.0))));
    assert!(may_read_blocks(&state(Some(6.0), Some(5.0))));
    assert!(!may_read_blocks(&state(Some(4.0), Some(5.0))));
    assert!(!may_read_blocks(&State { equal: false, ..state(None, None) }));
}

#[test]
fn files_that_grew_shrank_were_replaced_added_or_removed_are_restored() {
    let world = World::new("files");
    world.restore();
    world.change_page(3, 5000);
    world.restore();
    let at = |name: &str| world.copy().join(name);
    let orders = OpenOptions::new().write(true).open(at("shop/orders.ibd")).unwrap();
    orders.write_all_at(&page(1100, 6000, 8), 1100 * PAGE as u64).unwrap();
    drop(orders);
    let done = world.restore();
    assert_eq!((done.by_blocks, done.changed), (true, 0));
    let orders = OpenOptions::new().write(true).open(at("shop/orders.ibd")).unwrap();
    orders.set_len(100 * PAGE as u64).unwrap();
    drop(orders);
    assert_eq!(world.restore().changed, 1000);
    fs::write(at("new"), world.original().join("ibdata1").to_string_lossy().as_bytes()).unwrap();
    fs::create_dir(at("added")).unwrap();
    fs::write(at("added/t.ibd"), "x").unwrap();
    fs::remove_file(at("ibdata1")).unwrap();
    fs::create_dir(at("ibdata1")).unwrap();
    fs::remove_file(at("shop/link")).unwrap();
    fs::write(at("shop/link"), "no link").unwrap();
    fs::remove_dir(at("empty")).unwrap();
    // A table that was rebuilt is another file: all of its bytes are compared.
    let mut rebuilt = fs::read(at("shop/orders.ibd")).unwrap();
    rebuilt[8 * PAGE - 1] ^= 1;
    fs::write(at("shop/rebuilt"), &rebuilt).unwrap();
    fs::rename(at("shop/rebuilt"), at("shop/orders.ibd")).unwrap();
    world.restore();
}

#[test]
fn a_file_with_the_size_and_the_time_of_modification_that_it_had_is_still_compared() {
    let world = World::new("forged");
    world.restore();
    let path = world.copy().join("shop/notes.MYD");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "cows").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    assert_eq!(world.restore().changed, 1);
}

#[test]
fn an_interrupted_restore_is_followed_by_a_comparison_of_all_bytes() {
    let world = World::new("interrupted");
    world.restore();
    world.change_page(3, 5000);
    world.restore();
    // Killed after it had written the first block of a page.
    State::default().write(&world.root.join("state")).unwrap();
    let mut torn = page(9, 109, 7);
    torn[BLOCK..].fill(9);
    world.write("shop/orders.ibd", 9, &torn);
    let done = world.restore();
    assert_eq!((done.by_blocks, done.untouched, done.changed, world.state().rule), (false, 0, 1, Rule::Untested));
}

#[test]
fn a_damaged_or_foreign_index_is_made_again_and_a_changed_original_is_read_again() {
    let world = World::new("index");
    world.restore();
    let index = world.root.join("index");
    let whole = fs::read(&index).unwrap();
    for damaged in [&whole[..whole.len() - 9], &b"{}\n"[..], b""] {
        fs::write(&index, damaged).unwrap();
        world.change_page(3, 5000);
        world.restore();
        assert!(fs::read(&index).unwrap() == whole);
    }
    let file = OpenOptions::new().write(true).open(world.original().join("shop/orders.ibd")).unwrap();
    file.write_all_at(&page(3, 7000, 3), 3 * PAGE as u64).unwrap();
    world.restore();
    fs::remove_file(world.original().join("shop/notes.MYD")).unwrap();
    world.restore();
}

#[test]
fn a_directory_that_no_restore_made_is_refused_and_left_alone() {
    let world = World::new("refused");
    fs::create_dir(world.copy()).unwrap();
    fs::write(world.copy().join("precious"), "x").unwrap();
    assert!(restore(&world.request()).unwrap_err().what.contains("is not empty"));
    assert!(world.copy().join("precious").exists());
    let inside = Request { copy: world.original().join("shop"), ..world.request() };
    assert!(restore(&inside).unwrap_err().what.contains("in each other"));
    let nowhere = Request { original: world.root.join("nowhere"), ..world.request() };
    assert!(restore(&nowhere).unwrap_err().what.contains("no directory"));
}

#[test]
fn a_copy_that_somebody_still_writes_is_waited_for_and_refused_in_the_end() {
    let world = World::new("writer");
    world.restore();
    let writer = OpenOptions::new().write(true).open(world.copy().join("ibdata1")).unwrap();
    let refused = writers::wait_for(&world.copy(), Duration::ZERO).unwrap_err();
    assert!(refused.to_string().contains("ibdata1 is still open"), "{refused}");
    let last = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        writer.write_all_at(b"late", 0).unwrap();
    });
    assert_eq!(world.restore().changed, 1);
    last.join().unwrap();
}

#[test]
fn stamps_are_trusted_once_the_clock_has_passed_them_unless_they_are_of_whole_seconds() {
    let world = World::new("stamps");
    world.restore();
    assert!(world.state().trusted);
    let mut stamps = world.state().stamps;
    for stamp in stamps.values_mut() {
        stamp.changed.0 += 1000;
    }
    assert!(!are_passed(&stamps), "another clock's");
    for stamp in stamps.values_mut() {
        stamp.changed = (1, 0);
    }
    assert!(!are_passed(&stamps));
    State { equal: true, trusted: false, ..world.state() }.write(&world.root.join("state")).unwrap();
    assert_eq!(world.restore().untouched, 0);
}

#[test]
fn what_a_killed_restore_left_of_a_record_is_removed_and_that_of_a_running_one_is_not() {
    let world = World::new("parts");
    fs::create_dir_all(&world.root).unwrap();
    let (stale, live) = (world.root.join("index.4294967295.part"), world.root.join("index.1.part"));
    fs::write(&stale, "half").unwrap();
    fs::write(&live, "half").unwrap();
    world.restore();
    assert!(!stale.exists() && live.exists());
}
