//! Objects as the rows of a `Table`, which is what `kubectl get` prints.
//!
//! ```
//! use fieldmanager_apiserver::table::{Options, Printer};
//! use fieldmanager_structural::GroupVersionKind;
//! use fieldmanager_value::{Map, Value};
//!
//! let printer = Printer::of_kind(&GroupVersionKind::new("", "v1", "Secret"));
//! let secret = Value::from_json(
//!     r#"{"metadata": {"name": "a", "creationTimestamp": "2026-11-22T10:00:00Z"}, "type": "Opaque", "data": {"x": "eQ=="}}"#,
//! )?;
//! let options = Options::new("2026-11-22T10:05:30Z".parse()?);
//! let table = printer.table(&[secret], &Map::new(), &options);
//! let cells = table.get("rows").unwrap().as_list().unwrap().get(0).unwrap().get("cells").unwrap();
//! assert_eq!(cells.to_json(), r#"["a","Opaque",1,"5m30s"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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

pub use duration::human_duration;

/// The part of an object that its row contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
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
    ///
    /// ```
    /// use fieldmanager_apiserver::table::IncludeObject;
    /// assert_eq!(IncludeObject::from_parameter(""), Some(IncludeObject::Metadata));
    /// assert_eq!(IncludeObject::from_parameter("Object"), Some(IncludeObject::Object));
    /// assert_eq!(IncludeObject::from_parameter("object"), None);
    /// ```
    pub fn from_parameter(text: &str) -> Option<Self> {
        match text {
            "None" => Some(IncludeObject::None),
            "" | "Metadata" => Some(IncludeObject::Metadata),
            "Object" => Some(IncludeObject::Object),
            _ => None,
        }
    }
}

/// The form of a table, and the time that its ages are counted from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The part of an object that its row contains.
    pub include: IncludeObject,
    /// Whether the table has definitions of its columns. In a watch only the first one has.
    pub headers: bool,
    /// Whether the objects are the items of a list: the default StorageClass is marked in lists only.
    pub list: bool,
    /// The time from which ages are counted.
    pub now: Timestamp,
}

impl Options {
    /// The options of a list with headers and metadata.
    pub fn new(now: Timestamp) -> Self {
        Options { include: IncludeObject::default(), headers: true, list: true, now }
    }

    /// The options with another value of `includeObject`.
    #[must_use]
    pub fn include(self, include: IncludeObject) -> Self {
        Options { include, ..self }
    }

    /// The options with or without definitions of the columns.
    #[must_use]
    pub fn headers(self, headers: bool) -> Self {
        Options { headers, ..self }
    }

    /// The options for a list or for one object.
    #[must_use]
    pub fn list(self, list: bool) -> Self {
        Options { list, ..self }
    }
}

/// Makes tables of the objects of a kind.
#[derive(Clone, Debug)]
pub struct Printer {
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
    pub fn of_kind(kind: &GroupVersionKind) -> Self {
        let columns = match facts::columns(kind) {
            // A kind without lists has no recorded columns.
            [] => facts::columns(&GroupVersionKind::new("", "v1", "LimitRange")),
            columns => columns,
        };
        Printer { columns: columns.into(), cells: Cells::Builtin(kinds::cells(kind), printed_version(kind)) }
    }

    /// The printer of a version of a custom resource. `columns` are the items of its `additionalPrinterColumns`; without
    /// any, the columns are `Name` and `Age`.
    ///
    /// ```
    /// use fieldmanager_apiserver::table::{Options, Printer};
    /// use fieldmanager_value::{Map, Value};
    /// let columns = Value::from_yaml("[{name: Color, type: string, jsonPath: .spec.color}]")?;
    /// let printer = Printer::of_definition(columns.as_list().unwrap());
    /// let shop = Value::from_yaml("{metadata: {name: shop}, spec: {color: red}}")?;
    /// let table = printer.table(&[shop], &Map::new(), &Options::new("2026-11-22T10:05:30Z".parse()?));
    /// assert!(table.to_json().contains(r#""cells":["shop","red"]"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_definition<'c>(columns: impl IntoIterator<Item = &'c Value>) -> Self {
        let (columns, cells) = custom::columns(columns);
        Printer { columns: columns.into(), cells: Cells::Custom(cells) }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// A `Table` of objects. `metadata` is that of the list, or has the `resourceVersion` of the one object.
    pub fn table(&self, objects: &[Value], metadata: &Map, options: &Options) -> Value {
        let definitions: Value = if options.headers {
            self.columns.iter().map(definition).collect::<List>().into()
        } else {
            Value::Null
        };
        let mut table: Map = [("kind", "Table"), ("apiVersion", "meta.k8s.io/v1")].into_iter().collect();
        table.insert("metadata", metadata.clone());
        table.insert("columnDefinitions", definitions);
        table.insert("rows", self.rows(objects, options).into_iter().collect::<List>());
        table.into()
    }

    /// The rows of a table.
    pub fn rows(&self, objects: &[Value], options: &Options) -> Vec<Value> {
        let default = if options.list { storage::default_class(objects) } else { None };
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
    let to = match (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str()) {
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => {
            GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler")
        }
        ("events.k8s.io", _, "Event") => GroupVersionKind::new("", "v1", "Event"),
        _ => return None,
    };
    Some((Kind::of(kind)?, Kind::of(&to)?))
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
            let mut partial: Map =
                [("kind", "PartialObjectMetadata"), ("apiVersion", "meta.k8s.io/v1")].into_iter().collect();
            partial.insert("metadata", object.get("metadata").cloned().unwrap_or(Value::Map(Map::new())));
            partial.into()
        }
    }
}
