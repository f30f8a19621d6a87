//! The Go types of built-in kinds, for suites that make objects of them.
//!
//! They are recorded: `oracle/server/cmd/types` writes them. The tables of the library are from the same sources, and a
//! test compares them; the generators do not read them, so that a field that they lack is generated.

use std::sync::LazyLock;

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use serde_json::Value;

use crate::files;
use crate::json::{items, member, text};

static RECORDED: LazyLock<Value> = LazyLock::new(|| {
    files::read(&files::folder("recorded").join("types.json.gz")).unwrap_or_default()
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
    /// The kinds that the library serves, in the order of the recording. Go has more, of versions that are not served.
    pub(crate) fn all() -> &'static [GoKind] {
        static ALL: LazyLock<Vec<GoKind>> = LazyLock::new(|| {
            // The recording is a static, so the types can be copied and outlive every case.
            let kind = |entry: &'static Value| GoKind {
                group: text(entry, "group"),
                version: text(entry, "version"),
                kind: text(entry, "kind"),
                ty: GoType::get(text(entry, "type")),
            };
            let kinds = items(&RECORDED, "kinds").iter().map(kind);
            kinds.filter(GoKind::is_served).collect()
        });

        &ALL
    }

    fn is_served(&self) -> bool {
        Kind::of(&GroupVersionKind::new(self.group, self.version, self.kind)).is_some()
    }

    /// The part `apiVersion` of an object.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// A type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoType(&'static Value);

impl GoType {
    fn get(key: &str) -> Option<GoType> {
        member(&RECORDED, "types").get(key).map(GoType)
    }

    /// The type of a part of kinds that conversions read from annotations, by the name of the annotation.
    pub(crate) fn of_part(name: &str) -> Option<GoType> {
        GoType::get(text(member(&RECORDED, "parts"), name))
    }

    /// The sort of type: `bool`, `struct` and the like.
    pub(crate) fn sort(self) -> &'static str {
        text(self.0, "sort")
    }

    /// The type of the items of a slice, of the values of a map, and of what a pointer refers to.
    pub(crate) fn item(self) -> Option<GoType> {
        GoType::get(text(self.0, "item"))
    }

    /// The fields of a struct, with those of embedded structs in their place.
    pub(crate) fn fields(self) -> impl Iterator<Item = GoField> {
        items(self.0, "fields").iter().map(GoField)
    }
}

/// A field of a struct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoField(&'static Value);

impl GoField {
    pub(crate) fn name(self) -> &'static str {
        text(self.0, "name")
    }

    pub(crate) fn ty(self) -> Option<GoType> {
        GoType::get(text(self.0, "type"))
    }

    /// The struct that declares the field, and its name: `v1.PodSpec.containers`.
    pub(crate) fn place(self) -> String {
        format!("{}.{}", text(self.0, "of"), self.name())
    }

    /// In how many of 100 structs at a depth the field is set: few fields of large structs, and fewer of deep ones.
    pub(crate) fn share(self, depth: usize) -> u32 {
        match (depth, member(self.0, "count").as_u64().unwrap_or_default()) {
            (0, _) => 90,
            (_, 0..=4) => 60,
            (_, 5..=12) => 35,
            _ => 15,
        }
    }
}
