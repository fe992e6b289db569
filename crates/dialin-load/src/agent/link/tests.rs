use super::*;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const OTHER_TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF";
const PATIENCE: Duration = Duration::from_secs(5);

fn token(secret: &[u8]) -> Token {
    Token::of(secret).unwrap()
}

fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (here, listener.accept().unwrap().0)
}

fn meet(one: &[u8], other: &[u8], busy: bool) -> (Result<Link, Trouble>, Result<Link, Trouble>) {
    let (here, there) = streams();
    let other = token(other);
    let agent = thread::spawn(move || -> Result<Link, Trouble> {
        let mut link = Link::answer(there, &other, &[2; 32], PATIENCE)?;
        link.writer.send(if busy { &Report::Busy } else { &Report::Welcome })?;
        Ok(link)
    });
    (Link::call(here, &token(one), &[1; 32], PATIENCE), agent.join().unwrap())
}

fn refusal(met: Result<Link, Trouble>) -> Trouble {
    met.err().expect("a refusal")
}

#[test]
fn those_with_the_same_token_meet_and_understand_each_other() {
    let (conductor, agent) = meet(TOKEN, TOKEN, false);
    let (mut conductor, mut agent) = (conductor.unwrap(), agent.unwrap());
    let soon = Instant::now() + PATIENCE;
    conductor.writer.send(&1).unwrap();
    assert_eq!(agent.reader.receive::<u8>(soon), Ok(1));
    agent.writer.send(&2).unwrap();
    assert_eq!(conductor.reader.receive::<u8>(soon), Ok(2));
}

#[test]
fn those_with_different_tokens_refuse_each_other() {
    let (conductor, agent) = meet(TOKEN, OTHER_TOKEN, false);
    assert_eq!(refusal(conductor), Trouble::Token);
    assert_eq!(refusal(agent), Trouble::Token);
}

#[test]
fn a_busy_agent_says_so() {
    let (conductor, _) = meet(TOKEN, TOKEN, true);
    assert_eq!(refusal(conductor), Trouble::Busy);
}

#[test]
fn another_build_is_named() {
    let (here, mut there) = streams();
    there.write_all(b"{\"dialin-load\":\"9.9.9\",\"nonce\":\"\"}\n").unwrap();
    let refused = refusal(Link::call(here, &token(TOKEN), &[1; 32], PATIENCE));
    assert_eq!(refused, Trouble::Build("9.9.9".to_owned()));
    assert!(refused.to_string().contains(BUILD));
}

#[test]
fn a_caller_of_another_build_still_learns_ours() {
    let (mut here, there) = streams();
    here.write_all(b"{\"dialin-load\":\"9.9.9\",\"nonce\":\"\"}\n").unwrap();
    let refused = refusal(Link::answer(there, &token(TOKEN), &[2; 32], PATIENCE));
    assert_eq!(refused, Trouble::Build("9.9.9".to_owned()));
    let mut line = String::new();
    BufReader::new(here).read_line(&mut line).unwrap();
    assert!(line.contains(BUILD), "{line}");
}

#[test]
fn the_token_and_what_it_makes_of_a_nonce_alone_never_cross() {
    let (here, there) = streams();
    let caller = thread::spawn(move || Link::call(here, &token(TOKEN), &[1; 32], PATIENCE).err());
    let mut peer = there.try_clone().unwrap();
    peer.write_all(format!("{}\n", serde_json::to_string(&Hello::of(&[2; 32])).unwrap()).as_bytes()).unwrap();
    let said: Vec<String> = BufReader::new(there).lines().take(2).map(Result::unwrap).collect();
    peer.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(caller.join().unwrap(), Some(Trouble::Token));
    assert!(!said.concat().contains("0123456789abcdef") && !said.concat().contains(&BASE64.encode(TOKEN)));
    assert!(said[1].ends_with(" \"conduct\""), "{said:?}");
}

#[test]
fn a_stranger_that_said_hello_may_still_say_little() {
    let (mut here, there) = streams();
    here.write_all(format!("{}\n", serde_json::to_string(&Hello::of(&[1; 32])).unwrap()).as_bytes()).unwrap();
    here.write_all(&[b'x'; 2000]).unwrap();
    let refused = refusal(Link::answer(there, &token(TOKEN), &[2; 32], Duration::from_millis(500)));
    assert_eq!(refused, Trouble::TooLong);
}

