//! The page below `/ui`, without a browser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use crate::common::{Answer, CONFIG_MAPS, CRDS, Client, SHOPS, config_map, shops};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fieldmanager_apiserver::log::RecordedHistory;
use fieldmanager_apiserver::{ApiServer, Builder, Collection, Limits, Random, StaticTokens};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

const HISTORY: &str = "/ui/history/shops.example.com/default/a";
const EXPORT: &str = "/ui/export/shops.example.com/default/a";

fn builder() -> Builder {
    let random = Random::seeded(7, "2026-01-31T12:00:00Z".parse().unwrap());
    ApiServer::builder()
        .source(random)
        .collection(Collection::Stepped)
}

async fn client(builder: Builder) -> Client {
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    client.post(CRDS, &shops()).await.expect(201);
    client
}

fn sized(size: i32) -> Json {
    json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"size": size}})
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.bytes.to_vec()).unwrap()
}

async fn page(client: &Client, path: &str) -> String {
    let answer = client.get(path).await;
    assert_eq!(answer.code, 200, "{path}: {}", text(&answer));
    text(&answer)
}

/// Two managers that take a field from each other, three times, after one was refused.
async fn fight(client: &Client) {
    let path = format!("{SHOPS}/a");
    client.apply(&path, "alice", &sized(1)).await.expect(201);
    client.apply(&path, "bob", &sized(2)).await.expect(409);
    for (manager, size) in [("bob", 2), ("alice", 1), ("bob", 3)] {
        client
            .apply(&format!("{path}?force=true"), manager, &sized(size))
            .await
            .expect(200);
    }
}

/// The visible text of a page.
fn visible(page: &str) -> String {
    let body = page.split("<body>").nth(1).unwrap_or(page);
    let mut out = String::new();
    let mut is_tag = false;
    for c in body.split("<script>").next().unwrap().chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => out.push(c),
            _ => {}
        }
    }
    out
}

#[tokio::test]
async fn kinds_namespaces_and_objects_are_listed_with_their_managers() {
    let client = client(builder()).await;
    fight(&client).await;
    let overview = page(&client, "/ui").await;
    assert!(
        overview.contains("<a href=\"/ui/kinds/shops.example.com\">Shop</a>"),
        "{overview}"
    );
    assert!(
        overview.contains("href=\"/ui/kinds/-?namespace=default\""),
        "{overview}"
    );
    assert!(
        visible(&overview).contains("bob applied and took .spec.size; alice lost .spec.size."),
        "{overview}"
    );
    for path in [
        "/ui/kinds/shops.example.com",
        "/ui/kinds/-?namespace=default",
    ] {
        let list = page(&client, path).await;
        assert!(
            list.contains("href=\"/ui/objects/shops.example.com/default/a\""),
            "{list}"
        );
        assert!(list.contains(">bob</bdi>"), "{list}");
    }
    assert!(
        !page(&client, "/ui/kinds/-?namespace=kube-system")
            .await
            .contains("/default/a")
    );
}

#[tokio::test]
async fn a_list_continues_after_500_objects() {
    let client = client(builder()).await;
    for number in 0..501 {
        client.config_map(&format!("a{number:03}")).await;
    }
    for path in [
        "/ui/kinds/configmaps?namespace=default",
        "/ui/kinds/-?namespace=default",
    ] {
        let list = page(&client, path).await;
        assert!(
            list.contains("default/a000") && list.matches("/ui/objects/").count() == 500,
            "{path}"
        );
        let more = list
            .split("href=\"")
            .find(|link| link.contains("after="))
            .unwrap();
        let more = more.split('"').next().unwrap().replace("&amp;", "&");
        assert!(
            page(&client, &more).await.contains("default/a500"),
            "{more}"
        );
    }
}

