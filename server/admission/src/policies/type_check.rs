//! The types of the expressions of a ValidatingAdmissionPolicy, checked against the schemas of the kinds that it is about.
//!
//! Behaviour: `k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go`, and
//! `k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus`.

use std::collections::BTreeSet;

use fieldmanager_cel::InputType;
use fieldmanager_structural::internal::{ObjectExt, declare_metadata};
use fieldmanager_structural::{FieldPath, GroupVersionKind, Structural};
use fieldmanager_value::internal::level;
use fieldmanager_value::{Map, Str, Value};

use super::source::field;
use crate::expressions::{typed_environment, with_variables};
use crate::matching::items;
use crate::request::map;

/// The kinds of a rule after which no more are looked for.
const MOST_KINDS: usize = 10;

/// The groups, versions and resources of a rule that are looked for.
const MOST_PLACES: usize = 10_000;

/// The length of all expressions, each counted for each kind, above which no types are checked.
const MOST_TEXT: usize = 16 << 20;

const REFERENCE: &str = "#/components/schemas/";

/// The members of a schema that types depend on, apart from schemas in it.
const MEMBERS: [&str; 4] = [
    "type",
    "format",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
];

/// The kinds that a server serves, for the types of expressions.
pub trait ServedKinds {
    /// The kinds of a resource of a version, by its plural or singular name. An empty group stands for all groups.
    fn kinds(&self, group: &str, version: &str, resource: &str) -> Vec<GroupVersionKind>;

    /// The OpenAPI document, version 3, of a group and a version.
    fn document(&self, group: &str, version: &str) -> Option<Value>;
}

/// The status that a controller gives a ValidatingAdmissionPolicy: the generation, and the warnings about types. `None` if the
/// status is that of this generation, or if there is too much to check.
///
/// The names of types end with the time in Kubernetes; here objects have that of their kind, and parameters that with a `2`.
///
/// ```
/// use fieldmanager_admission::policies::{ServedKinds, check_types};
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// struct Shops;
///
/// impl ServedKinds for Shops {
///     fn kinds(&self, group: &str, version: &str, _: &str) -> Vec<GroupVersionKind> {
///         vec![GroupVersionKind::new(group, version, "Shop")]
///     }
///
///     fn document(&self, _: &str, _: &str) -> Option<Value> {
///         let kind = "{group: example.com, version: v1, kind: Shop}";
///         let shop = format!("{{type: object, x-kubernetes-group-version-kind: [{kind}]}}");
///         Value::from_yaml(&format!("components: {{schemas: {{Shop: {shop}}}}}")).ok()
///     }
/// }
///
/// let policy = Value::from_yaml("
/// metadata: {generation: 1}
/// spec:
///   matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], resources: [shops]}]}
///   validations: [{expression: object.size > 1}]
/// ")?;
/// let status = check_types(&policy, &Shops).unwrap();
/// assert!(status.to_json().contains("undefined field 'size'"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_types(policy: &Value, served: &dyn ServedKinds) -> Option<Value> {
    let generation = policy.metadata_field("generation")?.as_i64()?;
    let observed = field(field(policy, "status"), "observedGeneration").as_i64();
    if generation <= observed.unwrap_or(0) {
        return None;
    }

    let spec = field(policy, "spec");
    let mut expressions: Vec<(FieldPath, &str, String)> = Vec::new();
    for (at, validation) in items(spec, "validations").enumerate() {
        let path = FieldPath::root("spec").child("validations").index(at);
        for name in ["expression", "messageExpression"] {
            let source = validation.string(name);
            // A message is optional.
            if name == "expression" || !source.is_empty() {
                expressions.push((path.child(name), source, String::new()));
            }
        }
    }
    let kinds = kinds_of(spec, served);
    let variables = items(spec, "variables").map(|variable| variable.string("expression"));
    let sources = expressions.iter().map(|(_, source, _)| *source);
    let text: usize = variables.chain(sources).map(str::len).sum();
    if text.saturating_mul(kinds.len()) > MOST_TEXT {
        return None;
    }

    let mut known = SchemaDocuments { served, last: None };
    let params = params(spec, &mut known);
    // One kind after the other, so that only one schema is in memory.
    for kind in kinds {
        let Some(object) = known.type_of(&kind, kind.kind.as_str()) else {
            continue;
        };
        let environment = with_variables(typed_environment(object, params.clone()), spec);
        for (_, source, warning) in &mut expressions {
            if let Err(faults) = environment.check(source) {
                let line = if warning.is_empty() { "" } else { "\n" };
                warning.push_str(&format!("{line}{kind}: {faults}\n"));
            }
        }
    }
    Some(status(generation, expressions))
}

fn status(generation: i64, expressions: Vec<(FieldPath, &str, String)>) -> Value {
    let warned = expressions
        .into_iter()
        .filter(|(_, _, text)| !text.is_empty());
    let warnings = warned.map(|(path, _, text)| {
        let path = path.to_string();
        map([("fieldRef", path.into()), ("warning", text.into())])
    });
    let warnings: Vec<Value> = warnings.collect();
    let checked = (!warnings.is_empty()).then(|| ("expressionWarnings", warnings.into()));
    map([
        ("observedGeneration", generation.into()),
        ("typeChecking", map(checked)),
    ])
}

