//! Clients that mean harm, or are broken.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use crate::CONFIG_MAPS;
use crate::server::PATIENCE;

/// A client that lasts until this is dropped.
pub(crate) struct Abuser(JoinHandle<()>);

impl Abuser {
    pub(crate) fn new(conduct: impl Future<Output = ()> + Send + 'static) -> Self {
        Abuser(tokio::spawn(conduct))
    }

    /// Waits until this client, which writes or reads, sees that the server ended its connection.
    pub(crate) async fn until_cut_off(&mut self) {
        tokio::time::timeout(PATIENCE, &mut self.0)
            .await
            .unwrap()
            .unwrap();
    }
}

impl Drop for Abuser {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The conduct of a client after it was connected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Harm {
    /// Nothing.
    Silence,
    /// Sends the headers of a request, one byte each second.
    SlowHead,
    /// Sends headers of 500 KiB that do not end.
    LargeHead,
    /// Begins a watch over WebSocket and sends pings, whose answers it does not read.
    Pings,
    /// Begins watches with a long selector, which it does not read.
    LongSelector,
    /// Sends the first message of a TLS handshake, one byte each second.
    SlowHandshake,
    /// Sends a body with a length, one byte each second.
    SlowBody,
    /// Sends a body that never ends.
    EndlessBody,
    /// Sends a body that never ends as fast as the server reads it.
    Flood,
    /// Reads an answer, one byte each second.
    SlowReader,
    /// Reads nothing of a watch.
    UnreadWatch,
    /// Closes its half of the connection after a request to watch.
    HalfClosed,
}

/// The kinds of harm, with their part of 2,000 connections.
pub(crate) const KINDS: [(Harm, u64); 7] = [
    (Harm::Silence, 300),
    (Harm::SlowHead, 400),
    (Harm::SlowBody, 400),
    (Harm::EndlessBody, 200),
    (Harm::SlowReader, 300),
    (Harm::UnreadWatch, 300),
    (Harm::HalfClosed, 100),
];

/// 2,000 connections of HTTP/1.1.
pub(crate) async fn two_thousand(address: &str) -> Vec<Abuser> {
    let mut abusers = Vec::new();
    for (harm, count) in KINDS {
        abusers.extend(some(address, harm, count).await);
    }
    abusers
}

/// Connections of HTTP/1.1 that do the same.
pub(crate) async fn some(address: &str, harm: Harm, count: u64) -> Vec<Abuser> {
    let mut abusers = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // They do not act at the same moment.
        let delay = Duration::from_millis(number * 1000 / count);
        abusers.push(Abuser::new(async move {
            // An error: the server ended the connection.
            if act(&mut stream, harm, delay).await.is_ok() {
                std::future::pending::<()>().await;
            }
        }));
    }
    abusers
}

