//! Classifies statements by digest: what a statement does to its transaction, and whether it can be replayed.

use serde::{Deserialize, Serialize};

/// The class of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// What it does to a transaction.
    pub effect: Effect,
    /// Why it cannot be replayed; None if it can.
    pub obstacle: Option<Obstacle>,
}

/// What a statement does to the transaction of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It begins a transaction, and commits the one before it.
    Begins,
    /// It commits the transaction.
    Commits,
    /// It rolls the transaction back.
    RollsBack,
    /// The server commits the open transaction, and the statement is a transaction by itself.
    CommitsItself,
    /// It sets `autocommit`. The value is in its text.
    SetsAutocommit,
    /// It belongs to the open transaction. If none is open, it is a transaction by itself, or begins one if autocommit is off.
    Belongs,
    /// It is part of no transaction, such as `SET NAMES`.
    Outside,
}

/// Why a statement cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// About accounts, or with a password: dropped when the log is read.
    Account,
    /// PREPARE, EXECUTE and DEALLOCATE: the log has the statement with its values as well.
    SqlPrepare,
    /// It ran within a stored routine, which its CALL runs again.
    InRoutine,
    /// XA transactions.
    Xa,
    /// LOAD DATA and LOAD XML: the log does not have the file.
    LoadData,
    /// SELECT ... INTO OUTFILE writes a file on the server.
    IntoOutfile,
    /// GET_LOCK and similar functions: who waits for whom is not in the log.
    NamedLock,
    /// It changes the server, not the data: SET GLOBAL, FLUSH, KILL, INSTALL and similar statements.
    Administration,
    /// Rows were fetched through a cursor of the protocol.
    Cursor,
    /// Quoted text in it has no end.
    OpenQuote,
    /// The log does not say in which session it ran.
    NoSession,
    /// The log has no time for it.
    NoTime,
}

impl Class {
    /// Classify a statement by its digest.
    #[must_use]
    pub fn of(digest: &[u8]) -> Self {
        let mut words = digest.split(|byte| matches!(byte, b' ' | b';' | b'(' | b'.'));
        let mut word = || words.next().unwrap_or_default();
        let (first, second, third) = (word(), word(), word());
        let can = |effect| Self { effect, obstacle: None };
        let cannot = |effect, obstacle| Self { effect, obstacle: Some(obstacle) };
        let commits_itself = Effect::CommitsItself;
        match (first, second) {
            (b"begin", b"" | b"work") => can(Effect::Begins),
            (b"start", b"transaction") => can(Effect::Begins),
            (b"commit", _) => can(Effect::Commits),
            (b"rollback", b"to") => can(Effect::Belongs),
            (b"rollback", b"work") if third == b"to" => can(Effect::Belongs),
            (b"rollback", _) => can(Effect::RollsBack),
            (b"xa", _) => cannot(Effect::Belongs, Obstacle::Xa),
            (b"prepare" | b"execute" | b"deallocate", _) => cannot(Effect::Outside, Obstacle::SqlPrepare),
            (b"drop", b"prepare") => cannot(Effect::Outside, Obstacle::SqlPrepare),
            (b"load", b"data" | b"xml") => cannot(Effect::Belongs, Obstacle::LoadData),
            (b"set", b"global" | b"@@global" | b"persist" | b"@@persist" | b"persist_only" | b"@@persist_only") => {
                cannot(Effect::Outside, Obstacle::Administration)
            }
            (b"set", b"autocommit" | b"@@autocommit") => can(Effect::SetsAutocommit),
            (b"set", b"session" | b"local" | b"@@session" | b"@@local") if third == b"autocommit" => {
                can(Effect::SetsAutocommit)
            }
            (b"set" | b"use" | b"show" | b"desc" | b"describe" | b"explain" | b"help", _) => can(Effect::Outside),
            (b"flush" | b"reset" | b"purge" | b"change" | b"install" | b"uninstall" | b"clone" | b"import" | b"backup", _)
            | (b"lock" | b"unlock", b"instance")
            | (b"start" | b"stop", b"replica" | b"slave" | b"group_replication" | b"all") => {
                cannot(commits_itself, Obstacle::Administration)
            }
            (b"kill" | b"shutdown" | b"restart" | b"binlog" | b"signal" | b"resignal", _) => {
                cannot(Effect::Outside, Obstacle::Administration)
            }
            (b"create" | b"drop", b"temporary") => with_locks(digest, Effect::Belongs),
            (
                b"create" | b"alter" | b"drop" | b"rename" | b"truncate" | b"analyze" | b"optimize" | b"repair" | b"check"
                | b"grant" | b"revoke",
                _,
            )
            | (b"lock" | b"unlock", b"table" | b"tables") => can(commits_itself),
            _ => with_locks(digest, Effect::Belongs),
        }
    }
}

