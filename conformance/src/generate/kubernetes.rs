//! A schema with the shapes of Kubernetes objects, for large objects.

use serde_json::json;

use super::types::{Atom, Field, List, Map, Relation, Scalar, TypeRef, Types};

/// Types like those of a workload with its pod template: fields as `name:type` or `name:type=default`.
const TYPES: &[(&str, &str)] = &[
    ("root", "kind:str metadata:metadata spec:spec data:map(str) status:status"),
    (
        "metadata",
        "labels:map(str) annotations:map(str) finalizers:set(str) owners:keyed({uid:str controller:bool} uid)",
    ),
    (
        "spec",
        "replicas:num selector:atomic(labels) containers:keyed(container name) volumes:keyed(volume name) \
         tolerations:list({effect:str}) rules:keyed(rule priority) hosts:set(str)",
    ),
    ("labels", "*:str"),
    (
        "container",
        "name:str image:str command:list(str) \
         env:keyed({name:str value:str from:atomic({secret:str path:str})} name) \
         ports:keyed({port:num protocol:str=TCP name:str} port protocol) resources:map(any)",
    ),
    ("volume", "name:str secret:{items:list(str)} source:map(str)"),
    ("rule", "priority:num verbs:set(str) match:map(str)"),
    ("status", "conditions:keyed({type:str status:str generation:num} type) addresses:set(num)"),
];

/// The types.
pub(crate) fn types() -> Types {
    let definition = |(name, fields): &(&str, &str)| {
        ((*name).to_owned(), Atom::map(Reader { rest: fields.split_inclusive(END).peekable() }.fields()))
    };
    Types { definitions: TYPES.iter().map(definition).collect(), root: "root".to_owned() }
}

const END: [char; 7] = [' ', ':', '=', '(', ')', '{', '}'];

/// Reads words, each with the character that ends it.
struct Reader<'t> {
    rest: std::iter::Peekable<std::str::SplitInclusive<'t, [char; 7]>>,
}

impl<'t> Reader<'t> {
    /// The next word and what ends it.
    fn word(&mut self) -> (&'t str, &'t str) {
        let word = self.rest.next().unwrap_or_default();
        word.split_at(word.trim_end_matches(END).len())
    }

    /// Fields up to the end or a `}`.
    fn fields(&mut self) -> Map {
        let mut out = Map::default();
        while let (name, ":") = self.word() {
            let (type_ref, mut end) = self.type_ref();
            let mut default = None;
            if end == "=" {
                let (value, after) = self.word();
                (default, end) = (Some(json!(value)), after);
            }
            match name {
                "*" => out.element = Some(type_ref),
                _ => out.fields.push(Field { name: name.to_owned(), type_ref, default }),
            }
            if end != " " {
                break;
            }
        }
        out
    }

    /// A type and what ends it.
    fn type_ref(&mut self) -> (TypeRef, &'t str) {
        let (name, end) = self.word();
        if end == "{" {
            let out = TypeRef::inline(Atom::map(self.fields()));
            return (out, self.word().1);
        }
        if end == "(" {
            let (element, mut end) = self.type_ref();
            let mut keys = Vec::new();
            while end == " " {
                let (key, after) = self.word();
                keys.push(key.to_owned());
                end = after;
            }
            return (container(name, element, keys), self.word().1);
        }
        let out = match name {
            "str" => TypeRef::scalar(Scalar::String),
            "num" => TypeRef::scalar(Scalar::Numeric),
            "bool" => TypeRef::scalar(Scalar::Boolean),
            "any" => TypeRef::scalar(Scalar::Untyped),
            name => TypeRef::named(name),
        };
        (out, end)
    }
}

fn container(name: &str, element: TypeRef, keys: Vec<String>) -> TypeRef {
    let list = |element, relation| TypeRef::inline(Atom::list(List { element, relation, keys }));
    match name {
        "atomic" => TypeRef { relation: Some(Relation::Atomic), ..element },
        "map" => TypeRef::inline(Atom::map(Map { element: Some(element), ..Map::default() })),
        "list" => list(element, Relation::Atomic),
        _ => list(element, Relation::Associative),
    }
}
