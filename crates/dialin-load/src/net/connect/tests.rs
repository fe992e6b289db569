use super::*;
use crate::account::Address;
use crate::account::{Tls as Wish, TlsMode};
use crate::errors::{Error, Fault};
use crate::net::client::{Client, SqlError};
use crate::net::session::Server;
use crate::protocol::Malformed;
use crate::protocol::packet;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use rustls_pki_types::PrivateKeyDer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

const PATIENCE: Duration = Duration::from_secs(5);
const WELCOME: &[u8] = b"\0\0\0\x02\0\0\0";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0C\x2D\0\0\0\0\0\xFD\0\0\0\0\0";

/// A server that runs `part` for a single connection.
fn server(part: impl FnOnce(Peer) + Send + 'static) -> (Account, JoinHandle<()>) {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || part(Peer { stream: listener.accept().unwrap().0, sequence: 0 }));
    (account(Address::Tcp("127.0.0.1".into(), port), TlsMode::Preferred), thread)
}

fn account(address: Address, mode: TlsMode) -> Account {
    let tls = Wish { mode, ..Wish::default() };
    Account { address, user: "u".into(), password: "secret".into(), database: "sbtest".into(), tls, ..Account::default() }
}

struct Peer<S = TcpStream> {
    stream: S,
    sequence: u8,
}

impl Peer {
    /// Send a greeting, wait for the request to encrypt, and start TLS.
    fn encrypt(mut self, config: &Arc<ServerConfig>) -> Peer<StreamOwned<ServerConnection, TcpStream>> {
        self.greet(0xDFFF_FFFF);
        assert_eq!(self.receive().len(), 32);
        let connection = ServerConnection::new(Arc::clone(config)).unwrap();
        Peer { stream: StreamOwned::new(connection, self.stream), sequence: self.sequence }
    }
}

impl<S: Read + Write> Peer<S> {
    fn send(&mut self, payload: &[u8]) {
        let mut out = Vec::new();
        let start = packet::begin(&mut out);
        out.extend_from_slice(payload);
        self.sequence = packet::finish(&mut out, start, self.sequence);
        self.stream.write_all(&out).unwrap();
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut header = [0; packet::HEADER];
        self.stream.read_exact(&mut header).unwrap();
        let (length, sequence) = packet::header(&header).unwrap();
        assert!(sequence == self.sequence || sequence == 0, "sequence number {sequence} for {}", self.sequence);
        self.sequence = sequence + 1;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).unwrap();
        payload
    }

    fn greet(&mut self, capabilities: u64) {
        self.send(&crate::protocol::handshake::tests::greeting("8.0.33", capabilities, b"mysql_native_password\0"));
    }

    fn let_in(&mut self) {
        self.greet(0xDFFF_F7FF);
        self.receive();
        self.send(WELCOME);
    }

    fn answer_max_allowed_packet(&mut self) {
        assert_eq!(self.receive(), b"\x03SELECT @@max_allowed_packet");
        for payload in [&b"\x01"[..], COLUMN, b"\xFE\0\0\x02\0", b"\x0816777216", b"\xFE\0\0\x02\0"] {
            self.send(payload);
        }
    }
}

fn failure(part: impl FnOnce(Peer) + Send + 'static) -> ConnectError {
    let (account, thread) = server(part);
    let error = connect(&account, PATIENCE).unwrap_err();
    thread.join().unwrap();
    error
}

#[test]
fn a_session_knows_its_server() {
    let (account, thread) = server(|mut peer| peer.let_in());
    let session = connect(&account, PATIENCE).unwrap();
    assert_eq!(session.server, Server { version: "8.0.33".into(), mariadb: false });
    assert_eq!(session.id.number, 7);
    assert_eq!(session.status, 2);
    assert!(!session.stream.is_encrypted());
    thread.join().unwrap();
}

#[test]
fn a_failed_handshake_is_an_error_even_if_encryption_is_only_preferred() {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let mut first = Peer { stream: listener.accept().unwrap().0, sequence: 0 };
        first.greet(0xDFFF_FFFF);
        assert_eq!(first.receive().len(), 32);
        // An alert, as sent by a server that supports only older versions, or by an attacker who wants to read the traffic.
        first.stream.write_all(&[21, 3, 1, 0, 2, 2, 70]).unwrap();
        drop(first);
        listener.set_nonblocking(true).unwrap();
        listener
    });
    let account = account(Address::Tcp("127.0.0.1".into(), port), TlsMode::Preferred);
    let error = connect(&account, PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::Tls(_)), "{error}");
    assert!(Error::from(error).remedy.contains("--ssl-mode disabled"));
    assert!(thread.join().unwrap().accept().is_err(), "it was tried again");
}

