//! Validation of built-in kinds.
//!
//! The table `data/validation.yaml` has the checks of each kind in the order of Kubernetes, whose first member is the
//! path of the values (`at`):
//!
//! | member | error |
//! |---|---|
//! | `required: DETAIL` | the value is absent or empty |
//! | `enum: [VALUES]` | the value is present and none of these; with `required`, an empty value has the error of that alone |
//! | `min: N` | the value is less than the number |
//! | `immutable: value` | an update changes the value, which the message shows; `string` shows an absent one as an empty string, `hidden` shows null instead, and `reference` a role reference as its Go struct |
//! | `forbidden: DETAIL` | an update changes the value |
//! | `on: create` or `on: update` | no error: the check applies to this operation alone |
//! | `live: {PATH: VALUE}` | no error: the check applies only if the live object has these values |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use fieldmanager_structural::internal::{NameSyntax, validate_object_meta, validate_object_meta_update};
use fieldmanager_structural::{FieldError, FieldPath, GroupVersionKind};
use fieldmanager_value::{Str, Value};

use crate::Kind;
use crate::table::{Path, Step, Test, entries, items, name_of};

const IMMUTABLE: &str = "field is immutable";

/// The errors of a new object, [prepared](crate::prepare_create) for creation, in the order of kube-apiserver.
///
/// Metadata, required fields, enumerations, ranges and the like are checked as far as a table describes them;
/// docs/deviations.md lists what Kubernetes checks besides. An object without errors here may therefore have some there,
/// and never the other way around.
///
/// ```
/// use fieldmanager_builtin::validate_create;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("apps", "v1", "Deployment");
/// let object = Value::from_yaml("{metadata: {name: a, namespace: x}, spec: {replicas: -1, selector: {}}}")?;
/// let errors = validate_create(&kind, &object);
/// assert_eq!(errors[0].to_string(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_create(kind: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let name = name_of(kind);
    let Some(checks) = table().kinds.get(name.as_str()) else {
        return metadata(kind, &name, object);
    };
    let mut errors = metadata(kind, &name, object);
    for check in checks {
        check.run(object, None, &mut errors);
    }
    errors
}

