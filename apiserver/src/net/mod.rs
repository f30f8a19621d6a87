//! The server on a port: HTTP/1.1 and HTTP/2, with or without TLS, watches over WebSocket, and the kubeconfig of its
//! clients.

mod kubeconfig;
mod tls;
mod websocket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::ApiServer;
pub use kubeconfig::Kubeconfig;
pub use tls::{Tls, TlsError};

/// How long connections have to end after the server was told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// How long a client has to complete a TLS handshake or the headers of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The streams of one HTTP/2 connection. Go clients put all watches on one connection.
const STREAMS: u32 = 1000;

/// A server that listens on a port.
///
/// ```
/// # tokio_test::block_on(async {
/// use fieldmanager_apiserver::ApiServer;
/// use fieldmanager_apiserver::net::Listening;
/// let server = ApiServer::builder().build().await?;
/// let listening = Listening::bind("127.0.0.1:0".parse()?, None).await?;
/// println!("{}", listening.url());
/// listening.run(server, std::future::ready(())).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

impl Listening {
    /// Binds an address. Clients can connect from now on, and are served by [`run`](Listening::run). Port 0 is a free
    /// one.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound.
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Listening { listener, address, tls })
    }

    /// The address, with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients on this machine.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        // Every address is an address of this machine too.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("{scheme}://{address}")
    }

    /// The kubeconfig of a client of this server.
    pub fn kubeconfig(&self, token: Option<&str>) -> Kubeconfig {
        Kubeconfig::new(&self.url(), self.tls.as_ref().map(Tls::authority), token)
    }

    /// Serves until `stop` is ready. Then requests have a moment to end, and watches end at once.
    ///
    /// # Errors
    ///
    /// If connections cannot be accepted.
    pub async fn run(self, server: ApiServer, stop: impl Future<Output = ()> + Send) -> io::Result<()> {
        let mut http = Builder::new(TokioExecutor::new());
        let headers = server.limits().headers;
        // The head of a request in HTTP/1.1 has to fit the buffer, which has at least 8 KiB.
        let buffer = usize::try_from(headers).unwrap_or(usize::MAX).max(8192);
        http.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(buffer);
        http.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS).max_header_list_size(headers);
        let http = Arc::new(http);
        let acceptor = self.tls.as_ref().map(Tls::acceptor);
        let graceful = GracefulShutdown::new();
        let stopping = server.clone();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                // A connection that ended before it was accepted, or too many open files: later ones may succeed.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            // Small answers are not held back for more data.
            let _ = stream.set_nodelay(true);
            let (http, server, acceptor) = (http.clone(), server.clone(), acceptor.clone());
            let watcher = graceful.watcher();
            tokio::spawn(async move {
                match acceptor {
                    None => connection(&http, stream, server, watcher).await,
                    Some(acceptor) => {
                        if let Some(stream) = handshake(&acceptor, stream).await {
                            connection(&http, stream, server, watcher).await;
                        }
                    }
                }
            });
        }
        stopping.stop().await;
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
        Ok(())
    }
}

async fn handshake(
    acceptor: &TlsAcceptor,
    stream: tokio::net::TcpStream,
) -> Option<tokio_rustls::server::TlsStream<tokio::net::TcpStream>> {
    tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await.ok()?.ok()
}

async fn connection<S>(
    http: &Builder<TokioExecutor>,
    stream: S,
    server: ApiServer,
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| websocket::serve(server.clone(), request));
    let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    // A connection that breaks has no client that could be told.
    let _ = watcher.watch(connection).await;
}
