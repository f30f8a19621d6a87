//! `serve --store file:PATH`: what the file has after the process was killed.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fieldmanager_apiserver::store::{
    Entry, File, HistoryLimits, Key, List, Prefix, Store, Write as Change,
};
use serde_json::{Value, json};

/// A running server, which is killed when this is dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(store: &Path, arguments: &[&str]) -> Self {
        let mut process = command(store, arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .strip_prefix("serving http://")
            .unwrap_or_else(|| panic!("{line}"));
        let address = url.split_once(';').unwrap().0.to_owned();
        Server { process, address }
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = Connection::new(&self.address)
            .unwrap()
            .send("GET", path, "")
            .unwrap();
        assert_eq!(status, 200, "{body}");
        body
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(store: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fieldmanager"));
    command.args([
        "serve",
        "--no-token",
        "--store",
        &format!("file:{}", store.display()),
    ]);
    command
        .args([
            "--kubeconfig",
            store.with_extension("kubeconfig").to_str().unwrap(),
        ])
        .args(arguments);
    command
}

/// A connection that is used again and again.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn new(address: &str) -> std::io::Result<Self> {
        Ok(Connection {
            stream: BufReader::new(TcpStream::connect(address)?),
        })
    }

    /// Sends a request, and returns the status code and the body. An error: the server ended before it answered.
    fn send(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Value)> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream
            .get_mut()
            .write_all(format!("{head}{body}").as_bytes())?;
        let mut line = String::new();
        let (mut status, mut length) = (0, 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap();
            } else if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        // The answer for a resource that is not served is a text.
        let text = || String::from_utf8_lossy(&body).into();
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| text());
        Ok((status, body))
    }
}

const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// What a writer knows about its ConfigMap: the last answer, and the number of a request without an answer.
#[derive(Default)]
struct Known {
    answered: Option<(u64, String)>,
    unanswered: Option<u64>,
}

/// Counts in a ConfigMap until the server ends.
fn count(address: &str, name: &str, known: &mut Known, answers: &AtomicU64) {
    let Ok(mut connection) = Connection::new(address) else {
        return;
    };
    loop {
        let (method, path, next, version) = match &known.answered {
            None => ("POST", PATH.to_owned(), 1, String::new()),
            Some((number, version)) => {
                ("PUT", format!("{PATH}/{name}"), number + 1, version.clone())
            }
        };
        let mut body = json!({"metadata": {"name": name}, "data": {"number": next.to_string()}});
        if !version.is_empty() {
            body["metadata"]["resourceVersion"] = json!(version);
        }
        known.unanswered = Some(next);
        match connection.send(method, &path, &body.to_string()) {
            Ok((200 | 201, object)) => {
                let version = object["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap()
                    .to_owned();
                *known = Known {
                    answered: Some((next, version)),
                    unanswered: None,
                };
                answers.fetch_add(1, Ordering::Relaxed);
            }
            Ok((status, body)) => panic!("{status} {body}"),
            Err(_) => return,
        }
    }
}

#[test]
fn acknowledged_writes_survive_fifty_kills() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("state.redb");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let (mut answers, mut newest) = (0, 0);
    for run in 0..50 {
        let mut server = Server::start(&store, &[]);
        let list = server.get(PATH);
        let found: BTreeMap<&str, &Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (item["metadata"]["name"].as_str().unwrap(), item))
            .collect();
        for (name, known) in &mut known {
            let item = found.get(name.as_str());
            let number = item.map_or(0, |item| {
                item["data"]["number"].as_str().unwrap().parse().unwrap()
            });
            let (answered, version) = known.answered.clone().unwrap_or_default();
            assert!(
                number == answered || Some(number) == known.unanswered,
                "run {run}: {name} has {number}, answered {answered}"
            );
            let Some(item) = item else { continue };
            let stored = item["metadata"]["resourceVersion"].as_str().unwrap();
            assert!(number != answered || stored == version, "run {run}: {name}");
            *known = Known {
                answered: Some((number, stored.to_owned())),
                unanswered: None,
            };
            answers = answers.max(number);
        }
        let revision: u64 = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            revision >= newest,
            "run {run}: revision {revision} after {newest}"
        );
        newest = revision;

        // Some writers are new in each run.
        let writers: Vec<String> = (0..8)
            .map(|writer| format!("a-{}", run / 10 * 4 + writer))
            .collect();
        for name in &writers {
            known.entry(name.clone()).or_default();
        }
        let address = server.address.clone();
        let counted = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for (name, known) in known.iter_mut().filter(|(name, _)| writers.contains(name)) {
                let (address, counted) = (&address, &counted);
                scope.spawn(move || count(address, name, known, counted));
            }
            // The server is killed after some answers, however fast the machine is.
            let (began, enough) = (Instant::now(), random.u64(0..80));
            while counted.load(Ordering::Relaxed) < enough
                && began.elapsed() < Duration::from_secs(100)
            {
                std::thread::sleep(Duration::from_micros(random.u64(100..2000)));
            }
            server.kill();
        });
    }
    assert!(
        answers > 10,
        "only {answers} writes of one object were answered"
    );
}

