//! Digests: statements without their values. Statements of one kind have the same digest, and a digest contains no user data.
//!
//! A digest is in lower case, without comments, and has backticks only around names that need them. A value becomes
//! `?`, several values become `?, ...`, a row of values becomes `(...)`, and several rows become one. The same
//! function turns a server's own `DIGEST_TEXT` into the same text, so that counts can be compared.

use crate::sql_tokens::{Kind, is_of_name, name_length, number_at, token_at};

/// Digests of more bytes are cut off.
pub const LONGEST: usize = 4_096;

/// Properties of a statement that are found while its digest is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The statement is about accounts, or contains a password.
    pub about_accounts: bool,
    /// Quoted text or a comment has no end, so it is unknown which parts of the statement are quoted.
    pub is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Word,
    /// `@` or `@@`, in front of a variable.
    At,
    Sign,
    Comma,
    Dot,
    Open,
    Close,
    Value,
    /// `?, ...`
    Values,
    /// `(...)`
    Row,
    Semicolon,
    Other,
}

/// Which statement about accounts the first word may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum First {
    /// CREATE, ALTER, DROP or RENAME, of an account or a server among others.
    Definition,
    Set,
    /// START, of a replica among others.
    Start,
    #[default]
    Other,
}

/// Makes digests. Its memory is reused for each statement.
#[derive(Debug, Default)]
pub struct Digester {
    text: Vec<u8>,
    /// Tokens of the text, and where each begins, including the blank before it.
    tokens: Vec<(Token, usize)>,
    /// How many words the current statement has so far.
    words: usize,
    /// What its first word may begin, as long as that is undecided.
    first: First,
    findings: Findings,
    /// Whether the text is at its maximum length. Then only the findings are updated.
    is_full: bool,
}

