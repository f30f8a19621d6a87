//! Policies and conditions of webhooks in CEL, with the examples of the documentation of Kubernetes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use fieldmanager_apiserver::ApiServer;
use serde_json::{Value as Json, json};

use crate::common::{CONFIG_MAPS, Client, config_map};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const NAMESPACES: &str = "/api/v1/namespaces";

async fn client() -> Client {
    let builder = ApiServer::builder().test_api(true);
    Client {
        server: builder.build().await.unwrap(),
    }
}

fn yaml(text: &str) -> Json {
    let value = fieldmanager_value::Value::from_yaml(text).unwrap();
    serde_json::from_str(&value.to_json()).unwrap()
}

/// A policy for all writes of Deployments and ConfigMaps.
fn policy(name: &str, spec: &str) -> Json {
    let mut spec = yaml(spec);
    let rule = |group: &str, resource: &str| {
        json!({
            "apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": [resource],
        })
    };
    let rules = [rule("apps", "deployments"), rule("", "configmaps")];
    spec["matchConstraints"] = json!({"resourceRules": rules});
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn binding(name: &str, spec: &str) -> Json {
    let mut spec = yaml(spec);
    spec["policyName"] = json!(name);
    if spec.get("validationActions").is_none() {
        spec["validationActions"] = json!(["Deny"]);
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": format!("{name}-binding")}, "spec": spec,
    })
}

/// Makes a policy and a binding of it.
async fn bind(client: &Client, name: &str, spec: &str, bound: &str) {
    let policies = format!("{GROUP}/validatingadmissionpolicies");
    client
        .post(&policies, &policy(name, spec))
        .await
        .expect(201);
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings");
    client
        .post(&bindings, &binding(name, bound))
        .await
        .expect(201);
}

fn deployment(name: &str, replicas: i64) -> Json {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "example.com/web"}]},
            },
        },
    })
}

#[tokio::test]
async fn replicas_are_limited_where_a_namespace_is_selected() {
    let client = client().await;
    for (name, environment) in [("test", "test"), ("other", "production")] {
        let namespace = json!({"metadata": {"name": name, "labels": {"environment": environment}}});
        client.post(NAMESPACES, &namespace).await.expect(201);
    }
    let bound = "{matchResources: {namespaceSelector: {matchLabels: {environment: test}}}}";
    let spec = "{failurePolicy: Fail, validations: [{expression: object.spec.replicas <= 5}]}";
    bind(&client, "demo-policy.example.com", spec, bound).await;

    let path = |namespace: &str| format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    client
        .post(&path("other"), &deployment("nginx", 6))
        .await
        .expect(201);
    client
        .post(&path("test"), &deployment("small", 5))
        .await
        .expect(201);
    let refused = client
        .post(&path("test"), &deployment("nginx", 6))
        .await
        .expect(422);
    let message = "ValidatingAdmissionPolicy 'demo-policy.example.com' with binding \
                   'demo-policy.example.com-binding' denied request: failed expression: object.spec.replicas <= 5";
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422, "reason": "Invalid",
        "message": format!("deployments.apps \"nginx\" is forbidden: {message}"),
        "details": {
            "name": "nginx", "group": "apps", "kind": "deployments", "causes": [{"message": message}],
        },
    });
    assert_eq!(refused, expected);

    // The same object at another path: a scale is no Deployment, so the rules do not select it.
    let scale = json!({"spec": {"replicas": 9}});
    let path = format!("{}/small/scale", path("test"));
    client.merge(&path, &scale).await.expect(200);
}

#[tokio::test]
async fn parameters_are_custom_resources_or_built_in() {
    let client = client().await;
    let definition = yaml(
        "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: replicalimits.rules.example.com}
spec:
  group: rules.example.com
  scope: Namespaced
  names: {plural: replicalimits, singular: replicalimit, kind: ReplicaLimit}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {maxReplicas: {type: integer}}}}
",
    );
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.post(definitions, &definition).await.expect(201);
    let limit = json!({
        "apiVersion": "rules.example.com/v1", "kind": "ReplicaLimit", "metadata": {"name": "limit"}, "maxReplicas": 3,
    });
    let limits = "/apis/rules.example.com/v1/namespaces/default/replicalimits";
    let bound = "{paramRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}}";
    let spec = "
paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}
matchConditions: [{name: deployments, expression: request.resource.resource == 'deployments'}]
validations:
- expression: object.spec.replicas <= params.maxReplicas
  messageExpression: \"'object.spec.replicas must be no greater than ' + string(params.maxReplicas)\"
  reason: Forbidden
