//! Who sends a request, and whether they may.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use fieldmanager_apiserver::{
    ApiServer, Authorization, Collection, Keys, Random, StaticTokens, TokenIssuer,
};
use fieldmanager_value::Value;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value as Json, json};

use crate::common::{CRDS, Client, SHOPS, shop, shops};

/// A request for a certificate of the key of nobody.
const CSR: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1ISUNBUUF3RURFT01Bd0dBMVVFQXd3RllXeHBZMlV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFTelBDanlYYkdBcWc3SUlQbTVRUjJ4SGVjTmQyd293QkdOZlhBMTZ5M05rMHFGbWs5emVFYVNXSERtClM2M2pIS3dTTmJSTVBvZ0x4MGc5SmJlT3RidFZvQUF3Q2dZSUtvWkl6ajBFQXdJRFNRQXdSZ0loQUl2QjZDVUwKdUd4OEE0Nmc2QXR5ekh1dnFsVjhqcWxtOXU2R090TEttcUpvQWlFQXJOT2FLRU1UZDdCanliaE4vNnViR1BtawpkRE15R2NDc08wNXIxd28zZW1vPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

const RBAC: &str = "rbac.authorization.k8s.io";

/// A server whose roles decide, and its administrator.
async fn server() -> (Client, Client) {
    let builder = ApiServer::builder()
        .authorization(Authorization::Rbac)
        .collection(Collection::Stepped)
        .page(false);
    let server = builder.build().await.unwrap();
    let admin = server.client_as("root", &["system:masters"]);
    (Client { server }, Client { server: admin })
}

async fn admin() -> Client {
    server().await.1
}

impl Client {
    fn as_user(&self, name: &str, groups: &[&str]) -> Client {
        Client {
            server: self.server.client_as(name, groups),
        }
    }

    /// Gives rules to a user, in a namespace or, if that is empty, everywhere.
    async fn allow(&self, user: &str, namespace: &str, rules: Json) {
        let (role, path) = match namespace {
            "" => ("ClusterRole", format!("/apis/{RBAC}/v1")),
            namespace => ("Role", format!("/apis/{RBAC}/v1/namespaces/{namespace}")),
        };
        let plural = role.to_lowercase();
        let object = |kind: &str| json!({"apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": {"name": user}});
        let mut new = object(role);
        new["rules"] = rules;
        self.post(&format!("{path}/{plural}s"), &new)
            .await
            .expect(201);

        let mut binding = object(&format!("{role}Binding"));
        binding["roleRef"] = json!({"apiGroup": RBAC, "kind": role, "name": user});
        binding["subjects"] = json!([{"apiGroup": RBAC, "kind": "User", "name": user}]);
        self.post(&format!("{path}/{plural}bindings"), &binding)
            .await
            .expect(201);
    }
}

fn refusal(status: &Json) -> &str {
    status["message"].as_str().unwrap()
}

#[tokio::test]
async fn roles_decide_at_once() {
    let admin = admin().await;
    admin.post(CRDS, &shops()).await.expect(201);
    let alice = admin.as_user("alice", &["dev"]);
    let refused = alice.post(SHOPS, &shop("a")).await.expect(403);
    assert_eq!(
        refusal(&refused),
        "shops.example.com is forbidden: User \"alice\" cannot create resource \"shops\" in API group \"example.com\" in the \
         namespace \"default\""
    );
    assert_eq!(
        refused["details"],
        json!({"group": "example.com", "kind": "shops"})
    );

    let rule = json!([{"apiGroups": ["example.com"], "resources": ["shops"], "verbs": ["create", "list"]}]);
    admin.allow("alice", "default", rule).await;
    alice.post(SHOPS, &shop("a")).await.expect(201);
    alice.get(SHOPS).await.expect(200);
    alice.get("/apis/example.com/v1/shops").await.expect(403);
    alice.get(&format!("{SHOPS}/a/status")).await.expect(403);
    let selected = format!("{SHOPS}?fieldSelector=metadata.name%3Da&watch=1");
    let refused = alice.get(&selected).await.expect(403);
    assert_eq!(
        refusal(&refused),
        "shops.example.com \"a\" is forbidden: User \"alice\" cannot watch resource \"shops\" in API group \"example.com\" in \
         the namespace \"default\""
    );

    // Paths of discovery are for everybody who is authenticated, and others are not.
    alice.get("/apis").await.expect(200);
    let refused = alice.get("/metrics").await.expect(403);
    assert_eq!(
        refusal(&refused),
        "forbidden: User \"alice\" cannot get path \"/metrics\""
    );

    let binding = format!("/apis/{RBAC}/v1/namespaces/default/rolebindings/alice");
    admin.send("DELETE", &binding, &[], "").await.expect(200);
    alice.get(SHOPS).await.expect(403);
}

