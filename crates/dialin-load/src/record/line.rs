//! One line of the stream, of any type; see `schema/load.schema.json`.

use super::lines::{ErrorLine, SecondLine, SelfTestLine};
use super::start::StartLine;
use super::summary::SummaryLine;
use serde::Serialize;

/// A line of the stream: one JSON object with its `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line<'a> {
    /// The first.
    Start(&'a StartLine),
    /// A second that was played.
    Second(&'a SecondLine),
    /// The last of a run that went well.
    Summary(&'a SummaryLine),
    /// The last of one that did not.
    Error(&'a ErrorLine),
    /// The only one of a self-test.
    SelfTest(&'a SelfTestLine),
}
