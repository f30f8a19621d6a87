//! How the body of a request is received: in bounded memory and time.

use std::error::Error;
use std::pin::pin;

use bytes::{Buf, BufMut, BytesMut};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::{Instant, timeout_at};

use crate::budget::Reservation;
use crate::endpoint::Failure;
use crate::gate::Gate;

/// The least memory of a request with its headers, before its body, in bytes.
const FIRST: usize = 8 << 10;

/// Receives the body after a head of a size, with the memory that it takes until the answer. A body that is too large is 413, one that stalls or
/// takes too long is 408, and 429 says that other bodies and answers take all memory.
pub(super) async fn body<B>(
    gate: &Gate,
    head: usize,
    body: B,
) -> Result<(BytesMut, Reservation), Failure>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let limits = &gate.limits;
    let mut memory = gate.reserve(FIRST.max(head))?;
    let mut reserved = FIRST;
    let mut received = BytesMut::new();
    let mut body = pin!(Limited::new(body, limits.body));
    let end = Instant::now() + limits.request_time;

    loop {
        let stalled = Instant::now() + limits.stall_time;
        let frame = match timeout_at(end.min(stalled), body.frame()).await {
            Err(_) => {
                return Err(Failure::new(
                    408,
                    "Timeout",
                    "the body of the request did not arrive in time",
                ));
            }
            Ok(None) => return Ok((received, memory)),
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => {
                let message = format!("Request entity too large: limit is {}", limits.body);
                return Err(Failure::new(413, "RequestEntityTooLarge", message));
            }
            Ok(Some(Err(error))) => return Err(Failure::bad_request(error.to_string())),
            Ok(Some(Ok(frame))) => frame,
        };

        let Ok(data) = frame.into_data() else {
            continue;
        };
        if received.len() + data.remaining() > reserved {
            // The memory of a buffer that grows by doubling.
            memory.add(gate.reserve(received.len() + data.remaining())?);
            reserved += received.len() + data.remaining();
        }

        // Small frames share large buffers of the connection, so they are copied.
        received.put(data);
    }
}
