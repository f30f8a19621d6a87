//! Objects: fields, unknown fields, defaults, relationships.

use fieldmanager_openapi::Importer;

use super::check;

#[test]
fn fields_are_sorted_and_have_their_defaults() {
    check(
        &Importer::new(),
        &[
            (
                "{type: object, properties: {b: {type: string, default: x}, a: {type: integer, default: 3}}}",
                "{map: {fields: [{name: a, type: {scalar: numeric}, default: 3},
                                 {name: b, type: {scalar: string}, default: x}]}}",
            ),
            (
                "{type: object, properties: {a: {type: string, default: null}, b: {type: boolean, default: false}}}",
                "{map: {fields: [{name: a, type: {scalar: string}},
                                 {name: b, type: {scalar: boolean}, default: false}]}}",
            ),
            // The import does not check the type of a default.
            (
                "{type: object, properties: {a: {type: object, default: {x: [1]}}, b: {type: string, default: 7}}}",
                "{map: {fields: [
                  {name: a, type: {map: {elementType: {namedType: __untyped_deduced_}}}, default: {x: [1]}},
                  {name: b, type: {scalar: string}, default: 7}]}}",
            ),
            (
                "{type: object, properties: {
                   a: {$ref: '#/definitions/Free', default: {}},
                   b: {allOf: [{$ref: '#/definitions/Free'}], default: {x: 1}}}}",
                "{map: {fields: [{name: a, type: {namedType: Free}, default: {}},
                                 {name: b, type: {namedType: Free}, default: {x: 1}}]}}",
            ),
        ],
    );
}

#[test]
fn additional_properties_determine_unknown_fields() {
    let deduced = "{map: {elementType: {namedType: __untyped_deduced_}}}";
    let a = "fields: [{name: a, type: {scalar: string}}]";
    let open = format!("{{map: {{{a}, elementType: {{namedType: __untyped_deduced_}}}}}}");
    let closed = format!("{{map: {{{a}}}}}");
    check(
        &Importer::new(),
        &[
            ("{type: object}", deduced),
            ("{type: object, properties: {}}", deduced),
            (
                "{type: object, properties: null, additionalProperties: null}",
                deduced,
            ),
            ("{type: object, additionalProperties: true}", deduced),
            ("{type: object, additionalProperties: false}", "{map: {}}"),
            (
                "{type: object, additionalProperties: {type: string}}",
                "{map: {elementType: {scalar: string}}}",
            ),
            (
                "{type: object, additionalProperties: {$ref: '#/definitions/Free'}}",
                { "{map: {elementType: {namedType: Free}}}" },
            ),
            ("{type: object, properties: {a: {type: string}}}", &closed),
            (
                "{type: object, properties: {a: {type: string}}, additionalProperties: false}",
                &closed,
            ),
            (
                "{type: object, properties: {a: {type: string}}, additionalProperties: true}",
                &open,
            ),
            (
                "{type: object, properties: {a: {type: string}}, additionalProperties: {type: integer}}",
                &format!("{{map: {{{a}, elementType: {{scalar: numeric}}}}}}"),
            ),
        ],
    );
}

#[test]
fn preserved_unknown_fields_are_deduced() {
    let open = "{map: {fields: [{name: a, type: {scalar: string}}], elementType: {namedType: __untyped_deduced_}}}";
    check(
        &Importer::new(),
        &[
            ("{type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: true}", open),
            (
                "{type: object, properties: {a: {type: string}}, x-kubernetes-preserve-unknown-fields: false}",
                "{map: {fields: [{name: a, type: {scalar: string}}]}}",
            ),
            // Additional properties take precedence.
            (
                "{type: object, additionalProperties: false, x-kubernetes-preserve-unknown-fields: true}",
                "{map: {}}",
            ),
            (
                "{type: object, additionalProperties: {type: string}, x-kubernetes-preserve-unknown-fields: true}",
                "{map: {elementType: {scalar: string}}}",
            ),
            // It applies to nested inline schemas, not to siblings or references.
            (
                "{type: object, properties: {
                   in: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
                     deep: {type: array, items: {type: object, properties: {x: {type: string}}}},
                     ref: {$ref: '#/definitions/io.example.v1.Port'}}},
                   out: {type: object, properties: {x: {type: string}}}}}",
                "{map: {fields: [
                  {name: in, type: {map: {
                    fields: [
                      {name: deep, type: {list: {elementRelationship: atomic, elementType: {map: {
                        fields: [{name: x, type: {scalar: string}}],
                        elementType: {namedType: __untyped_deduced_}}}}}},
                      {name: ref, type: {namedType: io.example.v1.Port}}],
                    elementType: {namedType: __untyped_deduced_}}}},
                  {name: out, type: {map: {fields: [{name: x, type: {scalar: string}}]}}}]}}",
            ),
            // A nested `false` does not end it.
            (
                "{type: object, x-kubernetes-preserve-unknown-fields: true, additionalProperties: {
                   type: object, x-kubernetes-preserve-unknown-fields: false, properties: {a: {type: string}}}}",
                &format!("{{map: {{elementType: {open}}}}}"),
            ),
        ],
    );
}

#[test]
fn option_keeps_unknown_fields_everywhere() {
    check(
        &Importer::new().preserve_unknown_fields(true),
        &[
            (
                "{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}",
                "{map: {elementType: {namedType: __untyped_deduced_}, fields: [{name: a, type: {map: {
                   elementType: {namedType: __untyped_deduced_}, fields: [{name: b, type: {scalar: string}}]}}}]}}",
            ),
            ("{type: object, additionalProperties: false}", "{map: {}}"),
        ],
    );
}

#[test]
fn map_relationships_are_imported() {
    let map = |relationship: &str| {
        format!("{{map: {{elementType: {{scalar: string}}, elementRelationship: {relationship}}}}}")
    };
    check(
        &Importer::new(),
        &[
            (
                "{type: object, additionalProperties: {type: string}}",
                "{map: {elementType: {scalar: string}}}",
            ),
            (
                "{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}",
                &map("atomic"),
            ),
            (
                "{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: granular}",
                &map("separable"),
            ),
            // The extension of lists does not apply to maps.
            (
                "{type: object, additionalProperties: {type: string}, x-kubernetes-list-type: set}",
                "{map: {elementType: {scalar: string}}}",
            ),
        ],
    );
}

#[test]
fn nullable_is_kept_below_definitions() {
    check(
        &Importer::new(),
        &[
            ("{type: string, nullable: true}", "{scalar: string}"),
            (
                "{type: object, properties: {
                   a: {type: string, nullable: true}, b: {$ref: '#/definitions/Free', nullable: true},
                   c: {type: string, nullable: false}, d: {type: string, nullable: null}}}",
                "{map: {fields: [
                   {name: a, type: {scalar: string, nullable: true}}, {name: b, type: {namedType: Free, nullable: true}},
                   {name: c, type: {scalar: string}}, {name: d, type: {scalar: string}}]}}",
            ),
            (
                "{type: array, items: {type: string, nullable: true}}",
                "{list: {elementType: {scalar: string, nullable: true}, elementRelationship: atomic}}",
            ),
        ],
    );
}
