//! The login. The input is a greeting and the packets that follow it, with their headers, as a server sends them.
#![no_main]

use dialin_load::protocol::handshake::{Greeting, WANTED};
use dialin_load::protocol::login::{Channel, Login, Step};
use dialin_load::protocol::packet;
use libfuzzer_sys::fuzz_target;
use rsa::rand_core::OsRng;

fn packets(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, _) = packet::header(bytes)?;
        let end = (packet::HEADER + length).min(bytes.len());
        let payload = &bytes[packet::HEADER..end];
        bytes = &bytes[end..];
        Some(payload)
    })
}

fuzz_target!(|input: &[u8]| {
    let [how, bytes @ ..] = input else { return };
    let channel = [Channel::Open { fetch_key: true }, Channel::Local, Channel::Encrypted, Channel::Open { fetch_key: false }]
        [usize::from(how & 3)];
    let mut packets = packets(bytes);
    let Some(Ok(greeting)) = packets.next().map(Greeting::parse) else { return };
    let agreed = greeting.agreed(WANTED, "sbtest", channel == Channel::Encrypted);
    let mut login = Login::new(&greeting, b"secret", channel);
    assert!(login.reply(agreed, "user", "sbtest").len() > 32);
    for payload in packets {
        match login.take(payload, &mut OsRng) {
            Ok(Step::Send(_) | Step::Wait) => {}
            Ok(Step::Welcome(_)) | Err(_) => return,
        }
    }
});