/// The type of the parameters, if the policy has any. Without a schema they have any type.
fn params(spec: &Value, known: &mut SchemaDocuments<'_>) -> Option<InputType> {
    let kind = Some(field(spec, "paramKind")).filter(|kind| !kind.is_null())?;
    let kind = kind.declared_kind();
    // Objects and parameters of one kind have different types.
    let name = format!("{}2", kind.kind);
    Some(known.type_of(&kind, &name).unwrap_or(InputType::Dynamic))
}

/// The kinds that the rules name, in order. Rules with wildcards and subresources name none.
///
/// Behaviour: `typesToCheck`.
fn kinds_of(spec: &Value, served: &dyn ServedKinds) -> BTreeSet<GroupVersionKind> {
    let mut out = BTreeSet::new();
    for rule in items(field(spec, "matchConstraints"), "resourceRules") {
        let names = |list| -> Vec<&str> {
            let mut names: Vec<&str> = items(rule, list).filter_map(Value::as_str).collect();
            names.sort_unstable();
            names
        };
        let (groups, versions) = (names("apiGroups"), names("apiVersions"));
        if groups
            .iter()
            .chain(&versions)
            .any(|name| name.contains('*'))
        {
            continue;
        }

        let mut resources = names("resources");
        resources.retain(|name| !name.contains(['*', '/']));
        let versions = |group| versions.iter().map(move |version| (group, *version));
        let places = groups.iter().flat_map(|group| versions(*group));
        let places =
            places.flat_map(|place| resources.iter().map(move |resource| (place, *resource)));
        // Their number is the product of those of three lists.
        let places = places.take(MOST_PLACES);
        let found = places.flat_map(|((group, version), resource)| {
            served.kinds(group, version, &resource.to_lowercase())
        });
        let found: Vec<GroupVersionKind> = found.take(MOST_KINDS).collect();
        let is_full = found.len() == MOST_KINDS;
        out.extend(found);
        // Then the other rules are not looked at.
        if is_full {
            break;
        }
    }
    out
}

/// The documents of a server, of which the last one is kept.
struct SchemaDocuments<'s> {
    served: &'s dyn ServedKinds,
    last: Option<(GroupVersionKind, Value)>,
}

impl SchemaDocuments<'_> {
    /// The type of objects of a kind, by a name; `None` if the kind has no schema.
    fn type_of(&mut self, kind: &GroupVersionKind, name: &str) -> Option<InputType> {
        let is_last = |(of, _): &(GroupVersionKind, Value)| {
            (&of.group, &of.version) == (&kind.group, &kind.version)
        };
        if !self.last.as_ref().is_some_and(is_last) {
            let document = self.served.document(&kind.group, &kind.version)?;
            self.last = Some((kind.clone(), document));
        }
        let (_, document) = self.last.as_ref()?;
        let schemas = field(field(document, "components"), "schemas").as_map()?;
        let is_of = |(_, schema): &(&Str, &Value)| {
            items(schema, "x-kubernetes-group-version-kind").any(|of| {
                let of = ["group", "version", "kind"].map(|name| of.string(name));
                of == [&*kind.group, &*kind.version, &*kind.kind]
            })
        };

        let (own, schema) = schemas.iter().find(is_of)?;
        let schema = resolved(schemas, schema, &mut vec![own]);
        let schema = Structural::from_value(&schema).ok()?;
        Some(InputType::Typed(
            name.into(),
            declare_metadata(&schema, true),
        ))
    }
}

/// What types depend on of a schema, with references resolved. One to a schema around it is an object without fields.
///
/// Behaviour: `PopulateRefs` of `k8s.io/apiserver/pkg/cel/openapi/resolver`.
fn resolved<'v>(schemas: &'v Map, schema: &'v Value, around: &mut Vec<&'v str>) -> Value {
    let own = schema.string("$ref");
    let wrapped = items(schema, "allOf").map(|schema| schema.string("$ref"));
    let reference = std::iter::once(own)
        .chain(wrapped)
        .find(|text| !text.is_empty());
    let reference = reference.and_then(|text| text.strip_prefix(REFERENCE));
    if let Some(name) = reference {
        if around.contains(&name) {
            return Value::Map(Map::single("type", "object"));
        }
        around.push(name);
        let target = schemas.get(name).unwrap_or(&Value::Null);
        let out = level(|| resolved(schemas, target, around));
        around.pop();
        return out;
    }

    // Defaults, limits and texts do not matter.
    let mut out = Map::new();
    for name in MEMBERS {
        if let Some(value) = schema.get(name) {
            out.insert(name, value.clone());
        }
    }
    if schema.string("format") == "int-or-string" {
        out.insert("x-kubernetes-int-or-string", true);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner @ Value::Map(_)) = schema.get(name) {
            out.insert(name, level(|| resolved(schemas, inner, around)));
        }
    }

    if let Some(properties) = schema.get("properties").and_then(Value::as_map) {
        let properties = properties
            .iter()
            .map(|(name, inner)| (name.clone(), level(|| resolved(schemas, inner, around))));
        out.insert("properties", properties.collect::<Map>());
    }
    Value::Map(out)
}
