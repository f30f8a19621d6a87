//! Floods of frames and handshakes, and many requests on one connection: memory is bounded, and others are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::attack::Abuser;
use crate::endless::{Transport, connector, send};
use crate::server::{Connection, PATIENCE, Server, TURN};
use crate::{TIMES, filled};

/// The connections that flood at once.
const CONNECTIONS: usize = 10;

/// The least number of answers that another client gets meanwhile.
const ANSWERS: usize = 20;

/// The memory that floods may take, in bytes: 64 KiB for each connection, and the answers that are being made.
const MEMORY: u64 = 64 << 20;

/// An object that is read.
const NAMESPACE: &str = "/api/v1/namespaces/default";

/// The data that a flood repeats on each connection, whose answers it does not read.
#[derive(Clone, Copy, Debug)]
enum Flood {
    /// Requests of HTTP/2 that are reset at once.
    RapidReset,
    /// A head of HTTP/2 that does not end.
    Continuation,
    /// Heads of 16 KiB that stand for 48 MB.
    Hpack,
    /// Changes of the size of the table of headers.
    TableSize,
    Ping,
    Settings,
    /// Requests of HTTP/1.1.
    Pipelined,
    /// A body whose chunk has an extension that does not end.
    ChunkExtension,
    /// Trailers of a body that do not end.
    Trailers,
    /// Messages of a handshake that are none.
    Handshake,
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// The kinds of frames, and their flags.
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The headers of a `GET`, in HPACK.
fn get() -> Vec<u8> {
    let literal = |name: u8, text: &str| {
        [&[name, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
    };
    [
        &[0x82, 0x86][..],
        &literal(4, NAMESPACE),
        &literal(1, "localhost"),
    ]
    .concat()
}

impl Flood {
    /// The data that is sent once.
    fn first(self) -> Vec<u8> {
        let post = format!(
            "POST {NAMESPACE}/configmaps HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let http2 = [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            frame(SETTINGS, 0, 0, &[]),
        ]
        .concat();
        match self {
            Flood::Pipelined => Vec::new(),
            Flood::ChunkExtension => [post.as_bytes(), b"1;"].concat(),
            Flood::Trailers => [post.as_bytes(), b"0\r\n"].concat(),
            Flood::Handshake => vec![22, 3, 1],
            Flood::Continuation => [http2, frame(HEADERS, END_STREAM, 1, &get())].concat(),
            _ => http2,
        }
    }

    /// The data that is sent after that, again and again. `stream` is the last stream of HTTP/2.
    fn next(self, stream: &mut u32) -> Vec<u8> {
        let whole = END_STREAM | END_HEADERS;
        let mut on_stream = |frames: &dyn Fn(u32) -> Vec<u8>| {
            *stream += 2;
            frames(*stream)
        };
        match self {
            Flood::RapidReset => (0..100)
                .flat_map(|_| {
                    on_stream(&|stream| {
                        [
                            frame(HEADERS, whole, stream, &get()),
                            frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]),
                        ]
                        .concat()
                    })
                })
                .collect(),
            Flood::Continuation => {
                let header = [&[0, 1, b'x', 100][..], &[b'x'; 100]].concat();
                frame(CONTINUATION, 0, 1, &header.repeat(150))
            }
            Flood::Hpack => {
                // A header of 4,000 bytes is kept, and named 12,000 times by a byte.
                let kept = [&[0x40, 1, b'x', 0x7f, 0xa1, 0x1e][..], &[b'x'; 4000]].concat();
                on_stream(&|stream| {
                    frame(
                        HEADERS,
                        whole,
                        stream,
                        &[&get()[..], &kept, &[0xbe; 12_000]].concat(),
                    )
                })
            }
            Flood::TableSize => {
                let sizes = [0x20, 0x3f, 0xe1, 0x1f].repeat(3000);
                on_stream(&|stream| frame(HEADERS, whole, stream, &[&sizes[..], &get()].concat()))
            }
            Flood::Ping => frame(PING, 0, 0, &[7; 8]).repeat(1000),
            Flood::Settings => frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]).repeat(1000),
            Flood::Pipelined => format!("GET {NAMESPACE} HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .repeat(100)
                .into(),
            Flood::ChunkExtension => b"x".repeat(10_000),
            Flood::Trailers => b"X: x\r\n".repeat(1000),
            Flood::Handshake => b"x".repeat(10_000),
        }
    }
}

/// Begins a connection that floods, and another one whenever the server ended it, which is counted.
fn begin(address: &str, flood: Flood, ended: Arc<AtomicUsize>) -> Abuser {
    let address = address.to_owned();
    Abuser::new(async move {
        loop {
            // The server ends with the test.
            let Ok(mut connection) = TcpStream::connect(&address).await else {
                return;
            };
            let (mut data, mut stream) = (flood.first(), 1);
            while connection.write_all(&data).await.is_ok() {
                data = flood.next(&mut stream);
            }
            ended.fetch_add(1, Relaxed);
        }
    })
}