#[tokio::test]
async fn an_apply_that_creates_needs_the_verb_create() {
    let admin = admin().await;
    admin.post(CRDS, &shops()).await.expect(201);
    let rule = json!([{"apiGroups": ["example.com"], "resources": ["shops"], "verbs": ["patch"]}]);
    admin.allow("alice", "default", rule).await;
    let alice = admin.as_user("alice", &[]);
    let path = format!("{SHOPS}/a?fieldManager=alice");
    let media = [("content-type", "application/apply-patch+yaml")];
    let refused = alice
        .send("PATCH", &path, &media, shop("a").to_string())
        .await;
    assert_eq!(
        refusal(&refused.expect(403)),
        "shops.example.com \"a\" is forbidden: User \"alice\" cannot create resource \"shops\" in API group \"example.com\" in \
         the namespace \"default\""
    );

    admin.post(SHOPS, &shop("a")).await.expect(201);
    alice
        .send("PATCH", &path, &media, shop("a").to_string())
        .await
        .expect(200);
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_have() {
    let admin = admin().await;
    let every = json!([
        {"apiGroups": [RBAC], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    // The verb `*` has `escalate` and `bind`, so this user has them one by one.
    let mut without = every.clone();
    without[0]["verbs"] = json!(["create", "get", "update"]);
    admin.allow("alice", "", without).await;
    let alice = admin.as_user("alice", &[]);
    let role = |verb: &str| {
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": "pods"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}],
        })
    };
    let path = format!("/apis/{RBAC}/v1/clusterroles");
    let refused = alice.post(&path, &role("list")).await.expect(403);
    assert_eq!(
        refusal(&refused),
        "clusterroles.rbac.authorization.k8s.io \"pods\" is forbidden: user \"alice\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
         Verbs:[\"list\"]}"
    );
    alice.post(&path, &role("get")).await.expect(201);
    admin.allow("bob", "", every).await;
    let bob = admin.as_user("bob", &[]);
    bob.put(&format!("{path}/pods"), &role("list"))
        .await
        .expect(200);
}

#[tokio::test]
async fn reviews_say_what_requests_may_do() {
    let admin = admin().await;
    let rule = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    admin.allow("alice", "default", rule.clone()).await;
    let alice = admin.as_user("alice", &["dev"]);
    let review = |group: &str, kind: &str, spec: Json| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec});
    let path = |group: &str, plural: &str| format!("/apis/{group}/v1/{plural}");
    let (authentication, authorization) = ("authentication.k8s.io", "authorization.k8s.io");

    let who = alice
        .post(
            &path(authentication, "selfsubjectreviews"),
            &review(authentication, "SelfSubjectReview", json!({})),
        )
        .await
        .expect(201);
    let user = json!({"username": "alice", "groups": ["dev", "system:authenticated"]});
    assert_eq!(who["status"]["userInfo"], user);

    let asked = |verb: &str| json!({"resourceAttributes": {"namespace": "default", "resource": "pods", "verb": verb}});
    let own = path(authorization, "selfsubjectaccessreviews");
    let answer = alice
        .post(
            &own,
            &review(authorization, "SelfSubjectAccessReview", asked("get")),
        )
        .await
        .expect(201);
    let reason =
        "RBAC: allowed by RoleBinding \"alice/default\" of Role \"alice\" to User \"alice\"";
    assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
    let answer = alice
        .post(
            &own,
            &review(authorization, "SelfSubjectAccessReview", asked("list")),
        )
        .await
        .expect(201);
    assert_eq!(answer["status"], json!({"allowed": false}));

    // Another user is asked about by those who may ask.
    let mut other = asked("get");
    other["user"] = "alice".into();
    let others = path(authorization, "subjectaccessreviews");
    let question = review(authorization, "SubjectAccessReview", other);
    alice.post(&others, &question).await.expect(403);
    let answer = admin.post(&others, &question).await.expect(201);
    assert_eq!(answer["status"]["allowed"], true);

    let rules = alice
        .post(
            &path(authorization, "selfsubjectrulesreviews"),
            &review(
                authorization,
                "SelfSubjectRulesReview",
                json!({"namespace": "default"}),
            ),
        )
        .await
        .expect(201);
    let resources = rules["status"]["resourceRules"].as_array().unwrap();
    assert!(resources.contains(&rule[0]), "{rules}");

    // A question is not in a table.
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ];
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let asked = json!({"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}});
    let answer = admin.send("POST", reviews, &headers, asked.to_string());
    let answer = answer.await;
    assert_eq!(answer.code, 406);

    // An unknown token is never authenticated.
    let answer = admin
        .post(
            &path(authentication, "tokenreviews"),
            &review(authentication, "TokenReview", json!({"token": "unknown"})),
        )
        .await
        .expect(201);
    assert_eq!(answer["status"].get("authenticated"), None);
}

#[tokio::test]
async fn a_request_for_a_certificate_names_its_user() {
    let admin = admin().await;
    let csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let rule = json!([{"apiGroups": ["certificates.k8s.io"], "resources": ["*"], "verbs": ["*"]}]);
    admin.allow("alice", "", rule).await;
    let alice = admin.as_user("alice", &["dev"]);
    let request = json!({
        "metadata": {"name": "alice"},
        "spec": {
            "request": CSR, "signerName": "example.com/clients", "usages": ["client auth"],
            "username": "root", "uid": "0", "extra": {"a": ["b"]},
        },
    });
    let created = alice.post(csrs, &request).await.expect(201);
    let spec = &created["spec"];
    assert_eq!(spec["username"], "alice");
    assert_eq!(spec["groups"], json!(["dev", "system:authenticated"]));
    assert_eq!((spec.get("uid"), spec.get("extra")), (None, None));
}

#[tokio::test]
async fn tokens_of_service_accounts_end_with_what_they_are_bound_to() {
    let (server, admin) = server().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let robot = json!({"metadata": {"name": "robot"}});
    admin.post(accounts, &robot).await.expect(201);
    let secret = json!({"metadata": {"name": "key"}});
    admin
        .post("/api/v1/namespaces/default/secrets", &secret)
        .await
        .expect(201);
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "key"});
    let asked = json!({"spec": {"boundObjectRef": reference, "expirationSeconds": 600}});
    let granted = admin
        .post(&format!("{accounts}/robot/token"), &asked)
        .await
        .expect(201);
    let token = granted["status"]["token"].as_str().unwrap().to_owned();

    let who = async |token: &str| {
        let header = format!("Bearer {token}");
        let headers = [
            ("authorization", header.as_str()),
            ("content-type", "application/json"),
        ];
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        server.send("POST", path, &headers, "{}").await
    };
    let user = who(&token).await.expect(201)["status"]["userInfo"].clone();
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ];
    assert_eq!(user["groups"], json!(groups));

    let review = json!({"spec": {"token": token}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let answer = admin.post(reviews, &review).await.expect(201);
    assert_eq!(answer["status"]["authenticated"], true);
    let other = json!({"spec": {"token": token, "audiences": ["vault"]}});
    let answer = admin.post(reviews, &other).await.expect(201);
    assert_eq!(answer["status"].get("authenticated"), None);

    admin
        .send("DELETE", "/api/v1/namespaces/default/secrets/key", &[], "")
        .await
        .expect(200);
    assert_eq!(who(&token).await.code, 401);
    let answer = admin.post(reviews, &review).await.expect(201);
    assert_eq!(answer["status"].get("authenticated"), None);

    // Others verify tokens by the keys that the server publishes.
    let keys = admin.get("/openid/v1/jwks").await.expect(200);
    assert_eq!(keys["keys"][0]["alg"], "ES256");
}

/// A token that kube-controller-manager signs for a Secret.
fn token_of_secret(key: &str, uid: &str) -> String {
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "key",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": uid,
        "sub": "system:serviceaccount:default:robot",
    });
    let parts = [json!({"alg": "ES256"}), claims];
    let message = parts
        .map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()))
        .join(".");

    let random = SystemRandom::new();
    let key = pem::parse(key).unwrap();
    let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::from_pkcs8(curve, key.contents(), &random).unwrap();
    let signature = key.sign(&random, message.as_bytes()).unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
    format!("{message}.{signature}")
}

