//! Tests of the protocol against a real server. Use a server without valuable data: the tests create and drop
//! accounts and a schema, and delete anonymous accounts.
//!
//! ```text
//! DIALIN_LIVE_SOCKET=/…/s.sock DIALIN_LIVE_PORT=3306 DIALIN_LIVE_USER=root MYSQL_PWD=… \
//!     cargo test --test driver live_protocol -- --ignored --nocapture --test-threads 1
//! ```
//!
//! The user needs all privileges. The tests print and skip what the server does not support.

use dialin_load::account::{Account, Address, Tls, TlsMode};
use dialin_load::net::client::Client;
use dialin_load::net::connect::{Connector, connect};
use dialin_load::net::connect_error::ConnectError;
use dialin_load::net::session::Session;
use dialin_load::plan::{Keep, Value};
use dialin_load::protocol::command::{self, Execution};
use dialin_load::protocol::handshake::{WANTED, capability};
use dialin_load::protocol::parameters::Parameters;
use dialin_load::protocol::response::{Expect, Outcome, Response};
use dialin_load::protocol::sink::{KeptColumns, Sink};
use dialin_load::protocol::text::Template;
use dialin_load::protocol::value::Columns;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
const SCHEMA: &str = "dialin_live";

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn socket() -> Address {
    Address::Socket(setting("DIALIN_LIVE_SOCKET").into())
}

fn tcp() -> Address {
    Address::Tcp("127.0.0.1".into(), setting("DIALIN_LIVE_PORT").parse().unwrap())
}

fn account(address: Address, user: &str, password: &str, mode: TlsMode) -> Account {
    let tls = Tls { mode, fetch_public_key: true, ..Tls::default() };
    Account { address, user: user.into(), password: password.into(), database: String::new(), tls, ..Account::default() }
}

fn root_account(mode: TlsMode) -> Account {
    account(socket(), &setting("DIALIN_LIVE_USER"), &std::env::var("MYSQL_PWD").unwrap_or_default(), mode)
}

fn root() -> Client {
    Client::connect(&Connector::new(&root_account(TlsMode::Preferred))).unwrap()
}

/// A session, and what is needed to send commands on it.
struct Speaker {
    session: Session,
    response: Response,
    status: u16,
}

impl Speaker {
    fn new(wanted: u64) -> Self {
        let account = Account { database: SCHEMA.into(), ..root_account(TlsMode::Disabled) };
        let session = Connector::new(&account).connect_wanting(PATIENCE, wanted).unwrap();
        Self { response: Response::new(session.dialect), status: session.status, session }
    }

    fn ask(&mut self, expect: Expect, command: &[u8], sequence: u8, sink: &mut impl Sink) -> Outcome {
        self.response.expect(expect, sequence);
        self.session.stream.write_all(command, Instant::now() + PATIENCE).unwrap();
        let mut buffer = vec![0; 10_000];
        loop {
            let read = self.session.stream.read_within(&mut buffer, PATIENCE).unwrap();
            assert_ne!(read, 0, "the end of the connection");
            let feed = self.response.feed(&buffer[..read], sink).unwrap();
            if let Some(outcome) = feed.done {
                assert_eq!(feed.consumed, read);
                return outcome;
            }
        }
    }

    fn query(&mut self, sql: &str) -> Outcome {
        let mut out = Vec::new();
        let sequence = command::query(&mut out, sql.as_bytes());
        self.ask(Expect::Text, &out, sequence, &mut Columns::default())
    }

    fn prepare(&mut self, sql: &str, columns: &mut Columns) -> Outcome {
        let mut out = Vec::new();
        let sequence = command::prepare(&mut out, sql.as_bytes());
        self.ask(Expect::Prepare, &out, sequence, columns)
    }
}

