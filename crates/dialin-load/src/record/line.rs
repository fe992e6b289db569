//! A line of the output stream, of any type; see `schema/load.schema.json`.

use super::lines::{ErrorLine, SecondLine};
use super::self_test::SelfTestLine;
use super::start::StartLine;
use super::summary::SummaryLine;
use serde::Serialize;

/// A line of the output stream: a JSON object with a `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line<'a> {
    /// The first line.
    Start(&'a StartLine),
    /// The results of one second.
    Second(&'a SecondLine),
    /// The last line of a run that succeeded.
    Summary(&'a SummaryLine),
    /// The last line of a run that failed.
    Error(&'a ErrorLine),
    /// The only line of a self-test.
    SelfTest(&'a SelfTestLine),
}
