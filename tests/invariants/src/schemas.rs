//! Schemas for scenarios.

use std::sync::LazyLock;

use fieldmanager_schema::{Schema, Type};

/// Schemas with a type `root`.
pub(crate) const TEXTS: [&str; 4] = [STRUCTS, LISTS, NESTED, CHOICE];

/// The types of the scenarios: those of the schemas, and the deduced type.
pub(crate) static ROOTS: LazyLock<Vec<Type>> = LazyLock::new(|| {
    let roots = TEXTS
        .iter()
        .filter_map(|text| Schema::from_yaml(text).ok()?.type_named("root"));
    roots.chain([Schema::deduced()]).collect()
});

/// Scalars, a map of structs, and atomic values.
const STRUCTS: &str = "
types:
- name: root
  map:
    fields:
    - {name: number, type: {scalar: numeric}}
    - {name: text, type: {scalar: string}}
    - {name: flag, type: {scalar: boolean}}
    - {name: any, type: {scalar: untyped}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: structs, type: {map: {elementType: {namedType: part}}}}
    - {name: part, type: {namedType: part}}
    - name: atomicPart
      type: {namedType: part, elementRelationship: atomic}
    - name: atomicMap
      type: {map: {elementType: {scalar: untyped}, elementRelationship: atomic}}
    - name: atomicList
      type: {list: {elementType: {namedType: part}, elementRelationship: atomic}}
- name: part
  map:
    fields:
    - {name: a, type: {scalar: numeric}}
    - {name: b, type: {scalar: string}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
";

/// Sets, and lists with one key, several keys, and keys with defaults.
const LISTS: &str = "
types:
- name: root
  map:
    fields:
    - {name: strings, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - {name: numbers, type: {list: {elementType: {scalar: numeric}, elementRelationship: associative}}}
    - name: named
      type: {list: {elementType: {namedType: named}, elementRelationship: associative, keys: [name]}}
    - name: ports
      type: {list: {elementType: {namedType: port}, elementRelationship: associative, keys: [port, protocol]}}
    - name: loose
      type: {list: {elementType: {namedType: port}, elementRelationship: associative, keys: [port, name]}}
- name: named
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: untyped}}
    - {name: tags, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
    - name: ports
      type: {list: {elementType: {namedType: port}, elementRelationship: associative, keys: [port, protocol]}}
- name: port
  map:
    fields:
    - {name: port, type: {scalar: numeric}}
    - {name: protocol, type: {scalar: string}, default: a}
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: untyped}}
";

/// A recursive struct: as a field, as map entries and as list items.
const NESTED: &str = "
types:
- name: root
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: numeric}}
    - {name: inner, type: {namedType: root}}
    - {name: entries, type: {map: {elementType: {namedType: root}}}}
    - name: items
      type: {list: {elementType: {namedType: root}, elementRelationship: associative, keys: [name]}}
    - name: whole
      type: {list: {elementType: {namedType: root}, elementRelationship: atomic}}
";

/// Fields of several kinds, and a struct that accepts undeclared fields.
const CHOICE: &str = "
types:
- name: root
  map:
    fields:
    - {name: open, type: {namedType: open}}
    - {name: either, type: {namedType: either}}
    - name: list
      type: {list: {elementType: {namedType: open}, elementRelationship: associative, keys: [a]}}
    elementType: {scalar: untyped}
- name: open
  map:
    fields:
    - {name: a, type: {scalar: untyped}}
    - {name: b, type: {scalar: untyped}}
    elementType: {namedType: either}
- name: either
  scalar: untyped
  list: {elementType: {scalar: untyped}, elementRelationship: atomic}
  map: {elementType: {namedType: either}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_have_a_root_type() {
        for text in TEXTS {
            Schema::from_yaml(text).unwrap().type_named("root").unwrap();
        }
        assert_eq!(ROOTS.len(), TEXTS.len() + 1);
    }
}
