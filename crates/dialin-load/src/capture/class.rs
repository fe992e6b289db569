//! Classifies statements by digest: what a statement does to its transaction, and whether it can be replayed.

use super::set_statement::{SetStatement, executed};
use serde::{Deserialize, Serialize};

/// The class of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// What it does to a transaction.
    pub effect: Effect,
    /// Why it cannot be replayed; None if it can.
    pub obstacle: Option<Obstacle>,
    /// Whether it changes or locks rows, so that it matters whether it is part of a transaction.
    pub changes: bool,
}

/// What a statement does to the transaction of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It begins a transaction, and commits the one before it.
    Begins,
    /// It commits the transaction.
    Commits(End),
    /// It rolls the transaction back.
    RollsBack(End),
    /// The server commits the open transaction, and the statement is a transaction by itself.
    CommitsItself,
    /// `LOCK TABLES`: the server commits the open transaction. What follows runs under the locks.
    LocksTables,
    /// `UNLOCK TABLES`.
    UnlocksTables,
    /// It sets `autocommit` or `completion_type`. The value is in its text.
    Sets,
    /// It begins an XA transaction.
    BeginsXa,
    /// It ends the session's XA transaction: XA COMMIT, XA ROLLBACK, and XA PREPARE, after which any session may end it.
    EndsXa,
    /// It belongs to the open transaction. If none is open, it is a transaction by itself, or begins one if autocommit is off.
    Belongs,
    /// It is part of no transaction, such as `SET NAMES`.
    Outside,
}

/// What comes after the end of a transaction. None if the statement does not say it: `completion_type` decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// `AND CHAIN`: whether the next transaction begins at once.
    pub chains: Option<bool>,
    /// `RELEASE`: whether the session ends.
    pub releases: Option<bool>,
}

impl End {
    fn of(digest: &[u8]) -> Self {
        let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
        let says = |yes: &[u8], no: &[u8]| if has(no) { Some(false) } else { has(yes).then_some(true) };
        Self { chains: says(b" and chain", b" and no chain"), releases: says(b" release", b" no release") }
    }
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
        let digest = executed(digest);
        let (effect, obstacle) = effect_and_obstacle(digest);
        Self { effect, obstacle, changes: changes(digest) }
    }

    /// What a statement of this class sets, of what matters to transactions.
    #[must_use]
    pub fn set(self, sql: &[u8]) -> SetStatement {
        if self.effect == Effect::Sets { SetStatement::of(sql) } else { SetStatement::default() }
    }
}

fn effect_and_obstacle(digest: &[u8]) -> (Effect, Option<Obstacle>) {
    let mut words = digest.split(|byte| matches!(byte, b' ' | b';' | b'(' | b'.'));
    let mut word = || words.next().unwrap_or_default();
    let (first, second, third) = (word(), word(), word());
    match (first, second) {
        (b"begin", b"" | b"work") => (Effect::Begins, None),
        (b"start", b"transaction") => (Effect::Begins, None),
        (b"commit", _) => (Effect::Commits(End::of(digest)), None),
        (b"rollback", b"to") => (Effect::Belongs, None),
        (b"rollback", b"work") if third == b"to" => (Effect::Belongs, None),
        (b"rollback", _) => (Effect::RollsBack(End::of(digest)), None),
        (b"xa", b"start" | b"begin") => (Effect::BeginsXa, Some(Obstacle::Xa)),
        (b"xa", b"commit" | b"rollback" | b"prepare") => (Effect::EndsXa, Some(Obstacle::Xa)),
        (b"xa", _) => (Effect::Outside, Some(Obstacle::Xa)),
        (b"prepare" | b"execute" | b"deallocate", _) => (Effect::Outside, Some(Obstacle::SqlPrepare)),
        (b"drop", b"prepare") => (Effect::Outside, Some(Obstacle::SqlPrepare)),
        (b"load", b"data" | b"xml") => (Effect::Belongs, Some(Obstacle::LoadData)),
        (b"set", _) => match SetStatement::of(digest) {
            SetStatement { is_global: true, .. } => (Effect::Outside, Some(Obstacle::Administration)),
            SetStatement { autocommit: None, completion: None, .. } => (Effect::Outside, None),
            _ => (Effect::Sets, None),
        },
        (b"use" | b"show" | b"desc" | b"describe" | b"explain" | b"help", _) => (Effect::Outside, None),
        (b"flush" | b"reset" | b"purge" | b"change" | b"install" | b"uninstall" | b"clone" | b"import" | b"backup", _)
        | (b"lock" | b"unlock", b"instance")
        | (b"start" | b"stop", b"replica" | b"slave" | b"group_replication" | b"all") => {
            (Effect::CommitsItself, Some(Obstacle::Administration))
        }
        (b"kill" | b"shutdown" | b"restart" | b"binlog" | b"signal" | b"resignal", _) => {
            (Effect::Outside, Some(Obstacle::Administration))
        }
        (b"create" | b"drop", b"temporary") => (Effect::Belongs, of_locks_and_files(digest)),
        (b"create", b"or") if digest.starts_with(b"create or replace temporary ") => {
            (Effect::Belongs, of_locks_and_files(digest))
        }
        // In MariaDB, ANALYZE also executes a statement and explains it.
        (b"analyze", _) if !matches!(second, b"table" | b"tables" | b"no_write_to_binlog" | b"local") => {
            (Effect::Belongs, of_locks_and_files(digest))
        }
        (
            b"create" | b"alter" | b"drop" | b"rename" | b"truncate" | b"analyze" | b"optimize" | b"repair" | b"check"
            | b"grant" | b"revoke",
            _,
        ) => (Effect::CommitsItself, None),
        (b"lock", b"table" | b"tables") => (Effect::LocksTables, None),
        (b"unlock", b"table" | b"tables") => (Effect::UnlocksTables, None),
        _ => (Effect::Belongs, of_locks_and_files(digest)),
    }
}

