//! Compares the bundled schema with the one that client-go carries for the same release.
//!
//! Set `FIELDMANAGER_CLIENT_GO` to the file `applyconfigurations/internal/internal.go` of `k8s.io/client-go`; without
//! it, the test is skipped.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_openapi::builtin;
use fieldmanager_schema::internal::{
    AtomDef, FieldDef, ListDef, MapDef, Relationship, TypeDef, TypeRef, type_definitions,
};
use fieldmanager_schema::{Schema, UNTYPED_ATOMIC, UNTYPED_DEDUCED};

/// Prefixes of types that only the bundle has, with the reason.
const ONLY_BUNDLED: [(&str, &str); 10] = [
    (
        "io.k8s.apiextensions-apiserver.",
        "applies of custom resource definitions are not in client-go",
    ),
    (
        "io.k8s.kube-aggregator.",
        "applies of API services are not in client-go",
    ),
    (
        "io.k8s.api.authentication.",
        "requests, which are never stored",
    ),
    (
        "io.k8s.api.authorization.",
        "requests, which are never stored",
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
        "a part of authorization's requests",
    ),
    (
        "io.k8s.api.core.v1.Binding",
        "a subresource, which is never stored",
    ),
    (
        "io.k8s.api.policy.v1.Eviction",
        "a subresource, which is never stored",
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
        "a part of Eviction",
    ),
    (
        "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
        "a part of Eviction",
    ),
    (
        "io.k8s.api.autoscaling.v1.Scale",
        "a subresource, which client-go applies by hand",
    ),
];

/// Prefixes of kinds that client-go has at versions of which the release serves only other kinds, and of the types that
/// only these kinds use.
const NOT_SERVED: [&str; 7] = [
    "io.k8s.api.admissionregistration.v1alpha1.ValidatingAdmissionPolicy",
    "io.k8s.api.admissionregistration.v1beta1.MutatingWebhook",
    "io.k8s.api.admissionregistration.v1beta1.ValidatingAdmissionPolicy",
    "io.k8s.api.admissionregistration.v1beta1.ValidatingWebhook",
    "io.k8s.api.certificates.v1beta1.CertificateSigningRequest",
    "io.k8s.api.coordination.v1beta1.Lease",
    "io.k8s.api.scheduling.v1beta1.PriorityClass",
];

/// Suffixes of the parts of kinds that are not served.
const PARTS_NOT_SERVED: [&str; 6] = [
    "v1alpha1.AuditAnnotation",
    "v1beta1.AuditAnnotation",
    ".ExpressionWarning",
    ".TypeChecking",
    "v1alpha1.Validation",
    "v1beta1.Validation",
];

/// As above, for the webhooks.
const WEBHOOK_PARTS: [&str; 2] = ["v1beta1.ServiceReference", "v1beta1.WebhookClientConfig"];

/// Differences within types that both have, with the reason.
const WITHIN: [(&str, &str); 4] = [
    (
        "io.k8s.api.core.v1.AppArmorProfile",
        "the bundle has the value of the API, `Localhost`",
    ),
    (
        "io.k8s.api.core.v1.SeccompProfile",
        "the bundle has the value of the API, `Localhost`",
    ),
    (
        "io.k8s.api.flowcontrol.v1.LimitResponse",
        "the bundle has the value of the API, `Queue`",
    ),
    (
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "client-go refers to an atomic type instead of this one",
    ),
];

