//! Options for the server's address, the account, and TLS.

use crate::account::{Account, Address, Listener, Tls, TlsMode};
use crate::account_file::{self, AccountFile, tls_mode};
use crate::errors::{Error, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// The default socket of a server; the default host and port are used if it does not exist.
const SOCKET: &str = "/run/mysqld/mysqld.sock";
const HOST: &str = "127.0.0.1";
const PORT: u16 = 3306;

/// The server, and the account to log in with.
#[derive(Args, Clone, Debug, Default)]
pub struct AccountOptions {
    /// The server's unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"], help_heading = "Server")]
    pub socket: Option<PathBuf>,
    /// The server's host; connects over TCP even to localhost
    #[arg(long, value_name = "HOST", help_heading = "Server")]
    pub host: Option<String>,
    /// The server's port [default: 3306]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Server")]
    pub port: Option<u16>,
    /// The user name [default: the current user of this machine]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub user: Option<String>,
    /// The schema with the workload's tables [default: sbtest; of a capture: none, its sessions have their own]
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    pub database: Option<String>,
    /// A private option file with user, password, host and so on under [client] or [dialin-load]
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub defaults_file: Option<PathBuf>,
    /// Encryption: disabled, preferred, required, verify_ca or verify_identity
    #[arg(long, value_name = "MODE", help_heading = "Server")]
    pub ssl_mode: Option<String>,
    /// Certificates of the authorities (CA) that signed the server's certificate
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub ssl_ca: Option<PathBuf>,
    /// The client's certificate
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub ssl_cert: Option<PathBuf>,
    /// The key of the client's certificate
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub ssl_key: Option<PathBuf>,
    /// Fetch the server's RSA key for passwords over TCP without encryption, as the mysql client's option does
    #[arg(long, help_heading = "Server")]
    pub get_server_public_key: bool,
    /// File to which the server's number of each session is appended before it is used; emptied once all of them have ended
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub sessions_file: Option<PathBuf>,
}

/// The environment that the defaults of an account depend on.
pub struct Environment<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a file exists.
    pub exists: &'a dyn Fn(&Path) -> bool,
}

/// An account, and the warnings about its option file.
#[derive(Debug)]
pub struct ResolvedAccount {
    /// The account.
    pub account: Account,
    /// One sentence each, without a full stop.
    pub warnings: Vec<String>,
}

impl AccountOptions {
    /// The requested account. Options take precedence over the option file, and that over the environment. Where neither names
    /// a schema, it is `schema`.
    ///
    /// # Errors
    ///
    /// The option file cannot be read, or options contradict each other.
    pub fn account(&self, schema: &str, around: &Environment<'_>) -> Result<ResolvedAccount> {
        let file = self.defaults_file.as_deref().map(account_file::read).transpose()?.unwrap_or_default();
        self.account_with(file, schema, around)
    }

    fn account_with(&self, file: AccountFile, schema: &str, around: &Environment<'_>) -> Result<ResolvedAccount> {
        let variable = |name: &str| (around.variable)(name).filter(|value| !value.is_empty());
        let account = Account {
            address: self.address(&file, around),
            tls: self.tls(&file)?,
            user: self
                .user
                .clone()
                .or(file.user)
                .or_else(|| variable("USER"))
                .or_else(|| variable("LOGNAME"))
                .unwrap_or_else(|| "root".into()),
            password: file.password.or_else(|| variable("MYSQL_PWD")).unwrap_or_default(),
            database: self.database.clone().or(file.database).unwrap_or_else(|| schema.into()),
            sessions_file: self.sessions_file.clone(),
            listener: Listener::default(),
        };
        Ok(ResolvedAccount { account, warnings: file.warnings })
    }

    fn address(&self, file: &AccountFile, around: &Environment<'_>) -> Address {
        if let Some(socket) = &self.socket {
            return Address::Socket(socket.clone());
        }
        // As for the standard clients, localhost in an option file means the socket.
        let remote = file.host.clone().filter(|host| host != "localhost");
        if self.host.is_none() && self.port.is_none() && remote.is_none() {
            if let Some(socket) = &file.socket {
                return Address::Socket(socket.clone());
            }
            if file.port.is_none() && (around.exists)(Path::new(SOCKET)) {
                return Address::Socket(SOCKET.into());
            }
        }
        let host = self.host.clone().or(remote).unwrap_or_else(|| HOST.into());
        Address::Tcp(host, self.port.or(file.port).unwrap_or(PORT))
    }

