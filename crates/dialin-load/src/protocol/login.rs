//! The login: the packets between the server's greeting and the first command.

use super::Malformed;
use super::auth::{self, Plugin};
use super::cursor::Cursor;
use super::handshake::{self, Greeting};
use super::response;
use rsa::rand_core::CryptoRngCore;
use std::fmt;

/// The most packets of the server in a login; real logins take fewer.
const MANY: u32 = 16;

/// Who may be able to listen to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Nobody: the connection is encrypted.
    Encrypted,
    /// Nobody on another machine: the connection is a Unix socket.
    Local,
    /// Anybody: the connection is not encrypted.
    Open {
        /// Whether the server's public key may be requested, to encrypt the password with it.
        fetch_key: bool,
    },
}

/// The next step of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this payload, then read a packet.
    Send(Vec<u8>),
    /// Read another packet.
    Wait,
    /// The login succeeded; these are the server's status flags.
    Welcome(u16),
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server refused it, with this error code and message.
    Server(u16, String),
    /// The account uses an authentication plugin that is not supported.
    Plugin(String),
    /// The password could only be sent encrypted with a key that is received over an unencrypted connection, which is not allowed.
    NeedsKey,
    /// The server sent data that violates the protocol.
    Malformed(Malformed),
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// A login in progress.
pub struct Login<'a> {
    password: &'a [u8],
    channel: Channel,
    plugin: Plugin,
    challenge: Vec<u8>,
    asked_for_key: bool,
    packets: u32,
}

impl fmt::Debug for Login<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Login({:?}, {:?})", self.plugin, self.channel)
    }
}

impl<'a> Login<'a> {
    /// Starts a login after the server's greeting.
    #[must_use]
    pub fn new(greeting: &Greeting, password: &'a [u8], channel: Channel) -> Self {
        let plugin = Plugin::find(&greeting.plugin).filter(|plugin| plugin.challenge_length() == greeting.challenge.len());
        Self {
            password,
            channel,
            plugin: plugin.unwrap_or(Plugin::Native),
            challenge: greeting.challenge.clone(),
            asked_for_key: false,
            packets: 0,
        }
    }

    /// The payload of the reply to the greeting.
    #[must_use]
    pub fn reply(&self, agreed: u64, user: &str, database: &str) -> Vec<u8> {
        handshake::reply(agreed, user, database, self.plugin.name(), &self.answer())
    }

    fn answer(&self) -> Vec<u8> {
        self.plugin.answer(self.password, &self.challenge, self.channel == Channel::Encrypted)
    }

    /// Handles a packet of the server.
    pub fn take(&mut self, payload: &[u8], random: &mut impl CryptoRngCore) -> Result<Step, Refusal> {
        self.packets += 1;
        if self.packets > MANY {
            return Err(Malformed("a login with too many packets").into());
        }
        let mut fields = Cursor::new(payload);
        match fields.byte()? {
            0x00 => {
                fields.number()?;
                fields.number()?;
                Ok(Step::Welcome(fields.u16()?))
            }
            0x01 => self.more(fields.rest(), random),
            0xFE => self.switch(fields),
            0xFF => {
                let (code, _, message) = response::error(payload)?;
                Err(Refusal::Server(code, message))
            }
            _ => Err(Malformed("a packet that does not belong to a login").into()),
        }
    }

    /// Switches to the authentication plugin of the account, which differs from the one that the server tried first.
    fn switch(&mut self, mut fields: Cursor<'_>) -> Result<Step, Refusal> {
        let name = fields.until_zero();
        if name.is_empty() {
            return Err(Refusal::Plugin("mysql_old_password".into()));
        }
        self.plugin = Plugin::find(name).ok_or_else(|| Refusal::Plugin(String::from_utf8_lossy(name).into_owned()))?;
        self.challenge = fields.take(self.plugin.challenge_length())?.to_vec();
        self.asked_for_key = false;
        Ok(Step::Send(self.answer()))
    }

