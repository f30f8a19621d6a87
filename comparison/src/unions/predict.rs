//! Predicts the result of a step from the rules of one side.
//!
//! A step with unions equals a step without unions on other objects: an update of the normalized object, or an apply of
//! the normalized configuration to a live object from which another manager has just removed the members that the apply
//! clears. An engine with unions turned off therefore gives the expected result, including managers, and only the
//! effect of normalization on objects needs rules ([`rules`](super::rules)).

use serde_json::{Value, json};

use super::model::{Place, Types, struct_at};
use super::rules::{
    Edits, Reading, Verdict, config_rule, merged_rule, table_config, table_merged, table_update,
    update_rule, v4_config, v4_merged, v4_update,
};
use crate::GO_PANIC;
use crate::json::items;

/// The side whose rules are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    /// The rules of v4.3.0.
    V4,
    /// The rules of this library.
    Table,
}

/// A member that an apply clears.
#[derive(Clone, Debug)]
pub(super) struct Cleared {
    path: String,
    place: Vec<String>,
    member: String,
    discriminator: Option<String>,
    /// Whether another owner makes it a conflict.
    conflicts: bool,
    /// Whether the configuration sets it to null, which need not make the merged member null.
    applied_null: bool,
}

/// The predicted result of a step.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// An error.
    Refused,
    /// A panic.
    Panics,
    /// This object, for a step that only normalizes.
    Object(Value),
    /// The result of these steps without unions.
    Steps(Vec<Value>, Vec<Cleared>),
}

/// The name of the manager that removes the members that an apply clears.
const CLEARER: &str = "~cleared";

/// The prediction for a step.
pub(super) struct Prediction {
    /// The predicted result.
    pub plan: Plan,
    /// The rows of the tables that apply.
    pub rows: Vec<&'static str>,
    places: Vec<Place>,
    nulled: bool,
    merged: Vec<Place>,
}

/// Merges two objects without unions.
pub(super) type Merge<'m> = dyn Fn(&Value, &Value) -> Option<Value> + 'm;

impl Prediction {
    /// Predicts a step on a live object; `None` for a step that unions do not affect.
    pub(super) fn new(
        rules: Rules,
        types: &Types<'_>,
        ty: &str,
        step: &Value,
        live: &Value,
        merge: &Merge<'_>,
    ) -> Option<Self> {
        if let Some(body) = step.get("normalize") {
            let new = body.get("new")?;
            let mut out = Self::update(rules, types, ty, body.get("old")?, new);
            out.settle(rules, new, Plan::Object);
            return Some(out);
        }

        if let Some(body) = step.get("update") {
            let new = body.get("object")?;
            let mut out = Self::update(rules, types, ty, live, new);
            out.settle(rules, new, |object| {
                Plan::Steps(vec![with_object("update", body, object)], Vec::new())
            });
            return Some(out);
        }
        // No other step normalizes unions.
        let body = step.get("apply")?;

        Some(Self::apply(rules, types, ty, body, live, merge))
    }

    fn update(rules: Rules, types: &Types<'_>, ty: &str, old: &Value, new: &Value) -> Self {
        let places = types.places(ty, old, new, None);
        // The rows are counted, so that the report shows which of them the scenarios reach.
        let rows = match rules {
            Rules::V4 => Vec::new(),
            Rules::Table => places
                .list
                .iter()
                .map(|place| table_update(place).0)
                .collect(),
        };

        Self {
            plan: Plan::Refused,
            rows,
            places: places.list,
            nulled: places.nulled,
            merged: Vec::new(),
        }
    }

    /// Converts the verdicts on an update to a plan.
    fn settle(&mut self, rules: Rules, new: &Value, plan: impl FnOnce(Value) -> Plan) {
        let verdict = |place: &Place| match rules {
            Rules::V4 => v4_update(place, Reading::default()),
            Rules::Table => table_update(place).1,
        };
        // The library has no union in a struct that became null.
        if rules == Rules::V4 && self.nulled {
            self.plan = Plan::Panics;
        } else if let Some(object) = edited(new, &self.places, verdict) {
            self.plan = plan(object);
        }
    }

