//! Tokens that Go made, with what Go makes of them (`comparison/oracle/server/cmd/tokens vectors`), and tokens for Go.

use std::io::Write;
use std::process::{Command, Stdio};

use fieldmanager_access::User;
use fieldmanager_access::tokens::{Claims, KeyError, Keys, TokenError, TokenIssuer};
use fieldmanager_managedfields::Time;
use fieldmanager_value::Value;
use serde_json::{Value as Json, json};

/// Tokens that Go accepts and this crate does not, each with its reason.
const STRICTER: [&str; 1] = [
    // Kubernetes signs with RS256 only.
    "PS256",
];

fn vectors() -> Json {
    serde_json::from_str(include_str!("data/tokens.json")).unwrap()
}

fn strings(list: &Json) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

fn issuer(vectors: &Json, keys: Keys) -> TokenIssuer {
    let name = vectors["issuer"].as_str().unwrap();
    TokenIssuer::new(name, keys).with(Vec::new(), strings(&vectors["audiences"]))
}

fn now(vectors: &Json) -> Time {
    Time::from_unix_seconds(vectors["now"].as_i64().unwrap()).unwrap()
}

/// The objects of the cluster of the Go program.
fn object(name: &str, now: Time) -> Option<Value> {
    let ago = |seconds: i64| {
        Time::from_unix_seconds(now.unix_seconds() - seconds)
            .unwrap()
            .to_string()
    };
    let mut metadata = json!({"name": name, "uid": format!("uid-{name}")});
    match name {
        "missing" => return None,
        "gone" => metadata["deletionTimestamp"] = ago(120).into(),
        "going" => metadata["deletionTimestamp"] = ago(30).into(),
        _ => {}
    }
    Some(Value::from_json(&json!({"metadata": metadata}).to_string()).unwrap())
}

fn judge(
    issuer: &TokenIssuer,
    token: &str,
    requested: Option<&[String]>,
    now: Time,
) -> Result<Option<Claims>, TokenError> {
    let claims = issuer.verify(token, now, requested)?;
    if let Some(claims) = &claims {
        for lookup in claims.lookups() {
            lookup.check(object(lookup.name, now).as_ref(), now)?;
        }
    }
    Ok(claims)
}

fn as_json(user: &User) -> Json {
    let everybody = |group: &&String| *group != "system:authenticated";
    let groups: Vec<&String> = user.groups.iter().filter(everybody).collect();
    json!({"name": user.name, "uid": user.uid, "groups": groups, "extra": user.extra})
}