#[test]
#[ignore = "needs a server"]
fn every_authentication_method_works() {
    let mut root = root();
    println!("{:?}", root.server());
    let mariadb = root.server().mariadb;
    let _ = root.run(b"DELETE FROM mysql.user WHERE user = ''");
    root.run(b"FLUSH PRIVILEGES").unwrap();
    if mariadb {
        println!("ed25519: {:?}", root.run(b"INSTALL SONAME 'auth_ed25519'").map(drop));
    }
    let methods = [
        ("native", if mariadb { "IDENTIFIED BY 'secret'" } else { "IDENTIFIED WITH mysql_native_password BY 'secret'" }),
        ("old_native", "IDENTIFIED BY 'secret'"),
        ("empty", ""),
        ("caching", "IDENTIFIED WITH caching_sha2_password BY 'secret'"),
        ("sha256", "IDENTIFIED WITH sha256_password BY 'secret'"),
        ("ed25519", "IDENTIFIED VIA ed25519 USING PASSWORD('secret')"),
    ];
    for (user, how) in methods {
        let _ = root.run(format!("DROP USER '{user}'@'%'").as_bytes());
        if let Err(error) = root.run(format!("CREATE USER '{user}'@'%' {how}").as_bytes()) {
            println!("{user}: skipped: {error}");
            continue;
        }
        let password = if user == "empty" { "" } else { "secret" };
        for (place, address) in [("socket", socket()), ("tcp", tcp())] {
            for mode in [TlsMode::Disabled, TlsMode::Preferred, TlsMode::Required] {
                // Clear the server's cache of passwords, so that the first of the two logins is a full one.
                root.run(b"FLUSH PRIVILEGES").unwrap();
                for turn in ["full", "fast"] {
                    let account = account(address.clone(), user, password, mode);
                    match connect(&account, PATIENCE) {
                        Ok(session) => println!("{user} {place} {mode:?} {turn}: encrypted {}", session.stream.is_encrypted()),
                        Err(ConnectError::Tls(why)) if mode != TlsMode::Disabled => println!("{user} {place} {mode:?}: {why}"),
                        Err(error) => panic!("{user} {place} {mode:?} {turn}: {error}"),
                    }
                    let wrong = connect(&Account { password: "wrong".into(), ..account }, PATIENCE).unwrap_err();
                    assert!(matches!(wrong, ConnectError::Refused(1045, _) | ConnectError::Tls(_)), "{wrong}");
                }
            }
        }
        root.run(format!("DROP USER '{user}'@'%'").as_bytes()).unwrap();
    }
}

const TABLE: &str = "CREATE TABLE dialin_live.t (id INT PRIMARY KEY, tiny TINYINT, big BIGINT UNSIGNED, real8 DOUBLE, real4 FLOAT,
    exact DECIMAL(10,3), c CHAR(10), v VARCHAR(300), b BLOB, d DATE, t TIME, dt DATETIME, ts TIMESTAMP NULL, y YEAR, n INT) DEFAULT CHARSET utf8";
const ROW: &str = "INSERT INTO dialin_live.t VALUES (1, -7, 18446744073709551615, 1.5, 0.25, -12.345, 'char', REPEAT('v', 300),
    x'00FF', '2026-11-22', '-27:05:06', '2026-11-22 01:02:03', '2026-11-22 04:05:06', 2026, NULL)";

fn expected() -> Vec<Value> {
    let bytes = |text: &[u8]| Value::Bytes(text.to_vec());
    vec![
        Value::Int(1),
        Value::Int(-7),
        bytes(b"18446744073709551615"),
        Value::Double(1.5),
        Value::Double(0.25),
        bytes(b"-12.345"),
        bytes(b"char"),
        bytes(&[b'v'; 300]),
        bytes(b"\x00\xFF"),
        bytes(b"2026-11-22"),
        bytes(b"-27:05:06"),
        bytes(b"2026-11-22 01:02:03"),
        bytes(b"2026-11-22 04:05:06"),
        Value::Int(2026),
        Value::Null,
    ]
}

