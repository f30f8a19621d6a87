//! Tables of generated objects are those that a kube-apiserver sent.

use std::io::Read;

use crate::facts;
use crate::table::{IncludeObject, Options, Printer};
use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::{Map, Value};
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};

fn recorded() -> Map {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../../tests/data/tables.json.gz")[..])
        .read_to_string(&mut text)
        .unwrap();
    Value::from_json(&text).unwrap().as_map().unwrap().clone()
}

/// The printer of the resource at a path.
fn printer(path: &str) -> Printer {
    let (group, version, plural) = match *path.split('/').collect::<Vec<_>>() {
        ["api", version, .., plural] => ("", version, plural),
        ["apis", group, version, .., plural] => (group, version, plural),
        _ => panic!("unexpected path {path}"),
    };
    if group == "example.com" {
        let definitions =
            Value::from_json(include_str!("../../tests/data/definitions.json")).unwrap();
        let named = |definition: &&Value| {
            definition
                .get("metadata")
                .unwrap()
                .to_json()
                .contains(&format!("{plural}."))
        };
        let definition = definitions.as_list().unwrap().iter().find(named).unwrap();
        let versions = definition
            .get("spec")
            .unwrap()
            .get("versions")
            .unwrap()
            .as_list()
            .unwrap();
        let version = versions
            .iter()
            .find(|item| item.get("name") == Some(&version.into()))
            .unwrap();
        let columns = version
            .get("additionalPrinterColumns")
            .and_then(Value::as_list);
        return Printer::of_definition(columns.into_iter().flatten());
    }
    let resource = facts::ResourceFacts::served().find(|resource| {
        resource.group == group && resource.version == version && resource.plural == plural
    });
    Printer::of_kind(&resource.unwrap().group_version_kind())
}

struct Recorded {
    now: Timestamp,
    table: Value,
    rows: Vec<Value>,
}

fn read(recorded: &Value) -> Recorded {
    let table = recorded.get("table").unwrap().clone();
    let rows = table
        .get("rows")
        .and_then(Value::as_list)
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    Recorded {
        now: recorded
            .get("now")
            .unwrap()
            .as_str()
            .unwrap()
            .parse()
            .unwrap(),
        table,
        rows,
    }
}

#[test]
fn tables_of_generated_objects_are_those_of_kube_apiserver() {
    let (mut rows, mut faults) = (0, Vec::new());
    for (path, recorded) in recorded().iter().filter(|(path, _)| path.contains('/')) {
        let (printer, recorded) = (printer(path), read(recorded));
        let objects: Vec<Value> = recorded
            .rows
            .iter()
            .map(|row| row.get("object").unwrap().clone())
            .collect();
        let table = |seconds| {
            let now = recorded.now + SignedDuration::from_secs(seconds);
            let metadata = recorded.table.get("metadata").unwrap().as_map().unwrap();
            printer.table(
                &objects,
                metadata,
                &Options::new(now).include(IncludeObject::Object),
            )
        };
        let [early, late] = [table(0), table(1)];
        for name in ["kind", "apiVersion", "metadata", "columnDefinitions"] {
            assert_eq!(early.get(name), recorded.table.get(name), "{path} {name}");
        }
        let items = |table: &Value| table.get("rows").unwrap().as_list().unwrap().clone();
        for ((row, early), late) in recorded.rows.iter().zip(&items(&early)).zip(&items(&late)) {
            rows += 1;
            let cells = |row: &Value| row.get("cells").unwrap().as_list().unwrap().clone();
            // Ages rise while the server answers.
            let cells = cells(row).iter().zip(&cells(early)).zip(&cells(late)).all(
                |((cell, early), late)| {
                    // A float that is whole is written as an integer.
                    let cell = cell.to_json();
                    cell == early.to_json() || cell == late.to_json()
                },
            ) && cells(row).len() == cells(early).len();
            if !cells
                || row.get("conditions") != early.get("conditions")
                || row.get("object") != early.get("object")
            {
                faults.push(format!(
                    "{path}\n  {}\n  {}",
                    early.to_json(),
                    row.to_json()
                ));
            }
        }
    }
    let shown: Vec<&str> = faults.iter().map(String::as_str).take(20).collect();
    assert!(
        faults.is_empty(),
        "{} of {rows} rows differ:\n{}",
        faults.len(),
        shown.join("\n")
    );
    assert!(rows > 3_000, "{rows} rows");
}

#[test]
fn rows_have_metadata_or_nothing_of_objects_as_asked() {
    let all = recorded();
    let printer = Printer::of_kind(&GroupVersionKind::new("", "v1", "Namespace"));
    let one = read(all.get("one").unwrap());
    let namespace = |metadata: &Value| {
        let mut object = Map::single("metadata", metadata.clone());
        object.insert("status", Map::single("phase", "Active"));
        Value::from(object)
    };
    let object = namespace(one.rows[0].get("object").unwrap().get("metadata").unwrap());
    let metadata = one.table.get("metadata").unwrap().as_map().unwrap();
    let options = Options::new(one.now).list(false);
    let table = printer.table(std::slice::from_ref(&object), metadata, &options);
    assert_eq!(
        table
            .get("rows")
            .unwrap()
            .as_list()
            .unwrap()
            .get(0)
            .unwrap()
            .get("object"),
        one.rows[0].get("object")
    );
    let none = read(all.get("none").unwrap());
    let rows = printer.rows(&[object], &options.include(IncludeObject::None));
    assert_eq!(rows[0].get("object"), none.rows[0].get("object"));
}

#[test]
fn a_table_without_headers_has_no_columns() {
    let printer = Printer::of_kind(&GroupVersionKind::new("", "v1", "Namespace"));
    let table = printer.table(
        &[],
        &Map::new(),
        &Options::new(Timestamp::UNIX_EPOCH).headers(false),
    );
    assert_eq!(table.get("columnDefinitions"), Some(&Value::Null));
}

#[test]
fn labels_of_a_selector_are_in_the_order_of_their_texts() {
    let printer = Printer::of_kind(&GroupVersionKind::new("", "v1", "Service"));
    let service =
        Value::from_json(r#"{"spec": {"selector": {"a": "1", "a.b": "2", "a0": "3"}}}"#).unwrap();
    let rows = printer.rows(&[service], &Options::new(Timestamp::UNIX_EPOCH));
    let cells = rows[0].get("cells").unwrap().to_json();
    assert!(cells.contains("a.b=2,a0=3,a=1"), "{cells}");
}
