//! The authentication plugins.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rsa::pkcs8::DecodePublicKey as _;
use rsa::rand_core::CryptoRngCore;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// The supported authentication plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
    /// `sha256_password`.
    Sha256,
    /// `client_ed25519`, of MariaDB.
    Ed25519,
}

impl Plugin {
    /// Finds a plugin by the name that the server uses; None if it is not supported.
    #[must_use]
    pub fn find(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2, Self::Sha256, Self::Ed25519]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }

    /// The name that the server uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
        }
    }

    /// The length of the server's challenge for this plugin, in bytes.
    #[must_use]
    pub fn challenge_length(self) -> usize {
        if self == Self::Ed25519 { 32 } else { 20 }
    }

    /// The first answer to the server's challenge. `encrypted`: whether the connection is encrypted.
    #[must_use]
    pub fn answer(self, password: &[u8], challenge: &[u8], encrypted: bool) -> Vec<u8> {
        match self {
            Self::Ed25519 => ed25519(password, challenge).to_vec(),
            Self::Native if password.is_empty() => Vec::new(),
            Self::CachingSha2 | Self::Sha256 if password.is_empty() => vec![0],
            Self::Native => native(password, challenge).to_vec(),
            Self::CachingSha2 => caching_sha2(password, challenge).to_vec(),
            Self::Sha256 if encrypted => in_clear(password),
            Self::Sha256 => vec![SHA256_ASKS_FOR_KEY],
        }
    }
}

/// The request for the server's public key.
const SHA256_ASKS_FOR_KEY: u8 = 1;

fn native(password: &[u8], challenge: &[u8]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(challenge).chain_update(twice).finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

fn caching_sha2(password: &[u8], challenge: &[u8]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(challenge).finalize();
    std::array::from_fn(|at| once[at] ^ mask[at])
}

/// Signs the challenge. MariaDB uses the password in place of the 32-byte seed of Ed25519, so the key is expanded from its hash here.
fn ed25519(password: &[u8], challenge: &[u8]) -> [u8; 64] {
    let key = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    raw_sign::<Sha512>(&key, challenge, &VerifyingKey::from(&key)).to_bytes()
}

/// The password in clear text, ended by a zero byte, for connections on which nobody can listen.
#[must_use]
pub fn in_clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The password, encrypted with the server's public key; None if the key is invalid.
pub fn encrypted(password: &[u8], challenge: &[u8], key: &[u8], random: &mut impl CryptoRngCore) -> Option<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_pem(std::str::from_utf8(key).ok()?.trim_end_matches('\0').trim()).ok()?;
    let mixed: Vec<u8> = in_clear(password).iter().zip(challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(random, Oaep::new::<Sha1>(), &mixed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs8::{EncodePublicKey as _, LineEnding};
    use rsa::rand_core::OsRng;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// Checks an answer as the server does, which knows only the double hash of the password.
    #[test]
    fn a_native_answer_is_what_the_server_checks() {
        let challenge = *b"abcdefghijklmnopqrst";
        let stored = Sha1::digest(Sha1::digest(b"secret"));
        let answer = Plugin::Native.answer(b"secret", &challenge, false);
        let mask = Sha1::new().chain_update(challenge).chain_update(stored).finalize();
        let once: Vec<u8> = answer.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!(Sha1::digest(once), stored);
    }

    #[test]
    fn a_caching_sha2_answer_is_what_the_server_checks() {
        let challenge = *b"abcdefghijklmnopqrst";
        let stored = Sha256::digest(Sha256::digest(b"secret"));
        let answer = Plugin::CachingSha2.answer(b"secret", &challenge, false);
        let mask = Sha256::new().chain_update(stored).chain_update(challenge).finalize();
        let once: Vec<u8> = answer.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!(Sha256::digest(once), stored);
    }

    /// RFC 8032, 7.1, tests 2 and 3: if the password is a seed, MariaDB's scheme is standard Ed25519.
    #[test]
    fn an_ed25519_answer_is_the_signature_of_the_standard() {
        let seed = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
        let signature = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
        assert_eq!(Plugin::Ed25519.answer(&seed, &bytes("72"), false), bytes(signature));
        let seed = bytes("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
        let signature = "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
                         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";
        assert_eq!(Plugin::Ed25519.answer(&seed, &bytes("af82"), false), bytes(signature));
    }

    #[test]
    fn an_empty_password_is_sent_without_a_hash() {
        assert_eq!(Plugin::Native.answer(b"", &[1; 20], false), b"");
        assert_eq!(Plugin::CachingSha2.answer(b"", &[1; 20], false), b"\0");
        assert_eq!(Plugin::Sha256.answer(b"", &[1; 20], true), b"\0");
    }

    #[test]
    fn sha256_sends_the_clear_password_over_an_encrypted_connection_only() {
        assert_eq!(Plugin::Sha256.answer(b"secret", &[1; 20], true), b"secret\0");
        assert_eq!(Plugin::Sha256.answer(b"secret", &[1; 20], false), [SHA256_ASKS_FOR_KEY]);
    }

    #[test]
    fn the_server_can_decrypt_an_encrypted_password() {
        let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let key = private.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let challenge = *b"abcdefghijklmnopqrst";
        let sent = encrypted(b"a secret longer than the challenge", &challenge, key.as_bytes(), &mut OsRng).unwrap();
        let mixed = private.decrypt(Oaep::new::<Sha1>(), &sent).unwrap();
        let plain: Vec<u8> = mixed.iter().zip(challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        assert_eq!(plain, b"a secret longer than the challenge\0");
    }

    #[test]
    fn an_invalid_key_is_refused() {
        for key in [&b""[..], b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", b"\xFF\xFF"] {
            assert_eq!(encrypted(b"secret", &[1; 20], key, &mut OsRng), None);
        }
    }

    #[test]
    fn plugins_are_found_by_their_names() {
        assert_eq!(Plugin::find(b"caching_sha2_password"), Some(Plugin::CachingSha2));
        assert_eq!(Plugin::find(b"dialog"), None);
    }
}
