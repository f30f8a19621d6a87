//! Paths of tables: `spec.containers[].ports[].protocol`, `metadata.labels["app.kubernetes.io/name"]`, `data{}`.

use fieldmanager_value::{Str, Value};

/// The place of values in an object. `[]` is every item of a list, `{}` every value of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Str),
    Items,
    Entries,
}

/// What happens to a value at a path.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Keep,
    Set(Value),
    Remove,
}

impl Path {
    /// Reads a path. The empty string is the object itself.
    pub(crate) fn parse(mut text: &str) -> Self {
        let mut steps = Vec::new();
        // A name with periods is quoted in brackets; others end at the next step.
        while !text.is_empty() {
            if let Some(rest) = text.strip_prefix("[]") {
                steps.push(Step::Items);
                text = rest;
            } else if let Some(rest) = text.strip_prefix("{}") {
                steps.push(Step::Entries);
                text = rest;
            } else if let Some((name, rest)) = text
                .strip_prefix("[\"")
                .and_then(|rest| rest.split_once("\"]"))
            {
                steps.push(Step::Field(name.into()));
                text = rest;
            } else {
                text = text.strip_prefix('.').unwrap_or(text);
                let end = text.find(['.', '[', '{']).unwrap_or(text.len()).max(1);
                let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
                steps.push(Step::Field(name.into()));
                text = rest;
            }
        }

        Path(steps)
    }

    /// Whether the path has at most one value in every object.
    pub(crate) fn is_single(&self) -> bool {
        self.0.iter().all(|step| matches!(step, Step::Field(_)))
    }

    /// The first value at the path. Null is no value.
    pub(crate) fn get<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        let mut found = None;
        self.visit(object, &mut |value| {
            found = Some(value);
            true
        });
        found
    }

    /// Calls a function with the values at the path until it returns true, and returns whether it did.
    pub(crate) fn visit<'v>(
        &self,
        object: &'v Value,
        f: &mut dyn FnMut(&'v Value) -> bool,
    ) -> bool {
        visit(&self.0, object, f)
    }

    /// Edits the values at the path and returns the object if it changed. A missing value is edited only if `create`
    /// is set; then its parents are created.
    pub(crate) fn edit(
        &self,
        object: &Value,
        create: bool,
        f: &mut dyn FnMut(Option<&Value>) -> Edit,
    ) -> Option<Value> {
        match edit(&self.0, Some(object), create, f) {
            Edit::Set(value) => Some(value),
            Edit::Keep | Edit::Remove => None,
        }
    }
}

fn visit<'v>(steps: &[Step], value: &'v Value, f: &mut dyn FnMut(&'v Value) -> bool) -> bool {
    match (steps, value) {
        (_, Value::Null) => false,
        ([], _) => f(value),
        ([Step::Field(name), rest @ ..], _) => {
            value.get(name).is_some_and(|value| visit(rest, value, f))
        }
        ([Step::Items, rest @ ..], Value::List(items)) => {
            items.iter().any(|value| visit(rest, value, f))
        }
        ([Step::Entries, rest @ ..], Value::Map(entries)) => {
            entries.iter().any(|(_, value)| visit(rest, value, f))
        }
        _ => false,
    }
}

fn edit(
    steps: &[Step],
    value: Option<&Value>,
    create: bool,
    f: &mut dyn FnMut(Option<&Value>) -> Edit,
) -> Edit {
    let value = value.filter(|value| !value.is_null());

    // Null is absence, so an edit may create what is null.
    let Some((step, rest)) = steps.split_first() else {
        return if value.is_some() || create {
            f(value)
        } else {
            Edit::Keep
        };
    };

    match (step, value) {
        (Step::Field(name), Some(Value::Map(entries))) => {
            match edit(rest, entries.get(name), create, f) {
                Edit::Keep => Edit::Keep,
                Edit::Set(new) => Edit::Set(Value::Map(
                    entries.with_edits(vec![(name.clone(), Some(new))]),
                )),
                Edit::Remove if entries.contains(name) => {
                    Edit::Set(Value::Map(entries.with_edits(vec![(name.clone(), None)])))
                }
                Edit::Remove => Edit::Keep,
            }
        }
        (Step::Field(name), None) if create => match edit(rest, None, true, f) {
            Edit::Set(new) => Edit::Set(Value::Map(fieldmanager_value::Map::single(
                name.clone(),
                new,
            ))),
            Edit::Keep | Edit::Remove => Edit::Keep,
        },
        (Step::Items, Some(Value::List(items))) => {
            // Items are only replaced: an edit that removes one keeps it.
            let mut replaced = Vec::new();
            for (at, item) in items.iter().enumerate() {
                if let Edit::Set(new) = edit(rest, Some(item), create, f) {
                    replaced.push((at, new));
                }
            }

            if replaced.is_empty() {
                Edit::Keep
            } else {
                Edit::Set(Value::List(items.with_edits(replaced, Vec::new())))
            }
        }
        (Step::Entries, Some(Value::Map(entries))) => {
            let mut edits = Vec::new();
            for (name, entry) in entries {
                match edit(rest, Some(entry), create, f) {
                    Edit::Keep => {}
                    Edit::Set(new) => edits.push((name.clone(), Some(new))),
                    Edit::Remove => edits.push((name.clone(), None)),
                }
            }

            if edits.is_empty() {
                Edit::Keep
            } else {
                Edit::Set(Value::Map(entries.with_edits(edits)))
            }
        }
        _ => Edit::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        Value::from_yaml(text).unwrap()
    }

    #[test]
    fn paths_have_fields_keys_items_and_entries() {
        let path = Path::parse(r#"spec.list[].map{}.labels["a.b/c"].x"#);
        let fields = |names: &[&str]| {
            names
                .iter()
                .map(|name| Step::Field((*name).into()))
                .collect::<Vec<_>>()
        };
        let mut expected = fields(&["spec", "list"]);
        expected.push(Step::Items);
        expected.extend(fields(&["map"]));
        expected.push(Step::Entries);
        expected.extend(fields(&["labels", "a.b/c", "x"]));
        assert_eq!(path.0, expected);
        assert!(!path.is_single());
        assert!(Path::parse("").0.is_empty());
        assert_eq!(Path::parse("[]a").0.len(), 2);
    }

    #[test]
    fn edits_reach_every_value_and_create_parents_on_request() {
        let object = yaml("{a: [{b: 1}, {c: 2}, 3]}");
        let set = |_: Option<&Value>| Edit::Set(Value::from(9));
        let path = Path::parse("a[].b");
        assert_eq!(
            path.edit(&object, false, &mut { set }).unwrap(),
            yaml("{a: [{b: 9}, {c: 2}, 3]}")
        );
        assert_eq!(
            path.edit(&object, true, &mut { set }).unwrap(),
            yaml("{a: [{b: 9}, {b: 9, c: 2}, 3]}")
        );
        assert_eq!(Path::parse("x.z").edit(&object, false, &mut { set }), None);
        let created = Path::parse("x.z")
            .edit(&yaml("{}"), true, &mut { set })
            .unwrap();
        assert_eq!(created, yaml("{x: {z: 9}}"));
        let removed = Path::parse("a")
            .edit(&object, false, &mut |_| Edit::Remove)
            .unwrap();
        assert_eq!(removed, yaml("{}"));
    }
}
