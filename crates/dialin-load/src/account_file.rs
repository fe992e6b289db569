//! Reads option files of the MySQL and MariaDB clients: the server's address, the account, and the password, which no argument
//! may contain.

use crate::account::TlsMode;
use crate::errors::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The sections that are read. A value in `[dialin-load]` overrides one in `[client]`, whatever their order in the file.
const SECTIONS: [&str; 2] = ["client", "dialin-load"];
/// The largest option file in bytes; a larger file cannot be one.
const LARGEST: u64 = 1 << 20;
const KEYS: &str = "user, password, host, port, socket, database, ssl-mode, ssl-ca, ssl-cert, ssl-key, get-server-public-key";
/// The only option that may be written without a value.
const PUBLIC_KEY: &str = "get-server-public-key";

/// The options of an account in an option file; `None` where the file does not set the option.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AccountFile {
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// The unix socket.
    pub socket: Option<PathBuf>,
    /// The schema.
    pub database: Option<String>,
    /// Whether connections use TLS, and what they verify.
    pub ssl_mode: Option<TlsMode>,
    /// The file with the certificates of the authorities (CA).
    pub ssl_ca: Option<PathBuf>,
    /// The file with the client's certificate.
    pub ssl_cert: Option<PathBuf>,
    /// The file with the private key of the client's certificate.
    pub ssl_key: Option<PathBuf>,
    /// Whether to request the server's public key for passwords over TCP without encryption.
    pub get_server_public_key: bool,
    /// Problems that do not prevent the use of the file; one sentence each, without a full stop.
    pub warnings: Vec<String>,
}

/// Read an option file.
///
/// # Errors
///
/// The file cannot be read, or its syntax or a value in it is wrong.
pub fn read(path: &Path) -> Result<AccountFile> {
    let name = path.display();
    let unreadable = |cause: std::io::Error| {
        Error::user(
            format!("The option file {name} cannot be read: {cause}"),
            "Give --defaults-file a file that this user may read",
        )
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(std::io::Error::other("it is larger than 1 MiB")));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable(std::io::Error::other("it is not UTF-8")))?;
    let mut found = parse(&text, &name.to_string())?;
    if found.password.is_some() && metadata.mode() & 0o004 != 0 {
        found.warnings.push(format!("Anybody can read the password in {name}: chmod 600 {name}"));
    }
    Ok(found)
}

/// Read the text of an option file; `name` is what errors call it.
///
/// # Errors
///
/// See [`read`].
pub fn parse(text: &str, name: &str) -> Result<AccountFile> {
    let mut found = AccountFile::default();
    let mut values: [BTreeMap<String, (usize, String)>; SECTIONS.len()] = Default::default();
    let mut section: Option<usize> = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            found.warnings.push(format!("{name}, line {number}: included files are not read"));
        } else if let Some(rest) = line.strip_prefix('[') {
            let Some((title, _)) = rest.split_once(']') else {
                return Err(wrong(name, number, "the section's name has no closing `]`"));
            };
            section = SECTIONS.iter().position(|known| *known == title.trim());
        } else if let Some(place) = section {
            let Some((key, value)) = entry(line) else { continue };
            if SECTIONS[place] == "dialin-load" && !is_known(&key) {
                return Err(wrong(name, number, &format!("unknown option `{key}`")));
            }
            values[place].insert(key, (number, value));
        }
    }
    for (key, (number, value)) in values.into_iter().flatten() {
        found.take(&key, value).map_err(|why| wrong(name, number, &why))?;
    }
    Ok(found)
}

fn wrong(name: &str, number: usize, why: &str) -> Error {
    Error::user(format!("{name}, line {number}: {why}"), format!("Write each option as key=value; dialin-load reads {KEYS}"))
}

fn is_known(key: &str) -> bool {
    KEYS.split(", ").any(|each| each == key)
}

impl AccountFile {
    /// Set an option. An empty value counts as not set, except for the password.
    fn take(&mut self, key: &str, value: String) -> std::result::Result<(), String> {
        if value.is_empty() && key != "password" {
            return Ok(());
        }
        match key {
            "user" => self.user = Some(value),
            "password" => self.password = Some(value),
            "host" => self.host = Some(value),
            "socket" => self.socket = Some(value.into()),
            "database" => self.database = Some(value),
            "port" => self.port = Some(port(&value)?),
            "ssl-mode" => self.ssl_mode = Some(tls_mode(&value)?),
            "ssl-ca" => self.ssl_ca = Some(value.into()),
            "ssl-cert" => self.ssl_cert = Some(value.into()),
            "ssl-key" => self.ssl_key = Some(value.into()),
            PUBLIC_KEY => self.get_server_public_key = is_on(&value)?,
            _ => {}
        }
        Ok(())
    }
}

fn port(value: &str) -> std::result::Result<u16, String> {
    let port = value.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("`{value}` is not a port: a number from 1 to 65535"))
}

/// Parse a value of `ssl-mode`, in upper or lower case.
///
/// # Errors
///
/// The value is unknown; the error is a sentence with the known ones, without a full stop.
pub fn tls_mode(word: &str) -> std::result::Result<TlsMode, String> {
    match word.to_ascii_lowercase().replace('-', "_").as_str() {
        "disabled" => Ok(TlsMode::Disabled),
        "preferred" => Ok(TlsMode::Preferred),
        "required" => Ok(TlsMode::Required),
        "verify_ca" => Ok(TlsMode::VerifyCa),
        "verify_identity" => Ok(TlsMode::VerifyIdentity),
        _ => Err(format!("`{word}` is not an ssl-mode: disabled, preferred, required, verify_ca or verify_identity")),
    }
}

