//! Requests for tokens with the answers of kube-apiserver (`comparison/oracle/server/cmd/tokens/requests.py`).

use std::process::Command;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use fieldmanager_access::tokens::{Claims, Keys, TokenIssuer, TokenRequest};
use fieldmanager_managedfields::{Status, Time};
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

const NOW: i64 = 1_800_000_000;

fn recorded() -> Json {
    serde_json::from_str(include_str!("data/token-requests.json")).unwrap()
}

fn value(json: &Json) -> Value {
    Value::from_json(&json.to_string()).unwrap()
}

fn time(seconds: i64) -> Time {
    Time::from_unix_seconds(seconds).unwrap()
}

/// What a server does: it finds the objects, and answers 404 for those that are missing.
fn answer(issuer: &TokenIssuer, objects: &Json, body: &Value) -> Result<Value, Status> {
    let find = |resource: &str, name: &str| objects.get(format!("{resource}/{name}")).map(value);
    TokenRequest::check_name(body, "robot")?;
    let account = find("serviceaccounts", "robot").unwrap();
    let request = TokenRequest::new(body, &account, issuer)?;
    let mut bound = None;
    if let Some(lookup) = request.bound()? {
        let missing =
            || Status::not_found(format!("{} \"{}\" not found", lookup.resource, lookup.name));
        bound = Some(find(lookup.resource, lookup.name).ok_or_else(missing)?);
    }
    let node_name = bound
        .as_ref()
        .and_then(|bound| bound.get("spec")?.get("nodeName")?.as_str());
    let node = node_name.and_then(|name| find("nodes", name));
    let grant = issuer.grant(&request, bound.as_ref(), node.as_ref(), time(NOW), "the-id")?;
    assert!(grant.warnings.is_empty());
    Ok(grant.answer)
}