    fn apply(
        rules: Rules,
        types: &Types<'_>,
        ty: &str,
        body: &Value,
        live: &Value,
        merge: &Merge<'_>,
    ) -> Self {
        let config = body.get("object").unwrap_or(&Value::Null);
        let places = types.places(ty, live, config, None);
        let mut out = Self {
            plan: Plan::Refused,
            rows: Vec::new(),
            places: places.list,
            nulled: false,
            merged: Vec::new(),
        };
        if rules == Rules::Table {
            out.rows
                .extend(out.places.iter().map(|place| table_config(place).0));
        }

        let verdict = |place: &Place| match rules {
            Rules::V4 => v4_config(place, Reading::default()),
            Rules::Table => table_config(place).1,
        };
        let Some(config) = edited(config, &out.places, verdict) else {
            return out;
        };
        let Some(merged) = merge(live, &config) else {
            // The two objects cannot be merged, with or without unions.
            out.plan = Plan::Steps(vec![with_object("apply", body, config)], Vec::new());
            return out;
        };

        // What is cleared depends on the merged object, where live members meet those of the configuration.
        out.merged = types.places(ty, live, &config, Some(&merged)).list;
        let forced = body.get("force").and_then(Value::as_bool) == Some(true);
        let mut without = live.clone();
        let mut cleared = Vec::new();
        for place in &out.merged {
            let edits = match rules {
                Rules::V4 => v4_merged(place, Reading::default()),
                Rules::Table => {
                    let (row, edits) = table_merged(place);
                    out.rows.push(row);
                    edits
                }
            };

            for member in edits.keys() {
                let there =
                    struct_at(&mut without, &place.owned).and_then(|fields| fields.remove(member));
                if there.is_some() {
                    cleared.push(Cleared::new(
                        place,
                        member,
                        rules == Rules::Table && !forced,
                    ));
                }
            }
        }

        // An update by another manager stands for the clearing: it takes the members from their owners as well.
        let mut steps = Vec::new();
        if !cleared.is_empty() {
            let version = body.get("apiVersion");
            steps.push(
                json!({"update": {"manager": CLEARER, "apiVersion": version, "object": without}}),
            );
        }

        steps.push(with_object("apply", body, config));
        out.plan = Plan::Steps(steps, cleared);
        out
    }

    /// The rules by which the two sides have different results.
    pub(super) fn rules(theirs: &Self, ours: &Self, is_apply: bool) -> Vec<&'static str> {
        if theirs.nulled {
            return vec![GO_PANIC];
        }
        if !is_apply {
            return ours.places.iter().filter_map(update_rule).collect();
        }
        let mut out: Vec<_> = ours.places.iter().filter_map(config_rule).collect();
        let merged = theirs.merged.iter().zip(&ours.merged);
        out.extend(merged.filter_map(|(theirs, ours)| merged_rule(theirs, ours)));
        out
    }
}

impl Cleared {
    fn new(place: &Place, member: &str, conflicts: bool) -> Self {
        Self {
            path: format!("{}.{member}", place.path),
            place: place.owned.clone(),
            member: member.to_owned(),
            discriminator: place
                .union
                .discriminator
                .as_ref()
                .map(|name| format!("{}.{name}", place.path)),
            conflicts,
            applied_null: place.requested.get(member).is_some_and(Value::is_null),
        }
    }

    fn is_owned(&self, fields: Option<&Value>) -> bool {
        let holder = self
            .place
            .iter()
            .try_fold(fields, |at, element| at?.get(element).map(Some))
            .flatten();
        holder
            .and_then(|holder| holder.get(format!("f:{}", self.member)))
            .is_some()
    }
}

/// The result of the steps, with the conflicts that clearing causes, and whether there are any.
pub(super) fn with_cleared(
    result: &Value,
    cleared: &[Cleared],
    managed: &Value,
    applier: &str,
) -> (Value, bool) {
    let known: Vec<Value> = items(result, "conflicts").to_vec();
    let mut more = Vec::new();
    for (name, entry) in managed
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != applier)
    {
        // One conflict for each union is enough, and that about the discriminator is there without the clearing.
        let told = |path: &Option<String>| {
            path.as_ref()
                .is_some_and(|path| known.contains(&json!({"manager": name, "path": path})))
        };
        let taken = cleared.iter().filter(|member| {
            member.conflicts && member.is_owned(entry.get("fields")) && !told(&member.discriminator)
        });
        more.extend(taken.map(|member| json!({"manager": name, "path": member.path})));
    }

    // Without unions, an applied null leaves the member as null. The apply with unions clears it.
    if more.is_empty() || result.get("error").is_some() {
        let mut out = result.clone();
        for member in cleared.iter().filter(|member| member.applied_null) {
            let holder = out
                .get_mut("object")
                .and_then(|object| struct_at(object, &member.place));
            holder.and_then(|holder| holder.remove(&member.member));
        }
        return (out, false);
    }

    (
        json!({"conflicts": known.into_iter().chain(more).collect::<Vec<_>>()}),
        true,
    )
}

/// The object after all edits; `None` if it is refused.
fn edited(object: &Value, places: &[Place], verdict: impl Fn(&Place) -> Verdict) -> Option<Value> {
    let verdicts: Vec<Edits> = places.iter().map(verdict).collect::<Result<_, _>>().ok()?;
    let mut out = object.clone();
    for (place, edits) in places.iter().zip(verdicts) {
        // Structs inside a cleared member no longer exist.
        let Some(fields) = struct_at(&mut out, &place.owned) else {
            continue;
        };
        for (name, value) in edits {
            match value {
                Some(value) => fields.insert(name, value),
                None => fields.remove(&name),
            };
        }
    }

    Some(out)
}

fn with_object(kind: &str, body: &Value, object: Value) -> Value {
    let mut body = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.insert("object".to_owned(), object);
    }
    json!({ kind: body })
}
