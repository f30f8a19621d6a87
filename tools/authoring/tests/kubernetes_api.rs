//! The unions of the Kubernetes API types equal those that the OpenAPI document declares.
//!
//! `FIELDMANAGER_KUBERNETES_API` is the folder of the module `k8s.io/api` of the bundled release,
//! `FIELDMANAGER_CERT_MANAGER` that of `github.com/cert-manager/cert-manager`, an operator with kubebuilder markers and
//! no union markers, and `FIELDMANAGER_GATEWAY_API` that of `sigs.k8s.io/gateway-api`, which marks discriminators but
//! no members. Tests whose variable is not set are skipped.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot continue must fail"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
use fieldmanager_openapi::builtin;
use fieldmanager_schema::internal::type_definitions;
use fieldmanager_value::Value;

/// The source files of a module: relative paths and contents.
fn source(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let name = path.display().to_string();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else if name.ends_with(".go")
                && !name.ends_with("_test.go")
                && !name.contains("zz_generated")
                && !name.ends_with("generated.pb.go")
            {
                found.push((name, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn types(module: &str, files: &[(String, String)]) -> GoTypes {
    let paths: Vec<String> = files
        .iter()
        .map(|(path, _)| {
            format!(
                "{module}/{}",
                path.rsplit_once('/').map_or("", |(folder, _)| folder)
            )
        })
        .collect();
    let files: Vec<GoFile<'_>> = files
        .iter()
        .zip(&paths)
        .map(|((path, text), import)| GoFile {
            path,
            import_path: Some(import.trim_end_matches('/')),
            text,
        })
        .collect();
    GoTypes::read(&files)
}

/// The discriminator and the members in a common format.
fn text(discriminator: Option<&str>, members: &BTreeMap<String, String>) -> String {
    format!("{} {members:?}", discriminator.unwrap_or("-"))
}

/// The reasons why the unions of types differ. Types are named without `io.k8s.api`.
const DIFFERENCES: [(&str, &[&str]); 4] = [
    (
        "the marker has the name of the field, but the API has another value; the bundle corrects it",
        &[
            "core.v1.AppArmorProfile",
            "core.v1.SeccompProfile",
            "flowcontrol.v1.LimitResponse",
        ],
    ),
    (
        "only markers of declarative validation, which the generator of the OpenAPI document does not know",
        &[
            "authorization.v1.SelfSubjectAccessReviewSpec",
            "authorization.v1.SubjectAccessReviewSpec",
            "resource.v1.DeviceAttribute",
            "resource.v1.NodeAllocatableMapping",
            "resource.v1beta1.DeviceAttribute",
            "resource.v1beta1.NodeAllocatableMapping",
            "resource.v1beta2.DeviceAttribute",
            "resource.v1beta2.NodeAllocatableMapping",
            "scheduling.v1alpha3.PodGroupResourceClaim",
            "scheduling.v1alpha3.WorkloadPodGroupResourceClaim",
            "scheduling.v1alpha3.WorkloadSpec",
            "scheduling.v1beta1.PodGroupResourceClaim",
            "scheduling.v1beta1.WorkloadSpec",
        ],
    ),
    (
        "the version is not served by default and is not in the OpenAPI document",
        &[
            "authorization.v1beta1.SelfSubjectAccessReviewSpec",
            "authorization.v1beta1.SubjectAccessReviewSpec",
            "flowcontrol.v1beta1.LimitResponse",
            "flowcontrol.v1beta1.PriorityLevelConfigurationSpec",
            "flowcontrol.v1beta1.Subject",
            "flowcontrol.v1beta2.LimitResponse",
            "flowcontrol.v1beta2.PriorityLevelConfigurationSpec",
            "flowcontrol.v1beta2.Subject",
            "flowcontrol.v1beta3.LimitResponse",
            "flowcontrol.v1beta3.PriorityLevelConfigurationSpec",
            "flowcontrol.v1beta3.Subject",
        ],
    ),
    (
        "no object has the type, so the bundle omits it",
        &[
            "scheduling.v1alpha3.WorkloadCompositePodGroupDisruptionMode",
            "scheduling.v1alpha3.WorkloadCompositePodGroupSchedulingPolicy",
        ],
    ),
];

/// Packages with a discriminator without members.
const WITHOUT_MEMBERS: [&str; 3] = [
    "admissionregistration/v1/",
    "admissionregistration/v1alpha1/",
    "admissionregistration/v1beta1/",
];

#[test]
fn kubernetes_api_unions_equal_those_of_the_openapi_document() {
    let Some(root) = std::env::var_os("FIELDMANAGER_KUBERNETES_API") else {
        return;
    };
    let types = types("k8s.io/api", &source(Path::new(&root)));
    let mut go: BTreeMap<String, String> = BTreeMap::new();
    for union in types.declared() {
        let package = union
            .package
            .unwrap()
            .replace("k8s.io/api/", "")
            .replace('/', ".");
        let members = union
            .extension
            .get("fields-to-discriminateBy")
            .and_then(Value::as_map);
        let members: BTreeMap<String, String> = members
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.to_string(), value.as_str().unwrap().to_owned()))
            .collect();
        let old = go.insert(
            format!("{package}.{}", union.type_name),
            text(union.discriminator.as_deref(), &members),
        );
        assert_eq!(old, None, "no struct has two unions");
    }
    let mut openapi: BTreeMap<String, String> = BTreeMap::new();
    let bundled = builtin::types();
    for def in type_definitions(bundled.schema()) {
        for union in def.atom.map.iter().flat_map(|map| &map.unions) {
            let members = union
                .fields
                .iter()
                .map(|f| (f.field.to_string(), f.value.to_string()))
                .collect();
            let name = def
                .name
                .as_str()
                .strip_prefix("io.k8s.api.")
                .unwrap()
                .to_owned();
            openapi.insert(name, text(union.discriminator.as_deref(), &members));
        }
    }
    assert!(openapi.len() >= 18, "the bundle has unions");
    let mut different: Vec<&String> = openapi
        .iter()
        .filter(|(name, union)| go.get(*name) != Some(union))
        .map(|(name, _)| name)
        .collect();
    different.extend(go.keys().filter(|name| !openapi.contains_key(*name)));
    different.sort();
    let mut expected: Vec<&str> = DIFFERENCES
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    expected.sort_unstable();
    assert_eq!(different, expected, "{go:#?}");
    for name in DIFFERENCES[1].1 {
        assert!(
            bundled
                .schema()
                .type_named(&format!("io.k8s.api.{name}"))
                .is_some(),
            "{name} is served"
        );
    }
    assert_eq!(types.faults(), []);
    let warnings: Vec<String> = types.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), WITHOUT_MEMBERS.len(), "{warnings:?}");
    for (warning, package) in warnings.iter().zip(WITHOUT_MEMBERS) {
        assert!(
            warning.starts_with(package)
                && warning.contains("discriminator `PatchType` has no members"),
            "{warning}"
        );
    }
}

