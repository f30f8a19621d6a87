//! An object as YAML, line by line with its owners.

mod html;
mod line;
mod owned;
mod terminal;
mod yaml;

use fieldmanager_fieldpath::Set;
use fieldmanager_schema::Type;
use fieldmanager_value::Value;

use crate::owners::Owned;

pub(crate) use html::page;
pub(crate) use line::Line;
pub(crate) use terminal::lines as terminal_lines;

/// The lines of an object without its managed fields. The type decides what is atomic and how items are
/// identified; without it, the paths that managers own decide.
pub(crate) fn lines(owned: &Owned, ty: Option<&Type>) -> Vec<Line> {
    let sets: Vec<Set> = owned
        .owners
        .iter()
        .map(|owner| {
            let set = &owner.entry.fields;
            // What was granular or atomic when it was written may not be so now.
            let now = ty.and_then(|ty| fieldmanager_typed::internal::reconcile(set, ty));
            now.unwrap_or_else(|| set.clone())
        })
        .collect();
    yaml::lines(&without_entries(&owned.object), ty, &sets)
}

fn without_entries(object: &Value) -> Value {
    let (Value::Map(fields), Some(Value::Map(metadata))) = (object, object.get("metadata")) else {
        return object.clone();
    };
    let metadata = metadata.with_edits(vec![("managedFields".into(), None)]);
    Value::Map(fields.with_edits(vec![("metadata".into(), Some(Value::Map(metadata)))]))
}

/// The lines that entries own, and what these are in. Without any entries that are asked for, all lines.
pub(crate) fn only(lines: Vec<Line>, wanted: Option<&[usize]>) -> Vec<Line> {
    let Some(wanted) = wanted else {
        return lines;
    };
    let mut shown = vec![false; lines.len()];
    // Parents stand above, so one walk from the end is enough.
    for (at, line) in lines.iter().enumerate().rev() {
        if line.owners.iter().any(|owner| wanted.contains(owner))
            && let Some(shown) = shown.get_mut(at)
        {
            *shown = true;
        }
        if shown.get(at) == Some(&true)
            && let Some(shown) = line.parent.and_then(|parent| shown.get_mut(parent))
        {
            *shown = true;
        }
    }
    lines.into_iter().zip(shown).filter_map(|(line, shown)| shown.then_some(line)).collect()
}
