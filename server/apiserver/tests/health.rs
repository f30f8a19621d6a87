//! Checks of health, and how long a client waits for an answer.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::Client;

#[tokio::test]
async fn health_is_answered_with_its_checks() {
    let client = Client::new().await;
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(client.get(path).await.bytes, "ok");
        let lines = async |query: &str| {
            let answer = client.get(&format!("{path}?{query}")).await;
            String::from_utf8(answer.bytes.to_vec()).unwrap()
        };
        let verbose = lines("verbose").await;
        assert!(verbose.starts_with("[+]ping ok\n[+]log ok\n"), "{path}");
        assert!(verbose.contains("\n[+]poststarthook/rbac/bootstrap-roles ok\n"));
        let without = lines("verbose&exclude=etcd&exclude=moon").await;
        assert!(without.contains("\n[+]etcd excluded: ok\n"));
        let end = format!("no matches for \"moon\"\n{} check passed\n", &path[1..]);
        assert!(without.ends_with(&end), "{without}");
        let one = client.get(&format!("{path}/etcd")).await;
        assert_eq!(one.bytes, "ok");
    }
    let refused = client.get("/version?timeout=soon").await.expect(400);
    let fault = "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
    assert_eq!(refused["message"], fault);
    assert_eq!(client.get("/version?timeout=3m").await.code, 200);
    assert_eq!(client.get("/livez/informer-sync").await.code, 404);
    assert_eq!(client.get("/readyz/informer-sync").await.code, 200);
    assert_eq!(client.get("/version").await.expect(200)["major"], "1");
}