impl Digester {
    /// The digest of a statement, and the properties found with it.
    pub fn digest(&mut self, sql: &[u8]) -> (&[u8], Findings) {
        self.text.clear();
        self.tokens.clear();
        (self.words, self.first, self.findings, self.is_full) = (0, First::Other, Findings::default(), false);
        let mut rest = sql;
        while let Some(first) = rest.first() {
            let length = match first {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => 1,
                b'#' | b'/' | b'-' | b'*' => {
                    let token = token_at(rest);
                    self.findings.is_open |= !token.is_closed;
                    if token.kind == Kind::Sign { self.other(rest) } else { token.length }
                }
                b'\'' | b'"' => {
                    let length = self.quoted_length(rest);
                    self.value();
                    length
                }
                b'`' => {
                    let length = self.quoted_length(rest);
                    self.name(&rest[1..length.max(2) - 1]);
                    length
                }
                b'0'..=b'9' => self.number_or_name(rest),
                b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) && !self.follows(Token::Word) => {
                    self.number();
                    number_at(rest).length
                }
                byte if is_of_name(*byte) => self.word(rest),
                _ => self.other(rest),
            };
            rest = &rest[length.min(rest.len())..];
        }
        while self.follows(Token::Semicolon) && !self.is_full {
            self.drop_last();
        }
        (&self.text, self.findings)
    }

    /// The length of the quoted text at the start of `rest`.
    fn quoted_length(&mut self, rest: &[u8]) -> usize {
        let token = token_at(rest);
        self.findings.is_open |= !token.is_closed;
        token.length
    }

    fn word(&mut self, rest: &[u8]) -> usize {
        let length = name_length(rest);
        let word = &rest[..length];
        let after = rest.get(length);
        // Such as x'41', b'01' and n'text'.
        if length == 1 && after == Some(&b'\'') && matches!(word[0] | 0x20, b'x' | b'b' | b'n') {
            return length;
        }
        let is_value = word.eq_ignore_ascii_case(b"null") && !self.ends_with(b"is") && !self.ends_with(b"not");
        if is_value {
            self.value();
            return length;
        }
        self.note_accounts(word, &rest[length..]);
        // Servers write DISTINCT as DISTINCTROW in `DIGEST_TEXT`.
        let word = if word.eq_ignore_ascii_case(b"distinctrow") { b"distinct" } else { word };
        self.push(Token::Word, word);
        length
    }

    /// Detect a statement about accounts by its first words, or by a word that comes before a password.
    fn note_accounts(&mut self, word: &[u8], rest: &[u8]) {
        let is = |other: &str| word.eq_ignore_ascii_case(other.as_bytes());
        let mut about_accounts =
            is("identified") || ((is("password") || is("old_password")) && rest.trim_ascii_start().starts_with(b"("));
        self.words += 1;
        if self.words == 1 {
            self.first = match word {
                _ if is("create") || is("alter") || is("drop") || is("rename") => First::Definition,
                _ if is("set") => First::Set,
                _ if is("start") => First::Start,
                _ => First::Other,
            };
            about_accounts |= is("grant") || is("revoke") || is("change");
        } else if self.first != First::Other {
            about_accounts |= match self.first {
                First::Definition => is("user") || is("server"),
                First::Set => is("password"),
                First::Start => is("replica") || is("slave") || is("group_replication"),
                First::Other => false,
            };
            // Only `or replace` may be between `create` and `user`: `create table user` is about a table.
            if !(is("or") || is("replace")) {
                self.first = First::Other;
            }
        }
        self.findings.about_accounts |= about_accounts;
    }

    fn name(&mut self, name: &[u8]) {
        self.words += 1;
        self.first = First::Other;
        let is_plain = !name.is_empty() && name.iter().all(|byte| is_of_name(*byte));
        if is_plain {
            self.push(Token::Word, name);
        } else {
            self.push(Token::Word, &[b"`", name, b"`"].concat());
        }
    }

    fn number_or_name(&mut self, rest: &[u8]) -> usize {
        let length = number_at(rest).length;
        if rest.get(length).copied().is_some_and(is_of_name) || self.follows(Token::Dot) {
            return self.word(rest);
        }
        self.number();
        length
    }

    fn number(&mut self) {
        let operand = [Token::Word, Token::Close, Token::Value, Token::Values, Token::Row];
        if self.follows(Token::Sign) {
            let before = self.tokens.len().checked_sub(2).map(|at| self.tokens[at]);
            let is_operator = before.is_some_and(|(token, at)| {
                operand.contains(&token) && !(token == Token::Word && is_before_value(self.text[at..].trim_ascii_start()))
            });
            if !is_operator {
                self.drop_last();
            }
        }
        self.value();
    }

    fn value(&mut self) {
        // Servers write some values as `TIMESTAMP'2024-01-02 03:04:05'`.
        if self.follows(Token::Word) && (self.ends_with(b"timestamp") || self.ends_with(b"date") || self.ends_with(b"time")) {
            self.drop_last();
        }
        if self.follows(Token::Comma) && matches!(self.kind(1), Some(Token::Value | Token::Values)) {
            self.drop_last();
            if self.follows(Token::Value) {
                self.drop_last();
                self.push(Token::Values, b"?, ...");
            }
            return;
        }
        self.push(Token::Value, b"?");
    }

    fn other(&mut self, rest: &[u8]) -> usize {
        match rest {
            [b'.', b'.', b'.', ..] => {
                self.ellipsis();
                3
            }
            [b'?', ..] => {
                self.value();
                1
            }
            [b'(', ..] => {
                self.push(Token::Open, b"(");
                1
            }
            [b')', ..] => {
                self.close();
                1
            }
            [b',', ..] => {
                self.push(Token::Comma, b",");
                1
            }
            [b'.', ..] => {
                self.push(Token::Dot, b".");
                1
            }
            [b';', ..] => {
                self.words = 0;
                self.push(Token::Semicolon, b";");
                1
            }
            [b'@', b'@', ..] => {
                self.push(Token::At, b"@@");
                2
            }
            [b'@', ..] => {
                self.push(Token::At, b"@");
                1
            }
            [b'<', b'>', ..] => {
                self.push(Token::Other, b"!=");
                2
            }
            [b'<', b'=', b'>', ..] | [b'-', b'>', b'>', ..] => {
                self.push(Token::Other, &rest[..3]);
                3
            }
            [b'<' | b'>' | b'!' | b':', b'=', ..]
            | [b'<', b'<', ..]
            | [b'>', b'>', ..]
            | [b'&', b'&', ..]
            | [b'|', b'|', ..]
            | [b'-', b'>', ..] => {
                self.push(Token::Other, &rest[..2]);
                2
            }
            [sign @ (b'-' | b'+'), ..] => {
                self.push(Token::Sign, &[*sign]);
                1
            }
            [byte, ..] => {
                self.push(Token::Other, &[if byte.is_ascii_graphic() { *byte } else { b'?' }]);
                1
            }
            [] => 0,
        }
    }

    /// Handle `...`, which servers write in place of values.
    fn ellipsis(&mut self) {
        if self.follows(Token::Open) {
            self.push(Token::Values, b"?, ...");
        } else if self.follows(Token::Comma) && matches!(self.kind(1), Some(Token::Value)) {
            self.value();
        } else {
            self.push(Token::Other, b"...");
        }
    }

    fn close(&mut self) {
        let inner = match (self.kind(0), self.kind(1)) {
            (Some(values @ (Token::Value | Token::Values)), Some(Token::Open)) => values,
            _ => return self.push(Token::Close, b")"),
        };
        self.drop_last();
        self.drop_last();
        // Newer servers write a single value after IN in the same way as several.
        let one = inner == Token::Value && !self.ends_with(b"in");
        let row: &[u8] = if one { b"(?)" } else { b"(...)" };
        if self.follows(Token::Comma)
            && self.kind(1) == Some(Token::Row)
            && self.text[..self.tokens[self.tokens.len() - 1].1].ends_with(row)
        {
            self.drop_last();
        } else {
            self.push(Token::Row, row);
        }
    }

    /// The kind of a token, counted backwards from the last one, which is 0.
    fn kind(&self, back: usize) -> Option<Token> {
        self.tokens.len().checked_sub(back + 1).map(|at| self.tokens[at].0)
    }

    fn follows(&self, token: Token) -> bool {
        self.kind(0) == Some(token)
    }

    /// Whether the last token is this word.
    fn ends_with(&self, word: &[u8]) -> bool {
        self.tokens.last().is_some_and(|(token, at)| *token == Token::Word && self.text[*at..].trim_ascii_start() == word)
    }

    fn drop_last(&mut self) {
        if self.is_full {
            return;
        }
        if let Some((_, at)) = self.tokens.pop() {
            self.text.truncate(at);
        }
    }

    fn push(&mut self, token: Token, text: &[u8]) {
        if self.is_full {
            return;
        }
        if self.text.len() > LONGEST {
            self.is_full = true;
            self.text.extend_from_slice(b" ...");
            return;
        }
        let at = self.text.len();
        let joined = matches!(token, Token::Comma | Token::Close | Token::Dot | Token::Semicolon)
            || matches!(self.kind(0), None | Some(Token::Open | Token::Dot | Token::At));
        if !joined {
            self.text.push(b' ');
        }
        let begin = self.text.len();
        self.text.extend_from_slice(&text[..text.len().min(LONGEST)]);
        self.text[begin..].make_ascii_lowercase();
        self.tokens.push((token, at));
    }
}

/// Whether a sign after this word belongs to the value that follows it.
fn is_before_value(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 22] = [
        b"select",
        b"where",
        b"and",
        b"or",
        b"not",
        b"then",
        b"else",
        b"when",
        b"between",
        b"limit",
        b"offset",
        b"interval",
        b"in",
        b"like",
        b"return",
        b"values",
        b"value",
        b"by",
        b"on",
        b"having",
        b"default",
        b"case",
    ];
    WORDS.contains(&word)
}
