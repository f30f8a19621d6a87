//! Go source and the documents that its unions are put into.

use fieldmanager_authoring::internal::{Document, GoFile, GoTypes, insert};
use fieldmanager_value::Value;

/// What divides an input: Go source before it, a document behind it.
const DIVIDER: &str = "\n---8<---\n";

/// Reads Go source, and puts its unions into a document: what is printed can be read, has nothing else changed, and
/// is printed again as it is.
///
/// # Errors
///
/// What does not hold.
pub fn check_go_markers(bytes: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(());
    };
    let (source, document) = text.split_once(DIVIDER).unwrap_or((text, ""));
    let types = GoTypes::read(&[GoFile { path: "v1/types.go", import_path: None, text: source }]);
    let lines = source.split('\n').count();
    for fault in types.faults().iter().chain(types.warnings()) {
        ensure!(
            fault.at.is_some_and(|at| (1..=lines).contains(&at.line) && at.column > 0),
            "{fault}: no such place"
        );
    }
    let Ok(done) = insert(&types, &[Document { name: "document.yaml", text: document }]) else {
        return Ok(());
    };
    for out in done {
        ensure!(
            out.changes > 0 || out.text == document,
            "nothing was changed, and the text is another:\n{}",
            out.text
        );
        let read = documents(&out.text)?;
        let before = documents(document)?;
        ensure!(
            read.iter().map(without_unions).eq(before.iter().map(without_unions)),
            "more than unions was changed:\n{}",
            out.text
        );
        let again = insert(&types, &[Document { name: "document.yaml", text: &out.text }]);
        let again = again.map_err(|faults| format!("{faults}\n{}", out.text))?;
        ensure!(
            again.iter().all(|again| again.text == out.text),
            "another text the second time:\n{}",
            out.text
        );
    }
    Ok(())
}

/// The documents of a text, which is JSON or YAML. JSON may have characters that YAML does not accept.
fn documents(text: &str) -> Result<Vec<Value>, String> {
    Value::from_json_strict(text)
        .map(|document| vec![document])
        .or_else(|_| Value::all_from_yaml(text))
        .map_err(|error| format!("{error}\n{text}"))
}

fn without_unions(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let entries = map.iter().filter(|(name, _)| name.as_str() != "x-kubernetes-unions");
            Value::Map(entries.map(|(name, value)| (name.clone(), without_unions(value))).collect())
        }
        Value::List(items) => Value::List(items.iter().map(without_unions).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_of_the_fuzz_target_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/go_markers");
        let mut inserted = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            check_go_markers(text.as_bytes()).unwrap();
            let (source, document) = text.split_once(DIVIDER).unwrap();
            let types = GoTypes::read(&[GoFile { path: "v1/types.go", import_path: None, text: source }]);
            let done = insert(&types, &[Document { name: "d", text: document }]).unwrap();
            inserted += done.iter().map(|out| out.changes).sum::<usize>();
        }
        assert!(inserted >= 3, "the seeds have unions");
        // Cut anywhere, a seed is some other input.
        let text = std::fs::read_to_string(format!("{folder}/respecting")).unwrap();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            check_go_markers(&text.as_bytes()[..end]).unwrap();
        }
    }
}