    fn more(&mut self, data: &[u8], random: &mut impl CryptoRngCore) -> Result<Step, Refusal> {
        match (self.plugin, data) {
            (Plugin::CachingSha2, [3]) => Ok(Step::Wait),
            (Plugin::CachingSha2, [4]) if matches!(self.channel, Channel::Encrypted | Channel::Local) => {
                Ok(Step::Send(auth::in_clear(self.password)))
            }
            (Plugin::CachingSha2, [4]) | (Plugin::Sha256, _) if self.channel == (Channel::Open { fetch_key: false }) => {
                Err(Refusal::NeedsKey)
            }
            (Plugin::CachingSha2, [4]) => {
                self.asked_for_key = true;
                Ok(Step::Send(vec![2]))
            }
            (Plugin::CachingSha2, key) if self.asked_for_key => self.encrypt(key, random),
            (Plugin::Sha256, key) if self.channel != Channel::Encrypted => self.encrypt(key, random),
            _ => Err(Malformed("unexpected authentication data").into()),
        }
    }

    fn encrypt(&self, key: &[u8], random: &mut impl CryptoRngCore) -> Result<Step, Refusal> {
        let sent = auth::encrypted(self.password, &self.challenge, key, random);
        sent.map(Step::Send).ok_or(Malformed("an invalid public key").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::handshake::tests::greeting;
    use proptest::prelude::*;
    use rsa::pkcs8::{EncodePublicKey as _, LineEnding};
    use rsa::rand_core::OsRng;
    use rsa::{Oaep, RsaPrivateKey};
    use sha1::Sha1;

    const OPEN: Channel = Channel::Open { fetch_key: true };
    const CAPABILITIES: u64 = 0xDFFF_FFFF;

    fn login(plugin: &[u8], channel: Channel) -> Login<'static> {
        let greeting = Greeting::parse(&greeting("9.7.4", CAPABILITIES, plugin)).unwrap();
        Login::new(&greeting, b"secret", channel)
    }

    fn take(login: &mut Login<'_>, payload: &[u8]) -> Result<Step, Refusal> {
        login.take(payload, &mut OsRng)
    }

    #[test]
    fn the_server_lets_in_at_once() {
        let mut login = login(b"mysql_native_password\0", OPEN);
        assert_eq!(take(&mut login, b"\0\0\0\x02\0\0\0"), Ok(Step::Welcome(2)));
    }

    #[test]
    fn the_reply_uses_the_plugin_that_the_server_tries_first() {
        let reply = login(b"caching_sha2_password\0", OPEN).reply(CAPABILITIES, "u", "");
        let answer = Plugin::CachingSha2.answer(b"secret", b"abcdefghijklmnopqrst", false);
        assert!(reply.windows(32).any(|window| window == answer));
        let unknown = login(b"dialog\0", OPEN).reply(CAPABILITIES, "u", "");
        let answer = Plugin::Native.answer(b"secret", b"abcdefghijklmnopqrst", false);
        assert!(unknown.windows(20).any(|window| window == answer));
    }

    #[test]
    fn a_refusal_has_the_servers_words() {
        let mut login = login(b"", OPEN);
        let refused = take(&mut login, b"\xFF\x15\x04#28000Access denied");
        assert_eq!(refused, Err(Refusal::Server(1045, "Access denied".into())));
    }

    #[test]
    fn the_plugin_is_switched_on_request() {
        let mut login = login(b"caching_sha2_password\0", OPEN);
        let challenge = b"ABCDEFGHIJKLMNOPQRST";
        let switched = take(&mut login, &[b"\xFEmysql_native_password\0", &challenge[..], b"\0"].concat());
        assert_eq!(switched, Ok(Step::Send(Plugin::Native.answer(b"secret", challenge, false))));
        let challenge = [7; 32];
        let switched = take(&mut login, &[b"\xFEclient_ed25519\0", &challenge[..]].concat());
        assert_eq!(switched, Ok(Step::Send(Plugin::Ed25519.answer(b"secret", &challenge, false))));
    }

    #[test]
    fn an_unsupported_plugin_is_named() {
        let mut login = login(b"", OPEN);
        assert_eq!(take(&mut login, b"\xFEdialog\0x"), Err(Refusal::Plugin("dialog".into())));
        assert_eq!(take(&mut login, b"\xFE"), Err(Refusal::Plugin("mysql_old_password".into())));
    }

    #[test]
    fn a_cached_password_is_enough() {
        let mut login = login(b"caching_sha2_password\0", OPEN);
        assert_eq!(take(&mut login, b"\x01\x03"), Ok(Step::Wait));
        assert_eq!(take(&mut login, b"\0\0\0\x02\0\0\0"), Ok(Step::Welcome(2)));
    }

    #[test]
    fn a_password_that_is_not_cached_is_sent_in_clear_where_nobody_listens() {
        for channel in [Channel::Encrypted, Channel::Local] {
            let mut login = login(b"caching_sha2_password\0", channel);
            assert_eq!(take(&mut login, b"\x01\x04"), Ok(Step::Send(b"secret\0".to_vec())));
        }
    }

    #[test]
    fn on_an_open_channel_it_is_encrypted_with_the_servers_key() {
        let private = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let key = private.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        let key = [b"\x01", key.as_bytes()].concat();
        let mut caching = login(b"caching_sha2_password\0", OPEN);
        assert_eq!(take(&mut caching, b"\x01\x04"), Ok(Step::Send(vec![2])));
        for mut login in [caching, login(b"sha256_password\0", Channel::Local)] {
            let Ok(Step::Send(sent)) = take(&mut login, &key) else { panic!("an encrypted password") };
            let mixed = private.decrypt(Oaep::new::<Sha1>(), &sent).unwrap();
            assert_eq!(mixed[0], b's' ^ b'a');
        }
    }

    #[test]
    fn a_key_is_not_taken_from_an_open_channel_unless_that_is_allowed() {
        let closed = Channel::Open { fetch_key: false };
        assert_eq!(take(&mut login(b"caching_sha2_password\0", closed), b"\x01\x04"), Err(Refusal::NeedsKey));
        assert_eq!(take(&mut login(b"sha256_password\0", closed), b"\x01-----BEGIN PUBLIC KEY"), Err(Refusal::NeedsKey));
        // A password that the server has cached needs no key.
        assert_eq!(take(&mut login(b"caching_sha2_password\0", closed), b"\x01\x03"), Ok(Step::Wait));
    }

    #[test]
    fn a_key_that_nobody_asked_for_is_malformed() {
        let mut login = login(b"caching_sha2_password\0", OPEN);
        assert!(matches!(take(&mut login, b"\x01-----BEGIN"), Err(Refusal::Malformed(_))));
    }

    #[test]
    fn a_server_that_asks_for_ever_is_malformed() {
        let mut login = login(b"caching_sha2_password\0", OPEN);
        let last = (0..=MANY).map(|_| take(&mut login, b"\x01\x03")).last();
        assert!(matches!(last, Some(Err(Refusal::Malformed(_)))));
    }

    #[test]
    fn a_password_never_shows_in_text() {
        assert!(!format!("{:?}", login(b"", OPEN)).contains("secret"));
    }

    proptest! {
        #[test]
        fn random_packets_do_not_panic(packets in prop::collection::vec((0..5usize, prop::collection::vec(any::<u8>(), 0..60)), 0..20)) {
            let mut login = login(b"caching_sha2_password\0", OPEN);
            for (kind, rest) in packets {
                let first: &[u8] = [&b""[..], b"\0", b"\x01", b"\xFE", b"\xFFxx"][kind];
                let _ = take(&mut login, &[first, &rest].concat());
            }
        }

        #[test]
        fn random_greetings_do_not_panic(rest in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Greeting::parse(&rest);
            let _ = Greeting::parse(&[b"\x0A5.5.5-10.1\0", &rest[..]].concat());
        }
    }
}
