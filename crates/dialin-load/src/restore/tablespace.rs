//! What the pages of InnoDB's tablespaces show of themselves.
//!
//! A page begins with 38 bytes: its checksum (0), its number (4), the LSN of its last change (16), its type (24), and a field that
//! is zero in most pages (26). A server writes a page with the LSN of its last change, so a page that was written differs in its
//! first bytes. That does not hold for pages that are compressed or encrypted as they are written, nor where the page size is
//! unknown: of such files, all bytes are compared.

/// The bytes of a page that are read to learn whether it was written: a block of most disks.
pub(super) const BLOCK: usize = 4096;
/// How files are divided that have no page size.
pub(super) const UNIT: usize = 16 * 1024;

const PAGE_NUMBER: usize = 4;
const PAGE_TYPE: usize = 24;
const FLUSH_LSN: usize = 26;
const FLAGS: usize = 54;

/// Types of pages that are transformed as they are written: MySQL's compressed and encrypted ones, MariaDB's likewise.
const TRANSFORMED: [u16; 6] = [14, 15, 16, 17, 34354, 37401];

/// The page size of a tablespace whose pages show by their first bytes that they were written; None for all other files.
///
/// `start` are the first bytes of the file.
pub(super) fn plain_page_size(name: &str, start: &[u8]) -> Option<usize> {
    if !is_of_user(name) {
        return None;
    }
    let flags = u32::from_be_bytes(start.get(FLAGS..FLAGS + 4)?.try_into().ok()?);
    let (shift, is_transformed) = if flags & 1 << 4 == 0 {
        // Of a table with ROW_FORMAT=COMPRESSED, MySQL's encryption, MariaDB's page compression.
        (flags >> 6 & 15, flags >> 1 & 15 != 0 || flags & (1 << 13 | 1 << 16) != 0)
    } else {
        // MariaDB's innodb_checksum_algorithm=full_crc32.
        (flags & 15, flags >> 5 & 7 != 0)
    };
    let size = match shift {
        0 => 16 * 1024,
        3..=7 => 512 << shift,
        _ => return None,
    };
    (!is_transformed).then_some(size)
}

/// Whether a file is a tablespace of a user's table. Those of the server are small, and compared in full.
fn is_of_user(name: &str) -> bool {
    name.ends_with(".ibd") && name.contains('/') && !["mysql/", "sys/", "#"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a page is what its file's page size promises: it has the right number and is not transformed, or it is empty.
pub(super) fn is_plain(page: &[u8], number: u64) -> bool {
    let Some(header) = page.get(..FLAGS) else { return false };
    if header.iter().all(|byte| *byte == 0) {
        return true;
    }
    let number_in_page = u32::from_be_bytes(header[PAGE_NUMBER..PAGE_NUMBER + 4].try_into().expect("4 bytes"));
    let kind = u16::from_be_bytes([header[PAGE_TYPE], header[PAGE_TYPE + 1]]);
    u64::from(number_in_page) == number
        && !TRANSFORMED.contains(&kind)
        // In page 0 it may have a meaning of its own; elsewhere it is an encryption key's version, or of a spatial index.
        && (number == 0 || header[FLUSH_LSN..FLUSH_LSN + 4] == [0; 4])
}

/// Whether a page describes extents or buffered changes: two pages in as many as a page has bytes. They are compared in full.
pub(super) fn describes_pages(number: u64, page_size: usize) -> bool {
    number % page_size as u64 <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK];
        bytes[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
        bytes
    }

    fn size(flags: u32) -> Option<usize> {
        plain_page_size("sbtest/sbtest1.ibd", &start(flags))
    }

    #[test]
    fn the_page_size_is_read_from_the_flags_of_every_format() {
        assert_eq!(size(0), Some(16384)); // 5.5, Antelope
        assert_eq!(size(0x21), Some(16384)); // 5.6, DYNAMIC
        assert_eq!(size(0x4021), Some(16384)); // 8.0 with SDI
        assert_eq!(size(3 << 6 | 1), Some(4096));
        assert_eq!(size(7 << 6 | 0x21), Some(65536));
        assert_eq!(size(0x15), Some(16384)); // MariaDB, full_crc32
        assert_eq!(size(0x13), Some(4096));
    }

    #[test]
    fn transformed_tablespaces_and_unknown_sizes_have_none() {
        for flags in [0x29, 0x21 | 1 << 13, 0x21 | 1 << 16, 0x15 | 1 << 5, 1 << 6, 9 << 6, 0x1f] {
            assert_eq!(size(flags), None, "{flags:#x}");
        }
        assert_eq!(plain_page_size("sbtest/t.ibd", b"short"), None);
    }

    #[test]
    fn only_tablespaces_of_users_tables_are_judged_by_their_pages() {
        for name in
            ["ibdata1", "mysql.ibd", "mysql/user.ibd", "sys/sys_config.ibd", "undo_001", "#innodb_temp/t.ibd", "s/t.MYD"]
        {
            assert_eq!(plain_page_size(name, &start(0)), None, "{name}");
        }
    }

    #[test]
    fn a_page_is_plain_if_it_has_its_number_and_is_not_transformed() {
        let page = |number: u32, kind: u16, field: u8| {
            let mut page = vec![7; BLOCK];
            page[PAGE_NUMBER..PAGE_NUMBER + 4].copy_from_slice(&number.to_be_bytes());
            page[PAGE_TYPE..PAGE_TYPE + 2].copy_from_slice(&kind.to_be_bytes());
            page[FLUSH_LSN..FLUSH_LSN + 4].fill(field);
            page
        };
        assert!(is_plain(&page(5, 17855, 0), 5));
        assert!(is_plain(&vec![0; BLOCK], 5));
        assert!(is_plain(&page(0, 8, 1), 0));
        assert!(!is_plain(&page(6, 17855, 0), 5));
        assert!(!is_plain(&page(5, 17855, 1), 5));
        assert!(!is_plain(b"short", 5));
        for kind in TRANSFORMED {
            assert!(!is_plain(&page(5, kind, 0), 5));
        }
    }

    #[test]
    fn pages_that_describe_others_recur_with_the_page_size() {
        let found: Vec<u64> = (0..40_000).filter(|number| describes_pages(*number, 16384)).collect();
        assert_eq!(found, [0, 1, 16384, 16385, 32768, 32769]);
    }
}
