//! The thread of the mock server, which serves all connections with one epoll.

use super::packets::{DEPRECATE_EOF, Form, Packets};
use super::{Answer, Command};
use crate::record::thread_cpu;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LISTENER: u64 = 0;
const STOP: u64 = 1;
/// A client that does not read its answer is disconnected after this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server.
pub struct Server<A> {
    epoll: OwnedFd,
    listener: UnixListener,
    // Readable once the other end is closed, which ends the server.
    _stop: UnixStream,
    answers: A,
    answered: Arc<AtomicU64>,
    connections: HashMap<u64, Connection>,
    born: u64,
    later: Vec<(Instant, u64, Answer, Form, u8)>,
    out: Vec<u8>,
    /// Set if the connection that is being served is to receive endless rows: the sequence number of the first, and the format.
    endless: Option<(u8, Form)>,
}

struct Connection {
    stream: UnixStream,
    input: Vec<u8>,
    logged_in: bool,
    deprecate_eof: bool,
    statements: Vec<String>,
}

/// Whether a connection stays open.
type StaysOpen = bool;

impl<A: Fn(Command<'_>) -> Answer> Server<A> {
    /// A server that has yet to run.
    pub fn new(listener: UnixListener, stop: UnixStream, answers: A, answered: Arc<AtomicU64>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &stop, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        let (connections, later, out) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Self { epoll, listener, _stop: stop, answers, answered, connections, born: STOP, later, out, endless: None })
    }

    /// Serve connections until the other end of `stop` is closed; return the CPU time of this thread.
    pub fn run(&mut self) -> Duration {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            let limit = self.next_answer().and_then(|left| Timespec::try_from(left).ok());
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), limit.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return thread_cpu(),
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return thread_cpu(),
                    LISTENER => self.accept(),
                    name => self.serve(name),
                }
            }
            self.answer_late();
        }
    }

    fn accept(&mut self) {
        let Ok((mut stream, _)) = self.listener.accept() else { return };
        self.born += 1;
        let mut greeting = Vec::new();
        Packets::new(&mut greeting, 0).greeting(self.born as u32);
        let greeted = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(&greeting));
        let name = epoll::EventData::new_u64(self.born);
        if greeted.is_ok() && epoll::add(&self.epoll, &stream, name, epoll::EventFlags::IN).is_ok() {
            let connection =
                Connection { stream, input: Vec::new(), logged_in: false, deprecate_eof: false, statements: Vec::new() };
            self.connections.insert(self.born, connection);
        }
    }

    fn serve(&mut self, name: u64) {
        let Some(mut connection) = self.connections.remove(&name) else { return };
        // A connection that is not put back is closed, and the kernel then removes it from the epoll.
        if self.take_in(name, &mut connection).unwrap_or(false) {
            self.connections.insert(name, connection);
        }
    }

    fn take_in(&mut self, name: u64, connection: &mut Connection) -> io::Result<StaysOpen> {
        let mut chunk = [0; 16_384];
        let count = connection.stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(false);
        }
        connection.input.extend_from_slice(&chunk[..count]);
        let mut input = std::mem::take(&mut connection.input);
        let mut used = 0;
        let mut stays_open = true;
        self.out.clear();
        while let [a, b, c, sequence, rest @ ..] = &input[used..] {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let Some(packet) = rest.get(..length) else { break };
            stays_open = stays_open && length < 0xff_ffff && self.command(name, connection, packet, sequence.wrapping_add(1));
            used += 4 + length;
        }
        input.drain(..used);
        connection.input = input;
        connection.stream.write_all(&self.out)?;
        if let Some((sequence, form)) = self.endless.take() {
            let stream = connection.stream.try_clone()?;
            thread::Builder::new().name("endless".into()).spawn(move || send_rows(stream, sequence, form))?;
        }
        Ok(stays_open)
    }

    fn command(&mut self, name: u64, connection: &mut Connection, packet: &[u8], sequence: u8) -> StaysOpen {
        let form = Form { binary: false, deprecate_eof: connection.deprecate_eof };
        if !connection.logged_in {
            let [a, b, c, d, ..] = *packet else { return false };
            connection.deprecate_eof = u32::from_le_bytes([a, b, c, d]) & DEPRECATE_EOF != 0;
            connection.logged_in = true;
            let answer = (self.answers)(Command::Login);
            return self.reply(name, answer, form, sequence);
        }
        let Some((kind, body)) = packet.split_first() else { return false };
        let text = String::from_utf8_lossy(body);
        match kind {
            0x01 => false,
            0x03 => {
                let answer = (self.answers)(Command::Query(&text));
                self.reply(name, answer, form, sequence)
            }
            0x0e => {
                let answer = (self.answers)(Command::Ping);
                self.reply(name, answer, form, sequence)
            }
            0x16 => self.prepare(name, connection, &text, sequence),
            0x17 => {
                let id = body.first_chunk().map(|id| u32::from_le_bytes(*id) as usize);
                let Some(sql) = id.and_then(|id| connection.statements.get(id.wrapping_sub(1))) else { return false };
                let answer = (self.answers)(Command::Execute(sql));
                self.reply(name, answer, Form { binary: true, ..form }, sequence)
            }
            0x19 => {
                let id = body.first_chunk().map(|id| u32::from_le_bytes(*id) as usize);
                let Some(sql) = id.and_then(|id| connection.statements.get(id.wrapping_sub(1))) else { return false };
                (self.answers)(Command::Close(sql));
                true
            }
            // COM_STMT_SEND_LONG_DATA has no answer.
            0x18 => true,
            0x1f => {
                let answer = (self.answers)(Command::Reset);
                self.reply(name, answer, form, sequence)
            }
            // COM_INIT_DB, COM_STMT_RESET.
            0x02 | 0x1a => self.reply(name, Answer::Ok, form, sequence),
            _ => self.reply(name, Answer::Error(1047, "Unknown command".into()), form, sequence),
        }
    }

    fn prepare(&mut self, name: u64, connection: &mut Connection, sql: &str, sequence: u8) -> StaysOpen {
        let form = Form { binary: false, deprecate_eof: connection.deprecate_eof };
        let columns = match (self.answers)(Command::Prepare(sql)) {
            Answer::Ok | Answer::Changed(_) | Answer::Stall(_) => Vec::new(),
            Answer::Rows(rows) => rows.columns.clone(),
            other => return self.reply(name, other, form, sequence),
        };
        connection.statements.push(sql.to_owned());
        let id = connection.statements.len() as u32;
        let parameters = sql.matches('?').count();
        Packets::new(&mut self.out, sequence).prepared(id, parameters, &columns, form.deprecate_eof);
        self.answered.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn reply(&mut self, name: u64, answer: Answer, form: Form, sequence: u8) -> StaysOpen {
        if let Answer::Stall(pause) = answer {
            thread::sleep(pause);
        }
        if Packets::new(&mut self.out, sequence).answer(&answer, form) {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        match answer {
            Answer::Close => return false,
            Answer::Endless => self.endless = Some((Packets::new(&mut self.out, sequence).begin_rows(form), form)),
            Answer::After(pause, answer) => self.later.push((Instant::now() + pause, name, *answer, form, sequence)),
            _ => {}
        }
        true
    }

    /// The time until the next delayed answer is due.
    fn next_answer(&self) -> Option<Duration> {
        let next = self.later.iter().map(|(due, ..)| *due).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn answer_late(&mut self) {
        let now = Instant::now();
        while let Some(place) = self.later.iter().position(|(due, ..)| *due <= now) {
            let (_, name, answer, form, sequence) = self.later.swap_remove(place);
            let Some(mut connection) = self.connections.remove(&name) else { continue };
            self.out.clear();
            if self.reply(name, answer, form, sequence) && connection.stream.write_all(&self.out).is_ok() {
                self.connections.insert(name, connection);
            }
        }
    }
}

/// Send rows until the client closes the connection or stops reading.
fn send_rows(mut stream: UnixStream, sequence: u8, form: Form) {
    let mut rows = Vec::new();
    let mut packets = Packets::new(&mut rows, sequence);
    // Sequence numbers repeat after 256 packets, so the same bytes can be sent again and again.
    (0..256).for_each(|_| packets.row(&"x".repeat(1000), form));
    while stream.write_all(&rows).is_ok() {}
}

#[cfg(test)]
mod tests {
    use super::super::MockServer;
    use super::*;
    use std::path::PathBuf;

    /// A minimal client: it sends commands and reads whole packets.
    struct Client(UnixStream);

    impl Client {
        fn of(mock_server: &MockServer) -> Self {
            let path = match mock_server.account().address {
                crate::account::Address::Socket(path) => path,
                crate::account::Address::Tcp(..) => panic!("it listens at a socket"),
            };
            let mut client = Self(UnixStream::connect(path).unwrap());
            client.0.set_read_timeout(Some(PATIENCE)).unwrap();
            assert_eq!(client.packet().unwrap()[0], 10);
            client.send(1, &[&DEPRECATE_EOF.to_le_bytes()[..], b"login"].concat());
            client
        }

        fn let_in(mock_server: &MockServer) -> Self {
            let mut client = Self::of(mock_server);
            assert_eq!(client.packet().unwrap()[0], 0);
            client
        }

        fn send(&mut self, sequence: u8, payload: &[u8]) {
            let header = [payload.len() as u8, 0, 0, sequence];
            self.0.write_all(&[&header[..], payload].concat()).unwrap();
        }

        fn packet(&mut self) -> io::Result<Vec<u8>> {
            let mut header = [0; 4];
            self.0.read_exact(&mut header)?;
            let mut payload = vec![0; usize::from(header[0])];
            self.0.read_exact(&mut payload)?;
            Ok(payload)
        }

        fn ask(&mut self, payload: &[u8]) -> Vec<u8> {
            self.send(0, payload);
            self.packet().unwrap()
        }
    }

    fn path(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("dialin-load-{test}-{}.sock", std::process::id()))
    }

    /// So late that even a client which gets no CPU for a while has had other answers before.
    const LATER: Duration = Duration::from_secs(1);

    fn answers(command: Command<'_>) -> Answer {
        match command.sql() {
            "lock" => Answer::Error(1213, "deadlock".into()),
            "close" => Answer::Close,
            "later" => Answer::After(LATER, Box::new(Answer::Changed(7))),
            sql if sql.starts_with("SELECT") => Answer::row(&[Some("one"), None]),
            _ => Answer::Ok,
        }
    }

    #[test]
    fn statements_get_the_chosen_answers() {
        let mock_server = MockServer::listen(&path("chosen"), answers).unwrap();
        let mut client = Client::let_in(&mock_server);
        assert_eq!(client.ask(b"\x0e")[0], 0);
        assert_eq!(client.ask(b"\x03anything")[0], 0);
        assert_eq!(client.ask(b"\x03lock")[..3], [0xff, 0xbd, 0x04]);
        assert_eq!(client.ask(b"\x03SELECT")[0], 2);
        let rest: Vec<Vec<u8>> = (0..4).map(|_| client.packet().unwrap()).collect();
        assert_eq!((&rest[2][..], rest[3][0]), (&b"\x03one\xfb"[..], 0xfe));
        assert_eq!(mock_server.answered(), 5);
    }

    #[test]
    fn prepared_statements_have_their_parameters_and_binary_rows() {
        let mock_server = MockServer::listen(&path("prepared"), answers).unwrap();
        let mut client = Client::let_in(&mock_server);
        let prepared = client.ask(b"\x16SELECT ? + ? + ?");
        assert_eq!(prepared, [0, 1, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0]);
        (0..5).for_each(|_| drop(client.packet().unwrap()));
        assert_eq!(client.ask(b"\x17\x01\0\0\0\0\x01\0\0\0")[0], 2);
        let rest: Vec<Vec<u8>> = (0..4).map(|_| client.packet().unwrap()).collect();
        assert_eq!(rest[2], b"\0\x08\x03one");
    }

    #[test]
    fn a_delayed_answer_does_not_delay_other_connections() {
        let mock_server = MockServer::listen(&path("later"), answers).unwrap();
        let (mut slow, mut quick) = (Client::let_in(&mock_server), Client::let_in(&mock_server));
        let begin = Instant::now();
        slow.send(0, b"\x03later");
        quick.ask(b"\x03now");
        assert!(begin.elapsed() < LATER);
        assert_eq!(slow.packet().unwrap()[..2], [0, 7]);
        assert!(begin.elapsed() >= LATER);
    }

    #[test]
    fn a_stall_delays_all_connections() {
        let (asked, heard) = std::sync::mpsc::channel();
        let stall = move |command: Command<'_>| match command.sql() {
            "" => Answer::Ok,
            _ => asked.send(()).map(|()| Answer::Stall(Duration::from_millis(50))).unwrap(),
        };
        let mock_server = MockServer::listen(&path("stall"), stall).unwrap();
        let (mut one, mut other) = (Client::let_in(&mock_server), Client::let_in(&mock_server));
        one.send(0, b"\x03stall");
        heard.recv().unwrap();
        let begin = Instant::now();
        assert_eq!(other.ask(b"\x0e")[0], 0);
        assert!(begin.elapsed() >= Duration::from_millis(30));
        assert_eq!(one.packet().unwrap()[0], 0);
    }

    #[test]
    fn it_closes_a_connection_on_request_and_all_when_it_ends() {
        let mock_server = MockServer::listen(&path("close"), answers).unwrap();
        let (mut one, mut other) = (Client::let_in(&mock_server), Client::let_in(&mock_server));
        one.send(0, b"\x03close");
        assert!(one.packet().is_err());
        assert_eq!(other.ask(b"\x0e")[0], 0);
        mock_server.end();
        assert!(other.packet().is_err());
        assert!(!path("close").exists());
    }

    #[test]
    fn a_login_can_be_refused() {
        let refuse =
            |command: Command<'_>| if command == Command::Login { Answer::Error(1045, "no".into()) } else { Answer::Ok };
        let mock_server = MockServer::listen(&path("refuse"), refuse).unwrap();
        assert_eq!(Client::of(&mock_server).packet().unwrap()[..3], [0xff, 0x15, 0x04]);
    }
}
