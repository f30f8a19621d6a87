//! Insertion of unions from Go source into documents.

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
use fieldmanager_value::Value;

/// The separator between the Go source and the document.
const DIVIDER: &str = "\n---8<---\n";

/// Parses Go source and inserts its unions into a document. The result must be valid, differ only in its unions, and be
/// unchanged by a second insertion.
///
/// # Errors
///
/// A message that describes the violated invariant.
pub fn check_go_markers(bytes: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(());
    };
    let (source, document) = text.split_once(DIVIDER).unwrap_or((text, ""));
    let types = GoTypes::read(&[GoFile {
        path: "v1/types.go",
        import_path: None,
        text: source,
    }]);
    let lines = source.split('\n').count();
    for fault in types.faults().iter().chain(types.warnings()) {
        ensure!(
            fault
                .at
                .is_some_and(|at| (1..=lines).contains(&at.line) && at.column > 0),
            "{fault}: the position does not exist"
        );
    }
    let Ok(done) = insert(
        &types,
        &[Document {
            name: "document.yaml",
            text: document,
        }],
    ) else {
        return Ok(());
    };
    for out in done {
        ensure!(
            out.changes > 0 || out.text == document,
            "the document differs, but no changes were reported:\n{}",
            out.text
        );
        let read = documents(&out.text)?;
        let before = documents(document)?;
        ensure!(
            read.iter()
                .map(without_unions)
                .eq(before.iter().map(without_unions)),
            "something other than unions was changed:\n{}",
            out.text
        );
        let again = insert(
            &types,
            &[Document {
                name: "document.yaml",
                text: &out.text,
            }],
        );
        let again = again.map_err(|faults| format!("{faults}\n{}", out.text))?;
        ensure!(
            again.iter().all(|again| again.text == out.text),
            "a second insertion changes the document:\n{}",
            out.text
        );
    }
    Ok(())
}

/// Parses the documents of JSON or YAML input. JSON may contain characters that YAML does not accept.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    Value::from_json_strict(text)
        .map(|document| vec![document])
        .or_else(|_| Value::all_from_yaml(text))
        .map_err(|error| format!("{error}\n{text}"))
}

fn without_unions(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let entries = map
                .iter()
                .filter(|(name, _)| name.as_str() != "x-kubernetes-unions");
            Value::Map(
                entries
                    .map(|(name, value)| (name.clone(), without_unions(value)))
                    .collect(),
            )
        }
        Value::List(items) => Value::List(items.iter().map(without_unions).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_seeds_satisfy_the_invariants() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/go_markers");
        let mut inserted = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            check_go_markers(text.as_bytes()).unwrap();
            let (source, document) = text.split_once(DIVIDER).unwrap();
            let types = GoTypes::read(&[GoFile {
                path: "v1/types.go",
                import_path: None,
                text: source,
            }]);
            let done = insert(
                &types,
                &[Document {
                    name: "d",
                    text: document,
                }],
            )
            .unwrap();
            inserted += done.iter().map(|out| out.changes).sum::<usize>();
        }
        assert!(inserted >= 3, "the seeds contain unions");
        // Every prefix of a seed is another input.
        let text = std::fs::read_to_string(format!("{folder}/respecting")).unwrap();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            check_go_markers(&text.as_bytes()[..end]).unwrap();
        }
    }
}