    fn tls(&self, file: &AccountFile) -> Result<Tls> {
        let mode = self.ssl_mode.as_deref().map(tls_mode).transpose();
        let mode = mode.map_err(|why| Error::user(why, "Write it as in --ssl-mode required"))?;
        let ca = self.ssl_ca.clone().or_else(|| file.ssl_ca.clone());
        let certificate = self.ssl_cert.clone().or_else(|| file.ssl_cert.clone());
        let key = self.ssl_key.clone().or_else(|| file.ssl_key.clone());
        let implied = if ca.is_some() { TlsMode::VerifyCa } else { TlsMode::default() };
        let mode = mode.or(file.ssl_mode).unwrap_or(implied);
        if matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity) && ca.is_none() {
            let remedy = "Name the file with the authority's certificate with --ssl-ca";
            return Err(Error::user("The server's certificate cannot be verified without an authority", remedy));
        }
        if certificate.is_some() != key.is_some() {
            return Err(Error::user(
                "A client's certificate and its key belong together, and one of them is missing",
                "Give both --ssl-cert and --ssl-key",
            ));
        }
        let fetch_public_key = self.get_server_public_key || file.get_server_public_key;
        Ok(Tls { mode, ca, certificate, key, fetch_public_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(options: &AccountOptions, file: &str, environment: &[(&str, &str)], socket_there: bool) -> Result<Account> {
        let variable = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let around = Environment { variable: &variable, exists: &|_| socket_there };
        let file = account_file::parse(file, "my.cnf")?;
        options.account_with(file, "sbtest", &around).map(|found| found.account)
    }

    fn address(options: &AccountOptions, file: &str, socket_there: bool) -> String {
        found(options, file, &[], socket_there).unwrap().address.to_string()
    }

    fn host(host: &str) -> AccountOptions {
        AccountOptions { host: Some(host.into()), ..AccountOptions::default() }
    }

    #[test]
    fn the_default_is_the_usual_socket_if_it_exists() {
        let none = AccountOptions::default();
        assert_eq!([true, false].map(|there| address(&none, "", there)), [SOCKET, "127.0.0.1:3306"]);
    }

    #[test]
    fn options_win_over_the_option_file_and_that_over_the_usual() {
        let file = "[client]\nsocket=/f.sock\nport=3307\n";
        let socket = AccountOptions { socket: Some("/o.sock".into()), ..AccountOptions::default() };
        assert_eq!(address(&socket, file, true), "/o.sock");
        assert_eq!(address(&AccountOptions::default(), file, true), "/f.sock");
        assert_eq!(address(&host("db"), file, true), "db:3307");
        assert_eq!(address(&AccountOptions { port: Some(9), ..AccountOptions::default() }, file, true), "127.0.0.1:9");
    }

    #[test]
    fn localhost_is_the_socket_in_an_option_file_and_tcp_as_an_option() {
        let file = "[client]\nhost=localhost\nsocket=/f.sock\n";
        assert_eq!(address(&AccountOptions::default(), file, true), "/f.sock");
        assert_eq!(address(&host("localhost"), file, true), "localhost:3306");
        assert_eq!(address(&AccountOptions::default(), "[client]\nhost=far\nsocket=/f.sock\n", true), "far:3306");
    }

    #[test]
    fn the_password_is_the_files_or_else_the_environments() {
        let none = AccountOptions::default();
        let environment = [("MYSQL_PWD", "of the environment"), ("USER", "anna")];
        let account = found(&none, "[client]\npassword=of the file\n", &environment, false).unwrap();
        assert_eq!((account.user.as_str(), account.password.as_str()), ("anna", "of the file"));
        assert_eq!(found(&none, "", &environment, false).unwrap().password, "of the environment");
        let bare = found(&none, "", &[], false).unwrap();
        assert_eq!((bare.user.as_str(), bare.password.as_str(), bare.database.as_str()), ("root", "", "sbtest"));
    }

    #[test]
    fn an_authority_alone_asks_for_a_verified_certificate() {
        let mode = |file: &str| found(&AccountOptions::default(), file, &[], false).unwrap().tls.mode;
        assert_eq!(mode("[client]\nssl-ca=/ca.pem\n"), TlsMode::VerifyCa);
        assert_eq!(mode("[client]\nssl-ca=/ca.pem\nssl-mode=required\n"), TlsMode::Required);
        assert_eq!(mode(""), TlsMode::Preferred);
    }

    #[test]
    fn a_key_for_passwords_is_fetched_only_where_it_is_asked_for() {
        let fetches = |options: &AccountOptions, file: &str| found(options, file, &[], false).unwrap().tls.fetch_public_key;
        let asked = AccountOptions { get_server_public_key: true, ..AccountOptions::default() };
        assert!(fetches(&asked, "") && fetches(&AccountOptions::default(), "[client]\nget-server-public-key=1\n"));
        assert!(fetches(&AccountOptions::default(), "[client]\nget-server-public-key\n"));
        assert!(!fetches(&AccountOptions::default(), "[client]\nget-server-public-key=OFF\n"));
        assert!(!fetches(&AccountOptions::default(), ""));
    }

    #[test]
    fn impossible_encryption_is_the_users_error() {
        let mode = |mode: &str| AccountOptions { ssl_mode: Some(mode.into()), ..AccountOptions::default() };
        let without_key = AccountOptions { ssl_cert: Some("/c.pem".into()), ..AccountOptions::default() };
        for (options, why) in
            [(mode("perhaps"), "an ssl-mode"), (mode("VERIFY_CA"), "without an authority"), (without_key, "belong together")]
        {
            let error = found(&options, "", &[], false).unwrap_err();
            assert!(error.what.contains(why) && !error.remedy.is_empty(), "{error}");
        }
    }
}
