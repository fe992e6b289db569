//! Parsing of the server's first packet.
#![no_main]

use dialin_load::protocol::handshake::Greeting;
use dialin_load::protocol::response;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| {
    if let Ok(greeting) = Greeting::parse(payload) {
        assert_eq!(greeting.challenge.len(), 20);
    }
    let _ = response::error(payload);
});