#[test]
fn bundle_equals_the_client_go_schema() {
    let Ok(file) = std::env::var("FIELDMANAGER_CLIENT_GO") else {
        println!("skipped: FIELDMANAGER_CLIENT_GO is not set");
        return;
    };
    let text = std::fs::read_to_string(&file).unwrap();
    let yaml = text
        .split('`')
        .find(|part| part.starts_with("types:"))
        .expect("a schema between backticks");
    let theirs = Side::new(&Schema::from_yaml(yaml).unwrap());
    let ours = Side::new(builtin::types().schema());

    let mut differences: Vec<String> = Vec::new();
    for name in ours
        .types
        .keys()
        .filter(|name| !theirs.types.contains_key(*name))
    {
        if !ONLY_BUNDLED
            .iter()
            .any(|(prefix, _)| name.starts_with(prefix))
        {
            differences.push(format!("{name}: only in the bundle"));
        }
    }
    // A version of a group that the release no longer serves has no kinds in the bundle, and types that only such a
    // version uses are omitted.
    let served: BTreeSet<&str> = ours
        .types
        .keys()
        .filter_map(|name| Some(name.rsplit_once('.')?.0))
        .collect();
    for name in theirs
        .types
        .keys()
        .filter(|name| !ours.types.contains_key(*name))
    {
        let known = NOT_SERVED.iter().any(|prefix| name.starts_with(prefix))
            || PARTS_NOT_SERVED
                .iter()
                .chain(&WEBHOOK_PARTS)
                .any(|end| name.ends_with(end));
        if !known
            && name
                .rsplit_once('.')
                .is_some_and(|(package, _)| served.contains(package))
        {
            differences.push(format!("{name}: only in client-go"));
        }
    }
    let mut both = 0;
    for (name, fields) in &ours.types {
        let Some(expected) = theirs.types.get(name) else {
            continue;
        };
        both += 1;
        for field in fields
            .keys()
            .chain(expected.keys())
            .collect::<BTreeSet<_>>()
        {
            let (ours, theirs) = (fields.get(field), expected.get(field));
            let explained = field == "(whole)" && WITHIN.iter().any(|(ty, _)| ty == name);
            if ours != theirs && !explained {
                differences.push(format!(
                    "{name} {field}:\n  bundle    {ours:?}\n  client-go {theirs:?}"
                ));
            }
        }
    }
    println!("{both} types are in both");
    assert!(both > 600, "{both}");
    for (name, reason) in WITHIN {
        let differs = ours.types.get(name) != theirs.types.get(name);
        assert!(differs, "{name} does not differ any more: {reason}");
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// The types of a schema, with a description of the ownership of each field. A union and the whole type have separate
/// entries.
struct Side {
    types: BTreeMap<String, BTreeMap<String, String>>,
}

impl Side {
    fn new(schema: &Schema) -> Self {
        let definitions: BTreeMap<&str, &TypeDef> = type_definitions(schema)
            .iter()
            .map(|def| (def.name.as_str(), def))
            .collect();
        let own = |name: &str| name != UNTYPED_ATOMIC && name != UNTYPED_DEDUCED;
        let writer = Writer {
            definitions: &definitions,
        };
        let types = definitions.iter().filter(|(name, _)| own(name));
        Side {
            types: types
                .map(|(name, def)| ((*name).to_owned(), writer.fields(&def.atom)))
                .collect(),
        }
    }
}

struct Writer<'d> {
    definitions: &'d BTreeMap<&'d str, &'d TypeDef>,
}

impl Writer<'_> {
    fn fields(&self, atom: &AtomDef) -> BTreeMap<String, String> {
        let mut whole = atom.clone();
        let mut out = BTreeMap::new();
        if let Some(map) = &mut whole.map {
            for field in std::mem::take(&mut map.fields) {
                out.insert(format!(".{}", field.name), self.reference(&field.ty));
            }
        }
        out.insert("(whole)".to_owned(), self.atom(&whole));
        out
    }

    fn atom(&self, atom: &AtomDef) -> String {
        // client-go inlines the deduced type where the direct converter refers to it.
        if let (Some(_), Some(map)) = (&atom.list, &atom.map) {
            let element = map
                .element
                .as_ref()
                .and_then(|element| element.named.as_deref());
            return element.unwrap_or("any").to_owned();
        }
        let mut parts = Vec::new();
        parts.extend(atom.scalar.map(|scalar| scalar.name().to_owned()));
        parts.extend(atom.list.as_deref().map(|list| self.list(list)));
        parts.extend(atom.map.as_deref().map(|map| self.map(map)));
        parts.join(" or ")
    }

    fn list(&self, list: &ListDef) -> String {
        let keys: Vec<String> = list
            .keys
            .iter()
            .map(|key| format!("{key}={}", self.default(list, key)))
            .collect();
        format!(
            "list({:?}, {}, {})",
            list.relationship,
            keys.join(" "),
            self.reference(&list.element)
        )
    }

    /// The default of a key; defaults of other fields do not affect ownership.
    fn default(&self, list: &ListDef, key: &str) -> String {
        let atom = match &list.element.named {
            Some(name) => self.definitions.get(name.as_str()).map(|def| &def.atom),
            None => Some(&list.element.inlined),
        };
        let fields: &[FieldDef] = atom
            .and_then(|atom| atom.map.as_deref())
            .map_or(&[], |map| &map.fields);
        let default = fields
            .iter()
            .find(|field| field.name == key)
            .and_then(|field| field.default.as_ref());
        default.map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    fn map(&self, map: &MapDef) -> String {
        let atomic = map.relationship == Some(Relationship::Atomic);
        let element = map.element.as_ref().map(|element| self.reference(element));
        let fields: Vec<String> = map
            .fields
            .iter()
            .map(|field| format!("{}: {}", field.name, self.reference(&field.ty)))
            .collect();
        let unions: Vec<String> = map
            .unions
            .iter()
            .map(|union| {
                let members: Vec<String> = union
                    .fields
                    .iter()
                    .map(|m| format!("{}={}", m.field, m.value))
                    .collect();
                format!("{:?} {}", union.discriminator, members.join(" "))
            })
            .collect();
        format!("map(atomic {atomic}, {element:?}, {fields:?}, {unions:?})")
    }

    fn reference(&self, to: &TypeRef) -> String {
        let atomic = to.relationship == Some(Relationship::Atomic);
        let text = match to.named.as_deref() {
            // The same type under another name: its value is owned as a whole.
            Some("io.k8s.apimachinery.pkg.runtime.RawExtension") => UNTYPED_ATOMIC.to_owned(),
            Some(name) => name.to_owned(),
            None => self.atom(&to.inlined),
        };
        if atomic {
            format!("{text} atomic")
        } else {
            text
        }
    }
}