#[test]
fn tokens_of_go_are_judged_as_there() {
    let vectors = vectors();
    let mut differences = Vec::new();
    let tokens = vectors["tokens"].as_array().unwrap();
    assert!(tokens.len() > 80, "{}", tokens.len());
    for vector in tokens {
        let name = vector["name"].as_str().unwrap();
        let key = vectors["keys"]
            .as_array()
            .unwrap()
            .iter()
            .find(|key| key["name"] == vector["key"])
            .unwrap();
        let issuer = issuer(
            &vectors,
            Keys::from_pem(None, &[key["public"].as_str().unwrap()]).unwrap(),
        );
        let requested = vector.get("requested").map(strings);
        let token = vector["token"].as_str().unwrap();

        let verdict = &vector["verdict"];
        let found = match judge(&issuer, token, requested.as_deref(), now(&vectors)) {
            Ok(None) => json!({"accepted": false}),
            Err(error) => json!({"accepted": false, "error": error.to_string()}),
            Ok(Some(claims)) => {
                let mut found = as_json(&claims.user());
                found["accepted"] = true.into();
                let target = requested.unwrap_or_else(|| issuer.audiences().to_vec());
                found["audiences"] = claims.audiences_among(&target).into();
                if found["extra"] == json!({}) {
                    found.as_object_mut().unwrap().remove("extra");
                }
                found
            }
        };
        let is_stricter = STRICTER.contains(&name) && found["accepted"] == false;
        let error = verdict["error"].as_str().unwrap_or_default();
        let is_malformed = error.starts_with("json: ") || error.contains("jwt: expected");
        let is_same = if is_malformed {
            found["error"] == TokenError::Claims.to_string()
        } else {
            &found == verdict
        };
        if !is_same && !is_stricter {
            differences.push(format!("{name}: here {found}, in Go {verdict}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn keys_in_all_forms_sign_tokens_and_are_published_as_in_go() {
    let vectors = vectors();
    for key in vectors["keys"].as_array().unwrap() {
        let name = &key["name"];
        let (private, public) = (
            key["private"].as_str().unwrap(),
            key["public"].as_str().unwrap(),
        );
        let of_public = issuer(&vectors, Keys::from_pem(None, &[public]).unwrap());
        assert_eq!(
            of_public.key_set(),
            key["keySet"].as_str().unwrap(),
            "{name}"
        );
        let configuration = of_public.configuration("https://server/openid/v1/jwks");
        assert_eq!(
            configuration.unwrap(),
            key["configuration"].as_str().unwrap(),
            "{name}"
        );
        if private.is_empty() {
            continue;
        }

        let of_private = issuer(&vectors, Keys::from_pem(Some(private), &[]).unwrap());
        assert_eq!(of_private.key_set(), of_public.key_set(), "{name}");
        let given = Keys::from_pem(None, &[private]).unwrap();
        assert_eq!(
            issuer(&vectors, given).key_set(),
            of_public.key_set(),
            "{name}"
        );
        let token = of_private.sign(claims(now(&vectors))).unwrap();
        let found = judge(&of_public, &token, None, now(&vectors));
        assert_eq!(found.unwrap().unwrap().user().uid, "uid-robot", "{name}");
    }
}

fn claims(now: Time) -> Claims {
    let mut claims = Claims::of_account("default", "robot", "uid-robot");
    claims.audiences = vec!["api".to_owned()];
    claims.expiration = Some(now.unix_seconds() + 600);
    claims.id = "id".to_owned();
    claims
}

#[test]
fn claims_are_written_as_in_go() {
    let vectors = vectors();
    for vector in vectors["tokens"].as_array().unwrap() {
        let token = vector["token"].as_str().unwrap();
        let by_go = [
            "plain",
            "two audiences",
            "pod",
            "pod and node",
            "extended",
            "secret",
            "node",
        ];
        if !by_go.contains(&vector["name"].as_str().unwrap()) {
            continue;
        }
        let decode = |part: &str| {
            use base64::Engine;
            String::from_utf8(
                base64::prelude::BASE64_URL_SAFE_NO_PAD
                    .decode(part)
                    .unwrap(),
            )
            .unwrap()
        };
        let mut parts = token.split('.');
        let (header, payload) = (decode(parts.next().unwrap()), decode(parts.next().unwrap()));
        let claims: Claims = serde_json::from_str(&payload).unwrap();
        // Go escapes characters of HTML.
        let written = serde_json::to_string(&claims)
            .unwrap()
            .replace('&', "\\u0026");
        assert_eq!(written, payload);

        let key = vectors["keys"]
            .as_array()
            .unwrap()
            .iter()
            .find(|key| key["name"] == vector["key"])
            .unwrap();
        let keys = Keys::from_pem(Some(key["private"].as_str().unwrap()), &[]).unwrap();
        let own = issuer(&vectors, keys).sign(claims).unwrap();
        assert_eq!(decode(own.split('.').next().unwrap()), header);
    }
}

#[test]
fn several_keys_are_for_rotation() {
    let vectors = vectors();
    let key = |name: &str| {
        let keys = vectors["keys"].as_array().unwrap();
        keys.iter().find(|key| key["name"] == name).unwrap()["private"]
            .as_str()
            .unwrap()
    };
    let old = issuer(&vectors, Keys::from_pem(Some(key("rsa")), &[]).unwrap());
    let both = Keys::from_pem(
        Some(key("p256")),
        &[&format!("{}{}", key("p256"), key("rsa"))],
    )
    .unwrap();
    assert!(format!("{both:?}").starts_with("[\""));
    let both = issuer(&vectors, both);
    let now = now(&vectors);
    for issuer in [&old, &both] {
        let token = issuer.sign(claims(now)).unwrap();
        assert!(both.verify(&token, now, None).unwrap().is_some());
    }
    let new = both.sign(claims(now)).unwrap();
    assert_eq!(old.verify(&new, now, None), Err(TokenError::UnknownKey));
}

#[test]
fn what_is_not_a_key_is_refused() {
    let no_private = |text: &str| Keys::from_pem(Some(text), &[]).unwrap_err();
    let no_public = |text: &str| Keys::from_pem(None, &[text]).unwrap_err();
    let noise = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let vectors = vectors();
    for text in [
        "",
        "text",
        noise,
        vectors["keys"][0]["public"].as_str().unwrap(),
    ] {
        assert_eq!(no_private(text), KeyError::NoPrivateKey, "{text}");
    }
    for text in ["", "text", noise] {
        assert_eq!(no_public(text), KeyError::NoPublicKeys, "{text}");
    }
}

#[test]
fn nothing_that_is_sent_panics() {
    let (keys, text) = Keys::generate().unwrap();
    let issuer = TokenIssuer::new("i", keys);
    let now = Time::from_unix_seconds(0).unwrap();
    let mut valid = Claims::of_account("default", "robot", "u");
    valid.audiences = vec!["i".to_owned()];
    let valid = issuer.sign(valid).unwrap();
    assert!(issuer.verify(&valid, now, None).unwrap().is_some());
    assert!(!format!("{issuer:?}").contains(text.lines().nth(1).unwrap()));

    let large = "A".repeat(1 << 20);
    for token in [
        large.clone(),
        format!("{large}.{large}.{large}"),
        ".".repeat(1 << 20),
        format!("{valid}{large}"),
    ] {
        assert!(!matches!(issuer.verify(&token, now, None), Ok(Some(_))));
    }

    // The last character has bits that make no byte.
    let (start, last) = valid.split_at(valid.len() - 1);
    for other in ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['-', '_'])
    {
        let is_own = last.starts_with(other);
        let found = issuer.verify(&format!("{start}{other}"), now, None);
        assert_eq!(matches!(found, Ok(Some(_))), is_own, "{other}");
    }

    // One changed character at a time, and each beginning.
    for at in 0..valid.len() {
        let mut changed = valid.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        for token in [&changed, &valid[..at]] {
            assert!(
                !matches!(issuer.verify(token, now, None), Ok(Some(_))),
                "{at}"
            );
        }
    }
}

/// Needs the built Go program `comparison/oracle/server/cmd/tokens`, whose path is in the variable `TOKENS_ORACLE`.
#[test]
fn own_tokens_are_accepted_by_go() {
    let Some(program) = std::env::var_os("TOKENS_ORACLE") else {
        return;
    };
    let vectors = vectors();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = Time::from_unix_seconds(now.try_into().unwrap()).unwrap();
    for key in vectors["keys"].as_array().unwrap() {
        let (private, public) = (
            key["private"].as_str().unwrap(),
            key["public"].as_str().unwrap(),
        );
        if private.is_empty() {
            continue;
        }
        let issuer = issuer(&vectors, Keys::from_pem(Some(private), &[]).unwrap());
        let file =
            std::env::temp_dir().join(format!("fieldmanager-access-{}.pem", std::process::id()));
        std::fs::write(&file, public).unwrap();
        let mut child = Command::new(&program)
            .arg("verify")
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut expected = Vec::new();
        let mut input = child.stdin.take().unwrap();
        for count in 0..50 {
            let mut claims = claims(now);
            claims.id = format!("id-{count}");
            expected.push(as_json(&claims.user()));
            writeln!(input, "{}", issuer.sign(claims).unwrap()).unwrap();
        }
        drop(input);

        let output = child.wait_with_output().unwrap();
        std::fs::remove_file(&file).unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let found: Vec<Json> = lines
            .lines()
            .map(|line| {
                let mut verdict: Json = serde_json::from_str(line).unwrap();
                assert_eq!(verdict["accepted"], true, "{line}");
                verdict
                    .as_object_mut()
                    .unwrap()
                    .retain(|key, _| !["accepted", "audiences"].contains(&key.as_str()));
                verdict
            })
            .collect();
        assert_eq!(found, expected);
    }
}
