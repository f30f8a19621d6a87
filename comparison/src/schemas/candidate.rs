//! The library's side: answers requests in the format of the oracle.

use fieldmanager_openapi::internal::import_definitions;
use fieldmanager_openapi::{Importer, Types};
use fieldmanager_structural::crd::CustomResource;
use fieldmanager_structural::internal::{prune_defaults, publish, structural_condition, unfold};
use fieldmanager_structural::{Error, FieldError, FieldPath, Structural};
use fieldmanager_value::Value;
use serde_json::{Map, Value as Json, json};

use crate::json::{back, flag, member, own, set, text};
use crate::suite::caught;

/// Answers a request; `{"missing": op}` if the library has no such operation.
pub(super) fn answer(request: &Json) -> Json {
    caught(|| answer_one(request))
}

fn answer_one(request: &Json) -> Json {
    let op = text(request, "op");
    match op {
        "openapi" => openapi(request),
        "crd" => crd(request),
        _ => match Structural::from_value(&own(member(request, "schema"))) {
            Ok(schema) => on_schema(op, &schema, request),
            Err(error @ (Error::WrongType { .. } | Error::TooDeep)) => {
                json!({"decodeError": error.to_string()})
            }
            Err(error) => json!({"conversionError": error.to_string()}),
        },
    }
}

fn on_schema(op: &str, schema: &Structural, request: &Json) -> Json {
    let object = own(member(request, "object"));
    let path = FieldPath::default();
    let is_root = flag(request, "isResourceRoot");
    let changed =
        |object: Result<Value, Error>| object.map(|object| json!({"object": back(&object)}));
    // Go validates the maps of an object in random order, so errors of ops about objects are sorted on both sides.
    let answer = match op {
        "structural" => Ok(json!({
            "errors": texts(&schema.validate(&path)),
            "openapi": back(&schema.to_value()),
            "unfolded": back(&unfold(schema).to_value()),
        })),
        "prune" => schema
            .prune(&object, is_root)
            .map(|pruned| json!({"object": back(&pruned.object), "pruned": pruned.paths})),
        "default" => changed(schema.default_object(&object)),
        "nulls" => changed(schema.drop_nulls(&object)),
        "listtype" => schema
            .validate_lists(&path, &object)
            .map(|errors| json!({"errors": sorted(&errors)})),
        "objectmeta" => schema
            .validate_metadata(&path, &object, is_root)
            .map(|errors| json!({"errors": sorted(&errors)})),
        "coerce" => schema
            .coerce_metadata(&path, &object, is_root, flag(request, "dropInvalid"))
            .map(|coerced| {
                let mut out = json!({"object": back(&coerced.object)});
                if flag(request, "returnUnknown") {
                    set(&mut out, "unknown", coerced.unknown);
                }
                out
            }),
        "prunedefaults" => {
            prune_defaults(schema).map(|schema| json!({"schema": back(&schema.to_value())}))
        }
        _ => return json!({"missing": op}),
    };

    answer.unwrap_or_else(|error| json!({"error": error.to_string()}))
}

fn texts(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Sorts errors, for ops whose errors the oracle sorts because their order in Go is random.
fn sorted(errors: &[FieldError]) -> Vec<String> {
    let mut texts = texts(errors);
    texts.sort();
    texts
}

fn crd(request: &Json) -> Json {
    let crd = match CustomResource::from_value(&own(member(request, "crd"))) {
        Ok(crd) => crd,
        Err(error) => return json!({"decodeError": error.to_string()}),
    };
    let condition = structural_condition(&crd).map(|condition| {
        json!({"status": condition.status.as_str(), "reason": condition.reason, "message": condition.message})
    });
    let mut versions = Map::new();

    for version in &crd.versions {
        let definitions = match publish(&crd, &version.name) {
            Ok(definitions) => json!({"openapi": back(&Value::Map(definitions))}),
            Err(error) => json!({"error": error.to_string()}),
        };
        versions.insert(version.name.to_string(), definitions);
    }

    let mut out =
        json!({"errors": sorted(&crd.violations()), "condition": condition, "versions": versions});
    // The types exist only if all versions can be imported.
    let (name, part) = match Types::from_custom_resource(&crd) {
        Ok(types) => ("schema", back(&types.schema().to_value())),
        Err(error) => ("schemaErrors", json!(error.to_string())),
    };
    set(&mut out, name, part);

    out
}

fn openapi(request: &Json) -> Json {
    let Value::Map(definitions) = own(member(request, "definitions")) else {
        return json!({"requestError": "definitions are not a map"});
    };
    let importer = Importer::new().preserve_unknown_fields(flag(request, "preserveUnknownFields"));
    match import_definitions(&importer, &definitions) {
        Ok(imported) => json!({"schema": back(&imported.types.schema().to_value())}),
        Err(error) => {
            let faults: Vec<String> = error.0.iter().map(ToString::to_string).collect();
            json!({"errors": faults})
        }
    }
}