";
    bind(&client, "replicalimit-policy.example.com", spec, bound).await;

    let path = "/apis/apps/v1/namespaces/default/deployments";
    let missing = client.post(path, &deployment("nginx", 4)).await.expect(422);
    let text = missing["message"].as_str().unwrap();
    assert!(text.ends_with(
        "denied request: failed to configure binding: no params found for policy binding with `Deny` \
         parameterNotFoundAction"
    ));
    client.post(limits, &limit).await.expect(201);
    let refused = client.post(path, &deployment("nginx", 4)).await.expect(403);
    let text = refused["message"].as_str().unwrap();
    assert!(
        text.ends_with("denied request: object.spec.replicas must be no greater than 3"),
        "{text}"
    );
    assert_eq!(refused["reason"], "Forbidden");
    client.post(path, &deployment("nginx", 3)).await.expect(201);

    // A kind that nobody serves is a fault of the policy.
    let spec = "
paramKind: {apiVersion: none.example.com/v1, kind: None}
validations: [{expression: params == null}]
";
    bind(&client, "none", spec, "{}").await;
    let refused = client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(422);
    let text = refused["message"].as_str().unwrap();
    let expected = "ValidatingAdmissionPolicy 'none' denied request: failed to configure policy: failed to find resource \
                    referenced by paramKind: 'none.example.com/v1, Kind=None'";
    assert!(text.ends_with(expected), "{text}");
}

#[tokio::test]
async fn all_objects_that_a_selector_selects_are_parameters() {
    let client = client().await;
    for (name, most) in [("a", "3"), ("b", "2"), ("other", "1")] {
        let label = if name == "other" { "no" } else { "yes" };
        let limit = json!({
            "metadata": {"name": name, "labels": {"limit": label}}, "data": {"most": most},
        });
        client.post(CONFIG_MAPS, &limit).await.expect(201);
    }
    let spec = "
paramKind: {apiVersion: v1, kind: ConfigMap}
matchConditions: [{name: limited, expression: has(object.data) && 'size' in object.data}]
variables: [{name: most, expression: int(params.data.most)}]
validations: [{expression: int(object.data.size) <= variables.most, message: too large}]
";
    let bound =
        "{paramRef: {selector: {matchLabels: {limit: 'yes'}}, parameterNotFoundAction: Allow}}";
    bind(&client, "sizes", spec, bound).await;
    let sized =
        |size: &str| json!({"metadata": {"name": format!("size-{size}")}, "data": {"size": size}});
    client.post(CONFIG_MAPS, &sized("2")).await.expect(201);
    let refused = client.post(CONFIG_MAPS, &sized("3")).await.expect(422);
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("denied request: too large")
    );
}

