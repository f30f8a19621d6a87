//! A TCP connection whose client has to read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::connection::Client;

/// The data that the system keeps for a client beyond what is on the way to it, in bytes.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT: u32 = 128 << 10;

/// How long a connection is silent before the system asks whether the client still exists, and how often it asks.
const ALIVE: Duration = Duration::from_secs(30);

/// A TCP connection whose writes fail if the client reads nothing for some time, and whose reads fail if there is no memory
/// for what the client sends.
pub(super) struct Stream {
    tcp: TcpStream,
    client: Arc<Client>,
    stall_time: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, client: Arc<Client>, stall_time: Duration) -> Self {
        let socket = SockRef::from(&tcp);
        // Small answers are not held back for more data. None of the options is needed for correct answers.
        let _ = tcp.set_nodelay(true);
        let _ =
            socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(ALIVE).with_interval(ALIVE));
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = socket.set_tcp_notsent_lowat(UNSENT);

        Stream {
            tcp,
            client,
            stall_time,
            stalled: None,
        }
    }

    /// The result of a write, or an error if it has waited for too long.
    fn timed<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(self.stall_time)));
        ready!(stalled.as_mut().poll(context));
        self.client.cut();

        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read",
        )))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(context, buffer))?;
        Poll::Ready(self.client.received(buffer.filled().len() - before))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(context, data);
        self.timed(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(context, data);
        self.timed(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.client.is_cut() {
            // Otherwise the system keeps the data for minutes.
            let _ = SockRef::from(&self.tcp).set_linger(Some(Duration::ZERO));
        }
    }
}