/// The server's side of TLS. Its certificate is not a valid one: the client does not check it unless an authority is named.
fn server_config(version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    #[derive(Debug)]
    struct AnyName(Arc<CertifiedKey>);
    impl ResolvesServerCert for AnyName {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(Arc::clone(&self.0))
        }
    }
    let provider = Arc::new(ring::default_provider());
    // PKCS #8 of an Ed25519 key: a fixed head, and 32 bytes that only these tests use.
    let head = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let key = PrivateKeyDer::Pkcs8([head.as_slice(), &[7; 32]].concat().into());
    let key = provider.key_provider.load_private_key(key).unwrap();
    let certificate = AnyName(Arc::new(CertifiedKey::new(vec![b"none".to_vec().into()], key)));
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(certificate)))
}

#[test]
fn the_connections_of_a_connector_resume_a_tls_session_and_those_of_another_one_do_not() {
    for version in [&TLS12, &TLS13] {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = server_config(version);
        let thread = thread::spawn(move || {
            for _ in 0..4 {
                let mut peer = Peer { stream: listener.accept().unwrap().0, sequence: 0 }.encrypt(&config);
                peer.receive();
                peer.send(WELCOME);
            }
        });
        let account = account(Address::Tcp("127.0.0.1".into(), port), TlsMode::Preferred);
        let (connector, other) = (Connector::new(&account), Connector::new(&account));
        let connectors = [&connector, &connector, &connector, &other];
        let sessions = connectors.map(|each| each.connect(PATIENCE).unwrap());
        assert!(sessions.iter().all(|session| session.stream.is_encrypted()));
        assert_eq!(sessions.map(|session| session.stream.is_resumed()), [false, true, true, false], "{version:?}");
        thread.join().unwrap();
    }
}

