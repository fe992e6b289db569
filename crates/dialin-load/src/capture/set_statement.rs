//! What a SET statement does to the transactions of its session, in all the forms that servers accept.

use crate::sql_tokens::{Kind, tokens};

/// How COMMIT and ROLLBACK end a transaction if they do not say so (`completion_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completion {
    /// The transaction ends.
    #[default]
    Plain,
    /// The next one begins at once.
    Chain,
    /// The session ends as well.
    Release,
}

/// What a SET statement does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetStatement {
    /// The session's new `autocommit`; None if the statement does not set it.
    pub autocommit: Option<bool>,
    /// The session's new `completion_type`.
    pub completion: Option<Completion>,
    /// It sets a global variable, or one that is kept for the next start of the server.
    pub is_global: bool,
}

type Token<'a> = (Kind, &'a [u8]);

impl SetStatement {
    /// Read the text of a SET statement, or its digest, which shows what is set, but not to which value.
    #[must_use]
    pub fn of(sql: &[u8]) -> Self {
        let mut all = tokens(sql);
        let mut set = Self::default();
        if !all.next().is_some_and(|token| is(token, &["set"])) {
            return set;
        }
        let all: Vec<Token<'_>> = all.take_while(|(_, text)| *text != b";").collect();
        let mut depth = 0;
        // GLOBAL and SESSION apply to the assignments after them, too.
        let mut is_global = false;
        for assignment in all.split(|(kind, text)| {
            if *kind == Kind::Sign {
                depth += i32::from(*text == b"(") - i32::from(*text == b")");
            }
            depth == 0 && *kind == Kind::Sign && *text == b","
        }) {
            set.assign(assignment, &mut is_global);
        }
        set
    }

