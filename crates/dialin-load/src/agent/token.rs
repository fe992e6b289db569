//! The secret that agents and their conductors share. It is never sent; the key of their connections is derived from it.

use crate::errors::{Error, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The lowest number of random bytes in a token.
const FEWEST: usize = 32;
/// The longest text of a token, in bytes.
const MOST: usize = 4096;
const HOW: &str = "Make a token with `head -c 32 /dev/urandom | base64 >FILE; chmod 600 FILE`, and copy it to every host";

/// The key that is derived from the secret: its SHA-256 digest.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// Read a token from a file that only its owner may access; white space around the token is ignored.
    ///
    /// # Errors
    /// [`Fault::User`](crate::errors::Fault::User): the file cannot be read, other users may access it, or its text is not 32
    /// or more random bytes in base64 or hex.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |cause| Error::user(format!("The token file {shown} cannot be read: {cause}"), HOW);
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
            let remedy = format!("Run `chmod 600 {shown}`, and make a new token if somebody may have read it");
            return Err(Error::user(format!("Other users may access the token file {shown}"), remedy));
        }
        let mut bytes = Vec::new();
        file.take(2 * MOST as u64).read_to_end(&mut bytes).map_err(unreadable)?;
        let secret = bytes.trim_ascii();
        Self::of(secret).ok_or_else(|| {
            let what = format!(
                "The token in {shown}, of {} bytes, is not {FEWEST} or more random bytes in base64 or hex",
                secret.len()
            );
            Error::user(what, HOW)
        })
    }

    /// The token from a text; None if the text is too long, or is not base64 or hex of enough bytes. Passphrases are refused
    /// because anybody who can connect to an agent can test guesses against its answer.
    #[must_use]
    pub fn of(secret: &[u8]) -> Option<Self> {
        (secret.len() <= MOST && random_bytes(secret) >= FEWEST).then(|| Self(Sha256::digest(secret).into()))
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The number of bytes that a text in hex or base64 encodes; 0 for any other text.
fn random_bytes(text: &[u8]) -> usize {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r' | b'=')).collect();
    if digits.iter().all(u8::is_ascii_hexdigit) {
        digits.len() / 2
    } else if digits.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte)) {
        digits.len() * 3 / 4
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Fault;
    use std::fs;

    const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    /// Read a token from a file with this text and mode; return the text of the error if it is refused.
    fn read(text: &str, mode: u32) -> std::result::Result<Token, String> {
        let path = std::env::temp_dir().join(format!("dialin-load-token-{}-{mode:o}-{}", std::process::id(), text.len()));
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let token = Token::read(&path);
        fs::remove_file(&path).unwrap();
        token.map_err(|error| {
            assert_eq!(error.fault, Fault::User);
            error.to_string()
        })
    }

    #[test]
    fn a_token_is_read_without_the_white_space_around_it_from_a_file_that_others_cannot_read() {
        assert!(read(&format!("  {SECRET}\n"), 0o600).ok() == Token::of(SECRET.as_bytes()));
        assert!(read(SECRET, 0o640).err().unwrap().contains("chmod 600 /"));
        assert!(Token::read(Path::new("/nowhere/token")).err().unwrap().what.contains("/nowhere/token"));
    }

    #[test]
    fn only_32_or_more_random_bytes_are_a_token_and_the_error_does_not_show_them() {
        let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        for good in [base64, &base64[..43], SECRET] {
            assert!(read(good, 0o600).is_ok(), "{good}");
        }
        // 31 bytes in base64 and hex; words that somebody might guess; and too much.
        let (short, long) = ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==", "x".repeat(5000));
        for bad in [short, &SECRET[2..], "a sentence that is long, but that somebody may guess", "0123456789abcdef", &long] {
            let error = read(bad, 0o600).err().unwrap();
            assert!(error.contains(&format!("of {} bytes", bad.len())) && !error.contains(bad), "{error}");
        }
    }
}
