//! TLS over a socket, by rustls. It supports TLS 1.2 and 1.3.

use super::socket::{Socket, retry_interrupted};
use crate::account::{Address, Tls as Wish, TlsMode};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, HandshakeKind, PeerIncompatible,
    RootCertStore, SignatureScheme,
};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An encrypted connection.
#[derive(Debug)]
pub(super) struct Tls {
    socket: Socket,
    connection: ClientConnection,
}

impl Tls {
    /// A connection that is encrypted once the [handshake](Self::handshake) is done.
    pub(super) fn over(socket: Socket, config: Arc<ClientConfig>, address: &Address) -> Result<Self, String> {
        let connection = ClientConnection::new(config, server_name(address)?).map_err(|error| error.to_string())?;
        Ok(Self { socket, connection })
    }

    /// Continues the handshake without blocking; returns whether it is done.
    pub(super) fn handshake(&mut self) -> io::Result<bool> {
        loop {
            if !self.flush()? {
                return Ok(false);
            }
            if !self.connection.is_handshaking() {
                return Ok(true);
            }
            match self.receive(None) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                received => received?,
            }
        }
    }

    pub(super) fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read_or(buffer, None)
    }

    pub(super) fn read_within(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize> {
        self.read_or(buffer, Some(timeout))
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Send what the last write left first, so that the buffer does not grow.
        if !self.flush()? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.connection.writer().write(bytes)?;
        self.flush()?;
        Ok(taken)
    }

    pub(super) fn flush(&mut self) -> io::Result<bool> {
        while self.connection.wants_write() {
            let mut wire = Wire { socket: &mut self.socket, wait: None };
            match retry_interrupted(|| self.connection.write_tls(&mut wire)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn read_or(&mut self, buffer: &mut [u8], wait: Option<Duration>) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receive(wait)?,
                // Servers close connections without announcing it (close_notify).
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives once and decrypts. Blocks up to `wait`, or not at all if it is None.
    fn receive(&mut self, wait: Option<Duration>) -> io::Result<()> {
        let mut wire = Wire { socket: &mut self.socket, wait };
        let received = retry_interrupted(|| self.connection.read_tls(&mut wire))?;
        let state = self.connection.process_new_packets();
        if state.is_err() {
            // Send the alert to the server; it does not matter if that fails.
            let _ = self.flush();
        }
        state.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        if received == 0 && self.connection.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.flush().map(drop)
    }
}

/// The socket as rustls uses it. Reads block up to `wait`, or not at all if it is None.
struct Wire<'a> {
    socket: &'a mut Socket,
    wait: Option<Duration>,
}

impl io::Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.wait {
            None => self.socket.read(buffer),
            Some(timeout) => self.socket.read_within(buffer, timeout),
        }
    }
}

impl io::Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a handshake failed.
pub(super) fn describe_handshake_error(error: &io::Error) -> String {
    match (error.kind(), error.get_ref().and_then(|inner| inner.downcast_ref())) {
        (_, Some(Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13))) => {
            "the server supports only TLS 1.1 or older, and dialin-load needs 1.2 or 1.3".to_owned()
        }
        (ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset, _) => "the server ended the handshake".to_owned(),
        (ErrorKind::WouldBlock | ErrorKind::TimedOut, _) => "the server stopped answering during the TLS handshake".to_owned(),
        _ => error.to_string(),
    }
}

fn server_name(address: &Address) -> Result<ServerName<'static>, String> {
    let host = match address {
        Address::Socket(_) => "localhost",
        Address::Tcp(host, _) => host,
    };
    ServerName::try_from(host.to_owned()).map_err(|_| format!("a certificate cannot have the name {host}"))
}