/// The obstacle of a statement that may use named locks, or write a file.
fn of_locks_and_files(digest: &[u8]) -> Option<Obstacle> {
    let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
    if has(b"get_lock (") || has(b"release_lock (") || has(b"release_all_locks (") {
        Some(Obstacle::NamedLock)
    } else if has(b"into outfile") || has(b"into dumpfile") {
        Some(Obstacle::IntoOutfile)
    } else {
        None
    }
}

fn changes(digest: &[u8]) -> bool {
    let first = digest.split(|byte| !byte.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
    match first {
        b"insert" | b"update" | b"delete" | b"replace" | b"load" => true,
        b"select" => has(b" for update") || has(b" for share") || has(b" lock in share mode"),
        b"with" => has(b" update ") || has(b" delete ") || has(b" insert "),
        _ => false,
    }
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
            ("COMMIT", Effect::Commits(End::default())),
            ("COMMIT AND CHAIN", Effect::Commits(End { chains: Some(true), releases: None })),
            ("commit work and no chain release", Effect::Commits(End { chains: Some(false), releases: Some(true) })),
            ("ROLLBACK", Effect::RollsBack(End::default())),
            ("ROLLBACK NO RELEASE", Effect::RollsBack(End { chains: None, releases: Some(false) })),
            ("ROLLBACK TO SAVEPOINT a", Effect::Belongs),
            ("ROLLBACK WORK TO a", Effect::Belongs),
            ("SET autocommit=0", Effect::Sets),
            ("SET @@session.autocommit = 1", Effect::Sets),
            ("SET SESSION autocommit = OFF", Effect::Sets),
            ("SET NAMES utf8mb4", Effect::Outside),
            ("ALTER TABLE t ADD b INT", Effect::CommitsItself),
            ("CREATE TEMPORARY TABLE t (a INT)", Effect::Belongs),
            ("create or replace temporary table t (a int)", Effect::Belongs),
            ("ANALYZE FORMAT=JSON SELECT 1", Effect::Belongs),
            ("ANALYZE TABLE t", Effect::CommitsItself),
            ("LOCK TABLES t WRITE", Effect::LocksTables),
            ("UNLOCK TABLES", Effect::UnlocksTables),
            ("SET a = 1, autocommit = 0", Effect::Sets),
            ("SET @autocommit = 0", Effect::Outside),
            ("SET STATEMENT max_statement_time=5 FOR COMMIT", Effect::Commits(End::default())),
            ("update t set a = 1", Effect::Belongs),
        ] {
            let Class { effect: found, obstacle, .. } = class(sql);
            assert_eq!((found, obstacle), (effect, None), "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_replayed_says_why() {
        for (sql, obstacle) in [
            ("PREPARE s FROM ...", Obstacle::SqlPrepare),
            ("EXECUTE s USING @a", Obstacle::SqlPrepare),
            ("XA START 'a'", Obstacle::Xa),
            ("XA RECOVER", Obstacle::Xa),
            ("SET STATEMENT max_statement_time=5 FOR LOAD DATA INFILE 'a' INTO TABLE t", Obstacle::LoadData),
            ("SET a = 1, GLOBAL slow_query_log = 1", Obstacle::Administration),
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
    fn changes_and_locking_reads_matter_to_a_transaction() {
        for sql in ["update t set a = 1", "select a from t for update", "with x as (select 1) delete from t where a = 1"] {
            assert!(class(sql).changes, "{sql}");
        }
        for sql in ["select a from t", "commit", "with x as (select 1) select * from x"] {
            assert!(!class(sql).changes, "{sql}");
        }
    }
}