/// The class of a statement that may use named locks, or write a file.
fn with_locks(digest: &[u8], effect: Effect) -> Class {
    let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
    let obstacle = if has(b"get_lock (") || has(b"release_lock (") || has(b"release_all_locks (") {
        Some(Obstacle::NamedLock)
    } else if has(b"into outfile") || has(b"into dumpfile") {
        Some(Obstacle::IntoOutfile)
    } else {
        None
    };
    Class { effect, obstacle }
}

/// Whether the text of a statement with [`Effect::SetsAutocommit`] turns autocommit on.
#[must_use]
pub fn turns_autocommit_on(sql: &[u8]) -> bool {
    let value = sql.rsplit(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
    let value = value.strip_suffix(b";").unwrap_or(value).trim_ascii_end();
    !(value == b"0" || value.eq_ignore_ascii_case(b"off") || value.eq_ignore_ascii_case(b"false"))
}

#[cfg(test)]
mod tests {
    use super::super::digest::Digester;
    use super::*;

    fn class(sql: &str) -> Class {
        Class::of(Digester::default().digest(sql.as_bytes()).0)
    }

    #[test]
    fn transactions_begin_and_end() {
        for (sql, effect) in [
            ("BEGIN", Effect::Begins),
            ("begin work;", Effect::Begins),
            ("/* app:1 */ START TRANSACTION READ ONLY", Effect::Begins),
            ("COMMIT AND CHAIN", Effect::Commits),
            ("ROLLBACK", Effect::RollsBack),
            ("ROLLBACK TO SAVEPOINT a", Effect::Belongs),
            ("ROLLBACK WORK TO a", Effect::Belongs),
            ("SET autocommit=0", Effect::SetsAutocommit),
            ("SET @@session.autocommit = 1", Effect::SetsAutocommit),
            ("SET SESSION autocommit = OFF", Effect::SetsAutocommit),
            ("SET NAMES utf8mb4", Effect::Outside),
            ("ALTER TABLE t ADD b INT", Effect::CommitsItself),
            ("CREATE TEMPORARY TABLE t (a INT)", Effect::Belongs),
            ("update t set a = 1", Effect::Belongs),
        ] {
            assert_eq!(class(sql), Class { effect, obstacle: None }, "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_replayed_says_why() {
        for (sql, obstacle) in [
            ("PREPARE s FROM ...", Obstacle::SqlPrepare),
            ("EXECUTE s USING @a", Obstacle::SqlPrepare),
            ("XA START 'a'", Obstacle::Xa),
            ("LOAD DATA LOCAL INFILE 'a' INTO TABLE t", Obstacle::LoadData),
            ("SELECT a INTO OUTFILE '/tmp/a' FROM t", Obstacle::IntoOutfile),
            ("SELECT GET_LOCK('a', 10)", Obstacle::NamedLock),
            ("DO RELEASE_LOCK('a')", Obstacle::NamedLock),
            ("SET GLOBAL slow_query_log = 1", Obstacle::Administration),
            ("SET @@global.slow_query_log = 1", Obstacle::Administration),
            ("FLUSH SLOW LOGS", Obstacle::Administration),
            ("BACKUP STAGE BLOCK_COMMIT", Obstacle::Administration),
            ("LOCK INSTANCE FOR BACKUP", Obstacle::Administration),
            ("KILL 7", Obstacle::Administration),
            ("STOP REPLICA", Obstacle::Administration),
        ] {
            assert_eq!(class(sql).obstacle, Some(obstacle), "{sql}");
        }
        assert_eq!(class("select get_locked from t").obstacle, None);
    }

    #[test]
    fn autocommit_is_turned_on_and_off() {
        for (sql, on) in [("SET autocommit=0", false), ("set autocommit = OFF;", false), ("SET autocommit=1", true)] {
            assert_eq!(turns_autocommit_on(sql.as_bytes()), on, "{sql}");
        }
    }
}