#[test]
fn a_server_continues_with_the_objects_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("state.redb");
    let definition = folder.path().join("crd.yaml");
    std::fs::write(
        &definition,
        "apiVersion: apiextensions.k8s.io/v1\n\
         kind: CustomResourceDefinition\n\
         metadata: {name: carts.shop.example.com}\n\
         spec:\n  group: shop.example.com\n  scope: Namespaced\n  names: {plural: carts, kind: Cart}\n  \
         versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, \
         x-kubernetes-preserve-unknown-fields: true}}}]\n",
    )
    .unwrap();
    let arguments = ["--crd", definition.to_str().unwrap()];
    let mut server = Server::start(&store, &arguments);
    let mut connection = Connection::new(&server.address).unwrap();
    let carts = "/apis/shop.example.com/v1/namespaces/default/carts";
    let cart = json!({"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "a"}, "items": 3, "price": 1.5});
    let (status, cart) = connection.send("POST", carts, &cart.to_string()).unwrap();
    assert_eq!(status, 201, "{cart}");
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    let (_, service) = connection
        .send(
            "POST",
            "/api/v1/namespaces/default/services",
            &service.to_string(),
        )
        .unwrap();
    server.kill();

    // The definition is served before --crd is read, which finds that it exists.
    for arguments in [&[][..], &arguments] {
        let mut server = Server::start(&store, arguments);
        assert_eq!(server.get(&format!("{carts}/a")), cart);
        let other = json!({"metadata": {"name": "other"}, "spec": {"clusterIP": service["spec"]["clusterIP"], "ports": [{"port": 80}]}});
        let mut connection = Connection::new(&server.address).unwrap();
        let (status, body) = connection
            .send(
                "POST",
                "/api/v1/namespaces/default/services",
                &other.to_string(),
            )
            .unwrap();
        assert_eq!(status, 422, "{body}");
        server.kill();
    }
}

#[test]
fn a_file_that_cannot_be_the_store_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("state.redb");
    let message = |arguments: &[&str]| {
        let output = command(&store, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let server = Server::start(&store, &[]);
    assert_eq!(
        message(&[]),
        format!(
            "error: {}: another process uses the file\n",
            store.display()
        )
    );
    drop(server);
    std::fs::write(&store, "notes").unwrap();
    let damaged = message(&[]);
    assert!(
        damaged.contains("state.redb: the file is damaged, or it is not a store: "),
        "{damaged}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_fieldmanager"))
        .args(["serve", "--store", "disk"])
        .output()
        .unwrap();
    let unknown = String::from_utf8(output.stderr).unwrap();
    assert!(
        unknown.contains(
            "invalid value 'disk' for '--store <STORE>': expected `memory`, `file:PATH` or `etcd:URL,...`"
        ),
        "{unknown}"
    );
}

/// A definition or a namespace, whose server is killed while it ends.
struct Container {
    /// The path of the collection that it is in, and its name there.
    collection: &'static str,
    name: &'static str,
    manifest: Value,
    /// The path of the collection of its objects, and the first of these, of which the others are copies.
    objects: &'static str,
    object: Value,
    key: Key,
    copies: usize,
}

impl Container {
    fn path(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }

    /// Creates the container with its objects, of which most are written to the file directly.
    fn create(&self, store: &Path) {
        let mut server = Server::start(store, &[]);
        let mut connection = Connection::new(&server.address).unwrap();
        for (collection, object) in [
            (self.collection, &self.manifest),
            (self.objects, &self.object),
        ] {
            let (status, body) = connection
                .send("POST", collection, &object.to_string())
                .unwrap();
            assert_eq!(status, 201, "{body}");
        }
        server.kill();
        opened(store, async |file| {
            let object = file
                .get(&self.key, None)
                .await
                .unwrap()
                .entry
                .unwrap()
                .object
                .to_json();
            let writes = (0..self.copies).map(|number| {
                let name = format!("copy-{number:06}");
                let mut object: Value = serde_json::from_str(&object).unwrap();
                object["metadata"]["name"] = json!(name);
                object["metadata"]["uid"] = json!(name);
                let object = fieldmanager_value::Value::from_json(&object.to_string()).unwrap();
                let parts = self.key.parts();
                let key = Key::new(parts.group, parts.plural, parts.namespace, &name).unwrap();
                async move {
                    file.write(&key, Change::Create(object))
                        .await
                        .map(|_| ())
                        .unwrap()
                }
            });
            futures::future::join_all(writes).await;
        });
    }

    /// The number of its objects in the file of a server that ended.
    fn left(&self, store: &Path) -> usize {
        let parts = self.key.parts();
        let prefix = Prefix::resource(parts.group, parts.plural).unwrap();
        let of_copies = |entry: &Entry| entry.key.parts().namespace == parts.namespace;
        opened(store, async |file| {
            file.list(List::new(prefix.clone()))
                .await
                .unwrap()
                .entries
                .iter()
                .filter(|one| of_copies(one))
                .count()
        })
    }

    /// Ends on a server that is killed twenty times meanwhile.
    fn ends_in_spite_of_twenty_kills(&self, seed: u64) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("state.redb");
        let mut random = fastrand::Rng::with_seed(seed);

        // What must remain.
        let mut server = Server::start(&store, &[]);
        let mut connection = Connection::new(&server.address).unwrap();
        for number in 0..50 {
            let map = json!({"metadata": {"name": format!("kept-{number}")}});
            assert_eq!(
                connection.send("POST", PATH, &map.to_string()).unwrap().0,
                201
            );
        }
        let others = |server: &Server| {
            let maps = server.get(PATH)["items"].clone();
            let namespaces = server.get("/api/v1/namespaces")["items"]
                .as_array()
                .unwrap()
                .clone();
            let namespaces: Vec<Value> = namespaces
                .into_iter()
                .filter(|namespace| namespace["metadata"]["name"] != self.name)
                .collect();
            (maps, namespaces)
        };
        let kept = others(&server);
        server.kill();

        let mut kills = 0;
        while kills < 20 {
            self.create(&store);
            let mut server = Server::start(&store, &[]);
            let address = server.address.clone();
            let path = self.path();
            // The answer follows after the end, or never.
            let deletion = std::thread::spawn(move || {
                let _ = Connection::new(&address).unwrap().send("DELETE", &path, "");
            });
            let mut left = self.copies;
            loop {
                let target = left - random.usize(1..=left / 10 + 1);
                let exists = |left: u64| left > target as u64;
                while remaining(&server, self.objects).is_some_and(exists) {}
                server.kill();
                left = self.left(&store);
                kills += usize::from(left > 0);
                server = Server::start(&store, &[]);
                assert_eq!(others(&server), kept);
                if left == 0 || kills >= 20 {
                    break;
                }
            }
            deletion.join().unwrap();
            while remaining(&server, self.objects).is_some_and(|left| left > 0) {
                std::thread::sleep(Duration::from_millis(5));
            }
            while Connection::new(&server.address)
                .unwrap()
                .send("GET", &self.path(), "")
                .unwrap()
                .0
                != 404
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(others(&server), kept);
            server.kill();
            assert_eq!(self.left(&store), 0);
        }
    }
}

