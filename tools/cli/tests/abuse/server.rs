//! A server as a process, and a connection to it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::RwLock;

/// Held by the tests that run: those that measure times run alone.
pub(crate) static TURN: RwLock<()> = RwLock::const_new(());

/// The longest wait for what has to happen, also on a machine with other work.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// The times that a server gives slow clients. A test that does not set one has no end of it within its patience.
const TIMES: [&str; 4] = [
    "--header-time",
    "--request-time",
    "--stall-time",
    "--idle-time",
];

/// A running server, which is killed when this is dropped.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server and waits for its line.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: maximum,
                maximum,
            },
        )
        .unwrap();

        let unset = TIMES.iter().filter(|time| !arguments.contains(time));
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut process = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
            .args([
                "serve",
                "--no-token",
                "--kubeconfig",
                kubeconfig.to_str().unwrap(),
            ])
            .args(arguments)
            .args(unset.flat_map(|time| [*time, "1h"]))
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        let url = line.split_once("://").unwrap_or_else(|| panic!("{line}")).1;
        let address = url.split_once(';').unwrap().0.to_owned();
        Server {
            process,
            address,
            folder,
        }
    }

    /// The resident memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.process.id()))
            .unwrap()
            .count()
    }

    /// What the server wrote to standard error.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// The kubeconfig in JSON.
    pub(crate) fn kubeconfig(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("kubeconfig")).unwrap()
    }

    /// The number of open sockets.
    pub(crate) fn connections(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap();
        let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        names
            .filter(|name| name.to_string_lossy().starts_with("socket:"))
            .count()
    }

    pub(crate) async fn until_connections_are_at_most(&self, most: usize) {
        let began = Instant::now();
        while self.connections() > most {
            assert!(
                began.elapsed() < PATIENCE,
                "{} connections are left",
                self.connections()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        let pid = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.log());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A ConfigMap in JSON.
pub(crate) fn config_map(name: &str, data: &str) -> String {
    format!(r#"{{"metadata": {{"name": "{name}"}}, "data": {{"data": "{data}"}}}}"#)
}

/// A connection that is used again and again.
pub(crate) struct Connection<S = TcpStream> {
    pub(crate) stream: BufReader<S>,
}

impl Connection {
    pub(crate) async fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Connection {
            stream: BufReader::new(stream),
        }
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.stream
            .get_mut()
            .write_all(text.as_bytes())
            .await
            .unwrap();
    }

    /// Sends a request, and returns the status code and the body. An error: the server ended before it answered.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
    ) -> std::io::Result<(u16, String)> {
        let media = if method == "PATCH" {
            "application/apply-patch+yaml"
        } else {
            "application/json"
        };
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n");
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        self.answer().await
    }
}

impl<S: AsyncRead + Unpin> Connection<S> {
    /// Reads the head of an answer, and returns its status code and the length of its body.
    pub(crate) async fn head(&mut self) -> std::io::Result<(u16, usize)> {
        let mut line = String::new();
        let (mut status, mut length) = (0, 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap();
            } else if line.trim().is_empty() {
                return Ok((status, length));
            }
        }
    }

    pub(crate) async fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let (status, length) = self.head().await?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status, String::from_utf8(body).unwrap()))
    }
}