    fn assign(&mut self, mut tokens: &[Token<'_>], all_are_global: &mut bool) {
        if let [scope, (_, next), ..] = tokens
            && *next != b"="
            && let Some(is_global) = is_global(*scope)
        {
            (*all_are_global, tokens) = (is_global, &tokens[1..]);
        }
        let mut is_for_all = *all_are_global;
        if let [(_, b"@"), (_, b"@"), rest @ ..] = tokens {
            (tokens, is_for_all) = (rest, false);
            if let [scope, (_, b"."), rest @ ..] = tokens
                && let Some(is_global) = is_global(*scope)
            {
                (tokens, is_for_all) = (rest, is_global);
            }
        }
        let (name, value) = match tokens {
            [name, (_, b"="), value @ ..] | [name, (_, b":"), (_, b"="), value @ ..] => (*name, value),
            _ => return,
        };
        if is_for_all {
            self.is_global = true;
        } else if is_name(name, b"autocommit") {
            self.autocommit = Some(!is_value(value, &["0", "off", "false"]));
        } else if is_name(name, b"completion_type") {
            self.completion = Some(match value {
                _ if is_value(value, &["1", "chain"]) => Completion::Chain,
                _ if is_value(value, &["2", "release"]) => Completion::Release,
                _ => Completion::Plain,
            });
        }
    }
}

/// Whether a word names a scope that is not that of the session; None if it names no scope.
fn is_global(token: Token<'_>) -> Option<bool> {
    match token {
        _ if is(token, &["global", "persist", "persist_only"]) => Some(true),
        _ if is(token, &["session", "local"]) => Some(false),
        _ => None,
    }
}

fn is((kind, text): Token<'_>, words: &[&str]) -> bool {
    kind == Kind::Word && words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_name((kind, text): Token<'_>, name: &[u8]) -> bool {
    match kind {
        Kind::Word => text.eq_ignore_ascii_case(name),
        Kind::Name => inner(text).eq_ignore_ascii_case(name),
        _ => false,
    }
}

/// Whether a value is one of these words, quoted or not.
fn is_value(value: &[Token<'_>], words: &[&str]) -> bool {
    let [(kind, text)] = value else { return false };
    let text = if *kind == Kind::Text { inner(text) } else { text };
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// The text within quotes.
fn inner(text: &[u8]) -> &[u8] {
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
}

/// The statement that MariaDB's `SET STATEMENT ... FOR` executes, in a digest; any other digest is returned whole.
#[must_use]
pub fn executed(digest: &[u8]) -> &[u8] {
    if !digest.starts_with(b"set statement ") {
        return digest;
    }
    memchr::memmem::find(digest, b" for ").map_or(digest, |at| &digest[at + 5..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(sql: &str) -> SetStatement {
        SetStatement::of(sql.as_bytes())
    }

    #[test]
    fn autocommit_is_found_in_every_form_of_set() {
        for sql in [
            "SET autocommit=0",
            "set @@autocommit := 0;",
            "SET `autocommit`=0",
            "SET SESSION autocommit = OFF",
            "/*!40101 SET autocommit='OFF' */",
            "set autocommit=0,sql_mode=CONCAT(@@sql_mode,',STRICT_TRANS_TABLES')",
            "SET sql_mode=CONCAT(@@sql_mode, ',autocommit=1'), autocommit=0",
            "SET NAMES utf8mb4, autocommit=0",
            "SET NAMES 'utf8mb4' COLLATE utf8mb4_bin, autocommit = FALSE",
            "SET sql_mode='ANSI', autocommit=0, time_zone='+00:00'",
            "SET autocommit=0 /* = 1 */",
            "SET autocommit=FALSE, unique_checks=1",
            "SET @@SESSION.autocommit = 0, @a = 1",
            "SET @a=1, @@autocommit=0",
            "SET @autocommit=1, autocommit=0",
            "SET @@global.autocommit=1, autocommit=0",
            "SET autocommit=1, local AutoCommit=0",
        ] {
            assert_eq!(set(sql).autocommit, Some(false), "{sql}");
            let on = sql.replace("OFF", "ON").replace('0', "1").replace("FALSE", "TRUE");
            assert_eq!(set(&on).autocommit, Some(true), "{on}");
        }
        for sql in
            ["SET @autocommit=0", "SET x=@@autocommit", "SET GLOBAL x=1, autocommit=0", "SELECT autocommit=0", "SET NAMES x"]
        {
            assert_eq!(set(sql).autocommit, None, "{sql}");
        }
        assert_eq!(set("SET autocommit=@old").autocommit, Some(true));
    }

    #[test]
    fn the_completion_of_transactions_is_found() {
        for (sql, completion) in [
            ("SET completion_type=1", Completion::Chain),
            ("SET @@completion_type = 'CHAIN', a = 1", Completion::Chain),
            ("SET SESSION completion_type = RELEASE", Completion::Release),
            ("SET completion_type = DEFAULT", Completion::Plain),
            ("SET completion_type = 'NO_CHAIN'", Completion::Plain),
        ] {
            assert_eq!(set(sql).completion, Some(completion), "{sql}");
        }
    }

    #[test]
    fn variables_of_the_server_are_told_from_those_of_the_session() {
        for sql in ["set global a=1", "set a=1, @@persist.b=2", "set session a=1, global b=2, c=3", "SET PERSIST_ONLY a=1"] {
            assert!(set(sql).is_global, "{sql}");
        }
        for sql in
            ["set a=@@global.a", "set global=1", "set session a=1", "set @@global.a=1, session b=2, c=1", "set @global=1"]
        {
            assert_eq!(set(sql).is_global, sql.starts_with("set @@global"), "{sql}");
        }
    }

    #[test]
    fn set_statement_executes_what_follows_for() {
        for (digest, inner) in [
            ("set statement max_statement_time = ? for insert into p values (...)", "insert into p values (...)"),
            ("select a from t for update", "select a from t for update"),
        ] {
            assert_eq!(executed(digest.as_bytes()), inner.as_bytes());
        }
    }
}
