//! The Go types of built-in kinds, from the tables of `fieldmanager-builtin`, for suites that make objects of them.

use std::sync::LazyLock;

use serde_json::Value;

use crate::json::{items, text};

static TYPES: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../builtin/src/data/types.json")).unwrap_or_default()
});
static KINDS: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../builtin/src/data/kinds.json")).unwrap_or_default()
});

/// A kind at one version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoKind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) ty: Option<GoType>,
}

impl GoKind {
    /// The kinds of the table, in its order.
    pub(crate) fn all() -> Vec<GoKind> {
        let kind = |entry: &'static Value| GoKind {
            group: text(entry, "group"),
            version: text(entry, "version"),
            kind: text(entry, "kind"),
            ty: entry.get("type").and_then(Value::as_u64).and_then(GoType::get),
        };
        items(&KINDS, "kinds").iter().map(kind).collect()
    }

    /// The part `apiVersion` of an object.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// A type of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoType(&'static Value);

impl GoType {
    fn get(at: u64) -> Option<GoType> {
        usize::try_from(at).ok().and_then(|at| items(&TYPES, "types").get(at)).map(GoType)
    }

    /// The type of a part of kinds that conversions read from annotations, by its name.
    pub(crate) fn of_part(name: &str) -> Option<GoType> {
        GoType::get(KINDS.get("parts")?.get(name)?.as_u64()?)
    }

    /// The sort of type: `bool`, `struct` and the like.
    pub(crate) fn sort(self) -> &'static str {
        self.0.get(0).and_then(Value::as_str).unwrap_or_default()
    }

    fn at(self, part: usize) -> Option<GoType> {
        GoType::get(self.0.get(part)?.as_u64()?)
    }

    /// The type of the items of a slice, and of what a pointer refers to.
    pub(crate) fn item(self) -> Option<GoType> {
        self.at(2)
    }

    /// The type of the values of a map.
    pub(crate) fn entry(self) -> Option<GoType> {
        self.at(3)
    }

    /// The fields of a struct, with those of embedded structs in their place.
    pub(crate) fn fields(self) -> Vec<GoField> {
        let fields = self.0.get(2).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut out = Vec::new();
        for field in fields {
            let part = |at: usize| field.get(at).and_then(Value::as_u64).unwrap_or_default();
            let name = usize::try_from(part(0)).ok().and_then(|at| items(&TYPES, "names").get(at)?.as_str());
            let Some(name) = name else { continue };
            let ty = GoType::get(part(1));
            if part(2) & 4 != 0 {
                out.extend(ty.map(GoType::fields).unwrap_or_default());
            } else {
                let of = self.0.get(1).and_then(Value::as_str).unwrap_or_default();
                out.push(GoField { name, ty, of, count: fields.len() });
            }
        }
        out
    }
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoField {
    pub(crate) name: &'static str,
    pub(crate) ty: Option<GoType>,
    /// The struct that declares the field, and the number of its fields.
    pub(crate) of: &'static str,
    count: usize,
}

impl GoField {
    /// In how many of 100 structs at a depth the field is set: few fields of large structs, and fewer of deep ones.
    pub(crate) fn share(&self, depth: usize) -> u32 {
        match (depth, self.count) {
            (0, _) => 90,
            (_, 0..=4) => 60,
            (_, 5..=12) => 35,
            _ => 15,
        }
    }
}
