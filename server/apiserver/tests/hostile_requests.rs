//! Requests that mean harm: patches, YAML, protobuf, gzip, `Accept`, tokens of pages and paths. Each is refused at once,
//! with a short answer, and changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::io::Write;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::common::{Client, config_map};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ONE: &str = "/api/v1/namespaces/default/configmaps/one";

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// The longest time of an answer on a machine that has other work. Without a bound, these take minutes or all memory.
const PATIENCE: Duration = Duration::from_secs(100);

/// The largest answer, in bytes, beside what a message repeats of the request.
const ANSWER: usize = 64 << 10;

/// How often a message repeats a part of the request, at most.
const REPEATED: usize = 6;

/// A request that has to be refused.
struct Hostile {
    name: &'static str,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Hostile {
    fn get(name: &'static str, path: impl Into<String>) -> Self {
        Hostile {
            name,
            method: "GET",
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn with_body(
        name: &'static str,
        method: &'static str,
        media: &str,
        body: impl Into<Vec<u8>>,
    ) -> Self {
        let path = match method {
            "POST" => CONFIG_MAPS.to_owned(),
            _ => format!("{ONE}?fieldManager=me"),
        };
        Hostile {
            method,
            body: body.into(),
            ..Hostile::get(name, path).header("content-type", media)
        }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Sends requests, each of which is refused in bounded time with a bounded answer, and changes nothing.
async fn are_refused(requests: impl IntoIterator<Item = Hostile>) {
    let client = Client::new().await;
    client.config_map("one").await;
    let before = client.get(ONE).await.expect(200);
    let stored = client.get(CONFIG_MAPS).await.expect(200)["items"].clone();
    let mut faults = Vec::new();
    for request in requests {
        let headers: Vec<(&str, &str)> = request
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let bound = ANSWER + REPEATED * (request.path.len() + request.body.len());
        let began = Instant::now();
        let answer = client
            .send(request.method, &request.path, &headers, request.body)
            .await;
        let (took, size) = (began.elapsed(), answer.bytes.len());
        if !(400..500).contains(&answer.code) || took > PATIENCE || size > bound {
            let text = String::from_utf8_lossy(&answer.bytes);
            let shown: String = text.chars().take(300).collect();
            let name = request.name;
            faults.push(format!(
                "{name}: {} after {took:?}, {size} bytes: {shown}",
                answer.code
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(client.get(ONE).await.expect(200), before);
    let after = client.get(CONFIG_MAPS).await.expect(200);
    assert_eq!(after["items"], stored, "{after}");
}

/// JSON with lists in lists.
fn deep_json() -> String {
    format!(
        "{{\"data\":{}{}}}",
        "[".repeat(500_000),
        "]".repeat(500_000)
    )
}

/// YAML whose aliases stand for 10^9 strings.
fn laughs() -> String {
    let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    yaml
}

#[tokio::test]
async fn hostile_patches_are_refused() {
    let operation =
        |op: &str, from: &str, path: &str| json!({"op": op, "from": from, "path": path});
    let doubled: Vec<_> = (0..10_001)
        .map(|number| operation("copy", "/data", &format!("/data/x{number}")))
        .collect();
    let test = vec![json!({"op": "test", "path": "/data/color", "value": "none"}); 9_999];
    let pointer = json!([{"op": "add", "path": "/data".repeat(200_000), "value": 1}]);
    // Each copy has all of those before it.
    let nested: Vec<_> = (0..60)
        .map(|number| {
            operation(
                "copy",
                "/metadata",
                &format!("/metadata/annotations/x{number}"),
            )
        })
        .collect();
    let directives = json!({"metadata": {"$retainKeys": vec![1; 100_000]}});
    let order = json!({"metadata": {"$setElementOrder/finalizers": {"x": vec!["x"; 200_000]}}});
    are_refused([
        Hostile::with_body(
            "operations",
            "PATCH",
            JSON_PATCH,
            json!(doubled).to_string(),
        ),
        Hostile::with_body("tests", "PATCH", JSON_PATCH, json!(test).to_string()),
        Hostile::with_body("pointer", "PATCH", JSON_PATCH, pointer.to_string()),
        Hostile::with_body(
            "copies of copies",
            "PATCH",
            JSON_PATCH,
            json!(nested).to_string(),
        ),
        Hostile::with_body("deep JSON patch", "PATCH", JSON_PATCH, deep_json()),
        Hostile::with_body("deep merge patch", "PATCH", MERGE, deep_json()),
        Hostile::with_body(
            "deep strategic merge patch",
            "PATCH",
            STRATEGIC,
            deep_json(),
        ),
        Hostile::with_body("directives", "PATCH", STRATEGIC, directives.to_string()),
        Hostile::with_body("order", "PATCH", STRATEGIC, order.to_string()),
        Hostile::with_body("deep apply", "PATCH", APPLY, deep_json()),
        Hostile::with_body("applied aliases", "PATCH", APPLY, laughs()),
        Hostile::with_body(
            "a merge patch of the identity",
            "PATCH",
            MERGE,
            r#"{"metadata":null,"kind":[]}"#,
        ),
    ])
    .await;
}

#[tokio::test]
async fn bombs_of_yaml_protobuf_and_gzip_are_refused() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&vec![b' '; 32 << 20]).unwrap();
    let gzip = gzip.finish().unwrap();
    let message = |payload: &[u8]| [b"k8s\0", payload].concat();
    // Field 1 with more bytes than there are, and messages in messages.
    let long = [10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let nested = (0..50_000).fold(Vec::new(), |inner: Vec<u8>, _| {
        match u8::try_from(inner.len()) {
            Ok(length) if length < 0x7e => [&[18, length][..], &inner].concat(),
            _ => inner,
        }
    });
    are_refused([
        Hostile::with_body("deep JSON", "POST", JSON, deep_json()),
        Hostile::with_body("deep YAML", "POST", YAML, "[".repeat(1 << 20)),
        Hostile::with_body("deep blocks", "POST", YAML, "- ".repeat(1 << 19)),
        Hostile::with_body("aliases", "POST", YAML, laughs()),
        Hostile::with_body("an alias of itself", "POST", YAML, "a: &a [*a]\n"),
        Hostile::with_body(
            "a large key",
            "POST",
            YAML,
            format!("? {}\n: x", "k".repeat(2 << 20)),
        ),
        Hostile::with_body("no UTF-8", "POST", YAML, vec![0xff; 1 << 20]),
        Hostile::with_body("a long field", "POST", PROTOBUF, message(&long)),
        Hostile::with_body("nested messages", "POST", PROTOBUF, message(&nested)),
        Hostile::with_body("no message", "POST", PROTOBUF, vec![0xff; 1 << 20]),
        Hostile::with_body("protobuf of options", "DELETE", PROTOBUF, message(&long)),
        Hostile::with_body("gzip", "POST", JSON, gzip.clone()).header("content-encoding", "gzip"),
        Hostile::with_body("gzip without its name", "POST", YAML, gzip),
        Hostile::with_body("over the limit", "POST", JSON, vec![b' '; 4 << 20]),
    ])
    .await;
}

#[tokio::test]
async fn hostile_heads_and_tokens_are_refused() {
    let accept = |name, value: String| Hostile::get(name, ONE).header("accept", value);
    let token = |name, token: &[u8]| {
        let token = URL_SAFE_NO_PAD.encode(token);
        Hostile::get(name, format!("{CONFIG_MAPS}?limit=1&continue={token}"))
    };
    let start = |start: &str| {
        json!({"v": "meta.k8s.io/v1", "rv": 1, "start": start})
            .to_string()
            .into_bytes()
    };
    are_refused([
        accept("clauses", "text/x;q=0.1,".repeat(50_000)),
        accept("parameters", format!("text/x{}", ";a=b".repeat(100_000))),
        accept(
            "qualities",
            "text/x;q=NaN,text/y;q=1e999,text/z;q=-1".to_owned(),
        ),
        accept("no clause", ",;,;=,/".repeat(10_000)),
        accept(
            "an unknown form",
            "application/json;as=Bomb;v=v1;g=meta.k8s.io".to_owned(),
        ),
        token("no JSON", b"\xff\x00"),
        token("deep JSON", "[".repeat(20_000).as_bytes()),
        token("another resource", &start("../../secrets/default/a")),
        token("no key", &start("///")),
        token("an empty start", &start("\0\0")),
        token(
            "a number",
            br#"{"v":"meta.k8s.io/v1","rv":1e99,"start":"a"}"#,
        ),
        token("no base64", &start(&"x/".repeat(20_000))),
        Hostile::get(
            "a token",
            format!("{CONFIG_MAPS}?continue={}", "%00".repeat(10_000)),
        ),
        Hostile::get(
            "a limit",
            format!("{CONFIG_MAPS}?limit={}", "9".repeat(60_000)),
        ),
        Hostile::get(
            "labels",
            format!("{CONFIG_MAPS}?labelSelector={}", "a,".repeat(30_000)),
        ),
        Hostile::get(
            "fields",
            format!("{CONFIG_MAPS}?fieldSelector={}", "a=b,".repeat(10_000)),
        ),
        Hostile::get(
            "a revision",
            format!("{CONFIG_MAPS}?resourceVersion={}", "1".repeat(60_000)),
        ),
    ])
    .await;
}

#[tokio::test]
async fn hostile_paths_are_refused() {
    let below = |name: &str| format!("{CONFIG_MAPS}/{name}");
    are_refused([
        Hostile::get("parents", below("../secrets")),
        Hostile::get("encoded parents", below("%2e%2e%2fsecrets%2fa")),
        Hostile::get("a slash", below("a%2fb")),
        Hostile::get("a zero byte", below("%00")),
        Hostile::get("control characters", below("%1b%5b31m%0a%0d")),
        Hostile::get("no UTF-8", below("%ff%fe")),
        Hostile::get("half an escape", below("%2")),
        Hostile::get("empty segments", format!("/api{}v1", "/".repeat(30_000))),
        Hostile::get("segments", format!("/api/v1{}", "/a".repeat(30_000))),
        Hostile::get("a long name", below(&"a".repeat(60_000))),
        Hostile::get("a group", format!("/apis/{}/v1/a", "a.".repeat(20_000))),
        Hostile::get(
            "an OpenAPI document",
            format!("/openapi/v3/{}", "../".repeat(10_000)),
        ),
        Hostile::get("a page", "/ui/objects/../../x"),
        Hostile::get("a check", format!("/healthz/{}", "a/".repeat(10_000))),
    ])
    .await;
}

/// A name of an object that no client can give it is not stored either.
#[tokio::test]
async fn hostile_names_are_refused() {
    let named = |name: &str| {
        let body = config_map(name).to_string();
        Hostile::with_body("a name", "POST", JSON, body)
    };
    are_refused(
        ["../a", "a/b", "a\0", "\u{1b}[31m", "a\nb", "..", "\u{202e}"]
            .map(named)
            .into_iter()
            .chain([named(&"a".repeat(1 << 20))]),
    )
    .await;
}
