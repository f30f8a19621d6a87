//! Objects as the rows of a `Table`, which is what `kubectl get` prints.

mod access;
mod autoscaling;
mod cell;
mod core;
mod custom;
mod duration;
mod events;
mod json_path;
mod kinds;
mod network;
mod nodes;
mod object;
mod pods;
mod policies;
mod selector;
mod storage;
#[cfg(test)]
mod tests;
mod workloads;

use std::borrow::Cow;

use fieldmanager_builtin::Kind;
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::proceed;
use fieldmanager_value::{List, Map, Value};
use jiff::Timestamp;

use crate::facts::{self, Column};
use cell::Cell;
use custom::CustomColumn;
use object::Object;

/// The part of an object that its row contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata, as `PartialObjectMetadata`.
    #[default]
    Metadata,
    /// The object itself.
    Object,
}

impl IncludeObject {
    /// Reads the parameter `includeObject` of a request; an empty string is the default. `None` for an unknown value.
    pub(crate) fn from_parameter(text: &str) -> Option<Self> {
        match text {
            "None" => Some(IncludeObject::None),
            "" | "Metadata" => Some(IncludeObject::Metadata),
            "Object" => Some(IncludeObject::Object),
            _ => None,
        }
    }
}

/// The label selector at a path of an object as the text of a query; `None` if an operator is unknown.
pub(crate) fn selector_text(object: &Value, path: &str) -> Option<String> {
    selector::requirements(
        &object::Object::new(object, Timestamp::UNIX_EPOCH, None),
        path,
    )
}

/// The form of a table, and the time that its ages are counted from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub(crate) struct Options {
    /// The part of an object that its row contains.
    pub(crate) include: IncludeObject,
    /// Whether the table has definitions of its columns. In a watch only the first one has.
    pub(crate) headers: bool,
    /// Whether the objects are the items of a list: the default StorageClass is marked in lists only.
    pub(crate) list: bool,
    /// The time from which ages are counted.
    pub(crate) now: Timestamp,
}

impl Options {
    /// The options of a list with headers and metadata.
    pub(crate) fn new(now: Timestamp) -> Self {
        Options {
            include: IncludeObject::default(),
            headers: true,
            list: true,
            now,
        }
    }

    /// The options with another value of `includeObject`.
    #[must_use]
    pub(crate) fn include(self, include: IncludeObject) -> Self {
        Options { include, ..self }
    }

    /// The options with or without definitions of the columns.
    #[must_use]
    pub(crate) fn headers(self, headers: bool) -> Self {
        Options { headers, ..self }
    }

    /// The options for a list or for one object.
    #[must_use]
    pub(crate) fn list(self, list: bool) -> Self {
        Options { list, ..self }
    }
}

/// Makes tables of the objects of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    columns: Cow<'static, [Column]>,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    /// The cells of a built-in kind, and the version whose fields they are of.
    Builtin(&'static [Cell], Option<(Kind, Kind)>),
    Custom(Vec<CustomColumn>),
}

impl Printer {
    /// The printer of a built-in kind, with the columns of kube-apiserver. Other kinds have the columns `Name` and
    /// `Created At`.
    pub(crate) fn of_kind(kind: &GroupVersionKind) -> Self {
        let columns = match facts::columns(kind) {
            // A kind without lists has no recorded columns.
            [] => facts::columns(&GroupVersionKind::new("", "v1", "LimitRange")),
            columns => columns,
        };
        Printer {
            columns: columns.into(),
            cells: Cells::Builtin(kinds::cells(kind), printed_version(kind)),
        }
    }

    /// The printer of a version of a custom resource. `columns` are the items of its `additionalPrinterColumns`; without
    /// any, the columns are `Name` and `Age`.
    pub(crate) fn of_definition<'c>(columns: impl IntoIterator<Item = &'c Value>) -> Self {
        let (columns, cells) = custom::columns(columns);
        Printer {
            columns: columns.into(),
            cells: Cells::Custom(cells),
        }
    }

    /// A `Table` of objects. `metadata` is that of the list, or has the `resourceVersion` of the one object.
    pub(crate) fn table(&self, objects: &[Value], metadata: &Map, options: &Options) -> Value {
        let definitions: Value = if options.headers {
            self.columns.iter().map(definition).collect::<List>().into()
        } else {
            Value::Null
        };
        let mut table: Map = [("kind", "Table"), ("apiVersion", "meta.k8s.io/v1")]
            .into_iter()
            .collect();
        table.insert("metadata", metadata.clone());
        table.insert("columnDefinitions", definitions);
        table.insert(
            "rows",
            self.rows(objects, options).into_iter().collect::<List>(),
        );

        table.into()
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, objects: &[Value], options: &Options) -> Vec<Value> {
        let default = if options.list {
            storage::default_class(objects)
        } else {
            None
        };
        let row = |object: &Value| {
            let converted = match &self.cells {
                Cells::Builtin(_, Some((from, to))) => from.convert(object, to).ok(),
                _ => None,
            };
            let view = Object::new(converted.as_ref().unwrap_or(object), options.now, default);
            let mut cells: Vec<Value> = Vec::with_capacity(self.columns.len());

            match &self.cells {
                Cells::Builtin(all, _) => all.iter().for_each(|cell| cell.write(&view, &mut cells)),
                Cells::Custom(columns) => {
                    cells.push(view.text("metadata.name").into());
                    cells.extend(columns.iter().map(|column| column.cell(&view)));
                }
            }

            let mut row = Map::single("cells", cells.into_iter().collect::<List>());
            if let Cells::Builtin(..) = self.cells
                && let Some(condition) = pods::row_condition(&view)
            {
                row.insert("conditions", vec![condition]);
            }
            row.insert("object", included(object, options.include));

            Value::Map(row)
        };

        objects.iter().take_while(|_| proceed(1)).map(row).collect()
    }
}

/// The version whose fields cells are of, if it is another than that of the objects.
fn printed_version(kind: &GroupVersionKind) -> Option<(Kind, Kind)> {
    let from = Kind::of(kind)?;
    let to = GroupVersionKind::from_api_version_kind(from.description().internal?, &kind.kind);
    Some((from, Kind::of(&to)?))
}

fn definition(column: &Column) -> Value {
    let texts = [
        ("name", &column.name),
        ("type", &column.kind),
        ("format", &column.format),
        ("description", &column.description),
    ];
    let mut out: Map = texts.into_iter().collect();
    out.insert("priority", i64::from(column.priority));
    out.into()
}

fn included(object: &Value, include: IncludeObject) -> Value {
    match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => object.clone(),
        IncludeObject::Metadata => {
            let mut partial: Map = [
                ("kind", "PartialObjectMetadata"),
                ("apiVersion", "meta.k8s.io/v1"),
            ]
            .into_iter()
            .collect();
            partial.insert(
                "metadata",
                object
                    .get("metadata")
                    .cloned()
                    .unwrap_or(Value::Map(Map::new())),
            );

            partial.into()
        }
    }
}