/// The documents of a folder, except those whose name contains `without`.
fn documents(folder: &Path, without: &str) -> Vec<(String, String)> {
    let mut documents = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".yaml") && !name.contains(without) {
            documents.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    documents.sort();
    documents
}

fn assert_lines_are_only_added(name: &str, before: &str, after: &str) {
    let mut lines = after.lines();
    assert!(
        before.lines().all(|line| lines.any(|other| other == line)),
        "{name}: lines are only added"
    );
}

#[test]
fn operator_with_kubebuilder_markers_has_no_faults() {
    let Some(root) = std::env::var_os("FIELDMANAGER_CERT_MANAGER") else {
        return;
    };
    let root = Path::new(&root);
    let mut files = source(&root.join("pkg/apis"));
    let module = "github.com/cert-manager/cert-manager/pkg/apis";
    let documents = documents(&root.join("deploy/crds"), "kustomization");
    let documents: Vec<Document<'_>> = documents
        .iter()
        .map(|(name, text)| Document { name, text })
        .collect();
    let read = types(module, &files);
    assert_eq!((read.faults(), read.unions()), (&[][..], 0));
    let out = insert(&read, &documents).unwrap();
    assert!(
        documents.len() >= 6
            && out
                .iter()
                .zip(&documents)
                .all(|(out, before)| out.text == before.text)
    );

    // Adds a marker to a type that its description declares as a union.
    for (_, text) in &mut files {
        *text = text.replace(
            "\ntype IssuerConfig struct",
            "\n// +union\ntype IssuerConfig struct",
        );
    }
    let out = insert(&types(module, &files), &documents).unwrap();
    for (out, before) in out.iter().zip(&documents) {
        let added = usize::from(
            [
                "cert-manager.io_issuers.yaml",
                "cert-manager.io_clusterissuers.yaml",
            ]
            .contains(&before.name),
        );
        assert_eq!((out.changes, out.unions), (added, added), "{}", before.name);
        assert_eq!(
            out.text.lines().count(),
            before.text.lines().count() + added * 7,
            "{}",
            before.name
        );
        assert_lines_are_only_added(before.name, before.text, &out.text);
    }
}