/// The number of objects of a collection; `None` if it is not served.
fn remaining(server: &Server, collection: &str) -> Option<u64> {
    let path = format!("{collection}?limit=1");
    let (status, list) = Connection::new(&server.address)
        .unwrap()
        .send("GET", &path, "")
        .unwrap();
    let first = list["items"].as_array()?.len() as u64;
    (status == 200).then(|| {
        first
            + list["metadata"]["remainingItemCount"]
                .as_u64()
                .unwrap_or_default()
    })
}

/// Opens the file of a server that ended.
fn opened<T>(store: &Path, with: impl AsyncFnOnce(&File) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let file = File::open(store, HistoryLimits::default()).unwrap();
    runtime.block_on(async {
        let result = with(&file).await;
        file.close().await.unwrap();
        result
    })
}

#[test]
fn a_definition_ends_in_spite_of_twenty_kills() {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
    let container = Container {
        collection: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        name: "carts.shop.example.com",
        manifest: json!({"metadata": {"name": "carts.shop.example.com"}, "spec": {"group": "shop.example.com",
            "scope": "Namespaced", "names": {"plural": "carts", "kind": "Cart"}, "versions": versions}}),
        objects: "/apis/shop.example.com/v1/namespaces/default/carts",
        object: json!({"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "a"}}),
        key: Key::new("shop.example.com", "carts", Some("default"), "a").unwrap(),
        copies: 12_000,
    };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    container.ends_in_spite_of_twenty_kills(seed);
}

#[test]
fn a_namespace_ends_in_spite_of_twenty_kills() {
    let container = Container {
        collection: "/api/v1/namespaces",
        name: "team",
        manifest: json!({"metadata": {"name": "team"}}),
        objects: "/api/v1/namespaces/team/configmaps",
        object: json!({"metadata": {"name": "a"}}),
        key: Key::new("", "configmaps", Some("team"), "a").unwrap(),
        copies: 2_000,
    };
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    container.ends_in_spite_of_twenty_kills(seed);
}
