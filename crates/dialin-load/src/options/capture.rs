//! What can be asked of a capture.

use crate::capture::Request;
use clap::Args;
use std::path::PathBuf;

/// Which logs are captured.
#[derive(Args, Clone, Debug)]
pub struct CaptureOptions {
    /// A slow log or a general log of MySQL or MariaDB, or one of each
    #[arg(value_name = "LOG", required = true, num_args = 1..=2)]
    pub logs: Vec<PathBuf>,
    /// The directory to write
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What the server counted before and after, as `dialin capture counters` writes it
    #[arg(long, value_name = "BEFORE,AFTER", value_delimiter = ',', num_args = 1)]
    pub digests: Vec<PathBuf>,
    /// How long the log was at which time, as `dialin capture start` notes it: lines of microseconds since 1970 and bytes
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,
    /// Keep no statements, only what they come to
    #[arg(long)]
    pub forget_text: bool,
}

impl CaptureOptions {
    /// What is asked for.
    ///
    /// # Errors
    /// There are not two files of counters.
    pub fn request(&self) -> crate::errors::Result<Request> {
        let counters = match &self.digests[..] {
            [] => None,
            [before, after] => Some((before.clone(), after.clone())),
            _ => {
                return Err(crate::errors::Error::user(
                    "--digests names one file",
                    "Name two: --digests before.json,after.json",
                ));
            }
        };
        Ok(Request {
            logs: self.logs.clone(),
            times: self.times.clone(),
            counters,
            out: self.out.clone(),
            forget_text: self.forget_text,
        })
    }
}
