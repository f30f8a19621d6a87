//! Watches over WebSocket: each event is a message. The client of fabric8 asks for them.

use std::io;
use std::sync::Arc;

use futures::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tower::ServiceExt;

use super::connection::Client;
use super::unread;
use crate::ApiServer;
use crate::budget::Budget;
use crate::http::{Body, Events, LostAnswer, lost};

/// The size of a message of a client, which has nothing to say, in bytes.
const INCOMING: usize = 4096;

/// Answers a request, over WebSocket if it is a watch that asks for it. The error is that of an answer that a fault loses.
pub(super) async fn serve(
    server: ApiServer,
    client: Arc<Client>,
    mut request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    let ticket = client.begin(request.version());
    let key = key(request.headers());
    let budget = server.gate.budget.clone();
    let upgrade = key.map(|key| (key, hyper::upgrade::on(&mut request)));
    let protocol = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL).cloned();
    let response = server.oneshot(request).await.unwrap_or_else(|never| match never {});
    // An error ends the connection, or the stream of HTTP/2, without an answer.
    if response.extensions().get::<LostAnswer>().is_some() {
        return Err(lost());
    }
    let is_watch = response.extensions().get::<Events>().is_some();
    match upgrade {
        // Other answers, errors included, are ordinary ones.
        Some((key, upgrade)) if is_watch => {
            let events = response.into_body();
            client.upgrade(tokio::spawn(async move {
                forward(upgrade, events, &budget).await;
                drop(ticket);
            }));
            Ok(switching(&key, protocol))
        }
        _ => Ok(unread::answer(response, ticket, is_watch.then_some(budget))),
    }
}

/// The key of a request that asks for WebSocket.
fn key(headers: &HeaderMap) -> Option<String> {
    let has = |name, token: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
    };
    let asked = has(header::CONNECTION, "upgrade")
        && has(header::UPGRADE, "websocket")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| asked)?;
    Some(derive_accept_key(key.as_bytes()))
}

fn switching(key: &str, protocol: Option<HeaderValue>) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(key) = HeaderValue::from_str(key) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, key);
    }
    // A list of protocols needs a choice, and a watch has none to offer.
    if let Some(protocol) = protocol.filter(|protocol| !protocol.as_bytes().contains(&b',')) {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// Sends the events of a watch until it ends or the client closes the connection.
async fn forward(upgrade: OnUpgrade, mut events: Body, budget: &Budget) {
    // A client that is gone before the switch needs no events.
    let Ok(connection) = upgrade.await else { return };
    let config = WebSocketConfig::default()
        .read_buffer_size(INCOMING)
        .write_buffer_size(0)
        .max_message_size(Some(INCOMING))
        .max_frame_size(Some(INCOMING));
    let socket = WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(config)).await;
    let (mut sink, mut stream) = socket.split();
    loop {
        tokio::select! {
            frame = events.frame() => {
                let Some(Ok(frame)) = frame else { break };
                let Ok(data) = frame.into_data() else { continue };
                // An event is JSON, which is UTF-8.
                let Ok(text) = String::from_utf8(data.into()) else { continue };
                let _memory = budget.wait_large(text.len()).await;
                if sink.send(Message::text(text)).await.is_err() {
                    return;
                }
            }
            message = stream.next() => match message {
                // Pings are answered by the stream. Nothing more is read before the client has read the answer, so that
                // the buffer for writes has one event or the answer to one ping.
                Some(Ok(message)) if !message.is_close() => {
                    if sink.flush().await.is_err() {
                        return;
                    }
                }
                _ => break,
            },
        }
    }
    // The connection ends in any case.
    let _ = sink.close().await;
}