#[test]
#[ignore = "needs a server"]
fn statements_rows_and_errors_are_read_in_every_dialect() {
    let mut root = root();
    for sql in ["DROP DATABASE IF EXISTS dialin_live", "CREATE DATABASE dialin_live", TABLE, ROW] {
        root.run(sql.as_bytes()).unwrap();
    }
    let several = "CREATE PROCEDURE dialin_live.p() BEGIN SELECT 1 AS a UNION SELECT 2; SELECT 'x', 'y'; UPDATE dialin_live.t SET tiny = tiny; END";
    root.run(several.as_bytes()).unwrap();
    let dialects = [
        WANTED,
        WANTED | capability::DEPRECATE_EOF,
        WANTED & !capability::CACHE_METADATA,
        WANTED & !capability::EXTENDED_METADATA,
    ];
    for wanted in dialects {
        let mut speaker = Speaker::new(wanted);
        println!("{:?} {:?}", speaker.session.server, speaker.session.dialect);
        values_are_kept(&mut speaker);
        parameters_arrive(&mut speaker);
        assert!(matches!(speaker.query("CALL p()"), Outcome::Rows { count: 3, .. }));
        let mut columns = Columns::default();
        if let Outcome::Prepared { id, .. } = speaker.prepare("CALL p()", &mut columns) {
            for _ in 0..2 {
                let mut out = Vec::new();
                let sequence = Execution::new(id, 0).begin(&mut out).end();
                assert!(matches!(speaker.ask(Expect::Binary, &out, sequence, &mut columns), Outcome::Rows { count: 3, .. }));
            }
        }
        assert!(matches!(speaker.query("SELECT nothing"), Outcome::Error { code: 1054, .. }));
        assert!(matches!(speaker.prepare("SELECT nothing", &mut columns), Outcome::Error { code: 1054, .. }));
        let refused = speaker.prepare("LOCK TABLES t READ", &mut columns);
        println!("LOCK TABLES is prepared: {refused:?}");
        let file = speaker.query("LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE t");
        assert!(matches!(file, Outcome::Error { .. }), "{file:?}");
        let middle =
            "SELECT (SELECT 1 UNION SELECT IF(a.id = 3, 2, 1)) FROM (SELECT 1 AS id UNION SELECT 2 UNION SELECT 3) AS a";
        assert!(matches!(speaker.query(middle), Outcome::Error { code: 1242, .. }));
        assert!(matches!(speaker.query("DO 0"), Outcome::Ok { .. }));
    }
    root.run(b"DROP DATABASE dialin_live").unwrap();
}

fn values_are_kept(speaker: &mut Speaker) {
    let sql = "SELECT * FROM t WHERE id = ?";
    let keep: Vec<Keep> = (0..15).map(|column| Keep { column, slot: column }).collect();
    let mut columns = Columns::default();
    let Outcome::Prepared { id, parameters: 1, columns: 15 } = speaker.prepare(sql, &mut columns) else { panic!("prepared") };
    let mut execution = Execution::new(id, 1);
    for _ in 0..3 {
        let (mut out, mut slots) = (Vec::new(), vec![Value::Int(99); 15]);
        let mut parameters = execution.begin(&mut out);
        parameters.integer(1);
        let sequence = parameters.end();
        let outcome = speaker.ask(
            Expect::Binary,
            &out,
            sequence,
            &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots },
        );
        assert!(matches!(outcome, Outcome::Rows { count: 1, .. }), "{outcome:?}");
        assert_eq!(slots, expected());
    }
    let (mut out, mut slots) = (Vec::new(), vec![Value::Int(99); 15]);
    let template = Template::new(sql);
    let mut parameters = template.begin(&mut out, speaker.status);
    parameters.integer(1);
    let sequence = parameters.end();
    let mut columns = Columns::default();
    let outcome =
        speaker.ask(Expect::Text, &out, sequence, &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots });
    assert!(matches!(outcome, Outcome::Rows { count: 1, .. }), "{outcome:?}");
    assert_eq!(slots, expected());
}

