//! The first packets of a connection: the server's greeting, the capabilities of both sides, and the client's reply.

use super::Malformed;
use super::cursor::Cursor;
use super::packet::{put_bytes, put_integer};
use super::response::Dialect;

/// The capability flags of server and client. The upper 32 bits are MariaDB's extensions.
pub mod capability {
    /// Always set by MySQL. If a server does not set it, the server is MariaDB and has extensions.
    pub const LONG_PASSWORD: u64 = 1;
    /// All column flags are sent.
    pub const LONG_FLAG: u64 = 1 << 2;
    /// The login selects a schema.
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    /// The protocol of MySQL 4.1 and later.
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// The connection is encrypted.
    pub const SSL: u64 = 1 << 11;
    /// Status flags of transactions are sent.
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// Authentication as in MySQL 4.1 and later.
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    /// A text command may return several results.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// A prepared statement may return several results.
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    /// Authentication plugins are supported.
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    /// The client sends connection attributes.
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    /// The length of the client's authentication data is length-encoded, and may exceed 255 bytes.
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    /// OK packets contain changes of the session state, as MySQL sends for BEGIN and COMMIT.
    pub const SESSION_TRACK: u64 = 1 << 23;
    /// Results have no EOF packets.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// Column definitions have an additional part (MariaDB).
    pub const EXTENDED_METADATA: u64 = 1 << 35;
    /// Column definitions of a prepared statement are left out if they have not changed (MariaDB).
    pub const CACHE_METADATA: u64 = 1 << 36;
}

use capability as can;

/// The capabilities that this client requests.
///
/// Those that affect results are the ones that sysbench's client library, MariaDB Connector/C, requests, so that a server sends the same
/// number of bytes to both: EOF packets are sent, and MariaDB leaves out unchanged column definitions. LOCAL INFILE, multiple statements
/// in one command and progress reports are not requested.
pub const WANTED: u64 = can::LONG_PASSWORD
    | can::LONG_FLAG
    | can::CONNECT_WITH_DB
    | can::PROTOCOL_41
    | can::SSL
    | can::TRANSACTIONS
    | can::SECURE_CONNECTION
    | can::MULTI_RESULTS
    | can::PS_MULTI_RESULTS
    | can::PLUGIN_AUTH
    | can::CONNECT_ATTRS
    | can::PLUGIN_AUTH_LENENC
    | can::SESSION_TRACK
    | can::EXTENDED_METADATA
    | can::CACHE_METADATA;

const NEEDED: u64 = can::PROTOCOL_41 | can::SECURE_CONNECTION;

/// The collation utf8mb4_general_ci, which all servers since 5.5 support and which covers all characters.
const UTF8MB4: u8 = 45;

/// The longest packet that the client accepts: the protocol's maximum, 1 GiB.
const MAX_PACKET: u32 = 1 << 30;