fn payload(token: &str) -> Json {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// As the recording has answers: claims instead of the token, and times after the request.
fn relative(answer: &Value) -> Json {
    let mut answer: Json = serde_json::from_str(&answer.to_json()).unwrap();
    let since = |text: &Json| {
        text.as_str()
            .unwrap()
            .parse::<Time>()
            .unwrap()
            .unix_seconds()
            - NOW
    };
    answer["metadata"]["creationTimestamp"] =
        since(&answer["metadata"]["creationTimestamp"]).into();
    let status = answer["status"].as_object_mut().unwrap();
    status["expirationTimestamp"] = since(&status["expirationTimestamp"]).into();
    let token = status.remove("token").unwrap();
    let mut claims = payload(token.as_str().unwrap());
    assert_eq!(
        claims.as_object_mut().unwrap().remove("jti").unwrap(),
        "the-id"
    );
    for name in ["exp", "iat", "nbf"] {
        claims[name] = (claims[name].as_i64().unwrap() - NOW).into();
    }
    if let Some(date) = claims["kubernetes.io"].get_mut("warnafter") {
        *date = (date.as_i64().unwrap() - NOW).into();
    }
    status.insert("claims".to_owned(), claims);
    answer
}

#[test]
fn requests_are_answered_as_by_kube_apiserver() {
    let recorded = recorded();
    let issuer = TokenIssuer::new("https://test", Keys::generate().unwrap().0);
    let requests = recorded["requests"].as_array().unwrap();
    assert!(requests.len() > 50);
    let mut differences = Vec::new();
    for request in requests {
        let mut expected = request["answer"].clone();
        // Decoding checks the namespace, and drops empty strings.
        if expected["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("the namespace of"))
        {
            continue;
        }
        let mut body = request["body"].clone();
        if body["spec"]["boundObjectRef"]["apiVersion"] == "" {
            body["spec"]["boundObjectRef"]
                .as_object_mut()
                .unwrap()
                .remove("apiVersion");
        }

        let found = match answer(&issuer, &recorded["objects"], &value(&body)) {
            Ok(answer) => {
                // The owners of fields are computed when the object is created.
                expected["metadata"]
                    .as_object_mut()
                    .unwrap()
                    .remove("managedFields");
                relative(&answer)
            }
            Err(status) => {
                let mut found = serde_json::to_value(&status).unwrap();
                // The server makes the details of an object that does not exist.
                if status.code == 404 {
                    found["details"] = expected["details"].clone();
                }
                found
            }
        };
        if found != expected {
            differences.push(format!("{body}\n  here  {found}\n  there {expected}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn long_lives_are_shortened_with_a_warning() {
    let mut issuer = TokenIssuer::new("https://test", Keys::generate().unwrap().0);
    issuer.max_seconds = Some(1000);
    let account =
        value(&json!({"metadata": {"name": "robot", "namespace": "default", "uid": "u"}}));
    let body = value(&json!({}));
    let request = TokenRequest::new(&body, &account, &issuer).unwrap();
    let grant = issuer.grant(&request, None, None, time(NOW), "id").unwrap();
    assert_eq!(
        grant.warnings,
        ["requested expiration of 3600 seconds shortened to 1000 seconds"]
    );
    assert_eq!(relative_seconds(&grant.answer), (1000, 1000));
    // A grant with a token does not show it.
    assert!(!format!("{grant:?}").contains("eyJ"));
}

fn relative_seconds(answer: &Value) -> (i64, i64) {
    let answer: Json = serde_json::from_str(&answer.to_json()).unwrap();
    let expiration: Time = answer["status"]["expirationTimestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let claims = payload(answer["status"]["token"].as_str().unwrap());
    (
        expiration.unix_seconds() - NOW,
        claims["exp"].as_i64().unwrap() - NOW,
    )
}

#[test]
fn a_token_of_kube_apiserver_is_read_with_its_key() {
    let recorded = recorded();
    let server = &recorded["server"];
    let text = |name: &str| server[name].as_str().unwrap();
    let issuer = TokenIssuer::new(
        "https://test",
        Keys::from_pem(None, &[text("public")]).unwrap(),
    );
    let now = time(server["now"].as_i64().unwrap());
    let claims = issuer.verify(text("token"), now, None).unwrap().unwrap();
    let objects: Vec<String> = claims
        .lookups()
        .map(|lookup| {
            let key = format!("{}/{}", lookup.resource, lookup.name);
            lookup
                .check(Some(&value(&recorded["objects"][&key])), now)
                .unwrap();
            key
        })
        .collect();
    assert_eq!(objects, ["serviceaccounts/robot", "pods/web"]);

    let user = claims.user();
    let mut review = server["review"].clone();
    let extra = review["user"]["extra"].clone();
    let shown =
        json!({"username": user.name, "uid": user.uid, "groups": user.groups, "extra": extra});
    assert_eq!(review["user"].take(), shown);
    assert_eq!(serde_json::to_value(&user.extra).unwrap(), extra);
    assert_eq!(
        review["audiences"],
        json!(claims.audiences_among(issuer.audiences()))
    );

    assert_eq!(issuer.key_set(), text("keySet"));
    let configuration: Json = serde_json::from_str(text("configuration")).unwrap();
    let uri = configuration["jwks_uri"].as_str().unwrap();
    assert_eq!(issuer.configuration(uri).unwrap(), text("configuration"));
}

/// Needs a kube-apiserver of `requests.py`: `KUBE_APISERVER="URL TOKEN SA_KEY"`.
#[test]
fn kube_apiserver_accepts_own_tokens() {
    let Ok(server) = std::env::var("KUBE_APISERVER") else {
        return;
    };
    let [url, token, key] = server.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let send = |path: &str, body: Option<Json>| -> Json {
        let mut command = Command::new("curl");
        command.args([
            "-sk",
            "--noproxy",
            "*",
            "-H",
            "Content-Type: application/json",
            "-H",
        ]);
        command.arg(format!("Authorization: Bearer {token}"));
        if let Some(body) = body {
            command.arg("-d").arg(body.to_string());
        }
        serde_json::from_slice(&command.arg(format!("{url}{path}")).output().unwrap().stdout)
            .unwrap()
    };
    let account = send("/api/v1/namespaces/default/serviceaccounts/robot", None);
    let pod = send("/api/v1/namespaces/default/pods/web", None);
    let node = send("/api/v1/nodes/worker", None);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = time(now.as_secs().try_into().unwrap());
    let keys = Keys::from_pem(Some(&std::fs::read_to_string(key).unwrap()), &[]).unwrap();
    let issuer = TokenIssuer::new("https://test", keys);

    let body = value(
        &json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web"}}}),
    );
    let account = value(&account);
    let request = TokenRequest::new(&body, &account, &issuer).unwrap();
    let grant = issuer
        .grant(
            &request,
            Some(&value(&pod)),
            Some(&value(&node)),
            now,
            "own-id",
        )
        .unwrap();
    let token = grant
        .answer
        .get("status")
        .unwrap()
        .get("token")
        .unwrap()
        .as_str()
        .unwrap();
    let claims: Claims = serde_json::from_value(payload(token)).unwrap();
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let found = send("/apis/authentication.k8s.io/v1/tokenreviews", Some(review));
    let user = claims.user();
    let user =
        json!({"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra});
    assert_eq!(
        found["status"],
        json!({"authenticated": true, "user": user, "audiences": ["https://test"]})
    );
}
