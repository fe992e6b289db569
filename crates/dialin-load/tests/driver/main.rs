//! Tests of the program and its library from outside. They are one test program, because each further one would be
//! linked with the whole driver.

mod agents;
mod build_digest;
mod capture;
mod command;
mod driver_share;
mod live_protocol;
mod logs;
mod samples;
mod sessions;
