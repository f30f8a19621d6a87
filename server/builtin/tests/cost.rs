//! The cost of decoding in allocations, which do not depend on the machine.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use allocation_counter::measure;
use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::Value;

fn pod() -> Kind {
    Kind::of(&GroupVersionKind::new("", "v1", "Pod")).unwrap()
}

#[test]
fn decoding_without_changes_does_not_allocate() {
    let object = Value::from_json(
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}, "creationTimestamp":
        "2020-01-01T00:00:00Z"}, "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "500m", "memory":
        "1Gi"}}, "ports": [{"containerPort": 80}]}], "volumes": [{"name": "v", "emptyDir": {}}]}, "status": {}}"#,
    )
    .unwrap();
    let kind = pod();
    assert!(kind.decode(&object).unwrap().object.ptr_eq(&object));
    let counted = measure(|| {
        let decoded = kind.decode(&object).unwrap();
        assert!(decoded.object.ptr_eq(&object) && decoded.unknown.is_empty());
        assert!(kind.convert(&object, &kind).unwrap().ptr_eq(&object));
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn decoding_costs_in_proportion_to_the_object() {
    let cost = |containers: usize| {
        let container = r#"{"name": "a", "x": null, "resources": {"limits": {"cpu": 0.5}}}"#;
        let text = format!(
            r#"{{"spec": {{"containers": [{}]}}}}"#,
            vec![container; containers].join(",")
        );
        let object = Value::from_json(&text).unwrap();
        measure(|| drop(pod().decode(&object).unwrap())).bytes_total
    };
    cost(1);
    assert!(
        cost(2_000) < 11 * cost(200),
        "{} bytes for 200, {} for 2000",
        cost(200),
        cost(2_000)
    );
}

#[test]
fn validation_of_a_quota_costs_in_proportion_to_the_object() {
    let cost = |number: usize| {
        let scopes: Vec<String> = (0..number)
            .map(|at| format!(r#""scope-{}""#, at / 2))
            .collect();
        let hard: Vec<String> = (0..number)
            .map(|at| format!(r#""example.com/r{at}": "1""#))
            .collect();
        let spec = format!(
            r#"{{"scopes": [{}], "hard": {{{}}}}}"#,
            scopes.join(","),
            hard.join(",")
        );
        let object = Value::from_json(&format!(
            r#"{{"metadata": {{"name": "a"}}, "spec": {spec}}}"#
        ))
        .unwrap();
        let kind = GroupVersionKind::new("", "v1", "ResourceQuota");
        measure(|| drop(fieldmanager_builtin::validate_create(&kind, &object))).bytes_total
    };
    cost(1);
    assert!(
        cost(2_000) < 15 * cost(200),
        "{} bytes for 200, {} for 2000",
        cost(200),
        cost(2_000)
    );
}

/// Asserts that the allocations and the time of a function are in proportion to the number of items of its input.
fn check_growth(name: &str, make: impl Fn(usize) -> Value, run: impl Fn(&Value)) {
    let cost = |number: usize| {
        let object = make(number);
        measure(|| run(&object)).bytes_total
    };
    cost(1);
    assert!(
        cost(2_000) < 15 * cost(200),
        "{name}: {} bytes for 200, {} for 2000",
        cost(200),
        cost(2_000)
    );
    fieldmanager_testing::assert_linear(name, 200, make, run);
}

fn object(text: &str) -> Value {
    Value::from_yaml(text).unwrap()
}

fn repeated(number: usize, item: impl Fn(usize) -> String) -> String {
    (0..number).map(item).collect::<Vec<_>>().join(", ")
}

#[test]
fn validation_of_lists_costs_in_proportion_to_their_items() {
    let validate = |group: &str, version: &str, kind: &str, object: &Value| {
        drop(fieldmanager_builtin::validate_update(
            &GroupVersionKind::new(group, version, kind),
            "",
            object,
            object,
        ));
        drop(fieldmanager_builtin::validate_create(
            &GroupVersionKind::new(group, version, kind),
            object,
        ));
    };
    check_growth(
        "equal topologies",
        |number| {
            let terms = repeated(number, |_| {
                "{matchLabelExpressions: [{key: a, values: [b]}]}".to_owned()
            });
            object(&format!("{{provisioner: p, allowedTopologies: [{terms}]}}"))
        },
        |object| validate("storage.k8s.io", "v1", "StorageClass", object),
    );
    check_growth(
        "invalid addresses that the live service has",
        |number| {
            let ips = repeated(number, |at| format!("a{at}"));
            object(&format!(
                "{{spec: {{type: LoadBalancer, externalIPs: [{ips}], loadBalancerSourceRanges: [{ips}]}}}}"
            ))
        },
        |object| validate("", "v1", "Service", object),
    );
    check_growth(
        "claims of containers",
        |number| {
            let claims = repeated(number, |at| format!("{{name: c{at}}}"));
            let unknown = repeated(number, |at| {
                format!("{{name: u{at}, resources: {{claims: [{{name: x}}]}}}}")
            });
            object(&format!(
                "{{spec: {{resourceClaims: [{claims}], containers: [{unknown}]}}}}"
            ))
        },
        |object| validate("", "v1", "Pod", object),
    );
    check_growth(
        "terms of a scope selector",
        |number| {
            let terms = repeated(number, |_| {
                "{scopeName: BestEffort, operator: In}".to_owned()
            });
            let hard = repeated(number, |at| format!("example.com/r{at}: 1"));
            object(&format!(
                "{{spec: {{hard: {{cpu: 1, {hard}}}, scopeSelector: {{matchExpressions: [{terms}]}}}}}}"
            ))
        },
        |object| validate("", "v1", "ResourceQuota", object),
    );
}

#[test]
fn warnings_about_pairs_cost_in_proportion_to_the_items() {
    let warn = |object: &Value| {
        drop(fieldmanager_builtin::warnings(
            &GroupVersionKind::new("", "v1", "Pod"),
            "",
            object,
            None,
        ))
    };
    let volume = |items: String| {
        object(&format!(
            "{{spec: {{volumes: [{{name: v, configMap: {{items: [{items}]}}}}]}}}}"
        ))
    };
    check_growth(
        "different files",
        |number| volume(repeated(number, |at| format!("{{path: a/f{at}}}"))),
        warn,
    );
    check_growth(
        "nested files",
        |number| {
            volume(repeated(number, |at| {
                format!("{{path: {}}}", "a/".repeat(at % 40 + 1))
            }))
        },
        warn,
    );
    let ports =
        |items: String| object(&format!("{{spec: {{containers: [{{ports: [{items}]}}]}}}}"));
    check_growth(
        "ports with one number and different ports of the host",
        |number| {
            ports(repeated(number, |at| {
                format!("{{containerPort: 80, protocol: TCP, hostPort: {}}}", at + 1)
            }))
        },
        warn,
    );
    check_growth(
        "ports with one number and different addresses of the host",
        |number| {
            ports(repeated(number, |at| {
                format!(
                    "{{containerPort: 80, hostPort: 1, hostIP: '10.0.{}.{}'}}",
                    at / 250,
                    at % 250
                )
            }))
        },
        warn,
    );
}

#[test]
fn allocated_ports_of_a_service_cost_in_proportion_to_the_ports() {
    let kind = GroupVersionKind::new("", "v1", "Service");
    let service = |number: usize, node_ports: bool| {
        let node_port = |at: usize| {
            if node_ports {
                format!(", nodePort: {}", at + 1)
            } else {
                String::new()
            }
        };
        let ports = repeated(number, |at| {
            format!("{{name: p{at}, port: {}{}}}", at + 1, node_port(at))
        });
        object(&format!("{{spec: {{type: NodePort, ports: [{ports}]}}}}"))
    };
    let pair = |number: usize| Value::from(vec![service(number, false), service(number, true)]);
    check_growth("ports of nodes", pair, |pair| {
        let [new, live] = [0, 1].map(|at| {
            pair.as_list()
                .and_then(|list| list.get(at))
                .unwrap()
                .clone()
        });
        drop(fieldmanager_builtin::prepare_update(&kind, "", &new, &live));
    });
}
