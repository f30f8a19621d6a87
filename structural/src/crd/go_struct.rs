//! Parts of definitions as the JSON of the Go structs of the internal version, which messages show.

use fieldmanager_value::internal::{Escape, level, write_json};
use fieldmanager_value::{Map, Value};

/// How a member of a struct is written.
#[derive(Clone, Copy)]
enum Form {
    /// A string, a number or a boolean; the JSON of the zero value.
    Plain(&'static str),
    /// A pointer or a slice of plain values, and any JSON.
    Optional,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrSchemas,
    SchemaOrBool,
    SchemaOrStrings,
    Dependencies,
    Struct(&'static [Member]),
    Structs(&'static [Member]),
}

/// A member: its name in Go, its name in a document, and its form.
type Member = (&'static str, &'static str, Form);

const TEXT: Form = Form::Plain("\"\"");
const FLAG: Form = Form::Plain("false");

const RULE: &[Member] = &[
    ("Rule", "rule", TEXT),
    ("Message", "message", TEXT),
    ("MessageExpression", "messageExpression", TEXT),
    ("Reason", "reason", Form::Optional),
    ("FieldPath", "fieldPath", TEXT),
    ("OptionalOldSelf", "optionalOldSelf", Form::Optional),
];

const DOCS: &[Member] = &[("Description", "description", TEXT), ("URL", "url", TEXT)];

const SCHEMA: &[Member] = &[
    ("ID", "id", TEXT),
    ("Schema", "$schema", TEXT),
    ("Ref", "$ref", Form::Optional),
    ("Description", "description", TEXT),
    ("Type", "type", TEXT),
    ("Nullable", "nullable", FLAG),
    ("Format", "format", TEXT),
    ("Title", "title", TEXT),
    ("Default", "default", Form::Optional),
    ("Maximum", "maximum", Form::Optional),
    ("ExclusiveMaximum", "exclusiveMaximum", FLAG),
    ("Minimum", "minimum", Form::Optional),
    ("ExclusiveMinimum", "exclusiveMinimum", FLAG),
    ("MaxLength", "maxLength", Form::Optional),
    ("MinLength", "minLength", Form::Optional),
    ("Pattern", "pattern", TEXT),
    ("MaxItems", "maxItems", Form::Optional),
    ("MinItems", "minItems", Form::Optional),
    ("UniqueItems", "uniqueItems", FLAG),
    ("MultipleOf", "multipleOf", Form::Optional),
    ("Enum", "enum", Form::Optional),
    ("MaxProperties", "maxProperties", Form::Optional),
    ("MinProperties", "minProperties", Form::Optional),
    ("Required", "required", Form::Optional),
    ("Items", "items", Form::SchemaOrSchemas),
    ("AllOf", "allOf", Form::Schemas),
    ("OneOf", "oneOf", Form::Schemas),
    ("AnyOf", "anyOf", Form::Schemas),
    ("Not", "not", Form::Schema),
    ("Properties", "properties", Form::SchemaMap),
    (
        "AdditionalProperties",
        "additionalProperties",
        Form::SchemaOrBool,
    ),
    ("PatternProperties", "patternProperties", Form::SchemaMap),
    ("Dependencies", "dependencies", Form::Dependencies),
    ("AdditionalItems", "additionalItems", Form::SchemaOrBool),
    ("Definitions", "definitions", Form::SchemaMap),
    ("ExternalDocs", "externalDocs", Form::Struct(DOCS)),
    ("Example", "example", Form::Optional),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Form::Optional,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", FLAG),
    ("XIntOrString", "x-kubernetes-int-or-string", FLAG),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::Optional),
    ("XListType", "x-kubernetes-list-type", Form::Optional),
    ("XMapType", "x-kubernetes-map-type", Form::Optional),
    (
        "XValidations",
        "x-kubernetes-validations",
        Form::Structs(RULE),
    ),
];

const SCALE: &[Member] = &[
    ("SpecReplicasPath", "specReplicasPath", TEXT),
    ("StatusReplicasPath", "statusReplicasPath", TEXT),
    ("LabelSelectorPath", "labelSelectorPath", Form::Optional),
];

const COLUMN: &[Member] = &[
    ("Name", "name", TEXT),
    ("Type", "type", TEXT),
    ("Format", "format", TEXT),
    ("Description", "description", TEXT),
    ("Priority", "priority", Form::Plain("0")),
    ("JSONPath", "jsonPath", TEXT),
];

const VERSION: &[Member] = &[
    ("Name", "name", TEXT),
    ("Served", "served", FLAG),
    ("Storage", "storage", FLAG),
    ("Deprecated", "deprecated", FLAG),
    ("DeprecationWarning", "deprecationWarning", Form::Optional),
    (
        "Schema",
        "schema",
        Form::Struct(&[("OpenAPIV3Schema", "openAPIV3Schema", Form::Schema)]),
    ),
    (
        "Subresources",
        "subresources",
        Form::Struct(&[
            ("Status", "status", Form::Optional),
            ("Scale", "scale", Form::Struct(SCALE)),
        ]),
    ),
    (
        "AdditionalPrinterColumns",
        "additionalPrinterColumns",
        Form::Structs(COLUMN),
    ),
    (
        "SelectableFields",
        "selectableFields",
        Form::Structs(&[("JSONPath", "jsonPath", TEXT)]),
    ),
];

/// The members of a schema: their names in Go and in a document, in the order of the struct.
pub(super) fn schema_members() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMA.iter().map(|(name, keyword, _)| (*name, *keyword))
}

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    let mut out = String::new();
    write(Some(schema), Form::Schema, &mut out);
    out
}

