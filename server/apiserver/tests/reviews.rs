//! Reviews of tokens, users, access and rules, with the answers of kube-apiserver.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::BTreeMap;

use fieldmanager_apiserver::{
    ApiServer, Authorization, Collection, Keys, StaticTokens, TokenIssuer,
};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

use crate::common::Client;

/// What the tokens are in whose places requests have `@NAME`.
type Tokens = BTreeMap<String, String>;

fn recorded() -> Json {
    let bytes = &include_bytes!("data/reviews.json.gz")[..];
    serde_json::from_reader(flate2::read::GzDecoder::new(bytes)).unwrap()
}

/// A value with each string changed.
fn map_strings(value: &Json, change: &impl Fn(&str) -> String) -> Json {
    match value {
        Json::String(text) => change(text).into(),
        Json::Array(items) => items.iter().map(|item| map_strings(item, change)).collect(),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, item)| (name.clone(), map_strings(item, change)))
            .collect(),
        other => other.clone(),
    }
}

/// A string with its token, if it begins with the name of one.
fn with_token(text: &str, tokens: &Tokens) -> String {
    let mut named = tokens.iter();
    let found =
        named.find_map(|(name, token)| Some(token.clone() + text.strip_prefix(name.as_str())?));
    found.unwrap_or_else(|| text.to_owned())
}

fn is_time(text: &str) -> bool {
    text.len() == 20 && text.starts_with("20") && text.ends_with('Z') && text.contains('T')
}

/// A string without what differs from server to server: tokens, uids and times.
fn without_chance(text: &str, tokens: &Tokens) -> String {
    let mut out = text.to_owned();
    for (name, token) in tokens {
        out = out.replace(token, name);
    }
    // A message can show an object.
    let quoted = out
        .split('"')
        .map(|part| if is_time(part) { "TIME" } else { part });
    out = quoted.collect::<Vec<_>>().join("\"");
    // The id of a token has a prefix.
    let tail = out.strip_prefix("JTI=").unwrap_or(&out);
    let is_uid = tail.len() == 36 && tail.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uid {
        return out.replace(tail, "UID");
    }
    out
}

/// An answer with its rules sorted: in Go they have the random order of a map.
fn sorted(answer: &Json) -> Json {
    let mut answer = answer.clone();
    for name in ["resourceRules", "nonResourceRules"] {
        let rules = answer.pointer_mut(&format!("/body/status/{name}"));
        if let Some(Json::Array(rules)) = rules {
            rules.sort_by_key(Json::to_string);
        }
    }
    answer
}

/// The recorded objects and tokens, on a server.
async fn server(recorded: &Json, authorization: Authorization) -> (Client, Tokens) {
    let tokens = StaticTokens::from_csv(recorded["tokens"].as_str().unwrap()).unwrap();
    let keys = Keys::generate().unwrap().0;
    let builder = ApiServer::builder()
        .tokens(tokens)
        .token_issuer(TokenIssuer::new("https://test", keys))
        .authorization(authorization)
        // As there, where AlwaysAllow turns anonymous requests off.
        .anonymous(authorization == Authorization::Rbac)
        .collection(Collection::Stepped)
        .page(false);
    let server = builder.build().await.unwrap();
    let robot = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "ci"}});
    let key = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "ci"}});
    let objects = recorded["objects"].as_array().unwrap();
    for object in objects.iter().chain([&robot, &key]) {
        let object = Value::from_json(&object.to_string()).unwrap();
        server.load(&object).await.unwrap();
    }

    let admin = Client {
        server: server.client_as("root", &["system:masters"]),
    };
    let mut made = Tokens::new();
    for (name, spec) in recorded["accountTokens"].as_object().unwrap() {
        let path = "/api/v1/namespaces/ci/serviceaccounts/robot/token";
        let granted = admin.post(path, &json!({"spec": spec})).await.expect(201);
        let token = granted["status"]["token"].as_str().unwrap();
        made.insert(name.clone(), token.to_owned());
    }
    (Client { server }, made)
}

async fn answer(client: &Client, tokens: &Tokens, request: &Json) -> Json {
    let sent = map_strings(request, &|text| with_token(text, tokens));
    let answer = client.send_recorded(&sent).await;
    let warnings = answer.warnings();
    let text = String::from_utf8_lossy(&answer.bytes).into_owned();
    let body = serde_json::from_slice(&answer.bytes).unwrap_or(Json::String(text));
    let body = map_strings(&body, &|text| without_chance(text, tokens));
    json!({"code": answer.code, "body": body, "warnings": warnings})
}

/// Whether answers differ by the deviation `server-old-versions`.
fn is_of_old_version(found: &Json, expected: &Json) -> bool {
    let is = |answer: &Json, part: &str| {
        let message = answer["body"]["message"].as_str();
        answer["code"] == 400 && message.is_some_and(|message| message.contains(part))
    };
    is(found, "is registered for version") && is(expected, "/v1beta1) does not match the expected")
}

/// Sends the requests of a mode of authorization, and compares the answers after a change of those here.
async fn replay(mode: &str, authorization: Authorization, change: impl Fn(&mut Json)) {
    let recorded = recorded();
    let (client, tokens) = server(&recorded, authorization).await;
    let requests = recorded[mode].as_array().unwrap();
    assert!(requests.len() > 300);
    let mut different = Vec::new();
    for request in requests {
        let mut found = answer(&client, &tokens, request).await;
        change(&mut found);
        let expected = sorted(&request["expected"]);
        if sorted(&found) != expected && !is_of_old_version(&found, &expected) {
            different.push(format!("{request}\nhere {found}\n"));
        }
    }
    assert!(
        different.is_empty(),
        "{} of the requests:\n{}",
        different.len(),
        different.join("\n")
    );
}

/// `comparison/forbidden/reviews.py` records the answers.
#[tokio::test]
async fn without_rbac_reviews_get_the_answers_of_kube_apiserver() {
    // The deviation `server-allowed-reason`.
    replay("AlwaysAllow", Authorization::Allow, |found| {
        let reason = "everything is allowed: the server has no authorization";
        if found["code"] == 201 && found["body"]["status"]["reason"] == reason {
            let status = found["body"]["status"].as_object_mut().unwrap();
            status.remove("reason");
        }
    })
    .await;
}

#[tokio::test]
async fn with_rbac_reviews_get_the_answers_of_kube_apiserver() {
    replay("RBAC", Authorization::Rbac, |_| {}).await;
}