/// The errors of an updated object, [prepared](crate::prepare_update), in the order of kube-apiserver. Updates of
/// subresources have their metadata checked.
///
/// ```
/// use fieldmanager_builtin::validate_update;
/// use fieldmanager_structural::GroupVersionKind;
/// use fieldmanager_value::Value;
///
/// let kind = GroupVersionKind::new("scheduling.k8s.io", "v1", "PriorityClass");
/// let class = |value: i64| Value::from_yaml(&format!("{{metadata: {{name: a, resourceVersion: '1'}}, value: {value}}}"));
/// let errors = validate_update(&kind, "", &class(2)?, &class(1)?);
/// assert_eq!(errors[0].to_string(), "value: Forbidden: may not be changed in an update.");
/// # Ok::<(), fieldmanager_value::Error>(())
/// ```
pub fn validate_update(
    kind: &GroupVersionKind,
    subresource: &str,
    object: &Value,
    live: &Value,
) -> Vec<FieldError> {
    let path = FieldPath::root("metadata");
    let (new, old) = (object.get("metadata"), live.get("metadata"));
    let mut errors = validate_object_meta(new, is_namespaced(kind, live), NameSyntax::PathSegment, &path);
    for error in validate_object_meta_update(new, old, &path) {
        // Both functions check owner references, for example.
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    if subresource.is_empty()
        && let Some(checks) = table().kinds.get(name_of(kind).as_str())
    {
        for check in checks {
            check.run(object, Some(live), &mut errors);
        }
    }
    errors
}

/// Whether objects of the kind are in namespaces. The object decides for kinds without a resource.
fn is_namespaced(kind: &GroupVersionKind, object: &Value) -> bool {
    let resource = Kind::of(kind).and_then(|kind| kind.resource());
    let has_namespace = || object.get("metadata").is_some_and(|metadata| metadata.get("namespace").is_some());
    resource.map_or_else(has_namespace, |resource| resource.is_namespaced)
}

fn metadata(kind: &GroupVersionKind, name: &str, object: &Value) -> Vec<FieldError> {
    let syntax = match table().names.get(name).map(Str::as_str) {
        Some("label") => NameSyntax::Label,
        Some("path") => NameSyntax::PathSegment,
        _ => NameSyntax::Subdomain,
    };
    validate_object_meta(
        object.get("metadata"),
        is_namespaced(kind, object),
        syntax,
        &FieldPath::root("metadata"),
    )
}

#[derive(Debug, Default)]
struct Table {
    /// The syntax of names by kind.
    names: BTreeMap<Str, Str>,
    kinds: BTreeMap<Str, Vec<Check>>,
}

#[derive(Debug)]
struct Check {
    at: Path,
    /// Whether the check is one of updates or of creations alone.
    of_updates: Option<bool>,
    live: Vec<(Path, Test)>,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    Required(String),
    Enum(Vec<String>),
    /// A required value that is one of these.
    RequiredEnum(Vec<String>),
    Min(i64),
    Immutable(Shown),
    Forbidden(String),
}

/// What the message of an immutable field shows.
#[derive(Debug)]
enum Shown {
    Value,
    /// The value, and the empty string if there is none.
    String,
    Null,
    Reference,
}

impl Check {
    fn run(&self, object: &Value, live: Option<&Value>, errors: &mut Vec<FieldError>) {
        if self.of_updates.is_some_and(|of_updates| of_updates != live.is_some()) {
            return;
        }
        if !self.live.iter().all(|(path, test)| live.is_some_and(|live| test.accepts(path.get(live)))) {
            return;
        }
        match (&self.rule, live) {
            (Rule::Immutable(_) | Rule::Forbidden(_), None) => {}
            (Rule::Immutable(_) | Rule::Forbidden(_), Some(live)) => {
                let (new, old) = (self.at.get(object), self.at.get(live));
                if new != old {
                    errors.push(self.changed(new));
                }
            }
            _ => visit(self.at.steps(), Some(object), &FieldPath::empty(), &mut |path, value| {
                errors.extend(self.rule.fault(path, value));
            }),
        }
    }

    /// The error of a field that an update changed.
    fn changed(&self, new: Option<&Value>) -> FieldError {
        let mut path = FieldPath::empty();
        for step in self.at.steps() {
            if let Step::Field(name) = step {
                path = path.child(name.clone());
            }
        }
        let value = new.cloned().unwrap_or_default();
        match &self.rule {
            Rule::Forbidden(detail) => FieldError::forbidden(path, detail),
            Rule::Immutable(Shown::String) if value.is_null() => FieldError::invalid(path, "", IMMUTABLE),
            Rule::Immutable(Shown::Null) => FieldError::invalid(path, Value::Null, IMMUTABLE),
            Rule::Immutable(Shown::Reference) => {
                let member = |shown: &str, name: &str| {
                    (Str::from(shown), value.get(name).cloned().unwrap_or_else(|| "".into()))
                };
                let members =
                    [member("APIGroup", "apiGroup"), member("Kind", "kind"), member("Name", "name")];
                FieldError::invalid(path, Value::Map(members.into_iter().collect()), IMMUTABLE)
            }
            _ => FieldError::invalid(path, value, IMMUTABLE),
        }
    }
}

impl Rule {
    fn fault(&self, path: &FieldPath, value: Option<&Value>) -> Option<FieldError> {
        let path = path.clone();
        match (self, value) {
            (Rule::Required(detail), None) => Some(FieldError::required(path, detail)),
            (Rule::Required(detail), Some(value)) if is_empty(value) => {
                Some(FieldError::required(path, detail))
            }
            (Rule::RequiredEnum(_), None) => Some(FieldError::required(path, "")),
            (Rule::RequiredEnum(_), Some(value)) if is_empty(value) => Some(FieldError::required(path, "")),
            (Rule::Enum(accepted) | Rule::RequiredEnum(accepted), Some(Value::String(text)))
                if !accepted.iter().any(|value| **value == **text) =>
            {
                let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
                Some(FieldError::not_supported(path, text.as_str(), &accepted))
            }
            (Rule::Min(min), Some(Value::Int(number))) if number < min => {
                Some(FieldError::invalid(path, *number, format!("must be greater than or equal to {min}")))
            }
            _ => None,
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::List(list) => list.is_empty(),
        _ => false,
    }
}

/// Calls a function with the values at a path. A value is missing if its parent is there without it.
fn visit(
    steps: &[Step],
    value: Option<&Value>,
    path: &FieldPath,
    f: &mut dyn FnMut(&FieldPath, Option<&Value>),
) {
    let value = value.filter(|value| !value.is_null());
    match (steps, value) {
        ([], _) => f(path, value),
        (_, None) => {}
        ([Step::Field(name), rest @ ..], Some(parent)) => {
            visit(rest, parent.get(name), &path.child(name.clone()), f);
        }
        ([Step::Items, rest @ ..], Some(Value::List(items))) => {
            for (at, item) in items.iter().enumerate() {
                visit(rest, Some(item), &path.index(at), f);
            }
        }
        ([Step::Entries, rest @ ..], Some(Value::Map(entries))) => {
            for (name, entry) in entries {
                visit(rest, Some(entry), &path.key(name.clone()), f);
            }
        }
        _ => {}
    }
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> =
        LazyLock::new(|| read(include_str!("data/validation.yaml")).unwrap_or_default());
    &TABLE
}

fn read(text: &str) -> Result<Table, String> {
    let document = Value::from_yaml(text).map_err(|error| error.to_string())?;
    let mut out = Table::default();
    for (syntax, kinds) in entries(document.get("names")) {
        for kind in items(Some(&kinds)) {
            out.names.insert(kind.as_str().unwrap_or_default().into(), syntax.clone());
        }
    }
    for (kind, checks) in entries(document.get("kinds")) {
        let checks = items(Some(&checks)).iter().map(read_check).collect::<Result<_, _>>();
        out.kinds.insert(kind.clone(), checks.map_err(|error| format!("{kind}: {error}"))?);
    }
    Ok(out)
}

fn read_check(check: &Value) -> Result<Check, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let at = Path::parse(&check.get("at").map(text).unwrap_or_default());
    let tests = |value: &Value| (value.clone(), Test::read(value)).1;
    let live =
        entries(check.get("live")).iter().map(|(path, value)| (Path::parse(path), tests(value))).collect();
    let known: BTreeSet<&str> =
        ["at", "on", "live", "required", "enum", "min", "immutable", "forbidden"].into();
    if let Some((unknown, _)) = entries(Some(check)).iter().find(|(name, _)| !known.contains(name.as_str())) {
        return Err(format!("{unknown} is not a member of checks"));
    }
    let accepted = || items(check.get("enum")).iter().map(text).collect();
    let rule = if check.get("enum").is_some() {
        match check.get("required") {
            Some(_) => Rule::RequiredEnum(accepted()),
            None => Rule::Enum(accepted()),
        }
    } else if let Some(detail) = check.get("required") {
        Rule::Required(text(detail))
    } else if let Some(min) = check.get("min").and_then(Value::as_i64) {
        Rule::Min(min)
    } else if let Some(detail) = check.get("forbidden") {
        Rule::Forbidden(text(detail))
    } else {
        Rule::Immutable(match check.get("immutable").and_then(Value::as_str) {
            Some("value") => Shown::Value,
            Some("string") => Shown::String,
            Some("hidden") => Shown::Null,
            Some("reference") => Shown::Reference,
            _ => return Err(format!("{} has no rule", check.to_json())),
        })
    };
    let of_updates = check.get("on").and_then(Value::as_str).map(|operation| operation == "update");
    Ok(Check { at, of_updates, live, rule })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_valid() {
        read(include_str!("data/validation.yaml")).unwrap();
        assert!(read("{kinds: {v1/A: [{at: a}]}}").is_err());
        assert!(read("{kinds: {v1/A: [{at: a, foo: 1}]}}").is_err());
    }

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    fn errors(api_version: &str, kind: &str, object: &str, live: Option<&str>) -> Vec<String> {
        let kind = GroupVersionKind::from_api_version_kind(api_version, kind);
        let errors = match live {
            None => validate_create(&kind, &yaml(object)),
            Some(live) => validate_update(&kind, "", &yaml(object), &yaml(live)),
        };
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn required_fields_and_enumerations_are_checked() {
        assert_eq!(
            errors(
                "storage.k8s.io/v1",
                "StorageClass",
                "{metadata: {name: a}, provisioner: '', reclaimPolicy: X}",
                None
            ),
            [
                "reclaimPolicy: Unsupported value: \"X\": supported values: \"Delete\", \"Retain\"",
                "provisioner: Required value"
            ]
        );
        assert_eq!(
            errors(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "{metadata: {name: a, namespace: x}, spec: {policyTypes: [Ingress, X]}}",
                None
            ),
            ["spec.policyTypes[1]: Unsupported value: \"X\": supported values: \"Ingress\", \"Egress\""]
        );
    }

    #[test]
    fn immutable_fields_show_what_kubernetes_shows() {
        let meta = "metadata: {name: a, namespace: x, resourceVersion: '1'}";
        let role = |name: &str| format!("{{{meta}, roleRef: {{apiGroup: g, kind: Role, name: {name}}}}}");
        assert_eq!(
            errors("rbac.authorization.k8s.io/v1", "RoleBinding", &role("b"), Some(&role("a"))),
            [r#"roleRef: Invalid value: {"APIGroup":"g","Kind":"Role","Name":"b"}: field is immutable"#]
        );
        let config = |data: &str| format!("{{{meta}, immutable: true, data: {{a: {data}}}}}");
        assert_eq!(
            errors("v1", "ConfigMap", &config("b"), Some(&config("c"))),
            ["data: Forbidden: field is immutable when `immutable` is set"]
        );
    }

    #[test]
    fn names_have_the_syntax_of_their_kind() {
        assert!(
            errors("rbac.authorization.k8s.io/v1", "Role", "{metadata: {name: 'A:b', namespace: x}}", None)
                .is_empty()
        );
        assert_eq!(errors("v1", "Service", "{metadata: {name: a.b, namespace: x}}", None).len(), 1);
        assert!(errors("v1", "ConfigMap", "{metadata: {name: a.b, namespace: x}}", None).is_empty());
    }
}
