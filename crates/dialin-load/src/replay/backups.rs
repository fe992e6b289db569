//! Backups that were taken while a capture ran: their statements show which transactions they contain.

use serde::{Deserialize, Serialize};

/// A backup that was taken while the capture ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The moment whose data it contains, in microseconds since 1970.
    pub at: i64,
    /// The statement that shows this moment.
    pub by: Moment,
}

/// A statement of a backup that shows the moment whose data it contains. If a session has several, the one listed
/// last here counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// `FLUSH TABLES WITH READ LOCK`: file system snapshots, and older programs.
    ReadLock,
    /// `START TRANSACTION WITH CONSISTENT SNAPSHOT`: dumps.
    ConsistentSnapshot,
    /// `BACKUP STAGE BLOCK_COMMIT`: mariadb-backup.
    BlockCommit,
    /// A query of `performance_schema.log_status`: XtraBackup 8.
    LogStatus,
}

impl Moment {
    /// The moment that a statement of this digest shows, if any.
    #[must_use]
    pub fn of(digest: &[u8]) -> Option<Self> {
        let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
        match digest {
            _ if digest.starts_with(b"flush tables with read lock") => Some(Self::ReadLock),
            _ if digest.starts_with(b"start transaction") && has(b"with consistent snapshot") => Some(Self::ConsistentSnapshot),
            _ if digest.starts_with(b"backup stage block_commit") => Some(Self::BlockCommit),
            _ if digest.starts_with(b"select") && has(b"performance_schema.log_status") => Some(Self::LogStatus),
            _ => None,
        }
    }
}
