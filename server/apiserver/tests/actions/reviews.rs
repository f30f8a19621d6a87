//! Reviews and approvals.

use serde_json::{Value as Json, json};

use crate::common::Client;

#[tokio::test]
async fn reviews_without_a_question_are_refused() {
    let client = Client::new().await;
    let asked = json!({"verb": "get", "resource": "pods", "namespace": "default"});
    let group = "/apis/authorization.k8s.io/v1";
    let own = format!("{group}/selfsubjectaccessreviews");
    let of_user = format!("{group}/subjectaccessreviews");
    let local = format!("{group}/namespaces/default/localsubjectaccessreviews");
    let one = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

    for (path, body, errors) in [
        (&own, json!({"spec": {}}), format!("spec: Invalid value: null: {one}")),
        (
            &own,
            json!({"spec": {"resourceAttributes": asked, "nonResourceAttributes": {"path": "/"}}}),
            format!(r#"spec: Invalid value: {{"Path":"/","Verb":""}}: {one}"#),
        ),
        (
            &of_user,
            json!({"spec": {"resourceAttributes": asked}}),
            r#"spec.user: Invalid value: "": at least one of user or group must be specified"#.to_owned(),
        ),
        (
            &of_user,
            json!({"spec": {"user": "u", "resourceAttributes": {"verb": "get", "fieldSelector": {}}}}),
            "spec.resourceAttributes.fieldSelector.requirements: Required value: when \
             spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"
                .to_owned(),
        ),
        (
            &local,
            json!({"spec": {"user": "u", "resourceAttributes": {"verb": "get", "namespace": "other"}}}),
            r#"spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace"#.to_owned(),
        ),
        (
            &local,
            json!({"spec": {"groups": ["g"], "nonResourceAttributes": {"path": "/", "verb": "get"}}}),
            r#"spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request"#
                .to_owned(),
        ),
    ] {
        let refused = client.post(path, &body).await.expect(422);
        let message = format!(".authorization.k8s.io \"\" is invalid: {errors}");
        assert_eq!(refused["message"], message);
        assert_eq!(refused["details"]["group"], "authorization.k8s.io");
    }

    let named = json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": asked}});
    let refused = client.post(&own, &named).await.expect(422);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("metadata: Invalid value: {"), "{message}");
    assert!(message.ends_with(": must be empty"), "{message}");
    let rules = format!("{group}/selfsubjectrulesreviews");
    let refused = client.post(&rules, &json!({"spec": {}})).await.expect(400);
    assert_eq!(refused["message"], "no namespace on request");
    let tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
    let refused = client.post(tokens, &json!({"spec": {}})).await.expect(400);
    assert_eq!(
        refused["message"],
        "token is required for TokenReview in authentication"
    );
}

#[tokio::test]
async fn reviews_answer_with_their_own_status_and_metadata() {
    let client = Client::new().await;
    let asked = json!({"verb": "get", "resource": "pods"});
    let body = json!({"spec": {"resourceAttributes": asked},
        "status": {"allowed": false, "denied": true, "reason": "x"}});
    let answer = client
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            &body,
        )
        .await
        .expect(201);
    let reason = "everything is allowed: the server has no authorization";
    assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
    assert_eq!(answer["spec"]["resourceAttributes"], asked);

    let body = json!({"metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"namespace": "default"},
        "status": {"evaluationError": "x", "incomplete": true, "resourceRules": [], "nonResourceRules": []}});
    let answer = client
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            &body,
        )
        .await
        .expect(201);
    assert_eq!(
        (&answer["metadata"], &answer["spec"]),
        (&json!({}), &json!({}))
    );
    assert_eq!(answer["status"]["incomplete"], false);

    let body = json!({"metadata": {"name": "x"}, "status": {"userInfo": {"username": "z"}}});
    let answer = client
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &body)
        .await
        .expect(201);
    assert_eq!(
        answer["metadata"],
        json!({"creationTimestamp": "2026-01-31T12:00:00Z"})
    );
    assert_eq!(answer["status"]["userInfo"]["username"], "admin");
}

#[tokio::test]
async fn an_approval_sets_conditions_and_nothing_else() {
    let client = Client::new().await;
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({"metadata": {"name": "c"},
        "spec": {"request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KWW5sMFpYTT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==", "signerName": "example.com/s", "usages": ["client auth"]}});
    client.post(requests, &request).await.expect(201);
    let path = format!("{requests}/c/approval");
    client.get(&path).await.expect(200);

    let approve = |conditions: Json| {
        json!({"metadata": {"labels": {"x": "y"}}, "spec": {"signerName": "other.io/x"},
            "status": {"conditions": conditions, "certificate": "aGk="}})
    };
    let approved = json!([{"type": "Approved", "status": "True", "reason": "r"}]);
    let answer = client.merge(&path, &approve(approved)).await.expect(200);
    let now = "2026-01-31T12:00:00Z";
    let condition = json!({"type": "Approved", "status": "True", "reason": "r", "lastUpdateTime": now, "lastTransitionTime": now});
    assert_eq!(answer["status"], json!({"conditions": [condition]}));
    assert_eq!(answer["spec"]["signerName"], "example.com/s");
    assert_eq!(answer["metadata"]["labels"], json!({"x": "y"}));
    let yes = json!({"type": "Approved", "status": "True"});
    for (conditions, fault) in [
        (
            json!([{"type": "Approved", "status": "False"}]),
            r#"status.conditions[0].status: Unsupported value: "False": supported values: "True""#,
        ),
        (
            json!([]),
            r#"status.conditions: Forbidden: updates may not remove a condition of type "Approved""#,
        ),
        (
            json!([yes, {"type": "Denied", "status": "True"}]),
            r#"status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}": must specify at most one of: `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`"#,
        ),
        (
            json!([yes, yes]),
            r#"status.conditions[1].type: Duplicate value: "Approved""#,
        ),
        (
            json!([yes, {"type": "", "status": "True"}]),
            "status.conditions[1].type: Required value",
        ),
        (
            json!([yes, {"type": "X", "status": ""}]),
            "status.conditions[1].status: Required value",
        ),
        (
            json!([yes, {"type": "X", "status": "Z"}]),
            r#"status.conditions[1].status: Unsupported value: "Z": supported values: "False", "True", "Unknown""#,
        ),
    ] {
        let refused = client.merge(&path, &approve(conditions)).await.expect(422);
        let message =
            format!("CertificateSigningRequest.certificates.k8s.io \"c\" is invalid: {fault}");
        assert_eq!(refused["message"], message);
    }
    client
        .merge(&format!("{requests}/none/approval"), &json!({}))
        .await
        .expect(404);
}