/// A validation rule.
pub fn rule(rule: &Value) -> String {
    let mut out = String::new();
    write(Some(rule), Form::Struct(RULE), &mut out);
    out
}

/// The versions of a definition, without the members that `hidden` names.
pub fn versions(versions: &[&Map], hidden: &[&str]) -> String {
    // Hidden members are removed, so that they are written with their zero values.
    let shown = |version: &&Map| {
        let edits = version
            .iter()
            .filter(|(name, _)| hidden.contains(&name.as_str()));
        Value::Map(version.with_edits(edits.map(|(name, _)| (name.clone(), None)).collect()))
    };
    let shown: Vec<Value> = versions.iter().map(shown).collect();
    let mut out = String::new();
    write(Some(&Value::from(shown)), Form::Structs(VERSION), &mut out);
    out
}

fn write(value: Option<&Value>, form: Form, out: &mut String) {
    level(|| {
        // Null decodes to the zero value in Go, like an absent member.
        let value = value.filter(|value| !value.is_null());
        match (value, form) {
            (None, Form::Plain(zero)) => out.push_str(zero),
            (None, _) => out.push_str("null"),
            (Some(value), Form::Plain(_) | Form::Optional) => write_json(value, out, Escape::Go),
            (Some(value), Form::Schema) => members(value, SCHEMA, out),
            (Some(value), Form::Struct(of)) => members(value, of, out),
            (Some(value), Form::Schemas) => list(value, Form::Schema, out),
            (Some(value), Form::Structs(of)) => list(value, Form::Struct(of), out),
            (Some(value), Form::SchemaMap) => entries(value, Form::Schema, out),
            (Some(value), Form::SchemaOrSchemas) => {
                either(value, "JSONSchemas", Form::Schemas, out)
            }
            (Some(value), Form::SchemaOrStrings) => either(value, "Property", Form::Optional, out),

            // The Go struct has a boolean besides the schema, which is true unless the keyword is `false`.
            (Some(value), Form::SchemaOrBool) => {
                let allows = if *value == Value::Bool(false) {
                    "false"
                } else {
                    "true"
                };
                out.push_str(&format!("{{\"Allows\":{allows},\"Schema\":"));
                write(
                    Some(value).filter(|value| value.as_map().is_some()),
                    Form::Schema,
                    out,
                );
                out.push('}');
            }
            (Some(value), Form::Dependencies) => entries(value, Form::SchemaOrStrings, out),
        }
    })
}

/// A struct with two members: a schema, or a list under another name.
fn either(value: &Value, name: &str, form: Form, out: &mut String) {
    // Go has a struct for a keyword with two forms, and writes both of its members.
    let is_list = value.as_list().is_some();
    out.push_str("{\"Schema\":");
    write(Some(value).filter(|_| !is_list), Form::Schema, out);
    out.push_str(&format!(",\"{name}\":"));
    write(Some(value).filter(|_| is_list), form, out);
    out.push('}');
}

fn members(value: &Value, of: &[Member], out: &mut String) {
    out.push('{');
    for (at, (name, keyword, form)) in of.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&format!("\"{name}\":"));
        write(value.get(keyword), *form, out);
    }
    out.push('}');
}

fn list(value: &Value, form: Form, out: &mut String) {
    out.push('[');
    for (at, item) in value.as_list().into_iter().flatten().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(Some(item), form, out);
    }
    out.push(']');
}

fn entries(value: &Value, form: Form, out: &mut String) {
    out.push('{');
    for (at, (name, item)) in value.as_map().into_iter().flatten().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_json(&Value::from(name.clone()), out, Escape::Go);
        out.push(':');
        write(Some(item), form, out);
    }
    out.push('}');
}
