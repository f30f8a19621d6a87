//! The numbered rules of the normalization of unions in an apply.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod beside;
mod clearing;
mod configuration;
mod conflicts;

use std::sync::LazyLock;

use fieldmanager_fieldpath::{ApiVersion, Owners};
use fieldmanager_merge::{ApplyRequest, ConvertError, Converter, Error, UpdateRequest, Updater};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_testing::{UNION_ITEM, union_schema};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};

const OTHERS: &str = "
- name: root
  map:
    fields:
    - {name: spec, type: {namedType: deducing}}
    - name: items
      type: {list: {elementRelationship: associative, keys: [name], elementType: {namedType: item}}}
    - {name: atomic, type: {list: {elementRelationship: atomic, elementType: {namedType: item}}}}
- name: two
  map:
    fields:
    - {name: type, type: {scalar: string}}
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: numeric}}
    - {name: kind, type: {scalar: string}}
    - {name: u, type: {scalar: numeric}}
    - {name: v, type: {scalar: numeric}}
    unions:
    - discriminator: type
      deduceInvalidDiscriminator: true
      fields: [{fieldName: a, discriminatorValue: A}, {fieldName: b, discriminatorValue: B}]
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields: [{fieldName: u, discriminatorValue: U}, {fieldName: v, discriminatorValue: V}]
# `deducing` at another version.
- name: renamed
  map:
    fields:
    - {name: kind, type: {scalar: string}}
    - {name: other, type: {scalar: string}}
    - {name: alpha, type: {scalar: numeric}}
    - {name: beta, type: {map: {fields: [{name: x, type: {scalar: numeric}}, {name: w, type: {scalar: numeric}}]}}}
    - {name: gamma, type: {scalar: numeric}}
    unions:
    - discriminator: kind
      deduceInvalidDiscriminator: true
      fields:
      - {fieldName: alpha, discriminatorValue: A}
      - {fieldName: beta, discriminatorValue: B}
      - {fieldName: gamma, discriminatorValue: C}
";

/// Members `a` (a number), `b` (a struct) and `c` of unions of every form, and other types.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let c = "{scalar: numeric}";
    Schema::from_yaml(&union_schema(c, "", &[OTHERS, UNION_ITEM])).unwrap()
});

fn ty(name: &str) -> Type {
    SCHEMA.type_named(name).unwrap()
}

/// Version `v2` of `deducing` has other names.
struct Rename;

const NAMES: &[(&str, &str)] = &[
    ("type", "kind"),
    ("a", "alpha"),
    ("b", "beta"),
    ("c", "gamma"),
];

impl Converter for Rename {
    fn convert(
        &self,
        object: &TypedValue,
        version: &ApiVersion,
    ) -> Result<TypedValue, ConvertError> {
        let to_v2 = match version.as_str() {
            "v1" => false,
            "v2" => true,
            _ => {
                return Err(ConvertError::MissingVersion {
                    version: version.clone(),
                });
            }
        };
        let renamed = |name: &str| -> String {
            let found = NAMES
                .iter()
                .find(|(v1, v2)| name == if to_v2 { *v1 } else { *v2 });
            found
                .map_or(name, |(v1, v2)| if to_v2 { v2 } else { v1 })
                .into()
        };
        let value = match object.value().as_map() {
            Some(map) => Value::Map(
                map.iter()
                    .map(|(k, v)| (renamed(k), v.clone()))
                    .collect::<Map>(),
            ),
            None => Value::Null,
        };
        let ty = ty(if to_v2 { "renamed" } else { "deducing" });
        Ok(TypedValue::new(value, ty, Duplicates::Allow).unwrap())
    }
}

/// A request and its result. The request is `VERB MANAGER OBJECT`, with the verbs `apply`, `force` and `update`, at version
/// `v1` or at another one as in `apply@v2`. The result is the live object and, after `|`, the owners;
/// `conflict: MANAGER PATH, ..`, sorted; or `error: MESSAGE`. A failed step changes nothing.
type Step<'s> = (&'s str, &'s str);

fn check(types: &[&str], steps: &[Step<'_>]) {
    for name in types {
        run(&Updater::builder().build(), name, steps);
    }
}

fn run(updater: &Updater, name: &str, steps: &[Step<'_>]) {
    let mut live = TypedValue::null(ty(name));
    let mut owners = Owners::new();
    for (action, wanted) in steps {
        let place = format!("{name}: {action}");
        let mut words = action.splitn(3, ' ');
        let (verb, who, yaml) = (
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap(),
        );
        let (verb, version) = verb.split_once('@').unwrap_or((verb, "v1"));
        let version = ApiVersion::from(version);
        let at = |object: &TypedValue| {
            if version.as_str() == "v2" {
                Rename.convert(object, &version).unwrap()
            } else {
                object.clone()
            }
        };
        let before = at(&live);
        let object = Value::from_yaml(yaml).unwrap();
        let object =
            TypedValue::new(object, before.ty().clone(), Duplicates::Refuse).expect(&place);
        let result = match verb {
            "update" => updater
                .update(
                    UpdateRequest::new(&before, &object)
                        .version(&version)
                        .owners(&owners)
                        .manager(who),
                )
                .map(|updated| (updated.object, updated.owners)),
            verb => {
                let force = verb == "force";
                let applied = updater.apply(
                    ApplyRequest::new(&before, &object)
                        .version(&version)
                        .owners(&owners)
                        .manager(who)
                        .force_if(force),
                );
                applied.map(|applied| (applied.object.unwrap_or(before.clone()), applied.owners))
            }
        };
        let shown = match result {
            Ok((object, after)) => {
                live = match version.as_str() {
                    "v2" => Rename.convert(&object, &"v1".into()).unwrap(),
                    _ => object,
                };
                owners = after;
                format!("{} | {}", live.value().to_json(), owned(&owners))
            }
            Err(Error::Conflicts(conflicts)) => {
                let mut all: Vec<_> = conflicts
                    .iter()
                    .map(|c| format!("{} {}", c.manager, c.path))
                    .collect();
                all.sort();
                format!("conflict: {}", all.join(", "))
            }
            Err(error) => format!("error: {error}"),
        };
        let wanted = match wanted.split_once(" | ") {
            Some((object, owners)) => {
                let object = Value::from_yaml(object).unwrap();
                format!("{} | {owners}", object.to_json())
            }
            None => (*wanted).to_owned(),
        };
        assert_eq!(shown, wanted, "{place}");
    }
}

fn owned(owners: &Owners) -> String {
    let one = |(name, entry): (
        &fieldmanager_value::Str,
        &fieldmanager_fieldpath::VersionedSet,
    )| {
        let mut paths: Vec<String> = entry.set().paths().map(|path| path.to_string()).collect();
        paths.sort();
        format!("{name} {}", paths.join(" "))
    };
    owners.iter().map(one).collect::<Vec<_>>().join(", ")
}

const WITH_DISCRIMINATOR: &[&str] = &["deducing", "respecting", "emptiable", "closed"];
const RESPECTING: &[&str] = &["respecting", "emptiable", "closed"];
const ALL: &[&str] = &["deducing", "respecting", "emptiable", "closed", "plain"];