#[test]
fn who_says_nothing_or_nonsense_is_refused_in_time() {
    let timeout = Duration::from_millis(50);
    let (_silent, there) = streams();
    let refused = refusal(Link::answer(there, &token(TOKEN), &[2; 32], timeout));
    assert_eq!(refused, Trouble::Silent);
    for (nonsense, trouble) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), Trouble::Malformed),
        (format!("{{\"dialin-load\":\"{BUILD}\",\"nonce\":\"AAAA\"}}\n"), Trouble::Malformed),
        (format!("{{\"dialin-load\":\"{BUILD}\",\"nonce\":\"?\"}}\n"), Trouble::Malformed),
        ("x".repeat(2000), Trouble::TooLong),
    ] {
        let (mut here, there) = streams();
        here.write_all(nonsense.as_bytes()).unwrap();
        let refused = refusal(Link::answer(there, &token(TOKEN), &[2; 32], PATIENCE));
        assert_eq!(refused, trouble, "{nonsense}");
    }
}

fn pair() -> (Reader, Writer, TcpStream) {
    let (here, there) = streams();
    let Link { reader, writer } = Link::unsealed(here, PATIENCE).unwrap();
    (reader, writer, there)
}

fn seals() -> Option<Seals> {
    Some(token(TOKEN).seals(Role::Agent, &[1; 32], &[2; 32]))
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[test]
fn lines_that_come_in_pieces_or_together_are_heard_one_by_one() {
    let (mut reader, _writer, mut there) = pair();
    there.write_all(b"[1,").unwrap();
    assert_eq!(reader.receive::<Vec<u8>>(Instant::now() + Duration::from_millis(20)), Err(Trouble::Silent));
    there.write_all(b"2]\n[3]\n[").unwrap();
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Ok(vec![1, 2]));
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Ok(vec![3]));
    drop(there);
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Err(Trouble::Closed));
}

#[test]
fn a_line_without_end_is_given_up_once_it_is_too_long() {
    let (mut reader, _writer, mut there) = pair();
    there.write_all(&[b'['; SHORT + 1]).unwrap();
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Err(Trouble::TooLong));
}

#[test]
fn what_is_no_json_or_nested_without_end_is_malformed() {
    for line in ["\n".to_owned(), "\u{7f}\n".to_owned(), "[".repeat(500) + "\n"] {
        let (mut reader, _writer, mut there) = pair();
        there.write_all(line.as_bytes()).unwrap();
        assert_eq!(reader.receive::<serde_json::Value>(soon()), Err(Trouble::Malformed), "{line}");
    }
}

#[test]
fn a_sealed_line_is_heard_with_its_seal_only() {
    let (mut reader, _, there) = pair();
    let mut writer = Link::unsealed(there, PATIENCE).unwrap().writer;
    (reader.seals, writer.seals) = (seals(), seals());
    writer.send(&[1, 2]).unwrap();
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Ok(vec![1, 2]));
    writer.seals = None;
    for line in ["[1]", "AAAA [1]", " [1]", "= [1]"] {
        writer.stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        assert_eq!(reader.receive::<Vec<u8>>(soon()), Err(Trouble::Unsealed), "{line}");
    }
}

#[test]
fn a_closed_connection_is_noticed_by_both_halves() {
    let (mut reader, mut writer, there) = pair();
    writer.close();
    assert_eq!(reader.receive::<Vec<u8>>(soon()), Err(Trouble::Closed));
    assert_eq!(writer.send(&[1]), Err(Trouble::Closed));
    drop(there);
}

#[test]
fn who_does_not_listen_is_given_up() {
    let (_reader, mut writer, there) = pair();
    writer.stream.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let much = "x".repeat(1 << 20);
    let said = (0..64).map(|_| writer.send(&much)).find(Result::is_err);
    assert_eq!(said, Some(Err(Trouble::Deaf)));
    drop(there);
}

/// Strangers who say as much as they may and more, at every point where they are listened to.
#[test]
fn talkative_strangers_cost_a_few_kib_each() {
    let hello = format!("{}\n", serde_json::to_string(&Hello::of(&[1; 32])).unwrap());
    let much = "x".repeat(100_000);
    let short_lines = "1\n".repeat(50_000);
    let sayings = [much.clone(), hello.clone() + &much, hello + &short_lines, short_lines];
    let mut costs = vec![];
    for saying in sayings.iter().cycle().take(64) {
        let (mut here, there) = streams();
        let said = saying.clone();
        let talking = thread::spawn(move || here.write_all(said.as_bytes()));
        let mut link = Link::unsealed(there, PATIENCE).unwrap();
        let mut received = link.reader.receive::<Hello>(soon()).map(drop);
        if received.is_ok() {
            link.reader.seals = seals();
            received = link.reader.receive::<Command>(soon()).map(drop);
        }
        assert!(matches!(received, Err(Trouble::TooLong | Trouble::Unsealed | Trouble::Malformed)), "{received:?}");
        costs.push(link.reader.line.capacity() + link.reader.lines.capacity());
        assert!(link.reader.line.len() <= SHORT && link.reader.longest == SHORT);
        drop(link);
        let _ = talking.join().unwrap();
    }
    assert!(costs.iter().all(|cost| *cost <= 6 << 10), "{costs:?} bytes");
}
