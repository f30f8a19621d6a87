//! Conversion webhooks: what they are sent, and which answers are refused.

use fieldmanager_admission::conversion::{ConversionWebhook, WebhookConverter};
use fieldmanager_admission::webhooks::{ClientConfig, WebhookAddress};
use fieldmanager_value::{Map, Value};

use super::{Replay, at, block_on, list, recordings, text, uids};

fn webhook(versions: &[Value]) -> ConversionWebhook {
    let versions = versions
        .iter()
        .map(|version| version.as_str().unwrap().to_owned());
    ConversionWebhook {
        client: ClientConfig {
            target: WebhookAddress::Url("https://127.0.0.1/convert".to_owned()),
            ca_bundle: Vec::new(),
        },
        review_versions: versions.collect(),
    }
}

fn without(object: &Value, name: &str) -> Value {
    let mut fields = object.as_map().unwrap().clone();
    let mut metadata = at(object, "metadata").as_map().unwrap().clone();
    metadata.remove(name);
    fields.insert("metadata", Value::Map(metadata));
    Value::Map(fields)
}

/// Runs a case. Gives what differs.
fn run(line: &Value) -> Vec<String> {
    let calls = list(line, "calls");
    let message = text(line, "body.message");
    let failure = message.split_once(" failed: ").map_or("", |(_, text)| text);
    let replay = Replay::new(calls.clone(), failure);
    let converter = WebhookConverter::new(replay.clone(), uids());
    let webhook = webhook(&list(line, "versions"));
    let mut differences = Vec::new();
    for call in &calls {
        let sent = at(call, "sent.request");
        let objects = list(sent, "objects");
        let converted = converter.convert(&webhook, &objects[0], text(sent, "desiredAPIVersion"));
        let converted = block_on(converted);
        let mut recorded = message.to_owned();
        for (old, new) in replay.uids.lock().unwrap().iter() {
            recorded = recorded.replace(old, new);
        }
        match converted {
            // The storage has the revision of the object, and the answer has the owners of its fields.
            Ok(object) if line.get("code").unwrap().as_i64() == Some(200) => {
                let recorded = without(
                    &without(at(line, "body"), "resourceVersion"),
                    "managedFields",
                );
                if text(line, "method") == "GET" && object != recorded {
                    differences.push(format!(
                        "gave     {}\nrecorded {}",
                        object.to_json(),
                        recorded.to_json()
                    ));
                }
            }
            Ok(_) if calls.len() > 1 => {}
            Ok(object) => {
                differences.push(format!("gave {}, recorded {recorded}", object.to_json()))
            }
            // Owners are left out of the recorded objects.
            Err(error) if !recorded.ends_with(&error) && !error.contains("is missing in") => {
                differences.push(format!("failed:  {error}\nrecorded {recorded}"));
            }
            Err(_) => {}
        }
    }
    differences.append(&mut replay.differences.lock().unwrap());
    differences
}

#[test]
fn answers_are_checked_as_in_kube_apiserver() {
    let (mut cases, mut failed) = (0, Vec::new());
    for line in recordings() {
        let case = text(&line, "case");
        if case.starts_with("convert-") && !at(&line, "body").is_null() {
            cases += 1;
            let differences = run(&line);
            if !differences.is_empty() {
                failed.push(format!("{case}:\n{}", differences.join("\n")));
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {cases}:\n{}",
        failed.len(),
        failed.join("\n\n")
    );
    assert!(cases >= 40, "{cases}");
}

fn thing(name: &str, version: &str) -> Value {
    let metadata = Map::from_iter([("name", name), ("resourceVersion", "7")]);
    Value::Map(Map::from_iter([
        ("apiVersion", Value::from(format!("example.com/{version}"))),
        ("kind", "Thing".into()),
        ("metadata", Value::Map(metadata)),
    ]))
}

/// The answer `body` to any review.
fn replying(body: &str) -> WebhookConverter {
    let call = format!(
        r#"{{"url":"?timeout=30s","sent":{{"request":{{"uid":"$UID"}}}},"answer":{{"code":200,"type":"application/json","body":{}}}}}"#,
        Value::from(body).to_json()
    );
    WebhookConverter::new(
        Replay::new(vec![Value::from_json(&call).unwrap()], ""),
        uids(),
    )
}

#[test]
fn objects_without_fields_and_unknown_reviews_need_no_call() {
    let empty = Value::from_yaml("{apiVersion: example.com/v1, kind: Thing}").unwrap();
    let known = webhook(&["v1".into()]);
    let converted = block_on(replying("").convert(&known, &empty, "example.com/v2")).unwrap();
    assert_eq!(
        converted.to_json(),
        r#"{"apiVersion":"example.com/v2","kind":"Thing"}"#
    );
    let unknown = webhook(&["v7".into()]);
    let error = block_on(replying("").convert(&unknown, &thing("a", "v1"), "example.com/v2"));
    assert_eq!(
        error.unwrap_err(),
        "no supported conversion review versions"
    );
}

#[test]
fn the_webhook_of_a_definition_is_read() {
    let none = Value::from_yaml("{strategy: None}").unwrap();
    assert_eq!(ConversionWebhook::read(&none), None);
    let conversion = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {caBundle: Cg==, service: {namespace: shop, name: web, path: /c, port: 8443}}}}";
    let read = ConversionWebhook::read(&Value::from_yaml(conversion).unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(read.client.ca_bundle, b"");
    assert_eq!(
        read.client.url(std::time::Duration::from_secs(30)),
        "https://web.shop.svc:8443/c?timeout=30s"
    );
}
