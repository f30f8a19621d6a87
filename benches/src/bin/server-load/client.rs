//! A client over TLS, by HTTP/1.1 or HTTP/2, with a connection that is used again and again.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};

use crate::error::Error;

/// The token of both servers.
pub(crate) const TOKEN: &str = "secret";

/// The media type of an apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A server that accepts connections.
#[derive(Clone)]
pub(crate) struct Target {
    port: u16,
    /// Offers HTTP/1.1.
    one: TlsConnector,
    /// Offers HTTP/2.
    two: TlsConnector,
}

/// Every certificate is accepted: the servers make their own, and the client is to be cheap.
#[derive(Debug)]
struct Anyone(CryptoProvider);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl Target {
    pub(crate) fn new(port: u16) -> Result<Self, Error> {
        let failed = |error| Error::request("TLS", error);
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(default_provider())))
            .with_no_client_auth();
        let mut two = config.clone();
        two.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Target {
            port,
            one: TlsConnector::from(Arc::new(config)),
            two: TlsConnector::from(Arc::new(two)),
        })
    }

    /// A connection for one client.
    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        let stream = TokioIo::new(self.stream(&self.one).await?);
        let (sender, connection) = http1::handshake(stream).await.map_err(unconnected)?;
        // Its error is that of the request that waits.
        tokio::spawn(connection);
        Ok(Client {
            sender: Sender::One(sender),
        })
    }

    /// A connection that clients can share.
    pub(crate) async fn connect_shared(&self) -> Result<Client, Error> {
        let stream = TokioIo::new(self.stream(&self.two).await?);
        let handshake = http2::handshake(TokioExecutor::new(), stream).await;
        let (sender, connection) = handshake.map_err(unconnected)?;
        tokio::spawn(connection);
        Ok(Client {
            sender: Sender::Two(sender),
        })
    }

    async fn stream(&self, tls: &TlsConnector) -> Result<TlsStream<TcpStream>, Error> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await;
        let stream = stream.map_err(unconnected)?;
        stream.set_nodelay(true).map_err(unconnected)?;
        let name = ServerName::try_from("localhost").map_err(unconnected)?;
        tls.connect(name, stream).await.map_err(unconnected)
    }
}

fn unconnected(error: impl std::fmt::Display) -> Error {
    Error::Request {
        request: "a connection".to_owned(),
        message: error.to_string(),
    }
}

/// A connection, or a client of a connection that is shared.
pub(crate) struct Client {
    sender: Sender,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    /// Another client of this connection; `None` if it serves one request at a time.
    pub(crate) fn share(&self) -> Option<Client> {
        match &self.sender {
            Sender::One(_) => None,
            Sender::Two(sender) => Some(Client {
                sender: Sender::Two(sender.clone()),
            }),
        }
    }

    /// Sends a request and returns the answer, whose body can be read.
    pub(crate) async fn begin(
        &mut self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, Error> {
        let failed =
            |error: &dyn std::error::Error| Error::request(&format!("{method} {path}"), error);
        // Answers have the form of the request.
        let accepted = if media == PROTOBUF { PROTOBUF } else { JSON };
        let request = Request::builder()
            .method(method)
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(header::ACCEPT, accepted)
            .header(header::CONTENT_TYPE, media)
            .header(header::USER_AGENT, "server-load/1");
        let body = Full::new(body.into());

        let answer = match &mut self.sender {
            Sender::One(sender) => {
                let request = request
                    .uri(path)
                    .header(header::HOST, "localhost")
                    .body(body);
                sender.ready().await.map_err(|error| failed(&error))?;
                sender
                    .send_request(request.map_err(|error| failed(&error))?)
                    .await
            }
            Sender::Two(sender) => {
                let request = request.uri(format!("https://localhost{path}")).body(body);
                sender.ready().await.map_err(|error| failed(&error))?;
                sender
                    .send_request(request.map_err(|error| failed(&error))?)
                    .await
            }
        };
        answer.map_err(|error| failed(&error))
    }

    /// Sends a request and reads the answer to its end. Returns the status code and the number of bytes.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<(u16, usize), Error> {
        let response = self.begin(method, path, media, body).await?;
        let code = response.status().as_u16();
        let mut body = response.into_body();
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Error::request(&format!("{method} {path}"), error))?;
            length += frame.data_ref().map_or(0, Bytes::len);
        }
        Ok((code, length))
    }

    /// Sends a request that has to succeed, and returns the body of the answer.
    pub(crate) async fn succeed(
        &mut self,
        method: &str,
        path: &str,
        media: &str,
        body: impl Into<Bytes>,
    ) -> Result<Bytes, Error> {
        let response = self.begin(method, path, media, body).await?;
        let code = response.status().as_u16();
        let request = format!("{method} {path}");
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| Error::request(&request, error))?
            .to_bytes();
        if !(200..300).contains(&code) {
            let text: String = String::from_utf8_lossy(&body).chars().take(500).collect();
            return Err(Error::request(&request, format!("{code} {text}")));
        }
        Ok(body)
    }
}
