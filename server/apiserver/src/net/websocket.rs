//! Watches over WebSocket: each event is a message. The client of fabric8 asks for them.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Sink, SinkExt, StreamExt};
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tower::ServiceExt;

use super::connection::Client;
use super::unread;
use crate::ApiServer;
use crate::budget::Budget;
use crate::http::{Body, Events, LostAnswer, lost};

/// The size of a message of a client, which has nothing to say, in bytes.
const INCOMING: usize = 4096;

/// The size of the buffer for writes, in bytes.
const OUTGOING: usize = 1 << 20;

/// The size of a frame, in bytes. A longer event has several, which are sent one after the other.
const FRAME: usize = OUTGOING / 2;

/// Answers a request, over WebSocket if it is a watch that asks for it. The error is that of an answer that a fault loses.
pub(super) async fn serve(
    server: ApiServer,
    client: Arc<Client>,
    mut request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    let ticket = client.begin(request.version());
    let budget = server.gate.budget.clone();
    let switching = create_response_with_body(&request, Body::default).ok();
    let upgrade = switching.map(|switching| (switching, hyper::upgrade::on(&mut request)));
    let protocol = request
        .headers()
        .get(header::SEC_WEBSOCKET_PROTOCOL)
        .cloned();
    let response = server
        .oneshot(request)
        .await
        .unwrap_or_else(|never| match never {});

    // An error ends the connection, or the stream of HTTP/2, without an answer.
    if response.extensions().get::<LostAnswer>().is_some() {
        return Err(lost());
    }
    let is_watch = response.extensions().get::<Events>().is_some();
    match upgrade {
        // Other answers, errors included, are ordinary ones.
        Some((mut switching, upgrade)) if is_watch => {
            // A list of protocols needs a choice, and a watch has none to offer.
            if let Some(protocol) = protocol.filter(|protocol| !protocol.as_bytes().contains(&b','))
            {
                switching
                    .headers_mut()
                    .insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
            }

            let events = response.into_body();
            client.upgrade(tokio::spawn(async move {
                forward(upgrade, events, &budget).await;
                drop(ticket);
            }));
            Ok(switching)
        }
        _ => Ok(unread::answer(response, ticket, is_watch.then_some(budget))),
    }
}

/// Sends the events of a watch until it ends or the client closes the connection.
async fn forward(upgrade: OnUpgrade, mut events: Body, budget: &Budget) {
    // A client that is gone before the switch needs no events.
    let Ok(connection) = upgrade.await else {
        return;
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(INCOMING)
        .write_buffer_size(0)
        .max_write_buffer_size(OUTGOING)
        .max_message_size(Some(INCOMING))
        .max_frame_size(Some(INCOMING));
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(connection), Role::Server, Some(config))
            .await;

    let (mut sink, mut stream) = socket.split();
    loop {
        tokio::select! {
            frame = events.frame() => {
                let Some(Ok(frame)) = frame else { break };
                let Ok(data) = frame.into_data() else { continue };
                // The event is counted until it is in the buffer of the system.
                let _memory = budget.wait_large(data.len()).await;
                if send(&mut sink, data).await.is_err() {
                    return;
                }
            }
            message = stream.next() => match message {
                // Pings are answered by the stream. Nothing more is read before the client has read the answer, so that
                // the buffer for writes has one frame of an event or the answer to one ping.
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

/// Sends an event, which is JSON, as one message.
async fn send(
    sink: &mut (impl Sink<Message, Error = Error> + Unpin),
    mut event: Bytes,
) -> Result<(), Error> {
    let mut kind = Data::Text;
    loop {
        let part = event.split_to(event.len().min(FRAME));
        let is_last = event.is_empty();
        sink.send(Message::Frame(Frame::message(
            part,
            OpCode::Data(kind),
            is_last,
        )))
        .await?;
        if is_last {
            return Ok(());
        }
        kind = Data::Continue;
    }
}
