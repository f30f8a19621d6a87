//! The server on a port: HTTP/1.1 and HTTP/2, with or without TLS, watches over WebSocket, and the kubeconfig of its
//! clients.

mod connection;
mod kubeconfig;
mod stream;
mod tls;
mod unread;
mod websocket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fieldmanager_access::certificates::ClientAuthorities;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::access::Peer;
use crate::origin::Port;
use crate::{ApiServer, Limits};
use connection::Client;
pub use kubeconfig::Kubeconfig;
use stream::Stream;
pub use tls::{Tls, TlsError};

/// A random bearer token.
///
/// # Errors
///
/// If the system has no random numbers.
pub fn random_token() -> io::Result<String> {
    crate::browser::secret()
}

/// How often a client of HTTP/2 is asked whether it still exists, and how long it has to answer.
const ALIVE: Duration = Duration::from_secs(30);

/// The data of one stream of HTTP/2 that waits for its client, beyond one frame of the body, in bytes.
const SEND_BUFFER: usize = 16 << 10;

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
    is_plain_too: bool,
    names: Vec<String>,
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
        Ok(Listening {
            listener,
            address,
            tls,
            is_plain_too: false,
            names: Vec::new(),
        })
    }

    /// Serves HTTP without TLS too, on the same port. Go clients send a token over TLS only, and browsers do not know the
    /// certificate of the kubeconfig: on the loopback interface, both can use this server.
    #[must_use]
    pub fn plain_too(mut self) -> Self {
        self.is_plain_too = true;
        self
    }

    /// More names and addresses of the server. Requests to other hosts than these, `localhost`, the loopback interface and the
    /// address are refused with 403, as those of web pages of other sites are: a browser cannot reach the server.
    #[must_use]
    pub fn names(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// The address, with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL for clients on this machine: that without TLS if both are served.
    pub fn url(&self) -> String {
        self.url_with(self.tls.is_some() && !self.is_plain_too)
    }

    fn url_with(&self, tls: bool) -> String {
        let scheme = if tls { "https" } else { "http" };
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

    /// The kubeconfig of a client of this server, with TLS if it is served.
    pub fn kubeconfig(&self, token: Option<&str>) -> Kubeconfig {
        Kubeconfig::new(
            &self.url_with(self.tls.is_some()),
            self.tls.as_ref().map(Tls::authority),
            token,
        )
    }

    /// Serves until `stop` is ready. Then watches end at once, and requests that have begun have
    /// [a moment](Limits::stop_time) to be answered before the store is closed.
    ///
    /// # Errors
    ///
    /// If connections cannot be accepted.
    pub async fn run(
        self,
        server: ApiServer,
        stop: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let limits = server.limits().clone();
        let (stopping, stopped) = watch::channel(false);
        let serving = Serving {
            http: http(&limits),
            port: Arc::new(Port {
                url: self.url(),
                address: self.address.ip(),
                names: self.names,
            }),
            acceptor: self
                .tls
                .as_ref()
                .map(|tls| tls.acceptor(server.authorities())),
            is_plain_too: self.is_plain_too,
            server: server.clone(),
            stopped,
        };

        let serving = Arc::new(serving);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                accepted = self.listener.accept(), if connections.len() < limits.connections => accepted,
            };

            match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serving.clone().connection(stream));
                }
                // A connection that ended before it was accepted, or too many open files: later ones may succeed.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }

        drop(self.listener);
        server.end_watches();
        stopping.send_replace(true);
        let ended = async { while connections.join_next().await.is_some() {} };

        // Clients that do not read have no right to more time.
        let _ = tokio::time::timeout(limits.stop_time, ended).await;
        server.stop().await;
        Ok(())
    }
}

impl ApiServer {
    fn authorities(&self) -> Option<&ClientAuthorities> {
        self.core.access.options.authorities.as_deref()
    }

    /// The user of a chain of certificates, if there are authorities. A certificate that names no user is logged, since the
    /// client learns nothing but 401.
    fn peer(&self, chain: &[CertificateDer<'_>]) -> Option<Peer> {
        let user = self.authorities()?.user(chain, self.core.source.now());
        let user = user.inspect_err(|error| tracing::info!(%error, "a certificate is refused"));
        Some(Peer(user.ok().map(Arc::new)))
    }
}

/// The options of HTTP.
fn http(limits: &Limits) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    // The head of a request in HTTP/1.1 has to fit the buffer, which has at least 8 KiB.
    let buffer = usize::try_from(limits.headers)
        .unwrap_or(usize::MAX)
        .max(8192);
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(buffer);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.headers)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(ALIVE)
        .keep_alive_timeout(ALIVE);

    http
}

/// Whether a client begins with a handshake of TLS; waits for its first byte, which stays unread.
async fn begins_with_tls(stream: &TcpStream) -> bool {
    const HANDSHAKE: u8 = 22;
    let mut first = [0];
    matches!(stream.peek(&mut first).await, Ok(1)) && first == [HANDSHAKE]
}

/// What serves connections.
struct Serving {
    http: Builder<TokioExecutor>,
    port: Arc<Port>,
    acceptor: Option<TlsAcceptor>,
    is_plain_too: bool,
    server: ApiServer,
    stopped: watch::Receiver<bool>,
}

impl Serving {
    /// Serves a connection to its end.
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let limits = self.server.limits();
        let client = Client::new(&self.server.gate);
        let served = async {
            let is_plain = self.is_plain_too
                && tokio::select! {
                    is_tls = begins_with_tls(&stream) => !is_tls,
                    () = self.stopping() => return,
                };
            let stream = Stream::new(stream, client.clone(), limits.stall_time);

            match self.acceptor.as_ref().filter(|_| !is_plain) {
                None => self.serve(stream, None, &client).await,
                Some(acceptor) => {
                    // A client that is too slow, or speaks no TLS, cannot be told.
                    let handshake =
                        tokio::time::timeout(limits.header_time, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = handshake {
                        let (_, connection) = stream.get_ref();
                        let peer = connection
                            .peer_certificates()
                            .and_then(|chain| self.server.peer(chain));
                        self.serve(stream, peer, &client).await;
                    }
                }
            }
        };

        tokio::select! {
            () = served => {}
            () = client.overdue() => {}
        }
    }

    /// Waits until the server stops.
    async fn stopping(&self) {
        // A server that is gone has stopped.
        let _ = self.stopped.clone().wait_for(|stopped| *stopped).await;
    }

    async fn serve<S>(&self, stream: S, peer: Option<Peer>, client: &Arc<Client>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(|mut request| {
            request.extensions_mut().insert(self.port.clone());
            if let Some(peer) = &peer {
                request.extensions_mut().insert(peer.clone());
            }
            websocket::serve(self.server.clone(), client.clone(), request)
        });
        let connection = self
            .http
            .serve_connection_with_upgrades(TokioIo::new(stream), service);
        tokio::pin!(connection);

        // A connection that breaks has no client that could be told.
        tokio::select! {
            _ = connection.as_mut() => {}
            () = self.stopping() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }

        if let Some(watch) = client.upgraded() {
            let _ = watch.await;
        }
    }
}
