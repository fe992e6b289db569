//! Properties of statements that follow from their digest.

use super::accesses::is_lookup;
use super::backups::Moment;
use crate::capture::class::Class;
use crate::capture::set_statement::executed;
use crate::plan::Kind;

/// Properties of the statements of a digest.
#[derive(Clone, Copy, Debug)]
pub struct DigestProperties {
    /// The number of the digest; None if there are too many digests.
    pub number: Option<usize>,
    /// What they do to their transaction, and whether they can be replayed.
    pub class: Class,
    /// Whether they are executed by `SET STATEMENT ... FOR`, whose values come before their own.
    pub is_wrapped: bool,
    /// Whether they count as reads, as writes or as others.
    pub kind: Kind,
    /// Whether they use the current time.
    pub asks_for_time: bool,
    /// Whether they use random values.
    pub is_random: bool,
    /// Whether they set variables of the session. SET TRANSACTION is only about the next transaction.
    pub sets: bool,
    /// Whether they may use something of their session other than the variables that it set, or leave something there, such as
    /// a user variable, a temporary table, or the value of LAST_INSERT_ID().
    pub uses_session: bool,
    /// Whether they may insert rows into any table, or change the next `AUTO_INCREMENT` value of a table.
    pub hides_ids: bool,
    /// Whether they insert rows, or change those that are there already.
    pub is_upsert: bool,
    /// Whether they change the rows of one table in which one column has a value, and no others.
    pub is_lookup: bool,
    /// Which moment of a backup they show, if any.
    pub backup: Option<Moment>,
}

impl DigestProperties {
    /// The properties of a digest that has no number yet.
    #[must_use]
    pub fn of(digest: &[u8]) -> Self {
        let (whole, digest) = (digest, executed(digest));
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
        let plain: [&[u8]; 20] = [
            b"select",
            b"table",
            b"values",
            b"with",
            b"insert",
            b"update",
            b"delete",
            b"replace",
            b"begin",
            b"start",
            b"commit",
            b"rollback",
            b"savepoint",
            b"release",
            b"set",
            b"use",
            b"show",
            b"explain",
            b"desc",
            b"describe",
        ];
        let hiding: [&[u8]; 9] = [b"xa", b"call", b"do", b"execute", b"load", b"truncate", b"alter", b"rename", b"drop"];
        let of_session: [&[u8]; 8] = [
            b"insert_id",
            b"@@identity",
            b"found_rows (",
            b"row_count (",
            b"connection_id (",
            b"set transaction",
            b"show warnings",
            b"show errors",
        ];
        let signs = memchr::memchr_iter(b'@', digest).count();
        let has_user_variable = signs > 2 * memchr::memmem::find_iter(digest, b"@@").count();
        Self {
            number: None,
            class: Class::of(digest),
            is_wrapped: whole.len() != digest.len(),
            kind,
            asks_for_time: any(&asks),
            is_random: any(&[b"rand (", b"uuid (", b"uuid_short ("]),
            sets: first == b"set" && !digest.starts_with(b"set transaction "),
            uses_session: !plain.contains(&first) || has_user_variable || any(&of_session),
            hides_ids: hiding.contains(&first) && !digest.starts_with(b"drop temporary"),
            is_upsert: has(b" on duplicate key update "),
            is_lookup: is_lookup(digest),
            backup: Moment::of(digest),
        }
    }
}