/// The configuration of rustls for these settings; reads the files that they name. An error names the file.
pub(super) fn config(wish: &Wish) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let verifier = Verifier::new(wish, provider)?;
    let builder = builder.map_err(|error| error.to_string())?.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let config = match (&wish.certificate, &wish.key) {
        (Some(certificate), Some(key)) => {
            let key_file =
                PrivateKeyDer::from_pem_file(key).map_err(|error| format!("no key in {}: {error}", key.display()))?;
            let chosen = builder.with_client_auth_cert(certificates(certificate)?, key_file);
            chosen.map_err(|error| format!("{} does not fit {}: {error}", key.display(), certificate.display()))?
        }
        (None, None) => builder.with_no_client_auth(),
        _ => return Err("a client's certificate and its key go together, and one of them is missing".into()),
    };
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("no certificates in {}: {error}", path.display());
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?.collect();
    let parsed = parsed.map_err(|error| failed(&error))?;
    if parsed.is_empty() { Err(failed(&"it has none")) } else { Ok(parsed) }
}

/// Verifies the server as far as requested.
///
/// By default the MySQL client verifies nothing, because servers generate their certificates themselves. Neither does this one:
/// it then checks neither the certificate nor the proof that the server has the certificate's key, which would prove nothing by
/// itself.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Verifies that the authority signed the certificate; None if nothing is verified.
    authority: Option<Arc<WebPkiServerVerifier>>,
    /// Whether the certificate has to be issued for this host.
    identity: bool,
}

impl Verifier {
    fn new(wish: &Wish, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let authority = match (wish.mode, &wish.ca) {
            (TlsMode::VerifyCa | TlsMode::VerifyIdentity, Some(ca)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(ca)? {
                    roots.add(certificate).map_err(|error| format!("a certificate in {} is invalid: {error}", ca.display()))?;
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
                Some(verifier.map_err(|error| error.to_string())?)
            }
            (TlsMode::VerifyCa | TlsMode::VerifyIdentity, None) => {
                return Err("verifying the server's certificate needs the authority's, and none is named".into());
            }
            _ => None,
        };
        Ok(Self { provider, authority, identity: wish.mode == TlsMode::VerifyIdentity })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is verified last, so everything else is correct.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.identity => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.authority {
            Some(authority) => authority.verify_tls12_signature(message, certificate, signed),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match &self.authority {
            Some(authority) => authority.verify_tls13_signature(message, certificate, signed),
            None => Ok(HandshakeSignatureValid::assertion()),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn wish(mode: TlsMode) -> Wish {
        Wish { mode, ..Wish::default() }
    }

    #[test]
    fn encryption_needs_no_files() {
        assert!(config(&wish(TlsMode::Preferred)).is_ok());
        assert!(config(&wish(TlsMode::Required)).is_ok());
    }

    #[test]
    fn verification_needs_an_authority() {
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            assert!(config(&wish(mode)).unwrap_err().contains("authority"));
            let missing = Wish { ca: Some(PathBuf::from("/nowhere/ca.pem")), ..wish(mode) };
            assert!(config(&missing).unwrap_err().contains("/nowhere/ca.pem"));
        }
    }

    #[test]
    fn a_certificate_without_its_key_is_an_error() {
        let half = Wish { certificate: Some(PathBuf::from("/nowhere/cert.pem")), ..wish(TlsMode::Required) };
        assert!(config(&half).unwrap_err().contains("missing"));
        let both = Wish { key: Some(PathBuf::from("/nowhere/key.pem")), ..half };
        assert!(config(&both).unwrap_err().contains("/nowhere/key.pem"));
    }

    #[test]
    fn the_error_says_that_a_server_is_too_old() {
        let too_old = Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13);
        assert!(describe_handshake_error(&io::Error::new(ErrorKind::InvalidData, too_old)).contains("1.2 or 1.3"));
        assert!(describe_handshake_error(&ErrorKind::UnexpectedEof.into()).contains("ended"));
        assert!(describe_handshake_error(&ErrorKind::WouldBlock.into()).contains("stopped answering"));
    }

    #[test]
    fn a_certificate_is_for_a_host_or_an_address() {
        for host in ["db.example.com", "127.0.0.1", "::1"] {
            assert!(server_name(&Address::Tcp(host.into(), 3306)).is_ok(), "{host}");
        }
        assert!(server_name(&Address::Socket(PathBuf::from("/tmp/s.sock"))).is_ok());
        assert!(server_name(&Address::Tcp("no name".into(), 3306)).is_err());
    }
}
