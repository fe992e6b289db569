//! Whether somebody still writes a copy: a server that survived, or the kernel on behalf of one that was killed.

use super::tree;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Wait until no file of a directory is open for writing.
///
/// # Errors
/// One still is when the time is over; or the directory cannot be read.
pub(super) fn wait_for(directory: &Path, within: Duration) -> io::Result<()> {
    let begun = Instant::now();
    for name in tree::scan(directory)?.into_iter().filter(|(_, entry)| entry.is_file()).map(|(name, _)| name) {
        while is_written(&directory.join(&name)) {
            if begun.elapsed() >= within {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{name} is still open for writing")));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Whether a file is open for writing; false where that cannot be known, or there is no such file.
fn is_written(path: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags).open(path).is_ok_and(|file| is_lease_refused(&file))
}

/// The kernel refuses a lease on a file that is open for writing. Closing the file ends the lease; who opens it for writing before,
/// ends this process by a signal, and should not be there.
#[expect(unsafe_code, reason = "rustix has no such call")]
fn is_lease_refused(file: &File) -> bool {
    // SAFETY: it takes no pointer, and the descriptor is open.
    let refused = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } == -1;
    refused && io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}