/// Send every kind of value as a parameter of a prepared statement and as text, with types that change in between.
fn parameters_arrive(speaker: &mut Speaker) {
    let sql = "SELECT HEX(CONCAT(?, '')), ? + 0, ? IS NULL, CONCAT(?, '')";
    let keep: Vec<Keep> = (0..4).map(|column| Keep { column, slot: column }).collect();
    let mut columns = Columns::default();
    let Outcome::Prepared { id, .. } = speaker.prepare(sql, &mut columns) else { panic!("prepared") };
    let mut execution = Execution::new(id, 4);
    let template = Template::new(sql);
    let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    let turns = [
        ([bytes("a'\\\"b"), Value::Double(0.5), Value::Null, bytes("it''s")], ["61275C2262", "0.5", "1", "it''s"]),
        ([bytes(""), Value::Double(-2.0), Value::Int(5), bytes("\u{e4}")], ["", "-2", "0", "\u{e4}"]),
        ([Value::Int(255), Value::Double(3.0), bytes("x"), Value::Int(-1)], ["323535", "3", "0", "-1"]),
        ([Value::Bytes(vec![b'z'; 300]), Value::Double(0.0), Value::Null, bytes("")], [&*"7A".repeat(300), "0", "1", ""]),
    ];
    for (values, results) in &turns {
        for (expect, binary) in [(Expect::Binary, true), (Expect::Text, false)] {
            let (mut out, mut slots) = (Vec::new(), vec![Value::Null; 4]);
            let sequence = if binary {
                let mut parameters = execution.begin(&mut out);
                values.iter().for_each(|value| parameters.value(value));
                parameters.end()
            } else {
                let mut parameters = template.begin(&mut out, speaker.status);
                values.iter().for_each(|value| parameters.value(value));
                parameters.end()
            };
            let outcome =
                speaker.ask(expect, &out, sequence, &mut KeptColumns { keep: &keep, columns: &mut columns, slots: &mut slots });
            assert!(matches!(outcome, Outcome::Rows { count: 1, .. }), "{outcome:?}");
            let shown: Vec<String> = slots.iter().map(shown).collect();
            assert_eq!(shown, results, "binary {binary}");
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[test]
#[ignore = "needs a server"]
fn commands_and_rows_longer_than_a_packet_go_through() {
    let mut root = root();
    root.run(b"SET GLOBAL max_allowed_packet = 67108864").unwrap();
    let _ = root.run(b"DROP USER 'long'@'%'");
    root.run(b"CREATE USER 'long'@'%' IDENTIFIED BY 'secret'").unwrap();
    for address in [socket(), tcp()] {
        let mut client = Client::connect(&Connector::new(&account(address, "long", "secret", TlsMode::Preferred))).unwrap();
        assert_eq!(client.max_allowed_packet(), 67_108_864);
        for length in [0xFF_FFFF - 11, 0xFF_FFFF - 10, 0xFF_FFFF, 2 * 0xFF_FFFF + 3] {
            let sent = client.rows(format!("SELECT LENGTH('{}')", "x".repeat(length)).as_bytes()).unwrap();
            assert_eq!(sent, [[Some(length.to_string())]]);
            let rows = client.run(format!("SELECT REPEAT('x', {length}) UNION SELECT 'y'").as_bytes()).unwrap();
            assert_eq!(rows.rows, 2, "{length}");
        }
    }
    root.run(b"DROP USER 'long'@'%'").unwrap();
}

/// `DIALIN_LIVE_TLS` is a directory with the `ca.pem` that signed the server's certificate for `localhost` only, `client.pem` and
/// `client-key.pem`.
#[test]
#[ignore = "needs a server with a certificate"]
fn certificates_are_verified_according_to_the_tls_mode() {
    let directory = PathBuf::from(setting("DIALIN_LIVE_TLS"));
    let mut root = root();
    let _ = root.run(b"DROP USER 'tls'@'%'");
    root.run(b"CREATE USER 'tls'@'%' REQUIRE X509").unwrap();
    let Address::Tcp(_, port) = tcp() else { panic!("a port") };
    let attempt = |mode, host: &str, ca: Option<&str>, client: bool| {
        let file = |name: &str| directory.join(name);
        let tls = Tls {
            mode,
            ca: ca.map(file),
            certificate: client.then(|| file("client.pem")),
            key: client.then(|| file("client-key.pem")),
            ..Tls::default()
        };
        connect(&Account { tls, ..account(Address::Tcp(host.into(), port), "tls", "", mode) }, PATIENCE)
    };
    for (mode, host) in
        [(TlsMode::VerifyCa, "127.0.0.1"), (TlsMode::VerifyCa, "localhost"), (TlsMode::VerifyIdentity, "localhost")]
    {
        assert!(attempt(mode, host, Some("ca.pem"), true).unwrap().stream.is_encrypted());
    }
    let without = attempt(TlsMode::Required, "localhost", None, false).unwrap_err();
    assert!(matches!(without, ConnectError::Refused(1045, _)), "{without}");
    for (mode, host, ca) in [(TlsMode::VerifyIdentity, "127.0.0.1", "ca.pem"), (TlsMode::VerifyCa, "localhost", "client.pem")] {
        let error = attempt(mode, host, Some(ca), true).unwrap_err();
        println!("{error}");
        assert!(matches!(error, ConnectError::Tls(_)), "{error}");
    }
    root.run(b"DROP USER 'tls'@'%'").unwrap();
}
