//! The secret that agents and their conductors share. It never crosses; seals made with it do.

use crate::errors::{Error, Result};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What each side draws at random when they meet, so that no meeting's seals are good for another.
pub type Nonce = [u8; 32];

/// Random bytes that a token is made of, at least.
const FEWEST: usize = 32;
/// The longest text of a token, in bytes.
const MOST: usize = 4096;
const HOW: &str = "`head -c 32 /dev/urandom | base64 >FILE; chmod 600 FILE` makes one; copy it to every host";

/// Which side a seal is of; what one side sealed never passes for the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that waits.
    Agent,
    /// The one that calls.
    Conductor,
}

/// The shared secret.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// Read a token from a file that nobody else may read; white space around it does not count.
    ///
    /// # Errors
    /// Of the user: it cannot be read, others may read it, or it is not 32 or more random bytes in base64 or hex.
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |cause| Error::user(format!("The token file {shown} cannot be read: {cause}"), HOW);
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.permissions().mode() & 0o077 != 0 {
            let remedy = format!("`chmod 600 {shown}`, and a new token if somebody may have read it");
            return Err(Error::user(format!("Others than you may read the token file {shown}"), remedy));
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

    /// A token of this text; None where it is too long, or not the base64 or hex of enough bytes. A sentence that somebody may guess
    /// is refused: whoever overhears a meeting can try tokens against it without asking anybody.
    #[must_use]
    pub fn of(secret: &[u8]) -> Option<Self> {
        (secret.len() <= MOST && random_bytes(secret) >= FEWEST).then(|| Self(secret.to_vec()))
    }

    /// The seals of one side of one meeting.
    #[must_use]
    pub fn seals(&self, role: Role, conductor: &Nonce, agent: &Nonce) -> Seals {
        let label: &[u8] = match role {
            Role::Agent => b"dialin-load agent",
            Role::Conductor => b"dialin-load conductor",
        };
        let mut meeting = keyed(&self.0);
        for part in [label, conductor, agent] {
            meeting.update(part);
        }
        Seals { keyed: keyed(&meeting.finalize().into_bytes()), lines: 0 }
    }
}

/// How many bytes a text in hex or base64 stands for; 0 for any other text.
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

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// The seals of the lines that one side says, one after the other: a line left out, repeated or moved breaks them.
pub struct Seals {
    keyed: Hmac<Sha256>,
    lines: u64,
}

impl Seals {
    /// The seal of the next line.
    pub fn seal(&mut self, line: &[u8]) -> [u8; 32] {
        self.next(line).finalize().into_bytes().into()
    }

    /// Whether this is the seal of the next line; compared in a time that tells nothing.
    pub fn fits(&mut self, line: &[u8], seal: &[u8]) -> bool {
        self.next(line).verify_slice(seal).is_ok()
    }

    fn next(&mut self, line: &[u8]) -> Hmac<Sha256> {
        let mut next = self.keyed.clone();
        next.update(&self.lines.to_be_bytes());
        next.update(line);
        self.lines += 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Fault;
    use std::fs;
    use std::path::PathBuf;

    fn file(name: &str, text: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dialin-load-token-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn seals(secret: &[u8], role: Role) -> Seals {
        Token::of(secret).unwrap().seals(role, &[1; 32], &[2; 32])
    }

    fn complaint(path: &Path) -> Error {
        let complaint = Token::read(path).err().expect("an error");
        let _ = fs::remove_file(path);
        complaint
    }

    #[test]
    fn white_space_around_a_token_does_not_count() {
        let path = file("space", "  0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", 0o600);
        assert_eq!(Token::read(&path).unwrap().0, b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_token_that_others_may_read_is_refused_with_the_command_that_helps() {
        let path = file("open", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 0o640);
        let error = complaint(&path);
        assert_eq!(error.fault, Fault::User);
        assert!(error.remedy.contains(&format!("chmod 600 {}", path.display())), "{error}");
    }

    #[test]
    fn a_token_that_is_short_or_long_or_missing_is_a_fault_of_the_user_and_never_shown() {
        let short = complaint(&file("short", "secret", 0o600));
        assert_eq!(short.fault, Fault::User);
        assert!(short.what.contains("6 bytes") && !short.what.contains("secret"), "{short}");
        assert!(complaint(&file("long", &"x".repeat(5000), 0o600)).what.contains("5000 bytes"));
        assert!(complaint(Path::new("/nowhere/token")).what.contains("/nowhere/token"));
    }

    #[test]
    fn a_token_of_fewer_than_32_random_bytes_is_refused() {
        let is_token = |secret: &str| Token::of(secret.as_bytes()).is_some();
        // 31 and 32 bytes in base64, with and without padding, and in hex; then words that somebody might guess.
        assert!(!is_token("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg=="));
        assert!(is_token("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
        assert!(is_token("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"));
        assert!(is_token(&"0123456789abcdef".repeat(4)));
        assert!(!is_token(&"0123456789abcdef".repeat(4)[2..]));
        assert!(!is_token("a sentence that is long, but that somebody may guess"));
        assert!(!is_token("0123456789abcdef"));
    }

    #[test]
    fn a_seal_fits_its_line_its_place_its_side_and_its_token_only() {
        let secret = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        let seal = seals(secret, Role::Agent).seal(b"line");
        assert!(seals(secret, Role::Agent).fits(b"line", &seal));
        assert!(!seals(secret, Role::Agent).fits(b"lime", &seal));
        assert!(!seals(secret, Role::Agent).fits(b"line", &seal[..31]));
        assert!(!seals(secret, Role::Conductor).fits(b"line", &seal));
        assert!(!seals(b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF", Role::Agent).fits(b"line", &seal));
        let mut later = seals(secret, Role::Agent);
        assert!(later.fits(b"line", &seal) && !later.fits(b"line", &seal));
    }

    #[test]
    fn no_two_meetings_have_the_same_seals() {
        let token = Token::of(b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef").unwrap();
        let mut one = token.seals(Role::Agent, &[1; 32], &[2; 32]);
        let mut other = token.seals(Role::Agent, &[1; 32], &[3; 32]);
        assert_ne!(one.seal(b"line"), other.seal(b"line"));
    }
}