#[tokio::test]
async fn tokens_of_secrets_end_with_what_their_secret_has() {
    const SECRET: &str = "/api/v1/namespaces/default/secrets/key";
    const DAY: &str = "kubernetes.io/legacy-token-last-used";
    let (keys, key) = Keys::generate().unwrap();
    let time = "2026-01-31T12:00:00Z".parse().unwrap();
    let builder = ApiServer::builder()
        .source(Random::seeded(7, time))
        .authorization(Authorization::Rbac)
        .token_issuer(TokenIssuer::new("https://test", keys));
    let server = builder.build().await.unwrap();
    let admin = server.client_as("root", &["system:masters"]);
    let (server, admin) = (Client { server }, Client { server: admin });
    let robot = json!({"metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let robot = admin.post(accounts, &robot).await.expect(201);
    let secret = json!({
        "metadata": {"name": "key", "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token",
    });
    let secrets = "/api/v1/namespaces/default/secrets";
    admin.post(secrets, &secret).await.expect(201);

    let set = async |change: Json| {
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = admin.send("PATCH", SECRET, &headers, change.to_string());
        answer.await.expect(200)
    };
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = async |token: &str| {
        let review = json!({"spec": {"token": token}});
        admin.post(reviews, &review).await.expect(201)["status"].clone()
    };

    let error = |fault: &str| json!(format!("[invalid bearer token, {fault}]"));

    // The Secret does not have the token yet.
    let token = token_of_secret(&key, robot["metadata"]["uid"].as_str().unwrap());
    let fault = "Token does not match server's copy";
    assert_eq!(review(&token).await["error"], error(fault));
    set(json!({"data": {"token": BASE64_STANDARD.encode(&token)}})).await;
    let user = &review(&token).await["user"];
    assert_eq!(user["username"], "system:serviceaccount:default:robot");
    let secret = admin.get(SECRET).await.expect(200);
    let day = secret["metadata"]["labels"][DAY].as_str().unwrap();
    assert_eq!(day, "2026-01-31");
    let version = secret["metadata"]["resourceVersion"].clone();

    let header = format!("Bearer {token}");
    let headers = [("authorization", header.as_str())];
    let answer = server.send("GET", SECRET, &headers, "").await;
    let message = answer.expect(403)["message"].clone();
    let start = r#"secrets "key" is forbidden: User "system:serviceaccount:default:robot""#;
    assert!(message.as_str().unwrap().starts_with(start), "{message}");
    // The day is written once.
    let secret = admin.get(SECRET).await.expect(200);
    assert_eq!(secret["metadata"]["resourceVersion"], version);

    let mark = |day: Json| json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": day}}});
    set(mark("2026-01-31".into())).await;
    let fault = review(&token).await["error"].clone();
    let end = "remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token]";
    assert!(fault.as_str().unwrap().ends_with(end), "{fault}");
    set(mark(Json::Null)).await;
    assert_eq!(review(&token).await["authenticated"], true);

    let other = token_of_secret(&key, "another");
    set(json!({"data": {"token": BASE64_STANDARD.encode(&other)}})).await;
    let uid = robot["metadata"]["uid"].as_str().unwrap();
    let fault = format!("ServiceAccount UID ({uid}) does not match claim (another)");
    assert_eq!(review(&other).await["error"], error(&fault));
    admin.send("DELETE", SECRET, &[], "").await.expect(200);
    let fault = review(&token).await["error"].clone();
    assert_eq!(fault, error("Token has been invalidated"));
    assert_eq!(server.send("GET", SECRET, &headers, "").await.code, 401);
}

#[tokio::test]
async fn who_may_impersonate_is_another() {
    let admin = admin().await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let headers = [
        ("content-type", "application/json"),
        ("impersonate-user", "carol"),
        ("impersonate-group", "dev"),
    ];
    let answer = admin.send("POST", path, &headers, "{}").await.expect(201);
    let user = json!({"username": "carol", "groups": ["dev", "system:authenticated"]});
    assert_eq!(answer["status"]["userInfo"], user);

    let alice = admin.as_user("alice", &[]);
    let refused = alice.send("POST", path, &headers, "{}").await.expect(403);
    // The least that would allow it is named.
    assert_eq!(
        refusal(&refused),
        "selfsubjectreviews.authentication.k8s.io is forbidden: User \"alice\" cannot impersonate-on:user-info:create resource \
         \"selfsubjectreviews\" in API group \"authentication.k8s.io\" at the cluster scope"
    );
}

#[tokio::test]
async fn an_aggregated_role_has_the_rules_of_those_that_it_selects() {
    let server = ApiServer::for_test().authorization(Authorization::Rbac);
    let server = server.build().await.unwrap();
    let admin = Client {
        server: server.client_as("root", &["system:masters"]).service(),
    };
    let binding = json!({
        "metadata": {"name": "viewers"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "dev"}],
    });
    let path = format!("/apis/{RBAC}/v1");
    admin
        .post(&format!("{path}/clusterrolebindings"), &binding)
        .await
        .expect(201);
    let alice = admin.as_user("alice", &["dev"]);
    let waits = async |path: &str, code: u16| {
        while alice.get(path).await.code != code {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    waits("/api/v1/pods", 200).await;
    alice.get("/api/v1/secrets").await.expect(403);

    // A role of the program joins, and leaves.
    let role = json!({
        "metadata": {"name": "secrets", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}],
    });
    let roles = format!("{path}/clusterroles");
    admin.post(&roles, &role).await.expect(201);
    waits("/api/v1/secrets", 200).await;
    admin
        .send("DELETE", &format!("{roles}/secrets"), &[], "")
        .await
        .expect(200);
    waits("/api/v1/secrets", 403).await;
    let view = admin.get(&format!("{roles}/view")).await.expect(200);
    let managers = view["metadata"]["managedFields"].as_array().unwrap();
    let manager = "clusterrole-aggregation-controller";
    assert!(
        managers.iter().any(|entry| entry["manager"] == manager),
        "{view}"
    );
}

#[tokio::test]
async fn roles_are_those_of_a_restored_state() {
    let admin = admin().await;
    let alice = admin.as_user("alice", &[]);
    let pods = "/api/v1/namespaces/default/pods";
    let before = admin.server.snapshot().await.unwrap();
    let rule = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]);
    admin.allow("alice", "default", rule).await;
    alice.get(pods).await.expect(200);
    admin.server.restore(&before).await.unwrap();
    alice.get(pods).await.expect(403);
}

/// Whether the answer to a request is another one than that of kube-apiserver: there is no kubelet here.
fn is_known(request: &Json) -> bool {
    request["path"].as_str().unwrap().ends_with("/log")
}

/// Requests to a kube-apiserver with RBAC, and its answers: `comparison/forbidden/record.py` records them.
#[tokio::test]
async fn users_who_may_do_little_get_the_answers_of_kube_apiserver() {
    let recorded = flate2::read::GzDecoder::new(&include_bytes!("data/forbidden.json.gz")[..]);
    let recorded: Json = serde_json::from_reader(recorded).unwrap();
    let tokens = StaticTokens::from_csv(recorded["tokens"].as_str().unwrap()).unwrap();
    let builder = ApiServer::builder()
        .tokens(tokens)
        .authorization(Authorization::Rbac)
        .anonymous(true)
        .collection(Collection::Stepped)
        .page(false);
    let client = Client {
        server: builder.build().await.unwrap(),
    };
    let values = recorded["objects"].as_array().unwrap();
    for object in values {
        let object = Value::from_json(&object.to_string()).unwrap();
        client.server.load(&object).await.unwrap();
    }

    let mut different = Vec::new();
    for request in recorded["requests"].as_array().unwrap() {
        if is_known(request) {
            continue;
        }
        let answer = client.send_recorded(request).await;
        let mut found = json!({"code": answer.code});
        // An answer to HEAD has no body on the wire.
        if answer.code >= 400
            && request["method"] != "HEAD"
            && let Ok(status) = serde_json::from_slice::<Json>(&answer.bytes)
        {
            for name in ["message", "reason", "details"] {
                if let Some(value) = status.get(name) {
                    found[name] = value.clone();
                }
            }
        }
        if found != request["expected"] {
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
