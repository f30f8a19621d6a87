//! Renders an object as YAML, with the owners of each line.

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

/// The lines of an object without its managed fields. The type determines which values are atomic and how items are
/// identified; without a type, the paths of the managed fields determine it.
pub(crate) fn lines(owned: &Owned, ty: Option<&Type>) -> Vec<Line> {
    let sets: Vec<Set> = owned
        .owners
        .iter()
        .map(|owner| {
            let set = &owner.entry.fields;
            // A field may have changed from granular to atomic, or the reverse, since the entry was written.
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

/// Keeps the lines that the given entries own and their enclosing lines. `None` keeps all lines.
pub(crate) fn only(lines: Vec<Line>, wanted: Option<&[usize]>) -> Vec<Line> {
    let Some(wanted) = wanted else {
        return lines;
    };
    let mut shown = vec![false; lines.len()];
    // A parent precedes its lines, so one backward pass is enough.
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
