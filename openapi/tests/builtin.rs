//! The bundled schema of Kubernetes loads and has the well-known properties of its types.
#![cfg(feature = "builtin")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers may panic")]

use fieldmanager_openapi::{GroupVersionKind, builtin};
use fieldmanager_schema::Type;
use fieldmanager_schema::internal::{Atom, ListType, MapType, type_definitions};
use fieldmanager_value::Value;

fn of(version: &str, kind: &str) -> Type {
    builtin::types()
        .for_kind(&GroupVersionKind::from_api_version_kind(version, kind))
        .unwrap()
}

fn named(name: &str) -> Atom {
    builtin::types()
        .schema()
        .type_named(name)
        .unwrap_or_else(|| panic!("no {name}"))
        .atom()
        .clone()
}

fn map(atom: &Atom) -> &MapType {
    atom.map.as_ref().unwrap()
}

/// The atom at a path of fields; `*` is the items of a list.
fn at(ty: &Type, path: &str) -> Atom {
    let schema = ty.schema();
    let mut atom = ty.atom().clone();
    for step in path.split('.') {
        let next = match step {
            "*" => atom.list.as_ref().unwrap().element,
            name => {
                map(&atom)
                    .field(name)
                    .unwrap_or_else(|| panic!("no {name} in {}", atom.name))
                    .ty
            }
        };
        atom = schema.atom(next).clone();
    }
    atom
}

fn keys(list: &Atom) -> Vec<(String, Option<Value>)> {
    let list: &ListType = list.list.as_ref().unwrap();
    assert!(!list.atomic);
    list.keys
        .iter()
        .map(|key| (key.name.to_string(), key.default.clone()))
        .collect()
}

#[test]
fn builtin_types_have_the_kinds_of_the_release() {
    let types = builtin::types();
    assert!(types.kinds().count() > 100);
    assert_eq!(
        of("apps/v1", "Deployment").name(),
        "io.k8s.api.apps.v1.Deployment"
    );
    assert_eq!(of("v1", "Pod").name(), "io.k8s.api.core.v1.Pod");
    assert_eq!(
        of("apiextensions.k8s.io/v1", "CustomResourceDefinition").name(),
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    );
    for (kind, names) in types.kinds() {
        assert_eq!(names.len(), 1, "{kind} is ambiguous");
        assert!(types.for_kind(kind).is_ok(), "{kind}");
    }
    let error = types
        .for_kind(&GroupVersionKind::from_api_version_kind(
            "apps/v1",
            "Deploymnt",
        ))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("did you mean apps/v1 Deployment"),
        "{error}"
    );
}

#[test]
fn builtin_lists_have_keys_and_defaults() {
    let deployment = of("apps/v1", "Deployment");
    let empty = || Some(Value::from(""));
    let containers = at(&deployment, "spec.template.spec.containers");
    assert_eq!(keys(&containers), [("name".to_owned(), empty())]);
    let ports = at(&deployment, "spec.template.spec.containers.*.ports");
    let port = |name: &str| {
        [
            (name.to_owned(), Some(0.into())),
            ("protocol".to_owned(), Some("TCP".into())),
        ]
    };
    assert_eq!(keys(&ports), port("containerPort"));
    assert_eq!(keys(&at(&of("v1", "Service"), "spec.ports")), port("port"));
    assert_eq!(
        keys(&at(&deployment, "metadata.ownerReferences")),
        [("uid".to_owned(), empty())]
    );
    assert_eq!(keys(&at(&deployment, "metadata.finalizers")), []);
    // Always present, but without a default: the API server omits it if it is empty.
    let secrets = at(&of("v1", "ServiceAccount"), "secrets");
    assert_eq!(keys(&secrets), [("name".to_owned(), None)]);
    assert!(
        at(&deployment, "spec.template.spec.containers.*.command")
            .list
            .unwrap()
            .atomic
    );
}

#[test]
fn only_selectors_are_atomic() {
    let deployment = of("apps/v1", "Deployment");
    assert!(map(&at(&deployment, "spec.selector")).atomic);
    assert!(map(&at(&of("v1", "Service"), "spec.selector")).atomic);
    assert!(map(&at(&of("v1", "ConfigMap"), "data")).element.is_some());
    for path in [
        "spec",
        "spec.template.metadata.labels",
        "metadata.annotations",
    ] {
        assert!(!map(&at(&deployment, path)).atomic, "{path}");
    }
}

#[test]
fn scalars_of_several_kinds_are_untyped() {
    use fieldmanager_schema::internal::Scalar::Untyped;
    for name in [
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    ] {
        let atom = named(name);
        assert_eq!(
            (atom.scalar, atom.list.is_some(), atom.map.is_some()),
            (Some(Untyped), false, false),
            "{name}"
        );
    }
}

/// A type, the members of its union with their values, and the values without a member.
type UnionRow = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

#[test]
fn builtin_unions_have_the_values_of_the_api() {
    let rows: &[UnionRow] = &[
        (
            "core.v1.SeccompProfile",
            &[("localhostProfile", "Localhost")],
            &["RuntimeDefault", "Unconfined"],
        ),
        (
            "core.v1.AppArmorProfile",
            &[("localhostProfile", "Localhost")],
            &["RuntimeDefault", "Unconfined"],
        ),
        (
            "flowcontrol.v1.LimitResponse",
            &[("queuing", "Queue")],
            &["Reject"],
        ),
        (
            "flowcontrol.v1.PriorityLevelConfigurationSpec",
            &[("exempt", "Exempt"), ("limited", "Limited")],
            &[],
        ),
        (
            "flowcontrol.v1.Subject",
            &[
                ("group", "Group"),
                ("serviceAccount", "ServiceAccount"),
                ("user", "User"),
            ],
            &[],
        ),
    ];
    for (name, members, empty) in rows {
        let atom = named(&format!("io.k8s.api.{name}"));
        let [union] = map(&atom).unions.as_slice() else {
            panic!("{name}")
        };
        let found: Vec<_> = union
            .fields
            .iter()
            .map(|m| (m.field.as_str(), m.value.as_str()))
            .collect();
        assert_eq!(found, *members, "{name}");
        assert_eq!(union.empty_members, *empty, "{name}");
        assert!(union.deduce && !union.closed && !union.required, "{name}");
    }
    let with_unions = type_definitions(builtin::types().schema())
        .iter()
        .filter(|def| {
            def.atom
                .map
                .as_ref()
                .is_some_and(|map| !map.unions.is_empty())
        })
        .count();
    assert_eq!(with_unions, 18);
}
