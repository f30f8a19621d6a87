//! What ends a program of a test suite.

use std::future::Future;
use std::time::Duration;

use crate::commands::serve::signals;
use crate::error::Failure;

/// How often a process looks whether its parent has ended.
const PARENT: Duration = Duration::from_millis(200);

/// Waits for SIGTERM, SIGINT, or the end of the parent: suites that fail stop nothing, and their programs are to end all the same.
pub(super) fn ending() -> Result<impl Future<Output = ()> + Send, Failure> {
    let signals = signals()?;
    let parent = rustix::process::getppid();
    let parent_ended = async move {
        while rustix::process::getppid() == parent {
            tokio::time::sleep(PARENT).await;
        }
    };
    Ok(async move {
        tokio::select! {
            () = signals => {}
            () = parent_ended => {}
        }
    })
}