fn is_on(value: &str) -> std::result::Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err(format!("`{value}` is neither on nor off")),
    }
}

/// The key and the value of a line; `None` for a key without a value, such as `quick`.
fn entry(line: &str) -> Option<(String, String)> {
    let line = without_comment(line);
    if line.trim().replace('_', "-") == PUBLIC_KEY {
        return Some((PUBLIC_KEY.to_owned(), "1".to_owned()));
    }
    let (key, value) = line.split_once('=')?;
    let key = key.trim().replace('_', "-");
    let key = key.strip_prefix("loose-").unwrap_or(&key).to_owned();
    Some((key, unescaped(unquoted(value.trim()))))
}

/// The line up to the first `#` that is not within quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (place, each) in line.char_indices() {
        match quote {
            None if each == '#' => return &line[..place],
            None if each == '\'' || each == '"' => quote = Some(each),
            Some(open) if each == open && !escaped => quote = None,
            _ => {}
        }
        escaped = quote.is_some() && each == '\\' && !escaped;
    }
    line
}

fn unquoted(value: &str) -> &str {
    let between = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(value)
}

/// A value with its escape sequences replaced; a backslash before any other character is kept.
fn unescaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(same @ ('\\' | '"' | '\'')) => out.push(same),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn of(text: &str) -> AccountFile {
        parse(text, "my.cnf").unwrap()
    }

    fn password(written: &str) -> String {
        of(&format!("[client]\npassword={written}\n")).password.unwrap()
    }

    #[test]
    fn an_account_is_read_from_the_clients_section() {
        let found =
            of("[mysqld]\nuser=mysql\nport=9\n[client]\nuser = anna\npassword=secret\nhost=db\nport=3307\nssl_mode=REQUIRED\n\
                        ssl-ca=/ca.pem\n[mysqldump]\nuser=other\n");
        assert_eq!((found.user.as_deref(), found.password.as_deref()), (Some("anna"), Some("secret")));
        assert_eq!((found.host.as_deref(), found.port, found.ssl_mode), (Some("db"), Some(3307), Some(TlsMode::Required)));
        assert_eq!((found.ssl_ca, found.socket), (Some("/ca.pem".into()), None));
        assert!(found.warnings.is_empty());
    }

    #[test]
    fn the_dialin_load_section_wins_in_any_order() {
        let found = of("[dialin-load]\nuser=load\n[client]\nuser=anna\nsocket=/s.sock\n");
        assert_eq!((found.user.as_deref(), found.socket), (Some("load"), Some("/s.sock".into())));
    }

    #[test]
    fn comments_are_not_part_of_a_value_unless_they_are_quoted() {
        assert_eq!(of("# [client]\n; x\n[client]\nuser=anna # that is me\n").user.as_deref(), Some("anna"));
        assert_eq!([r#""a#b""#, "'a#b' # c", "a#b", "a;b"].map(password), ["a#b", "a#b", "a", "a;b"]);
    }

    #[test]
    fn quotes_and_escapes_are_those_of_the_standard_clients() {
        assert_eq!(
            [r#""a b ""#, "'it''s'", r#""half"#, r"a\sb\\c\td\qe", r##""a\"#b""##].map(password),
            ["a b ", "it''s", "\"half", "a b\\c\td\\qe", "a\"#b"]
        );
    }

    #[test]
    fn keys_may_be_written_with_underscores_and_loosely() {
        assert_eq!(of("[client]\nloose_ssl_key = /k.pem\n").ssl_key, Some("/k.pem".into()));
    }

    #[test]
    fn unknown_options_are_ignored_except_in_the_dialin_load_section() {
        assert!(of("[client]\nprotocol=TCP\nquick\npassword\n").password.is_none());
        let error = parse("[dialin-load]\nuser=a\npasswort=b\n", "my.cnf").err().unwrap();
        assert_eq!(error.what, "my.cnf, line 3: unknown option `passwort`");
    }

    #[test]
    fn an_error_names_its_line() {
        for (text, line, why) in [
            ("[client\nuser=a\n", 1, "no closing `]`"),
            ("[client]\n\nport=none\n", 3, "is not a port"),
            ("[client]\nport=0\n", 2, "is not a port"),
            ("[client]\nssl-mode=perhaps\n", 2, "is not an ssl-mode"),
        ] {
            let error = parse(text, "my.cnf").err().unwrap();
            assert!(error.what.starts_with(&format!("my.cnf, line {line}: ")) && error.what.contains(why), "{error}");
        }
    }

    #[test]
    fn included_files_cause_a_warning() {
        assert_eq!(of("!includedir /etc/mysql/conf.d\n[client]\nuser=a\n").warnings.len(), 1);
    }

    #[test]
    fn a_world_readable_password_causes_a_warning() {
        let path = std::env::temp_dir().join(format!("dialin-load-account-{}.cnf", std::process::id()));
        std::fs::write(&path, "[client]\npassword=x\n").unwrap();
        let warnings = [0o644, 0o600].map(|mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path).unwrap().warnings.len()
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(warnings, [1, 0]);
    }

    #[test]
    fn a_file_that_is_not_there_is_the_users_error() {
        let error = read(Path::new("/nowhere/my.cnf")).err().unwrap();
        assert!(error.what.contains("/nowhere/my.cnf cannot be read"), "{error}");
    }
}