/// Another client reads until each connection of a flood was ended. Its answers arrive, and the memory stays bounded.
async fn withstands(server: &Server, transport: &Transport, flood: Flood) {
    let ended = Arc::new(AtomicUsize::new(0));
    let before = server.memory();
    let floods: Vec<Abuser> = (0..CONNECTIONS)
        .map(|_| begin(&server.address, flood, ended.clone()))
        .collect();
    let began = Instant::now();
    let (mut answers, mut most) = (0, before);
    while answers < ANSWERS || ended.load(Relaxed) < CONNECTIONS {
        assert_eq!(
            send(&server.address, transport, "GET", NAMESPACE, "")
                .await
                .unwrap()
                .0,
            200,
            "{flood:?}"
        );
        answers += 1;
        most = most.max(server.memory());
        assert!(
            began.elapsed() < 2 * PATIENCE,
            "{flood:?}: {ended:?} of {CONNECTIONS} connections ended"
        );
    }
    drop(floods);
    println!(
        "{flood:?}: {ended:?} connections ended, {answers} answers, {} KiB more",
        (most - before) >> 10
    );
    assert!(
        most - before < MEMORY,
        "{flood:?}: {} MiB became {} MiB",
        before >> 20,
        most >> 20
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_http2_take_bounded_memory_and_others_are_answered() {
    let _turn = TURN.write().await;
    for flood in [
        Flood::RapidReset,
        Flood::Continuation,
        Flood::Hpack,
        Flood::TableSize,
        Flood::Ping,
        Flood::Settings,
    ] {
        let server = filled(&TIMES).await;
        withstands(&server, &Transport::Http2, flood).await;
        assert_eq!(server.log(), "", "{flood:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_http1_take_bounded_memory_and_others_are_answered() {
    let _turn = TURN.write().await;
    for flood in [Flood::Pipelined, Flood::ChunkExtension, Flood::Trailers] {
        withstands(&filled(&TIMES).await, &Transport::Http1, flood).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_handshakes_take_bounded_memory_and_others_are_answered() {
    let _turn = TURN.write().await;
    let server = Server::start(&[&TIMES[..], &["--tls"]].concat());
    let transport = Transport::Tls(connector(&server));
    withstands(&server, &transport, Flood::Handshake).await;

    // Connections that are complete and end at once.
    let before = server.memory();
    let floods = (0..CONNECTIONS).map(|_| {
        let (address, transport) = (server.address.clone(), transport.clone());
        Abuser::new(async move {
            while send(&address, &transport, "GET", "/healthz", "")
                .await
                .is_ok()
            {}
        })
    });
    let floods: Vec<Abuser> = floods.collect();
    for _ in 0..ANSWERS {
        assert_eq!(
            send(&server.address, &transport, "GET", NAMESPACE, "")
                .await
                .unwrap()
                .0,
            200
        );
    }
    let most = server.memory();
    drop(floods);
    assert!(
        most.saturating_sub(before) < MEMORY,
        "{} MiB became {} MiB",
        before >> 20,
        most >> 20
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_pipelined_requests_are_answered_in_order() {
    const REQUESTS: usize = 100_000;
    let _turn = TURN.write().await;
    let server = filled(&[]).await;
    let before = server.memory();
    let connection = TcpStream::connect(&server.address).await.unwrap();
    let (answers, mut requests) = connection.into_split();
    let path = |number: usize| if number % 7 == 3 { "/none" } else { "/version" };
    let sending = tokio::spawn(async move {
        for first in (0..REQUESTS).step_by(1000) {
            let request =
                |number| format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path(number));
            let some: String = (first..first + 1000).map(request).collect();
            requests.write_all(some.as_bytes()).await.unwrap();
        }
        requests
    });
    let mut answers = Connection {
        stream: tokio::io::BufReader::new(answers),
    };
    let mut other = Connection::new(&server.address).await;
    let mut most = before;
    for number in 0..REQUESTS {
        let expected = if path(number) == "/none" { 404 } else { 200 };
        assert_eq!(answers.answer().await.unwrap().0, expected, "{number}");
        if number % 1000 == 0 {
            assert_eq!(other.send("GET", NAMESPACE, "").await.unwrap().0, 200);
            most = most.max(server.memory());
        }
    }
    drop(sending.await.unwrap());
    println!("pipelined: {} KiB more", (most - before) >> 10);
    assert!(
        most - before < MEMORY,
        "{} MiB became {} MiB",
        before >> 20,
        most >> 20
    );
}