#[tokio::test]
async fn violations_can_be_warnings() {
    let client = client().await;
    let spec = "
variables:
- {name: environment, expression: \"'environment' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['environment'] : 'prod'\"}
- {name: isProd, expression: variables.environment == 'prod'}
validations:
- {expression: '!variables.isProd', messageExpression: \"'only in test, not in ' + variables.environment\"}
auditAnnotations:
- {key: who, valueExpression: request.userInfo.username}
";
    bind(
        &client,
        "images",
        spec,
        "{validationActions: [Warn, Audit]}",
    )
    .await;
    let made = client.post(CONFIG_MAPS, &config_map("web")).await;
    assert_eq!(
        made.warnings(),
        [
            "299 - \"Validation failed for ValidatingAdmissionPolicy 'images' with binding 'images-binding': only in test, not in prod\""
        ]
    );
    made.expect(201);
}

/// What `/metrics` counts of the checks of policies, without the durations.
async fn checks(client: &Client) -> Vec<String> {
    let metrics = client.get("/metrics").await;
    let text = String::from_utf8(metrics.bytes.to_vec()).unwrap();
    let lines = text
        .lines()
        .filter(|line| line.contains("_admission_policy_check_total{"));
    lines.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_refusal_is_counted_and_has_annotations() {
    let client = client().await;
    let spec = "
failurePolicy: Ignore
validations:
- {expression: object.data.color != 'red'}
- {expression: object.data.size == '1'}
auditAnnotations:
- {key: colour, valueExpression: string(object.data.color)}
";
    bind(&client, "red", spec, "{validationActions: [Deny, Audit]}").await;
    client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(422);

    // A kube-apiserver counts the same for these policies.
    let count = |action: &str| {
        format!(
            "apiserver_validating_admission_policy_check_total{{enforcement_action=\"{action}\",\
             error_type=\"invalid_error\",policy=\"red\",policy_binding=\"red-binding\"}} 1"
        )
    };
    let expected = ["allow", "audit", "deny"].map(count);
    assert_eq!(checks(&client).await, expected);

    let log = client.server.log();
    let mut refused = log.iter().filter(|entry| entry.status == 422);
    let logged = refused.next().unwrap().annotations.clone();
    let violation = json!([{
        "message": "failed expression: object.data.color != 'red'", "policy": "red", "binding": "red-binding",
        "expressionIndex": 0, "validationActions": ["Deny", "Audit"],
    }]);
    let text = &logged["validation.policy.admission.k8s.io/validation_failure"];
    assert_eq!(serde_json::from_str::<Json>(text).unwrap(), violation);
    assert_eq!(logged["red/colour"], "red");
}

#[tokio::test]
async fn mutations_are_counted() {
    let client = client().await;
    let mutations = "
- {patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{data: Object.data{a: 'b'}}\"}}
- {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{data: Object.data{a: object.data.none}}'}}
";
    let mut policy = policy("set", "{failurePolicy: Ignore, reinvocationPolicy: Never}");
    policy["kind"] = json!("MutatingAdmissionPolicy");
    policy["spec"]["mutations"] = yaml(mutations);
    for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        .as_array_mut()
        .unwrap()
    {
        rule["operations"] = json!(["CREATE"]);
    }
    client
        .post(&format!("{GROUP}/mutatingadmissionpolicies"), &policy)
        .await
        .expect(201);
    let bound = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "set"}, "spec": {"policyName": "set"},
    });
    client
        .post(&format!("{GROUP}/mutatingadmissionpolicybindings"), &bound)
        .await
        .expect(201);
    client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(201);

    let count = |error: &str| {
        format!(
            "apiserver_mutating_admission_policy_check_total{{error_type=\"{error}\",policy=\"set\",\
             policy_binding=\"set\"}} 1"
        )
    };
    assert_eq!(
        checks(&client).await,
        ["invalid_error", "no_error"].map(count)
    );
}

#[tokio::test]
async fn a_failure_counts_unless_the_policy_ignores_it() {
    let client = client().await;
    let spec = "{failurePolicy: Ignore, validations: [{expression: object.none == 'x'}]}";
    bind(&client, "ignored", spec, "{}").await;
    client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(201);
    let spec = "{validations: [{expression: object.none == 'x'}]}";
    bind(&client, "failing", spec, "{}").await;
    let refused = client
        .delete(&format!("{CONFIG_MAPS}/web"))
        .await
        .expect(422);
    let text = refused["message"].as_str().unwrap();
    let expected = "configmaps \"web\" is forbidden: ValidatingAdmissionPolicy 'failing' with binding 'failing-binding' denied request: expression 'object.none == 'x'' resulted in error: no such key: none";
    assert_eq!(text, expected);

    // A wrong policy can be removed, since policies are not subject to policies.
    let path = format!("{GROUP}/validatingadmissionpolicies/failing");
    client.delete(&path).await.expect(200);
    client
        .delete(&format!("{CONFIG_MAPS}/web"))
        .await
        .expect(200);
}

#[tokio::test]
async fn the_authorizer_of_the_server_answers() {
    let client = client().await;
    let spec = "
validations:
- expression: authorizer.requestResource.check('breakglass').allowed() && authorizer.path('/x').check('get').reason() != 'x'
- expression: authorizer.serviceAccount('default', 'robot').group('').resource('pods').namespace('default').check('get').allowed()
";
    bind(&client, "allowed", spec, "{}").await;
    client
        .post(CONFIG_MAPS, &config_map("web"))
        .await
        .expect(201);
}

#[tokio::test]
async fn expressions_are_checked_when_they_are_written() {
    let client = client().await;
    let spec = "
matchConditions: [{name: a, expression: ' object.x '}, {name: b, expression: variables.a}]
variables: [{name: a, expression: 1 + 'a'}, {name: '2', expression: '1'}]
validations:
- {expression: object.spec.replicas, messageExpression: authorizer.path('/').check('get').reason(), message: ' '}
- {expression: params.x == 1}
auditAnnotations: [{key: a, valueExpression: '1'}]
";

    let path = format!("{GROUP}/validatingadmissionpolicies");
    let refused = client.post(&path, &policy("wrong", spec)).await.expect(422);
    let causes = refused["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    let expected = [
        "spec.matchConditions[0].expression",
        "spec.matchConditions[1].expression",
        "spec.variables[0].expression",
        "spec.variables[1].name",
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
        "spec.validations[0].message",
        "spec.validations[1].expression",
        "spec.auditAnnotations[0].valueExpression",
    ];
    assert_eq!(fields, expected);

    assert_eq!(
        causes[0]["message"],
        "Invalid value: \"object.x\": must evaluate to bool but got dyn"
    );
    assert_eq!(
        causes[1]["message"],
        "Invalid value: \"variables.a\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' \
         (in container '')\n | variables.a\n | ^"
    );
    assert_eq!(
        causes[8]["message"],
        "Invalid value: \"1\": must evaluate to one of [string null_type] but got int"
    );
}

/// What `comparison/admission/policies.py --record` wrote: random policies, with requests and what kube-apiserver said.
const RECORDED: &str = include_str!("data/policies.jsonl");

/// Sends what a request of the recording says; gives its code, its message if it is refused, and its warnings.
async fn replay(client: &Client, request: &Json) -> Json {
    let (method, path) = (request[0].as_str().unwrap(), request[1].as_str().unwrap());
    let answer = match method {
        "POST" => client.post(path, &request[2]).await,
        "PATCH" => client.merge(path, &request[2]).await,
        _ => client.delete(path).await,
    };
    let message = match answer.code {
        400.. => answer.json()["message"].clone(),
        _ => json!(""),
    };
    json!([answer.code, message, answer.warnings()])
}

#[tokio::test]
async fn recorded_policies_do_what_they_do_in_kube_apiserver() {
    let client = client().await;
    let mut lines = RECORDED
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    let first = lines.next().unwrap();
    let all = ["setup", "params"].map(|part| first[part].as_array().unwrap().clone());
    for made in all.iter().flatten() {
        client
            .post(made[0].as_str().unwrap(), &made[1])
            .await
            .expect(201);
    }
    for made in &all[1] {
        let mut stored = made[1].clone();
        stored["metadata"] = json!({"name": "stored", "labels": {"policy": "stored", "app": "a"}});
        client
            .post(made[0].as_str().unwrap(), &stored)
            .await
            .expect(201);
    }

    let mut count = 0;
    for line in lines {
        for (resource, object) in [
            ("policies", &line["policy"]),
            ("policybindings", &line["binding"]),
        ] {
            let path = format!("{GROUP}/validatingadmission{resource}");
            client.post(&path, object).await.expect(201);
        }
        for request in line["requests"].as_array().unwrap() {
            let expected = json!([request[3], request[4], request[5]]);
            let found = replay(&client, request).await;
            assert_eq!(found, expected, "{request}\n{}", line["policy"]);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[tokio::test]
async fn the_log_says_which_policy_changed_which_fields_or_refused() {
    let client = client().await;
    bind(
        &client,
        "small",
        "{validations: [{expression: '!has(object.spec) || object.spec.replicas <= 5'}]}",
        "{}",
    )
    .await;
    let mut mutating = policy(
        "team",
        "{failurePolicy: Fail, reinvocationPolicy: Never, mutations: [{patchType: ApplyConfiguration,
          applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"team\": \"shop\"}}}'}}]}",
    );
    mutating["kind"] = json!("MutatingAdmissionPolicy");
    // A deletion changes no object.
    for rule in mutating["spec"]["matchConstraints"]["resourceRules"]
        .as_array_mut()
        .unwrap()
    {
        rule["operations"] = json!(["CREATE"]);
    }
    let bound = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "team"}, "spec": {"policyName": "team"},
    });
    for (kind, object) in [("policies", &mutating), ("policybindings", &bound)] {
        let path = format!("{GROUP}/mutatingadmission{kind}");
        client.post(&path, object).await.expect(201);
    }

    let path = "/apis/apps/v1/namespaces/default/deployments";
    client.post(path, &deployment("web", 1)).await.expect(201);
    client.post(path, &deployment("many", 6)).await.expect(422);
    let log = client.server.log();
    let effects: Vec<_> = log.iter().flat_map(|entry| &entry.admission).collect();
    let changed = "MutatingAdmissionPolicy team changed the object: /metadata/labels";
    let refused = "ValidatingAdmissionPolicy small refused the request";
    assert_eq!(effects, [changed, changed, refused]);
}