#[tokio::test]
async fn an_object_has_its_owners_at_every_line() {
    let client = client(builder()).await;
    fight(&client).await;
    let object = page(&client, "/ui/objects/shops.example.com/default/a").await;
    let line = object
        .split("<tr")
        .find(|row| row.contains("title=\".spec.size\""))
        .unwrap();
    assert!(
        line.contains(">bob</bdi>") && line.contains(" 3") && !line.contains("alice"),
        "{line}"
    );
    assert!(
        object.contains("data-only"),
        "there is a filter for each manager"
    );
    // The default has no owner.
    let line = object
        .split("<tr")
        .find(|row| row.contains("title=\".spec.color\""))
        .unwrap();
    assert!(line.contains("unowned"), "{line}");
}

#[tokio::test]
async fn a_history_has_each_write_and_each_refusal() {
    let client = client(builder()).await;
    fight(&client).await;
    let history = page(&client, HISTORY).await;
    let shown = visible(&history);
    assert!(
        shown.contains("5 of 5") && shown.contains("Disputed fields"),
        "{shown}"
    );
    assert!(
        shown.contains("took it 3 times, and were refused once."),
        "{shown}"
    );
    assert!(
        shown.contains("alice applied and gained .spec.size."),
        "{shown}"
    );
    assert!(
        shown.contains("bob: apply was refused with 409 Conflict: Apply failed with 1 conflict"),
        "{shown}"
    );
    assert_eq!(
        shown
            .matches("bob applied and took .spec.size; alice lost .spec.size.")
            .count(),
        3
    );
    // The part that the slider changes, at a refusal: the object as it was, with the disputed line.
    let numbers = history
        .split("data-numbers=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let second = numbers.split(' ').nth(1).unwrap();
    let state = page(&client, &format!("{HISTORY}?at={second}&part=state")).await;
    let line = state
        .split("<tr")
        .find(|row| row.contains("title=\".spec.size\""))
        .unwrap();
    assert!(
        line.contains("refused") && line.contains("alice") && !line.contains("bob"),
        "{line}"
    );
    assert!(
        !state.contains("<html") && state.contains("conflict with &quot;alice&quot;"),
        "{state}"
    );
    let first = numbers.split(' ').next().unwrap();
    let state = page(&client, &format!("{HISTORY}?at={first}&part=state")).await;
    let line = state
        .split("<tr")
        .find(|row| row.contains("title=\".spec.size\""))
        .unwrap();
    assert!(line.contains("changed") && line.contains(" 1"), "{line}");
}

#[tokio::test]
async fn a_history_has_the_faults_that_were_injected() {
    let client = client(builder().test_api(true)).await;
    fight(&client).await;
    let fault = json!({"fault": "unavailable", "verb": "apply"});
    let fault = client.post("/test/faults", &fault).await;
    assert_eq!(fault.code, 201, "{}", text(&fault));
    client
        .apply(&format!("{SHOPS}/a"), "bob", &sized(3))
        .await
        .expect(503);
    let shown = visible(&page(&client, HISTORY).await);
    assert!(
        shown.contains("bob: apply was refused with 503") && shown.contains("Fault: unavailable"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_history_has_the_creations_that_were_refused() {
    let client = client(builder()).await;
    fight(&client).await;
    let again = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}});
    assert_eq!(client.post(SHOPS, &again).await.code, 409);
    let shown = visible(&page(&client, HISTORY).await);
    assert!(
        shown.contains("create was refused with 409 AlreadyExists"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_deleted_object_keeps_its_history() {
    let client = client(builder()).await;
    fight(&client).await;
    assert_eq!(client.delete(&format!("{SHOPS}/a")).await.code, 200);
    let shown = visible(&page(&client, HISTORY).await);
    assert!(shown.contains("deleted; bob lost .spec.size"), "{shown}");
    assert!(
        shown.contains("The object was removed. This is what it was:"),
        "{shown}"
    );
    assert!(
        page(&client, "/ui/objects/shops.example.com/default/a")
            .await
            .contains("does not exist any more")
    );
    assert_eq!(
        client
            .get("/ui/objects/shops.example.com/default/b")
            .await
            .code,
        404
    );
    assert_eq!(
        client
            .get("/ui/history/shops.example.com/default/b")
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn errors_are_pages() {
    let client = client(builder()).await;
    for (path, code, message) in [
        ("/ui/none", 404, "404 page not found"),
        (
            "/ui/objects/configmaps/default/none",
            404,
            "ConfigMap default/none does not exist",
        ),
        ("/ui/kinds/-?after=x", 400, "`after` is not a key"),
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.code, &answer.headers["content-type"]),
            (code, &"text/html; charset=utf-8".parse().unwrap())
        );
        assert!(!answer.headers.contains_key("etag"), "{path}");
        assert!(
            visible(&text(&answer)).contains(message),
            "{path}: {}",
            text(&answer)
        );
    }
}

#[tokio::test]
async fn a_search_finds_all_owners_that_a_field_had() {
    let client = client(builder()).await;
    fight(&client).await;
    let found = visible(&page(&client, "/ui/owners?path=.spec&kind=shop").await);
    assert_eq!(found.matches(", taken by bob").count(), 2, "{found}");
    assert_eq!(found.matches(", taken by alice").count(), 1, "{found}");
    assert_eq!(found.matches("now").count(), 1, "{found}");
    for path in [
        ".spec.siz",
        ".data",
        ".spec.size&kind=ConfigMap",
        ".spec.size&namespace=x",
        ".spec.size&name=b",
    ] {
        let found = page(&client, &format!("/ui/owners?path={path}")).await;
        assert!(found.contains("No manager owned it"), "{path}");
    }
    assert!(
        visible(&page(&client, "/ui/owners?path=.spec.size&kind=shop&name=a").await)
            .contains("alice")
    );
}

/// A format that shows what it is given.
fn shown(history: &RecordedHistory) -> Result<String, String> {
    let sentences = history.events.iter().map(|event| &*event.sentence);
    Ok(std::iter::once(&*history.title)
        .chain(sentences)
        .map(|line| format!("{line}\n"))
        .collect())
}

#[tokio::test]
async fn a_history_is_a_file_in_the_format_of_the_program() {
    let client = client(builder().export(shown)).await;
    fight(&client).await;
    client.delete(&format!("{SHOPS}/a")).await;
    let answer = client.get(EXPORT).await;
    assert_eq!(
        answer.headers["content-disposition"],
        "attachment; filename=\"shops-a.yaml\""
    );
    let text = text(&answer);
    assert!(
        text.starts_with("Shop default/a\nalice applied and gained"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(page(&client, HISTORY).await.contains(EXPORT));
    assert_eq!(
        client.get("/ui/export/configmaps/default/none").await.code,
        404
    );
}

#[tokio::test]
async fn without_a_format_the_page_offers_no_file() {
    let client = client(builder()).await;
    fight(&client).await;
    assert!(!page(&client, HISTORY).await.contains(EXPORT));
    assert_eq!(client.get(EXPORT).await.code, 404);
}

#[tokio::test]
async fn histories_are_bounded() {
    let mut limits = Limits::default();
    limits.revisions = 3;
    let client = client(builder().limits(limits)).await;
    fight(&client).await;
    let shown = visible(&page(&client, HISTORY).await);
    assert!(
        shown.contains("3 of 3") && shown.contains("2 older events are no longer kept."),
        "{shown}"
    );
    let mut limits = Limits::default();
    limits.revisions_size = 32 << 10;
    let client = self::client(builder().limits(limits)).await;
    for number in 0..100 {
        client.config_map(&format!("a{number}")).await;
    }
    let first = page(&client, "/ui/history/configmaps/default/a0").await;
    assert!(first.contains("keeps no history"), "{first}");
    assert!(visible(&page(&client, "/ui/history/configmaps/default/a99").await).contains("1 of 1"));
}

#[tokio::test]
async fn a_restore_begins_new_histories() {
    let client = client(builder()).await;
    let before = client.server.snapshot().await.unwrap();
    fight(&client).await;
    client.server.restore(&before).await.unwrap();
    assert_eq!(client.get(HISTORY).await.code, 404);
    fight(&client).await;
    assert!(visible(&page(&client, HISTORY).await).contains("5 of 5"));
}

#[tokio::test]
async fn a_server_can_be_without_the_page() {
    let client = client(builder().page(false)).await;
    for path in ["/ui", "/ui/owners", HISTORY] {
        assert_eq!(client.get(path).await.code, 404, "{path}");
    }
}

#[tokio::test]
async fn styles_and_scripts_are_allowed_by_their_hashes_alone() {
    let client = client(builder()).await;
    fight(&client).await;
    for path in [
        "/ui",
        "/ui/objects/shops.example.com/default/a",
        HISTORY,
        "/ui/owners?path=.spec",
        "/ui/none",
    ] {
        let answer = client.get(path).await;
        let policy = answer.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(
            policy.starts_with("default-src 'none';") && !policy.contains("unsafe"),
            "{policy}"
        );
        let page = text(&answer);
        let mut parts = 0;
        for tag in ["style", "script"] {
            for part in page.split(&format!("<{tag}>")).skip(1) {
                let hash = STANDARD.encode(Sha256::digest(
                    part.split(&format!("</{tag}>")).next().unwrap(),
                ));
                assert!(
                    policy.contains(&format!("'sha256-{hash}'")),
                    "{path}: {tag}"
                );
                parts += 1;
            }
        }
        assert!(
            parts >= 3 && !page.contains(" style=\"") && !page.contains("src=\""),
            "{path}"
        );
    }
}

#[tokio::test]
async fn hostile_strings_stay_text() {
    let client = client(builder()).await;
    let hostile = "<img src=x onerror=hacked()>\"'&";
    let mut map = config_map("a");
    map["metadata"]["annotations"] =
        json!({"note": format!("{hostile}\u{202e}\n</td></tr></table>")});
    let manager = "%3Cscript%3Ehacked()%3C%2Fscript%3E\u{5d0}\u{5d1}";
    let path = format!(
        "{CONFIG_MAPS}?fieldManager={}",
        manager
            .replace('\u{5d0}', "%D7%90")
            .replace('\u{5d1}', "%D7%91")
    );
    client.post(&path, &map).await.expect(201);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": hostile}});
    client
        .post("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role)
        .await
        .expect(201);
    let encoded = "%3Cimg%20src%3Dx%20onerror%3Dhacked%28%29%3E%22%27%26";
    let role = format!("clusterroles.rbac.authorization.k8s.io/-/{encoded}");
    for path in [
        "/ui".to_owned(),
        "/ui/kinds/clusterroles.rbac.authorization.k8s.io".to_owned(),
        "/ui/objects/configmaps/default/a".to_owned(),
        "/ui/history/configmaps/default/a".to_owned(),
        format!("/ui/objects/{role}"),
        format!("/ui/history/{role}"),
        format!("/ui/owners?path={encoded}"),
        "/ui/owners?path=.metadata".to_owned(),
    ] {
        let page = page(&client, &path).await;
        assert!(
            !page.contains("<img")
                && !page.contains("<script>hacked")
                && !page.contains('\u{202e}'),
            "{path}"
        );
    }
    for view in ["objects", "history"] {
        assert_eq!(
            client
                .get(&format!("/ui/{view}/configmaps/%3Cscript%3E/a"))
                .await
                .code,
            404
        );
    }
}

#[tokio::test]
async fn unchanged_pages_are_not_sent_again() {
    let client = client(builder()).await;
    let tag = client.get("/ui").await.headers["etag"]
        .to_str()
        .unwrap()
        .to_owned();
    let again = client
        .send("GET", "/ui", &[("if-none-match", &tag)], "")
        .await;
    assert_eq!((again.code, again.bytes.len()), (304, 0));
    client.config_map("a").await;
    assert_eq!(
        client
            .send("GET", "/ui", &[("if-none-match", &tag)], "")
            .await
            .code,
        200
    );
    assert_eq!(client.send("POST", "/ui", &[], "").await.code, 405);
}

/// A server with the token `secret`.
async fn guarded() -> Client {
    let tokens = StaticTokens::from_csv("secret,alice").unwrap();
    Client {
        server: builder().tokens(tokens).build().await.unwrap(),
    }
}

/// Opens a link, and returns the code and the cookie.
async fn open(client: &Client, method: &str, link: &str) -> (u16, Option<String>) {
    let answer = client.send(method, link, &[], "").await;
    let cookie = answer
        .headers
        .get("set-cookie")
        .map(|cookie| cookie.to_str().unwrap().to_owned());
    (answer.code, cookie)
}

#[tokio::test]
async fn a_link_lets_a_browser_in_once_with_a_cookie() {
    let client = guarded().await;
    let refused = client.get("/ui").await;
    assert_eq!(refused.code, 401);
    assert_eq!(refused.headers["content-type"], "text/plain; charset=utf-8");
    assert!(
        text(&refused).contains("POST to /ui/link"),
        "{}",
        text(&refused)
    );
    for header in ["Basic bWU6c2VjcmV0", "Bearer wrong", "Bearer ", "secret"] {
        assert_eq!(
            client
                .send("GET", "/ui", &[("authorization", header)], "")
                .await
                .code,
            401,
            "{header}"
        );
    }

    let link = client.server.page_path().unwrap();
    // A preview does not use the link up.
    assert_eq!(open(&client, "HEAD", &link).await, (401, None));
    assert_eq!(open(&client, "GET", "/ui?code=").await, (401, None));
    assert_eq!(open(&client, "GET", "/ui?code=wrong").await, (401, None));
    let (code, cookie) = open(&client, "GET", &link).await;
    assert_eq!(
        (code, open(&client, "GET", &link).await),
        (303, (401, None))
    );
    let cookie = cookie.unwrap();
    let (pair, rest) = cookie.split_once("; ").unwrap();
    assert_eq!(rest, "Path=/ui; HttpOnly; SameSite=Strict");
    assert!(
        pair.len() > 50
            && !cookie.contains("secret")
            && !cookie.contains(link.split_once('=').unwrap().1)
    );

    // The cookie reads the page, and nothing else.
    let with = async |method: &str, path: &str, cookie: &str| {
        client
            .send(method, path, &[("cookie", cookie)], "")
            .await
            .code
    };
    let pairs = format!("a=b; {pair}; c=d");
    for (method, path, code) in [
        ("GET", "/ui", 200),
        ("HEAD", "/ui/owners", 200),
        ("POST", "/ui/link", 401),
        ("GET", CONFIG_MAPS, 401),
        ("GET", "/metrics", 401),
        ("GET", "/", 401),
    ] {
        assert_eq!(with(method, path, &pairs).await, code, "{method} {path}");
    }
    assert_eq!(with("GET", "/ui", &pair[..pair.len() - 1]).await, 401);
    assert_eq!(with("GET", "/ui", &format!("{pair}x")).await, 401);
}

#[tokio::test]
async fn a_client_with_a_token_gets_new_links() {
    let client = guarded().await;
    let new = async || {
        let answer = client
            .send(
                "POST",
                "/ui/link",
                &[("authorization", "bearer secret")],
                "",
            )
            .await;
        assert_eq!(answer.code, 201);
        answer.json()["link"].as_str().unwrap().to_owned()
    };
    let (old, link) = (new().await, new().await);
    assert_eq!(open(&client, "GET", &old).await, (401, None));
    assert_eq!(open(&client, "GET", &link).await.0, 303);
    assert_eq!(open(&client, "POST", "/ui/link").await.0, 401);

    // A fork has browsers of its own, and a server without tokens lets all in.
    let link = client.server.page_path().unwrap();
    let fork = Client {
        server: client.server.fork().await.unwrap(),
    };
    assert_eq!(open(&fork, "GET", &link).await.0, 401);
    let client = Client {
        server: builder().build().await.unwrap(),
    };
    assert_eq!(client.server.page_path().unwrap(), "/ui");
    assert_eq!(open(&client, "GET", "/ui?code=any").await, (200, None));
}
