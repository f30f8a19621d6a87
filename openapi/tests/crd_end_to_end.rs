//! A custom resource from its definition to conflicts: three versions, two managers, lists of every kind, defaults and
//! a union, with a converter between the versions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]
#![allow(clippy::print_stderr)]

use std::path::PathBuf;

use fieldmanager_fieldpath::internal::set_under;
use fieldmanager_fieldpath::{ApiVersion, Filter, Owners, PathElement};
use fieldmanager_merge::{ApplyRequest, ConvertError, Converter, Updater};
use fieldmanager_openapi::{GroupVersionKind, Types};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_testing::shop;
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

/// The versions of `Shop`: the replicas are `spec.replicas` at `v1` and `v2`, and `spec.size` at `v3`. `v2` is not served.
const VERSIONS: &str = "
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: &number {type: integer, default: 1}
              ports: &ports
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [number, protocol]
                items:
                  type: object
                  required: [number]
                  properties:
                    number: {type: integer}
                    protocol: {type: string, default: TCP}
                    name: {type: string}
              owners: &owners {type: array, x-kubernetes-list-type: set, items: {type: string}}
              command: &command {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              roof: &roof
                type: object
                x-kubernetes-unions: [{discriminator: type, fields-to-discriminateBy: {straw: Straw, stone: Stone}}]
                properties:
                  type: {type: string}
                  straw: {type: object, properties: {bales: {type: integer}}}
                  stone: {type: object, properties: {slabs: {type: integer}}}
          status: &status {type: object, properties: {ready: {type: boolean}}}
  - name: v2
    served: false
    storage: false
    schema: *schema
  - name: v3
    served: true
    storage: false
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {size: *number, ports: *ports, owners: *owners, command: *command, roof: *roof}
          status: *status
";

/// Renames `spec.replicas` to `spec.size` and back.
struct Rename(Types);

impl Converter for Rename {
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError> {
        let missing = || ConvertError::MissingVersion {
            version: version.clone(),
        };
        let ty = self
            .0
            .for_kind(&GroupVersionKind::from_api_version_kind(
                version.as_str(),
                "Shop",
            ))
            .map_err(|_| missing())?;
        let Value::Map(object) = object.value() else {
            return Ok(TypedValue::null(ty));
        };
        let (from, to) = match version.as_str() {
            "example.com/v3" => ("replicas", "size"),
            _ => ("size", "replicas"),
        };
        let mut object = object.clone();
        object.insert("apiVersion", version.as_str());
        if let Some(Value::Map(spec)) = object.get("spec") {
            let mut spec: Map = spec.clone();
            if let Some(number) = spec.remove(from) {
                spec.insert(to, number);
            }
            object.insert("spec", spec);
        }
        TypedValue::new(object.into(), ty, Duplicates::Refuse).map_err(|error| {
            ConvertError::Failed {
                version: version.clone(),
                message: error.to_string(),
            }
        })
    }
}

struct World {
    types: Types,
    updater: Updater,
    live: TypedValue,
    owners: Owners,
}

impl World {
    fn new() -> Self {
        let resource = CustomResource::from_value(&shop(VERSIONS)).unwrap();
        assert_eq!(resource.violations(), []);
        let types = Types::from_custom_resource(&resource).unwrap();
        let mut updater = Updater::builder().converter(Rename(types.clone()));
        for version in &resource.versions {
            for (version, set) in resource.reset_fields(&version.name, "").unwrap() {
                updater = updater.filter(version, Filter::Exclude(set));
            }
        }
        let live = TypedValue::null(types.for_kind(&resource.kind("v1")).unwrap());
        World {
            types,
            updater: updater.build(),
            live,
            owners: Owners::new(),
        }
    }

    fn typed(&self, version: &str, rest: &str) -> TypedValue {
        let text = format!(
            "{{apiVersion: example.com/{version}, kind: Shop, metadata: {{name: corner}}, {rest}}}"
        );
        let value = Value::from_yaml(&text).unwrap();
        let ty = self.types.for_object(&value).unwrap();
        TypedValue::new(value, ty, Duplicates::Refuse).unwrap()
    }

    /// Applies a configuration and returns the conflicts.
    fn apply(&mut self, manager: &str, version: &str, rest: &str, force: bool) -> Vec<String> {
        let config = self.typed(version, rest);
        let at = ApiVersion::from(format!("example.com/{version}"));
        let live = match self.live.value().get("apiVersion").and_then(Value::as_str) {
            Some(known) if known != at.as_str() => {
                Rename(self.types.clone()).convert(&self.live, &at).unwrap()
            }
            Some(_) => self.live.clone(),
            None => TypedValue::null(config.ty().clone()),
        };
        match self.updater.apply(
            ApplyRequest::new(&live, &config)
                .version(&at)
                .owners(&self.owners)
                .manager(manager)
                .force_if(force),
        ) {
            Ok(applied) => {
                self.live = applied.object.unwrap_or(live);
                self.owners = applied.owners;
                Vec::new()
            }
            Err(error) => match error.conflicts() {
                Some(conflicts) => conflicts.iter().map(ToString::to_string).collect(),
                None => panic!("{error}"),
            },
        }
    }

    fn spec(&self) -> String {
        self.live.value().get("spec").unwrap().to_json()
    }

    /// The fields of a manager below `spec`. At this layer an applier also owns the name and the version of the object;
    /// the field manager removes these.
    fn owned(&self, manager: &str) -> String {
        let spec = PathElement::field("spec");
        self.owners
            .get(manager)
            .map(|entry| set_under(entry.set(), &spec).to_json())
            .unwrap_or_default()
    }
}

#[test]
fn lists_merge_as_the_definition_declares() {
    let mut world = World::new();
    let spec = "spec: {ports: [{number: 80, name: web}], owners: [ann], command: [run]}, status: {ready: true}";
    assert_eq!(world.apply("ops", "v1", spec, false), [""; 0]);
    // The omitted key has its default, and the status has no owner.
    assert_eq!(
        world.owned("ops"),
        r#"{"f:command":{},"f:owners":{"v:\"ann\"":{}},"f:ports":{"k:{\"number\":80,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:number":{}}}}"#
    );
    // A different item with a different owner is not a conflict. The command is one field.
    let spec = "spec: {ports: [{number: 80, protocol: UDP}], owners: [bob], command: [stop]}";
    assert_eq!(
        world.apply("dev", "v1", spec, false),
        [r#"conflict with "ops": .spec.command"#]
    );
    let spec = "spec: {ports: [{number: 80, protocol: UDP}], owners: [bob]}";
    assert_eq!(world.apply("dev", "v1", spec, false), [""; 0]);
    assert_eq!(
        world.spec(),
        r#"{"command":["run"],"owners":["ann","bob"],"ports":[{"name":"web","number":80},{"number":80,"protocol":"UDP"}]}"#
    );
}

#[test]
fn conflicts_are_found_across_versions() {
    let mut world = World::new();
    assert_eq!(
        world.apply("ops", "v1", "spec: {replicas: 3, owners: [ann]}", false),
        [""; 0]
    );
    // The other manager writes the same field under its other name.
    assert_eq!(
        world.apply("dev", "v3", "spec: {size: 5}", false),
        [r#"conflict with "ops": .spec.replicas"#]
    );
    assert_eq!(world.apply("dev", "v3", "spec: {size: 3}", false), [""; 0]);
    assert_eq!(world.apply("dev", "v3", "spec: {size: 5}", true), [""; 0]);
    assert_eq!(world.spec(), r#"{"owners":["ann"],"size":5}"#);
    assert_eq!(world.owned("ops"), r#"{"f:owners":{"v:\"ann\"":{}}}"#);
    assert_eq!(
        world.owners.get("dev").unwrap().api_version().as_str(),
        "example.com/v3"
    );
    // A version that is not served also has a type.
    assert_eq!(
        world.apply("old", "v2", "spec: {replicas: 1}", false),
        [r#"conflict with "dev": .spec.size"#]
    );
}

#[test]
fn switching_a_union_conflicts_with_its_owner() {
    let mut world = World::new();
    assert_eq!(
        world.apply("ops", "v1", "spec: {roof: {straw: {bales: 9}}}", false),
        [""; 0]
    );
    assert_eq!(
        world.spec(),
        r#"{"roof":{"straw":{"bales":9},"type":"Straw"}}"#
    );
    let stone = "spec: {roof: {stone: {slabs: 2}}}";
    assert_eq!(
        world.apply("dev", "v3", stone, false),
        [r#"conflict with "ops": .spec.roof.type"#]
    );
    assert_eq!(world.apply("dev", "v3", stone, true), [""; 0]);
    assert_eq!(
        world.spec(),
        r#"{"roof":{"stone":{"slabs":2},"type":"Stone"}}"#
    );
    assert_eq!(world.owned("ops"), "{}");
}

#[test]
fn unknown_fields_are_refused_and_defaults_apply() {
    let world = World::new();
    let value =
        Value::from_yaml("{apiVersion: example.com/v1, kind: Shop, spec: {colour: red}}").unwrap();
    let ty = world.types.for_object(&value).unwrap();
    let error = TypedValue::new(value, ty, Duplicates::Refuse).unwrap_err();
    assert!(error.to_string().contains(".spec.colour"), "{error}");

    let resource = CustomResource::from_value(&shop(VERSIONS)).unwrap();
    let schema = resource.structural("v3").unwrap().unwrap();
    let object = schema
        .default_object(&Value::from_yaml("{spec: {ports: [{number: 1}]}}").unwrap())
        .unwrap();
    assert_eq!(
        object.to_json(),
        r#"{"spec":{"ports":[{"number":1,"protocol":"TCP"}],"size":1}}"#
    );
}

/// The definition of a real operator. It has an old version of the API, with one schema for all versions, and its
/// schemas declare no types; this function updates both to the current form.
fn prometheus() -> Option<Value> {
    let Some(folder) = std::env::var_os("FIELDMANAGER_SHARED") else {
        eprintln!("note: FIELDMANAGER_SHARED is not set, nothing was checked");
        return None;
    };
    let file = PathBuf::from(folder).join("data/objects/prometheus-crd.yaml");
    let document = Value::from_yaml(&std::fs::read_to_string(file).unwrap()).unwrap();
    let old = document.get("spec").unwrap().as_map().unwrap();
    let schema = typed(
        old.get("validation")
            .unwrap()
            .get("openAPIV3Schema")
            .unwrap(),
    );
    let version = Value::from_yaml("{name: v1, served: true, storage: true}").unwrap();
    let mut version = version.as_map().unwrap().clone();
    version.insert("schema", Map::single("openAPIV3Schema", schema));
    let mut spec = old.clone();
    spec.insert("versions", Value::from(vec![Value::Map(version)]));
    let mut out = document.as_map().unwrap().clone();
    out.insert("apiVersion", "apiextensions.k8s.io/v1");
    out.insert("spec", spec);
    Some(out.into())
}

/// Adds the types that a schema implies.
fn typed(schema: &Value) -> Value {
    let Value::Map(map) = schema else {
        return schema.clone();
    };
    let mut out = map.clone();
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = map.get(name) {
            out.insert(name, typed(inner));
        }
    }
    if let Some(Value::Map(properties)) = map.get("properties") {
        let properties: Map = properties
            .iter()
            .map(|(name, inner)| (name.clone(), typed(inner)))
            .collect();
        out.insert("properties", properties);
    }
    if !map.contains("type") {
        if map.contains("items") {
            out.insert("type", "array");
        } else if map.contains("anyOf") {
            out.insert("x-kubernetes-int-or-string", true);
            out.remove("anyOf");
        } else {
            out.insert("type", "object");
        }
    }
    out.into()
}

#[test]
fn large_definition_is_imported() {
    let Some(document) = prometheus() else { return };
    let resource = CustomResource::from_value(&document).unwrap();
    assert_eq!(
        resource
            .violations()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [""; 0]
    );
    let types = Types::from_custom_resource(&resource).unwrap();
    let ty = types.for_kind(&resource.kind("v1")).unwrap();
    let fields = ty.atom().map.as_ref().unwrap();
    assert!(fields.field("spec").is_some() && fields.element.is_none());
}
