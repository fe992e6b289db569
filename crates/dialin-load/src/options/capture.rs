//! Options of `dialin-load capture`.

use crate::capture::Request;
use clap::Args;
use std::path::PathBuf;

/// The logs to capture, and where the capture goes.
#[derive(Args, Clone, Debug)]
pub struct CaptureOptions {
    /// A slow log or a general log of MySQL or MariaDB, or one of each
    #[arg(value_name = "LOG", required = true, num_args = 1..=2)]
    pub logs: Vec<PathBuf>,
    /// The directory to create for the capture
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Two files with the server's counters before and after, as `dialin capture counters` writes them
    #[arg(long, value_name = "BEFORE,AFTER", value_delimiter = ',', num_args = 1)]
    pub digests: Vec<PathBuf>,
    /// A file with the log's length over time, as `dialin capture start` writes it: lines of microseconds since 1970 and bytes
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,
    /// A file with the sessions that were open when the log began, as `dialin capture start` writes it
    #[arg(long, value_name = "FILE")]
    pub sessions: Option<PathBuf>,
    /// Whether autocommit was on when the log began, in sessions of which the log does not show it; inferred by default
    #[arg(long, value_name = "on|off", value_parser = on_or_off)]
    pub autocommit: Option<bool>,
    /// Keep no statements, only digests and figures
    #[arg(long)]
    pub forget_text: bool,
}

impl CaptureOptions {
    /// The requested capture.
    ///
    /// # Errors
    /// `--digests` does not name two files.
    pub fn request(&self) -> crate::errors::Result<Request> {
        let counters = match &self.digests[..] {
            [] => None,
            [before, after] => Some((before.clone(), after.clone())),
            _ => {
                return Err(crate::errors::Error::user(
                    "--digests needs two files",
                    "Name two: --digests before.json,after.json",
                ));
            }
        };
        Ok(Request {
            logs: self.logs.clone(),
            times: self.times.clone(),
            counters,
            sessions: self.sessions.clone(),
            autocommit: self.autocommit,
            out: self.out.clone(),
            forget_text: self.forget_text,
        })
    }
}

fn on_or_off(text: &str) -> std::result::Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("give on or off".into()),
    }
}
