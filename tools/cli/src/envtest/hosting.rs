//! How a process named kube-apiserver asks one named etcd to serve.
//!
//! The asking process connects to a socket, and sends as a line of JSON a prefix of objects in etcd and the
//! arguments of `serve`. The answer is a line with a
//! JSON string: why there is no server, or nothing if it listens. The server stops when the asking process closes its side.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use fieldmanager_apiserver::store::{HistoryLimits, Memory, SharedStore};
use fieldmanager_harness::MAX_INPUT;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::objects;
use crate::args::{Args, Command, ServeArgs};
use crate::commands::serve::{Ready, prepare};
use crate::error::Failure;
use crate::files::Files;

/// The longest line that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The longest path of the folder of sockets: the system bounds the path of a socket.
const LONGEST_FOLDER: usize = 64;

/// The socket of the process named etcd with a port. It is in a folder that only its user can open, which is made.
pub(super) fn socket(port: u16) -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let mut folder = std::env::temp_dir();
    if folder.as_os_str().len() > LONGEST_FOLDER {
        folder = PathBuf::from("/tmp");
    }
    folder.push(format!("fieldmanager-etcd-{user}"));

    // It may exist, and be that of somebody else.
    let made = DirBuilder::new().mode(0o700).create(&folder);
    let found = symlink_metadata(&folder).map_err(|error| made.err().unwrap_or(error))?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let message = format!("{}: others can open this folder", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(folder.join(format!("{port}.socket")))
}

/// Reads the arguments of `serve`.
pub(super) fn serve_args(arguments: &[String]) -> Result<Box<ServeArgs>, Failure> {
    let words = ["fieldmanager".to_owned(), "serve".to_owned()];
    let words = words.iter().chain(arguments);
    match Args::try_parse_from(words).map(|args| args.command) {
        Ok(Command::Serve(mut args)) => {
            args.stands_in = true;
            Ok(args)
        }
        Ok(_) => Err(Failure::Usage("no arguments of serve".to_owned())),
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            Err(Failure::Usage(line.to_owned()))
        }
    }
}

/// The server of some arguments, with a store of others or that of the arguments.
pub(super) async fn ready(
    arguments: &[String],
    store: Option<SharedStore>,
) -> Result<Ready, Failure> {
    let files = Files {
        max_input: MAX_INPUT,
    };
    let args = serve_args(arguments)?;
    let ready = prepare(&args, files, store).await?;
    objects::create(
        &ready.server,
        &args,
        files,
        ready.listening.address().port(),
    )
    .await?;
    Ok(ready)
}

/// The objects below each prefix.
#[derive(Default)]
pub(super) struct Stores(Mutex<BTreeMap<String, SharedStore>>);

impl Stores {
    fn of(&self, prefix: String) -> SharedStore {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Memory::shared(HistoryLimits::default())) as SharedStore;
        stores.entry(prefix).or_insert_with(new).clone()
    }
}

/// Serves for a process that asks, until it closes its side.
pub(super) async fn host(stream: UnixStream, stores: &Stores) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let (prefix, arguments): (String, Vec<String>) = serde_json::from_str(&line(&mut read).await?)?;
    let made = ready(&arguments, Some(stores.of(prefix))).await;

    let refusal = made.as_ref().err();
    let refusal = refusal.map_or(String::new(), |failure| failure.messages().join("; "));
    write.write_all(json_line(&refusal)?.as_bytes()).await?;
    let Ok(Ready {
        server, listening, ..
    }) = made
    else {
        return Ok(());
    };

    let closed = async move {
        // A connection that breaks is closed, too.
        let _ = read.read_u8().await;
    };
    listening.run(server, closed).await
}

/// Asks for a server. The stream, whose other side is closed when the server has ended.
pub(super) async fn ask(
    mut stream: UnixStream,
    prefix: &str,
    arguments: &[String],
) -> Result<UnixStream, Failure> {
    let failed =
        |error: io::Error| Failure::Other(format!("the process of etcd has ended: {error}"));
    let request = json_line(&(prefix, arguments)).map_err(failed)?;
    stream.write_all(request.as_bytes()).await.map_err(failed)?;

    let answer = line(&mut BufReader::new(&mut stream))
        .await
        .map_err(failed)?;
    match serde_json::from_str::<String>(&answer) {
        Ok(refusal) if refusal.is_empty() => Ok(stream),
        Ok(refusal) => Err(Failure::Other(refusal)),
        Err(error) => Err(failed(error.into())),
    }
}

/// A value as a line of JSON.
fn json_line<T: serde::Serialize + ?Sized>(value: &T) -> io::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// The next line.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut text = String::new();
    from.take(LONGEST).read_line(&mut text).await?;
    Ok(text)
}
