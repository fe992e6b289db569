//! The limit of open files, of which each connection is one.

use crate::errors::{Error, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of open files that the driver needs in addition to its connections.
const SPARE: u64 = 64;

/// Raise this process's limit of open files to the hard limit, and check that it is enough for this number of connections.
///
/// # Errors
///
/// The hard limit is too low.
pub fn raise_limit(connections: usize) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    check_limit(if raised { maximum } else { current }, connections)
}

/// Check that a limit of open files (None: unlimited) is enough for this number of connections.
fn check_limit(limit: Option<u64>, connections: usize) -> Result<()> {
    let needed = connections as u64 + SPARE;
    match limit {
        Some(limit) if limit < needed => Err(too_few(connections, limit, needed)),
        _ => Ok(()),
    }
}

fn too_few(connections: usize, limit: u64, needed: u64) -> Error {
    Error::user(
        format!("{connections} connections need more open files than the {limit} that this process may have"),
        format!("Raise the limit (ulimit -Hn {needed} as root, or LimitNOFILE= of the service), or ask for fewer connections"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_enough_for_as_many_connections_and_what_the_driver_needs_itself() {
        assert_eq!([Some(1064), None].map(|limit| check_limit(limit, 1000)), [Ok(()), Ok(())]);
        let error = check_limit(Some(1063), 1000).unwrap_err();
        assert!(error.what.contains("1000") && error.what.contains("1063") && error.remedy.contains("1064"), "{error}");
    }

    #[test]
    fn the_limit_of_this_process_is_raised_as_far_as_it_goes() {
        assert_eq!(raise_limit(1), Ok(()));
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