async fn act(stream: &mut TcpStream, harm: Harm, delay: Duration) -> std::io::Result<()> {
    let second = Duration::from_secs(1);
    let watch = format!("GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let post = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\n");
    match harm {
        Harm::Silence => {
            stream.read_u8().await?;
        }
        Harm::SlowHead => {
            tokio::time::sleep(delay).await;
            for byte in watch.as_bytes().iter().take(watch.len() - 2) {
                stream.write_all(&[*byte]).await?;
                tokio::time::sleep(second).await;
            }
        }
        Harm::LargeHead => {
            tokio::time::sleep(delay).await;
            stream.write_all(watch.trim_end().as_bytes()).await?;
            stream
                .write_all(format!("\r\nX: {}", "x".repeat(500 << 10)).as_bytes())
                .await?;
        }
        Harm::Pings => {
            let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                           Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
            stream
                .write_all(format!("{}\r\n{upgrade}", watch.trim_end()).as_bytes())
                .await?;
            // A ping of 125 bytes with a mask of zeros.
            let ping: Vec<u8> = [0x89, 0x80 | 125].into_iter().chain([0; 4 + 125]).collect();
            let pings = ping.repeat(100);
            loop {
                stream.write_all(&pings).await?;
            }
        }
        Harm::LongSelector => {
            tokio::time::sleep(delay).await;
            let selector: String = (0..10_000)
                .map(|number| format!("!label-{number},"))
                .collect();
            let selector = format!("?labelSelector={}&", selector.trim_end_matches(','));
            stream
                .write_all(watch.replacen('?', &selector, 1).as_bytes())
                .await?;
        }
        Harm::SlowHandshake => {
            tokio::time::sleep(delay).await;
            // A record of 512 bytes with the first message of a client, which has 508 more.
            for byte in [22, 3, 1, 2, 0, 1, 0, 1, 252].into_iter().chain([3; 508]) {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(second).await;
            }
        }
        Harm::SlowBody => {
            stream
                .write_all(format!("{post}Content-Length: 1000000\r\n\r\n").as_bytes())
                .await?;
            tokio::time::sleep(delay).await;
            loop {
                stream.write_all(b" ").await?;
                tokio::time::sleep(second).await;
            }
        }
        Harm::EndlessBody => {
            stream
                .write_all(format!("{post}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
                .await?;
            tokio::time::sleep(delay).await;
            loop {
                stream.write_all(b"1\r\n \r\n").await?;
                tokio::time::sleep(second).await;
            }
        }
        Harm::Flood => {
            stream
                .write_all(format!("{post}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
                .await?;
            let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
            loop {
                stream.write_all(chunk.as_bytes()).await?;
            }
        }
        Harm::SlowReader => {
            stream
                .write_all(watch.replace("?watch=true", "").as_bytes())
                .await?;
            tokio::time::sleep(delay).await;
            let mut byte = [0];
            while stream.read(&mut byte).await? > 0 {
                tokio::time::sleep(second).await;
            }
        }
        Harm::UnreadWatch => stream.write_all(watch.as_bytes()).await?,
        Harm::HalfClosed => {
            stream.write_all(watch.as_bytes()).await?;
            stream.shutdown().await?;
        }
    }
    Ok(())
}

/// Connections of HTTP/2, each with some requests, whose conduct is one of `kinds` in turn.
pub(crate) async fn http2(
    address: &str,
    connections: usize,
    streams: usize,
    kinds: &[Harm],
) -> Vec<Abuser> {
    let mut abusers = Vec::new();
    for _ in 0..connections {
        let stream = TcpStream::connect(address)
            .await
            .unwrap()
            .into_std()
            .unwrap();
        let socket = Arc::new(stream.try_clone().unwrap());
        let stream = TcpStream::from_std(stream).unwrap();
        let mut builder = h2::client::Builder::new();
        // A window for the first bytes of an answer only.
        let builder = builder.initial_window_size(100);
        let (client, connection) = builder.handshake::<_, Bytes>(stream).await.unwrap();
        let kinds = kinds.to_vec();
        abusers.push(Abuser::new(async move {
            let requests = async {
                let mut running = JoinSet::new();
                for number in 0..streams {
                    let Ok(ready) = client.clone().ready().await else {
                        break;
                    };
                    running.spawn(harmful_stream(
                        ready,
                        kinds[number % kinds.len()],
                        socket.clone(),
                    ));
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = requests => {}
                _ = connection => {}
            }
            // The client keeps a connection that cannot be used any more.
            let _socket = socket;
            std::future::pending::<()>().await;
        }));
    }
    abusers
}

/// The conduct of the streams of a connection, in turn. `Silence` is a list that is not read.
pub(crate) const HTTP2_KINDS: [Harm; 5] = [
    Harm::EndlessBody,
    Harm::Silence,
    Harm::UnreadWatch,
    Harm::SlowBody,
    Harm::SlowReader,
];

/// One request of HTTP/2.
async fn harmful_stream(
    mut client: SendRequest<Bytes>,
    harm: Harm,
    socket: Arc<std::net::TcpStream>,
) {
    let (method, path) = match harm {
        Harm::EndlessBody | Harm::SlowBody => ("POST", CONFIG_MAPS.to_owned()),
        Harm::UnreadWatch | Harm::HalfClosed => ("GET", format!("{CONFIG_MAPS}?watch=true")),
        _ => ("GET", CONFIG_MAPS.to_owned()),
    };
    let request = http::Request::builder()
        .method(method)
        .uri(format!("http://localhost{path}"));
    let Ok((answer, mut body)) = client.send_request(request.body(()).unwrap(), method == "GET")
    else {
        return;
    };
    if method == "POST" {
        let _ = body.send_data(Bytes::from_static(b"{"), false);
    }
    let second = Duration::from_secs(1);
    match harm {
        Harm::SlowBody => {
            while body.send_data(Bytes::from_static(b" "), false).is_ok() {
                tokio::time::sleep(second).await;
            }
        }
        Harm::SlowReader => {
            let Ok(mut answer) = answer.await else { return };
            while let Some(Ok(_)) = answer.body_mut().data().await {
                let _ = answer.body_mut().flow_control().release_capacity(1);
                tokio::time::sleep(second).await;
            }
        }
        Harm::HalfClosed => {
            let _answer = answer.await;
            let _ = socket.shutdown(std::net::Shutdown::Write);
            std::future::pending().await
        }
        _ => std::future::pending().await,
    }
}
