//! Builds, starts and stops a real kube-apiserver.

use std::env;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::client::Client;
use crate::oracle::target;
use crate::{Error, files};

/// The time in which a server must get ready; it needs some seconds.
const START: Duration = Duration::from_secs(120);

/// Builds the program in the target folder of Cargo. A repeated build uses Go's cache.
///
/// # Errors
///
/// If Go is not installed, or the program does not build.
pub fn build() -> Result<PathBuf, Error> {
    let program = target()?.join(format!("kube-apiserver{}", env::consts::EXE_SUFFIX));
    let folder = files::folder("oracle/server");
    let output = Command::new(folder.join("build.sh"))
        .arg(&program)
        .output()
        .map_err(Error::GoMissing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::OracleBuild { folder, message });
    }

    Ok(program)
}

/// A running server, which ends when the value is dropped, and when this process ends.
#[derive(Debug)]
pub struct Process {
    child: Child,
    folder: PathBuf,
    url: String,
}

impl Process {
    /// Starts a server on free ports, with its data in a new folder, and returns when it is ready.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not get ready.
    pub fn start(program: &Path) -> Result<Self, Error> {
        Self::start_with(program, &[])
    }

    /// Starts a server as [`start`](Self::start), with more arguments of the program.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not get ready.
    pub fn start_with(program: &Path, arguments: &[&str]) -> Result<Self, Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let failed = |source| Error::Start {
            program: program.display().to_string(),
            source,
        };
        // Servers that run at the same time need folders of their own.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            env::temp_dir().join(format!("kube-apiserver-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(failed)?;
        let log = fs::File::create(folder.join("log")).map_err(failed)?;
        let [port, client, peer] = free_ports().map_err(failed)?;
        // With `-watch-stdin` the program ends when its input is closed, so it does not outlive this process.
        let child = Command::new(program)
            .arg("-watch-stdin")
            .args(arguments)
            .arg("-data")
            .arg(&folder)
            .args([
                "-port",
                &port.to_string(),
                "-etcd-client",
                &client.to_string(),
                "-etcd-peer",
                &peer.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(failed)?;

        let mut process = Process {
            child,
            folder,
            url: format!("https://127.0.0.1:{port}"),
        };
        let client = Client::new(process.url());
        let started = Instant::now();

        // A program that ended does not get ready, so the time limit is not awaited; its log says why.
        loop {
            if client.get("readyz").is_ok_and(|answer| answer.code == 200) {
                return Ok(process);
            }
            let ended = process.child.try_wait().map_err(failed)?;
            if ended.is_some() || started.elapsed() > START {
                let log = fs::read_to_string(process.folder.join("log")).unwrap_or_default();
                let tail = log
                    .get(log.len().saturating_sub(2000)..)
                    .unwrap_or_default()
                    .to_owned();
                return Err(failed(io::Error::other(format!(
                    "it does not get ready: {tail}"
                ))));
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// The URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports of the loopback interface that are free now.
fn free_ports() -> io::Result<[u16; 3]> {
    let listen = || TcpListener::bind("127.0.0.1:0");
    // All listeners exist at the same time, so that the system gives three different ports.
    let listeners = [listen()?, listen()?, listen()?];
    let mut out = [0; 3];
    for (port, listener) in out.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(out)
}
