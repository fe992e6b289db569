//! Tests of the program and its library from outside, in one program: each more would be linked with all of the driver.

mod agents;
mod build_digest;
mod capture;
mod command;
mod live_protocol;
mod samples;
