//! Ends the statements that a run leaves on a server. A server notices that a client is gone only when it sends the result, so a statement
//! may go on for minutes, hold its locks, and slow down whatever comes next.

use super::client::{Client, SqlError};
use super::connect::Connector;
use crate::account::SessionId;
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::thread;
use std::time::{Duration, Instant};

/// How long ending all of them may take.
const PATIENCE: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// What became of the statements that a run left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftover {
    /// How many were ended by KILL.
    pub ended: usize,
    /// How many may still be executed: the server could not be reached, refused KILL, or takes long to roll back.
    pub left: usize,
}

impl Sum for Leftover {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, more| Self { ended: sum.ended + more.ended, left: sum.left + more.left })
    }
}

/// Ends these sessions, with KILL over another connection, and waits until they are gone. One that the server shows as idle is ended too: it
/// may be about to execute what was sent last.
///
/// A session is ended only if the server shows it as this account's and as coming from this host (see [`ours`]): behind the same address may
/// be another server by now, on which the number belongs to somebody else.
pub fn end(connector: &Connector<'_>, sessions: &[SessionId]) -> Leftover {
    let unknown = Leftover { ended: 0, left: sessions.len() };
    let leftover = if sessions.is_empty() { unknown } else { end_within(connector, sessions).unwrap_or(unknown) };
    if leftover.left == 0 {
        connector.forget_sessions();
    }
    leftover
}

fn end_within(connector: &Connector<'_>, sessions: &[SessionId]) -> Option<Leftover> {
    let deadline = Instant::now() + PATIENCE;
    let mut client = Client::connect_until(connector, deadline).ok()?;
    let mut still = present(&mut client, sessions).ok()?;
    let count = still.len();
    for number in &still {
        // It may have ended meanwhile; what stays is seen below.
        let _ = client.run(format!("KILL {number}").as_bytes());
    }
    let mut pause = FIRST_PAUSE;
    while !still.is_empty() && Instant::now() + pause < deadline {
        thread::sleep(pause);
        pause = (2 * pause).min(LONGEST_PAUSE);
        still = present(&mut client, sessions).unwrap_or(still);
    }
    Some(Leftover { ended: count - still.len().min(count), left: still.len() })
}

/// The numbers of those of the sessions that are still there.
fn present(client: &mut Client, sessions: &[SessionId]) -> Result<Vec<u32>, SqlError> {
    let uptime = client.rows(b"SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let uptime: u64 = uptime.first().and_then(|row| row.get(1)?.as_ref()?.parse().ok()).unwrap_or(0);
    // A session that is older than the server was one of the server before.
    let sessions: Vec<SessionId> =
        sessions.iter().filter(|id| id.opened.elapsed() < Duration::from_secs(uptime.saturating_add(1))).copied().collect();
    let shown: Vec<Shown> = client.rows(b"SHOW PROCESSLIST")?.iter().filter_map(|row| Shown::of(row)).collect();
    Ok(ours(&shown, client.id(), &sessions, &named(client)))
}

/// The sessions that present themselves as this program's; none if the server does not record that.
fn named(client: &mut Client) -> Vec<u32> {
    let sql = b"SELECT PROCESSLIST_ID FROM performance_schema.session_account_connect_attrs \
                WHERE ATTR_NAME = 'program_name' AND ATTR_VALUE = 'dialin-load'";
    let rows = client.rows(sql).unwrap_or_default();
    rows.iter().filter_map(|row| row.first()?.as_ref()?.parse().ok()).collect()
}

/// A row of SHOW PROCESSLIST.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    number: u32,
    user: String,
    /// The client's host, and its port over TCP.
    host: String,
    port: Option<u16>,
}

impl Shown {
    fn of(row: &[Option<String>]) -> Option<Self> {
        let [number, user, host, ..] = row else { return None };
        let host = host.as_deref().unwrap_or_default();
        let (name, port) = host.rsplit_once(':').map_or((host, None), |(name, port)| (name, port.parse().ok()));
        Some(Self { number: number.as_ref()?.parse().ok()?, user: user.clone()?, host: name.into(), port })
    }
}

/// The numbers of those of the `sessions` that the server shows as this client's: with the user and the host of the client's `own` session, with
/// their port if the server sees this host's ports as they are (no proxy changes them), and, if the own session is among those that are `named`
/// as this program's, named so too.
fn ours(shown: &[Shown], own: SessionId, sessions: &[SessionId], named: &[u32]) -> Vec<u32> {
    let Some(me) = shown.iter().find(|session| session.number == own.number) else { return vec![] };
    let sees_ports = me.port.is_some() && me.port == own.port;
    let are_named = named.contains(&own.number);
    let is_ours = |session: &&Shown| {
        let is_left = |id: &SessionId| id.number == session.number && (!sees_ports || id.port == session.port);
        sessions.iter().any(is_left)
            && (&session.user, &session.host) == (&me.user, &me.host)
            && (!are_named || named.contains(&session.number))
    };
    shown.iter().filter(|session| session.number != me.number).filter(is_ours).map(|session| session.number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 9;

    fn id(number: u32, port: Option<u16>) -> SessionId {
        SessionId { number, port, opened: Instant::now() }
    }

    fn shown(number: u32, user: &str, host: &str) -> Shown {
        let row = [&number.to_string(), user, host, "sbtest", "Query", "3", "executing"].map(|text| Some(text.to_owned()));
        Shown::of(&row).unwrap()
    }

    #[test]
    fn sessions_over_a_socket_are_known_by_number_user_and_host() {
        let list = [
            shown(2, "app", "localhost"),
            shown(4, "root", "localhost"),
            shown(5, "app", "10.0.0.7:3306"),
            shown(6, "app", "localhost"),
            shown(7, "app", "localhost"),
            shown(OWN, "app", "localhost"),
        ];
        let left: Vec<SessionId> = [2, 4, 5, 7, 8, OWN].map(|number| id(number, None)).into();
        assert_eq!(ours(&list, id(OWN, None), &left, &[]), [2, 7], "6 is another client's of the same account");
        assert_eq!(ours(&list[..5], id(OWN, None), &left, &[]), [0; 0], "this client is not on that server");
    }

    #[test]
    fn over_tcp_the_port_must_be_ours_unless_a_proxy_changes_it() {
        let list = |own: &str| {
            let of = |number, port: &str| shown(number, "app", &format!("10.0.0.7:{port}"));
            [of(2, "4002"), of(3, "5003"), of(OWN, own)]
        };
        let left = [id(2, Some(4002)), id(3, Some(4003))];
        assert_eq!(ours(&list("4009"), id(OWN, Some(4009)), &left, &[]), [2]);
        assert_eq!(ours(&list("777"), id(OWN, Some(4009)), &left, &[]), [2, 3], "as through a proxy");
        let six = [shown(2, "app", "fe80::1:4002"), shown(OWN, "app", "fe80::1:4009")];
        assert_eq!(ours(&six, id(OWN, Some(4009)), &left, &[]), [2]);
    }

    #[test]
    fn a_server_that_records_the_names_of_programs_must_know_the_session_as_ours() {
        let list = [2, 3, OWN].map(|number| shown(number, "app", "localhost"));
        let left = [id(2, None), id(3, None)];
        assert_eq!(ours(&list, id(OWN, None), &left, &[2, OWN]), [2]);
        assert_eq!(ours(&list, id(OWN, None), &left, &[2]), [2, 3], "it records none now");
    }
}
