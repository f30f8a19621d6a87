//! The servers that are measured, as processes.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::{JSON, TOKEN, Target};
use crate::error::Error;

/// A server with its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// kube-apiserver with etcd in memory.
    KubeMemory,
    /// kube-apiserver with etcd on the disk, which waits for the disk.
    KubeDisk,
    Memory,
    /// The file is on the disk.
    File,
    /// With the etcd of kube-apiserver, in memory.
    Etcd,
}

impl Kind {
    pub(crate) const ALL: [Kind; 5] = [
        Kind::KubeMemory,
        Kind::KubeDisk,
        Kind::Memory,
        Kind::File,
        Kind::Etcd,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Kind::KubeMemory => "kube-apiserver, etcd on tmpfs",
            Kind::KubeDisk => "kube-apiserver, etcd on disk",
            Kind::Memory => "`memory`",
            Kind::File => "`file` on disk",
            Kind::Etcd => "`etcd` on tmpfs",
        }
    }

    pub(crate) fn is_kube(self) -> bool {
        matches!(self, Kind::KubeMemory | Kind::KubeDisk)
    }

    /// Whether memory, lists and watches are measured: these do not depend on where writes go.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Kind::KubeMemory | Kind::Memory)
    }
}

/// The programs and folders of the servers.
pub(crate) struct Programs {
    pub(crate) fieldmanager: PathBuf,
    pub(crate) kube: Option<PathBuf>,
    /// A folder on a disk.
    pub(crate) disk: PathBuf,
    /// A folder in memory.
    pub(crate) tmpfs: PathBuf,
}

/// A running server, which is killed when this is dropped.
pub(crate) struct Server {
    process: Killed,
    _etcd: Option<Killed>,
    _folder: tempfile::TempDir,
    pub(crate) target: Target,
    /// The time from its start to the first answer.
    pub(crate) start: Duration,
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nothing listens on.
fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| Error::request("a free port", error))
}

fn spawn(program: &Path, arguments: &[String], log: &Path) -> Result<Killed, Error> {
    let file = std::fs::File::create(log).map_err(Error::file(log))?;
    let child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(file)
        .spawn();
    child.map(Killed).map_err(Error::file(program))
}

fn strings<const N: usize>(arguments: [&str; N]) -> Vec<String> {
    arguments.map(str::to_owned).to_vec()
}

impl Programs {
    /// The kinds that can be started.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let has_kube = self.kube.is_some();
        Kind::ALL
            .into_iter()
            .filter(move |kind| has_kube || matches!(kind, Kind::Memory | Kind::File))
    }

    fn kube(&self) -> Result<&Path, Error> {
        let missing = || Error::Program {
            program: "kube-apiserver".to_owned(),
            message: "is not given".to_owned(),
        };
        self.kube.as_deref().ok_or_else(missing)
    }

    /// Starts a server and waits for its first answer.
    pub(crate) async fn start(&self, kind: Kind) -> Result<Server, Error> {
        let parent = if matches!(kind, Kind::KubeDisk | Kind::File) {
            &self.disk
        } else {
            &self.tmpfs
        };
        let folder = tempfile::Builder::new()
            .prefix("server-load-")
            .tempdir_in(parent);
        let folder = folder.map_err(Error::file(parent))?;
        let path = |name: &str| folder.path().join(name);
        let text = |name: &str| path(name).display().to_string();
        let (port, client) = (free_port()?, free_port()?.to_string());
        let (port_text, peer) = (port.to_string(), free_port()?.to_string());
        let data = text("data");
        let etcd = strings(["-data", &data, "-etcd-client", &client, "-etcd-peer", &peer]);
        let mut other = None;
        let (program, arguments) = if kind.is_kube() {
            let mut arguments = [etcd, strings(["-port", &port_text])].concat();
            arguments.extend((kind == Kind::KubeDisk).then(|| "-etcd-sync".to_owned()));
            (self.kube()?, arguments)
        } else {
            let store = match kind {
                Kind::File => format!("file:{}", text("state.redb")),
                Kind::Etcd => {
                    let arguments = [etcd, strings(["-etcd-only"])].concat();
                    other = Some(spawn(self.kube()?, &arguments, &path("etcd.log"))?);
                    until_listening(&client).await?;
                    format!("etcd:http://127.0.0.1:{client}")
                }
                _ => "memory".to_owned(),
            };
            let tokens = path("tokens");
            std::fs::write(&tokens, format!("{TOKEN},admin\n")).map_err(Error::file(&tokens))?;
            let arguments = strings([
                "serve",
                "--tls",
                "--port",
                &port_text,
                "--token-file",
                &text("tokens"),
                "--kubeconfig",
                &text("kubeconfig"),
                "--store",
                &store,
            ]);
            (self.fieldmanager.as_path(), arguments)
        };
        let target = Target::new(port)?;
        let log = path("log");
        let began = Instant::now();
        let mut process = spawn(program, &arguments, &log)?;
        while !is_ready(&target).await {
            let ended = process
                .0
                .try_wait()
                .map_err(Error::file(program))?
                .is_some();
            if ended || began.elapsed() > Duration::from_secs(60) {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                let message = format!("is not ready: {}", log.lines().last().unwrap_or_default());
                return Err(Error::Program {
                    program: program.display().to_string(),
                    message,
                });
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(Server {
            process,
            _etcd: other,
            _folder: folder,
            target,
            start: began.elapsed(),
        })
    }
}

async fn until_listening(port: &str) -> Result<(), Error> {
    for _ in 0..3000 {
        if tokio::net::TcpStream::connect(format!("127.0.0.1:{port}"))
            .await
            .is_ok()
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(Error::request("etcd", "it does not listen"))
}

async fn is_ready(target: &Target) -> bool {
    let Ok(mut client) = target.connect().await else {
        return false;
    };
    matches!(
        client.send("GET", "/readyz", JSON, String::new()).await,
        Ok((200, _))
    )
}

impl Server {
    /// The resident memory in MiB. That of kube-apiserver includes its etcd.
    pub(crate) fn memory(&self) -> Result<f64, Error> {
        let path = PathBuf::from(format!("/proc/{}/statm", self.process.0.id()));
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        let pages = text
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<f64>().ok())
            .unwrap_or_default();
        Ok(pages / 256.0)
    }
}