/// The server's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The server's version, as `VERSION()` returns it.
    pub version: String,
    /// Whether the server is MariaDB.
    pub mariadb: bool,
    /// The server's number for the connection.
    pub connection_id: u32,
    /// The server's capabilities, see [`capability`].
    pub capabilities: u64,
    /// The server's status flags.
    pub status: u16,
    /// The challenge for authentication: random bytes.
    pub challenge: Vec<u8>,
    /// The name of the authentication plugin that the server tries first; may be empty.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Parses the greeting packet.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Cursor::new(payload);
        if fields.byte()? != 10 {
            return Err(Malformed("a greeting of an unsupported protocol version"));
        }
        let version = String::from_utf8_lossy(fields.until_zero()).into_owned();
        let connection_id = fields.u32()?;
        let mut challenge = fields.take(8)?.to_vec();
        fields.byte()?;
        let low = fields.u16()?;
        fields.byte()?;
        let status = fields.u16()?;
        let high = fields.u16()?;
        let challenge_length = usize::from(fields.byte()?);
        fields.take(6)?;
        let extended = fields.u32()?;
        let mut capabilities = u64::from(low) | u64::from(high) << 16;
        if capabilities & can::LONG_PASSWORD == 0 {
            capabilities |= u64::from(extended) << 32;
        }
        if capabilities & NEEDED != NEEDED {
            return Err(Malformed("a server that is too old"));
        }
        challenge.extend_from_slice(fields.take(challenge_length.max(21) - 8)?);
        challenge.truncate(20);
        // Some servers end the name with a zero byte, some do not.
        let plugin = if capabilities & can::PLUGIN_AUTH != 0 { fields.until_zero().to_vec() } else { Vec::new() };
        let mariadb = version.contains("MariaDB") || capabilities & can::LONG_PASSWORD == 0;
        // MariaDB 10 sends this prefix for replicas that read only one digit of the major version.
        let version = if mariadb { version.strip_prefix("5.5.5-").unwrap_or(&version).to_owned() } else { version };
        Ok(Self { version, mariadb, connection_id, capabilities, status, challenge, plugin })
    }

    /// The wanted capabilities that the server has too, without those that do not apply to this connection.
    #[must_use]
    pub fn agreed(&self, wanted: u64, database: &str, encrypted: bool) -> u64 {
        let mut agreed = self.capabilities & wanted;
        if database.is_empty() {
            agreed &= !can::CONNECT_WITH_DB;
        }
        if !encrypted {
            agreed &= !can::SSL;
        }
        agreed
    }
}

/// The format of results with these capabilities.
#[must_use]
pub fn dialect(agreed: u64) -> Dialect {
    Dialect { deprecate_eof: agreed & can::DEPRECATE_EOF != 0, cached_metadata: agreed & can::CACHE_METADATA != 0 }
}

/// The payload that requests encryption. It is also the beginning of the [`reply`].
#[must_use]
pub fn encryption_request(agreed: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    out.extend_from_slice(&agreed.to_le_bytes()[..4]);
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(UTF8MB4);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&agreed.to_le_bytes()[4..]);
    out
}