#[test]
fn files_for_encryption_are_read_once() {
    let path = std::env::temp_dir().join(format!("dialin-load-ca-{}.pem", std::process::id()));
    let tls = Wish { mode: TlsMode::VerifyCa, ca: Some(path.clone()), ..Wish::default() };
    let account = Account { tls, ..account(Address::Tcp("127.0.0.1".into(), 1), TlsMode::VerifyCa) };
    let connector = Connector::new(&account);
    let first = connector.endpoint.encryption().unwrap_err();
    std::fs::write(&path, "anything").unwrap();
    assert_eq!(connector.endpoint.encryption().unwrap_err(), first);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_password_is_not_encrypted_with_a_key_that_anybody_may_have_sent() {
    let error = failure(|mut peer| {
        peer.send(&crate::protocol::handshake::tests::greeting("8.0.33", 0xDFFF_F7FF, b"caching_sha2_password\0"));
        peer.receive();
        peer.send(b"\x01\x04");
    });
    assert_eq!(error, ConnectError::NeedsKey);
    assert!(Error::from(error).remedy.contains("--get-server-public-key"));
}

#[test]
fn encryption_that_is_required_and_not_offered_is_an_error() {
    let (account, thread) = server(|mut peer| peer.greet(0xDFFF_F7FF));
    let required = Account { tls: Wish { mode: TlsMode::Required, ..Wish::default() }, ..account };
    let error = connect(&required, PATIENCE).unwrap_err();
    assert!(matches!(error, ConnectError::Tls(_)), "{error}");
    thread.join().unwrap();
}

#[test]
fn nobody_there_is_unreachable() {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let tcp = connect(&account(Address::Tcp("127.0.0.1".into(), port), TlsMode::Preferred), PATIENCE).unwrap_err();
    let unix = connect(&account(Address::Socket("/nowhere/s.sock".into()), TlsMode::Preferred), PATIENCE).unwrap_err();
    let long = connect(&account(Address::Socket("/x".repeat(200).into()), TlsMode::Preferred), PATIENCE).unwrap_err();
    for error in [tcp, unix, long] {
        assert!(matches!(error, ConnectError::Unreachable(..)), "{error}");
        assert!(error.is_temporary());
        assert_eq!(Error::from(error).fault, Fault::Connection);
    }
}

#[test]
fn without_room_for_a_connection_this_machine_is_named_not_the_server() {
    let anywhere = account(Address::Tcp("127.0.0.1".into(), 3306), TlsMode::Preferred);
    let error = Endpoint::new(&anywhere).unreachable(&std::io::Error::from_raw_os_error(24));
    assert!(error.is_temporary() && error.to_string().contains("on this machine"), "{error}");
    assert_eq!(Error::from(error).fault, Fault::Machine);
}

#[test]
fn a_server_that_says_nothing_is_unreachable_in_time() {
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = listener.local_addr().unwrap().port();
    let error =
        connect(&account(Address::Tcp("127.0.0.1".into(), port), TlsMode::Preferred), Duration::from_millis(50)).unwrap_err();
    assert!(error.to_string().contains("does not answer"), "{error}");
}

#[test]
fn too_many_connections_and_a_refused_login_are_different_errors() {
    let full = failure(|mut peer| peer.send(b"\xFF\x10\x04Too many connections"));
    assert_eq!(full, ConnectError::TooMany(1040, "Too many connections".into()));
    let refused = failure(|mut peer| {
        peer.greet(0xDFFF_F7FF);
        peer.receive();
        peer.send(b"\xFF\x15\x04#28000Access denied");
    });
    assert_eq!(refused, ConnectError::Refused(1045, "Access denied".into()));
    assert!(full.is_temporary() && !refused.is_temporary());
}

#[test]
fn other_protocols_and_unknown_plugins_are_errors() {
    let web = failure(|mut peer| peer.send(b"HTTP/1.1 400 Bad Request"));
    assert!(matches!(web, ConnectError::Protocol(..)), "{web}");
    let huge = failure(|mut peer| peer.stream.write_all(b"HTTP/1.1").unwrap());
    assert!(matches!(huge, ConnectError::Protocol(..)), "{huge}");
    let plugin = failure(|mut peer| {
        peer.greet(0xDFFF_F7FF);
        peer.receive();
        peer.send(b"\xFEdialog\0");
    });
    assert_eq!(plugin, ConnectError::Plugin("dialog".into()));
    let gone = failure(drop);
    assert!(matches!(gone, ConnectError::Unreachable(..)), "{gone}");
}

#[test]
fn every_error_has_a_remedy() {
    let errors = [
        ConnectError::Unreachable("h:1".into(), "gone".into()),
        ConnectError::TooMany(1040, "full".into()),
        ConnectError::Refused(1045, "no".into()),
        ConnectError::Plugin("dialog".into()),
        ConnectError::NeedsKey,
        ConnectError::Tls("no".into()),
        ConnectError::TlsFile("no file".into()),
        ConnectError::Protocol("h:1".into(), Malformed("no")),
    ];
    for error in errors.map(Error::from) {
        assert!(!error.remedy.is_empty() && !error.what.contains('\n'), "{error}");
    }
}

#[test]
fn a_client_runs_statements_and_reads_rows() {
    let (account, thread) = server(|mut peer| {
        peer.let_in();
        peer.answer_max_allowed_packet();
        assert_eq!(peer.receive(), b"\x03DO 0");
        peer.send(b"\0\x05\x07\x02\0\x01\0");
        assert_eq!(peer.receive(), b"\x03SELECT 1, NULL");
        peer.send(b"\x02");
        peer.send(COLUMN);
        peer.send(COLUMN);
        peer.send(b"\xFE\0\0\x02\0");
        peer.send(b"\x011\xFB");
        peer.send(b"\xFE\0\0\x02\0");
        assert_eq!(peer.receive(), b"\x03DROP");
        peer.send(b"\xFF\x28\x04#42000You have an error");
        assert_eq!(peer.receive(), b"\x01", "a goodbye");
    });
    let mut client = Client::connect(&Connector::new(&account)).unwrap();
    assert_eq!(client.max_allowed_packet(), 16_777_216);
    let affected = client.run(b"DO 0").unwrap();
    assert_eq!((affected.rows, affected.insert_id, affected.warnings), (5, 7, 1));
    assert_eq!(client.rows(b"SELECT 1, NULL").unwrap(), [[Some("1".to_owned()), None]]);
    assert_eq!(client.run(b"DROP"), Err(SqlError { code: 1064, message: "You have an error".into() }));
    drop(client);
    thread.join().unwrap();
}

#[test]
fn a_client_reports_a_lost_connection() {
    let (account, thread) = server(|mut peer| {
        peer.let_in();
        peer.answer_max_allowed_packet();
        peer.receive();
    });
    let mut client = Client::connect(&Connector::new(&account)).unwrap();
    assert!(client.run(b"DO 0").unwrap_err().is_lost());
    thread.join().unwrap();
}