/// A filter of an HTTPRoute as its markers would declare it, in the experimental channel.
const FILTER: &str = r#"{"fieldMembers":{"CORS":{"name":"cors","optional":false},"ExtensionRef":{"name":"extensionRef","optional":false},"ExternalAuth":{"name":"externalAuth","optional":false},"RequestHeaderModifier":{"name":"requestHeaderModifier","optional":false},"RequestMirror":{"name":"requestMirror","optional":false},"RequestRedirect":{"name":"requestRedirect","optional":false},"ResponseHeaderModifier":{"name":"responseHeaderModifier","optional":false},"URLRewrite":{"name":"urlRewrite","optional":false}}}"#;

#[test]
fn gateway_api_discriminators_become_unions_with_marked_members() {
    let Some(root) = std::env::var_os("FIELDMANAGER_GATEWAY_API") else {
        return;
    };
    let root = Path::new(&root);
    let mut files = source(&root.join("apis"));
    let module = "sigs.k8s.io/gateway-api/apis";
    // The folder also contains an admission policy, and an experimental group whose types are elsewhere.
    let mut documents = documents(&root.join("config/crd/experimental"), "_vap_");
    documents.retain(|(name, _)| name.starts_with("gateway.networking.k8s.io_"));
    let documents: Vec<Document<'_>> = documents
        .iter()
        .map(|(name, text)| Document { name, text })
        .collect();
    let read = types(module, &files);
    assert_eq!((read.faults(), read.unions()), (&[][..], 0));
    let lone = "has no members and declares no union";
    assert!(
        read.warnings().len() >= 5
            && read
                .warnings()
                .iter()
                .all(|warning| warning.message.contains(lone))
    );
    // Kinds of older versions are defined by the types of the newest (`type HTTPRoute v1.HTTPRoute`).
    let out = insert(&read, &documents).unwrap();
    assert!(
        documents.len() >= 9
            && out
                .iter()
                .zip(&documents)
                .all(|(out, before)| out.text == before.text)
    );

    for (path, text) in &mut files {
        if path == "v1/httproute_types.go" {
            let (before, filter) = text.split_once("\ntype HTTPRouteFilter struct").unwrap();
            let (filter, after) = filter.split_once("\n}\n").unwrap();
            let filter = filter.replace("\t// +optional\n", "\t// +unionMember\n\t// +optional\n");
            let filter = filter.replace(
                "// +kubebuilder:validation:Enum=RequestHeaderModifier;",
                "// +kubebuilder:validation:Enum=ExternalAuth;RequestHeaderModifier;",
            );
            *text = format!("{before}\ntype HTTPRouteFilter struct{filter}\n}}\n{after}");
        }
    }
    let out = insert(&types(module, &files), &documents).unwrap();
    for (out, before) in out.iter().zip(&documents) {
        let is_route = before.name == "gateway.networking.k8s.io_httproutes.yaml";
        // In two versions, at the rule and at each of its backends.
        let places = if is_route { 4 } else { 0 };
        assert_eq!(
            (out.changes, out.unions),
            (places, places),
            "{}",
            before.name
        );
        assert_lines_are_only_added(before.name, before.text, &out.text);
        if is_route {
            let found = Value::from_yaml(&out.text).unwrap().to_json();
            assert_eq!(found.matches(FILTER).count(), places);
        }
    }
}
