//! The roles of this program under other names: kube-apiserver and etcd, as test suites start them.
//!
//! Suites start an etcd, and API servers that are told its URL. Here, the process of etcd has the objects, in memory, and serves
//! all API servers; a process named kube-apiserver asks it to, over a socket that only its user can open, and lives as long as
//! its server. So objects survive a server, two servers see one state, and no request passes through two processes.

mod api_server;
mod ending;
mod etcd;
mod flags;
mod hosting;
mod objects;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::error::Failure;
use crate::output;

/// A program that this one stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    ApiServer,
    Etcd,
}

impl Role {
    /// The file name of the program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::ApiServer => "kube-apiserver",
            Role::Etcd => "etcd",
        }
    }

    /// The role by whose name the process was started.
    pub(crate) fn of_process() -> Option<Self> {
        let program = std::env::args_os().next()?;
        let name = Path::new(&program).file_name()?.to_owned();
        let roles = [Role::ApiServer, Role::Etcd];
        roles.into_iter().find(|role| name == role.name())
    }
}

/// Runs a role with the arguments of the process. Failures are reported as the program of that name does.
pub(crate) fn run(role: Role) -> ExitCode {
    let text = |argument: OsString| argument.to_string_lossy().into_owned();
    let arguments: Vec<String> = std::env::args_os().skip(1).map(text).collect();
    let ended = match role {
        Role::ApiServer => api_server::run(&arguments),
        Role::Etcd => etcd::run(&arguments),
    };

    ended.unwrap_or_else(|failure| {
        if matches!(failure, Failure::Closed) {
            return ExitCode::SUCCESS;
        }
        // If standard error is closed, there is no way to report anything.
        let _ = output::err().line(format!("Error: {}", failure.messages().join("; ")));
        ExitCode::from(1)
    })
}