/// The payload of the client's reply. `plugin` is the name of the plugin that made `answer`.
#[must_use]
pub fn reply(agreed: u64, user: &str, database: &str, plugin: &str, answer: &[u8]) -> Vec<u8> {
    let mut out = encryption_request(agreed);
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    // A length below 251 is the same single byte with and without length encoding. Old servers do not accept longer answers.
    put_bytes(&mut out, answer);
    if agreed & can::CONNECT_WITH_DB != 0 {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    if agreed & can::PLUGIN_AUTH != 0 {
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
    }
    if agreed & can::CONNECT_ATTRS != 0 {
        let mut attributes = Vec::new();
        for text in ["_client_name", "dialin-load", "_client_version", env!("CARGO_PKG_VERSION"), "program_name", "dialin-load"]
        {
            put_bytes(&mut attributes, text.as_bytes());
        }
        put_integer(&mut out, attributes.len() as u64);
        out.extend_from_slice(&attributes);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A greeting in the servers' format.
    pub(crate) fn greeting(version: &str, capabilities: u64, plugin: &[u8]) -> Vec<u8> {
        let bytes = capabilities.to_le_bytes();
        let mut out = vec![10];
        out.extend_from_slice(version.as_bytes());
        out.extend_from_slice(b"\0\x07\0\0\0abcdefgh\0");
        out.extend_from_slice(&bytes[..2]);
        out.extend_from_slice(&[8, 2, 0]);
        out.extend_from_slice(&bytes[2..4]);
        out.extend_from_slice(&[21, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&bytes[4..]);
        out.extend_from_slice(b"ijklmnopqrst\0");
        out.extend_from_slice(plugin);
        out
    }

    const MYSQL: u64 = 0xDFFF_FFFF;
    const MARIADB: u64 = 0x1F_81FE_FFFE;

    #[test]
    fn a_greeting_of_mysql_is_read() {
        let greeting = Greeting::parse(&greeting("9.7.4", MYSQL, b"caching_sha2_password\0")).unwrap();
        assert_eq!((greeting.version.as_str(), greeting.mariadb, greeting.connection_id), ("9.7.4", false, 7));
        assert_eq!(greeting.challenge, b"abcdefghijklmnopqrst");
        assert_eq!((greeting.status, greeting.plugin.as_slice()), (2, &b"caching_sha2_password"[..]));
        assert_eq!(greeting.capabilities, MYSQL);
    }

    #[test]
    fn a_greeting_of_mariadb_has_extensions_and_loses_the_version_for_replicas() {
        let greeting = Greeting::parse(&greeting("5.5.5-10.1.23-MariaDB", MARIADB, b"mysql_native_password\0")).unwrap();
        assert_eq!((greeting.version.as_str(), greeting.mariadb), ("10.1.23-MariaDB", true));
        assert_eq!(greeting.capabilities, MARIADB);
        assert!(dialect(greeting.agreed(WANTED, "", false)).cached_metadata);
    }

    #[test]
    fn a_plugin_name_without_its_zero_is_read() {
        let greeting = Greeting::parse(&greeting("5.5.9", MYSQL, b"mysql_native_password")).unwrap();
        assert_eq!(greeting.plugin, b"mysql_native_password");
    }

    #[test]
    fn a_greeting_that_is_cut_off_or_too_old_is_malformed() {
        let whole = greeting("9.7.4", MYSQL, b"");
        assert!(Greeting::parse(&whole).is_ok());
        (0..whole.len()).for_each(|length| assert!(Greeting::parse(&whole[..length]).is_err(), "{length}"));
        assert!(Greeting::parse(b"\x09old").is_err());
        assert!(Greeting::parse(&greeting("4.0", 1, b"")).is_err());
    }

    #[test]
    fn only_what_both_can_do_is_agreed() {
        let parsed = Greeting::parse(&greeting("9.7.4", MYSQL, b"")).unwrap();
        let agreed = parsed.agreed(WANTED, "sbtest", true);
        assert_eq!(agreed, WANTED & 0xFFFF_FFFF);
        assert_eq!(parsed.agreed(WANTED, "", false), agreed & !(can::SSL | can::CONNECT_WITH_DB));
        assert_eq!(dialect(agreed), Dialect::default());
        assert!(dialect(parsed.agreed(WANTED | can::DEPRECATE_EOF, "", false)).deprecate_eof);
        let mariadb = Greeting::parse(&greeting("10.11.5-MariaDB", MARIADB, b"")).unwrap();
        assert_eq!(mariadb.agreed(WANTED, "", false) & can::LONG_PASSWORD, 0);
    }

    #[test]
    fn a_reply_has_all_its_parts() {
        let agreed = can::PROTOCOL_41 | can::SECURE_CONNECTION | can::CONNECT_WITH_DB | can::PLUGIN_AUTH | 0x10_0000_0000;
        let reply = reply(agreed, "user", "sbtest", "mysql_native_password", b"answer");
        let mut expected = b"\x08\x82\x08\0\0\0\0\x40\x2D".to_vec();
        expected.extend_from_slice(&[0; 19]);
        expected.extend_from_slice(b"\x10\0\0\0user\0\x06answersbtest\0mysql_native_password\0");
        assert_eq!(reply, expected);
        assert_eq!(encryption_request(agreed), reply[..32]);
    }

    #[test]
    fn the_client_names_itself_where_the_server_takes_it() {
        let reply = reply(NEEDED | can::CONNECT_ATTRS, "u", "", "", b"");
        let name = b"\x0Cprogram_name\x0Bdialin-load";
        assert!(reply.ends_with(name));
        assert_eq!(usize::from(reply[35]), reply.len() - 36);
    }
}
