//! What is known of statements by their digest.

use super::backups::Moment;
use super::conflicts::Target;
use crate::capture::class::Class;
use crate::plan::Kind;

/// What is known of a digest.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The number of the digest; None where there are too many.
    pub number: Option<usize>,
    /// What its statements do to their transaction.
    pub class: Class,
    /// What they count as.
    pub kind: Kind,
    /// They ask for the present time.
    pub asks_for_time: bool,
    /// They draw random values.
    pub is_random: bool,
    /// They are `LOCK TABLES`.
    pub locks_tables: bool,
    /// They are `UNLOCK TABLES`.
    pub unlocks_tables: bool,
    /// They end an XA transaction.
    pub ends_xa: bool,
    /// What they write.
    pub target: Option<Target>,
    /// The moment of a backup that they show.
    pub backup: Option<Moment>,
}

impl Known {
    /// What is known of a digest; it has no number yet.
    #[must_use]
    pub fn of(digest: &[u8]) -> Self {
        let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
        let any = |parts: &[&[u8]]| parts.iter().any(|part| has(part));
        let asks: [&[u8]; 9] = [
            b"now (",
            b"curdate (",
            b"curtime (",
            b"unix_timestamp (",
            b"utc_",
            b"current_timestamp",
            b"current_date",
            b"current_time",
            b"localtime",
        ];
        let first = digest.split(|byte| !byte.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
        let kind = match first {
            b"select" | b"table" | b"values" => Kind::Read,
            b"with" if !any(&[b" update ", b" delete ", b" insert "]) => Kind::Read,
            b"insert" | b"update" | b"delete" | b"replace" | b"with" => Kind::Write,
            _ => Kind::Other,
        };
        Self {
            number: None,
            class: Class::of(digest),
            kind,
            asks_for_time: any(&asks),
            is_random: any(&[b"rand (", b"uuid (", b"uuid_short ("]),
            locks_tables: digest.starts_with(b"lock table"),
            unlocks_tables: digest.starts_with(b"unlock table"),
            target: Target::of(digest),
            backup: Moment::of(digest),
            ends_xa: digest.starts_with(b"xa commit") || digest.starts_with(b"xa rollback"),
        }
    }
}
