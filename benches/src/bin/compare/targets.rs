//! The targets, and whether they are met.

use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{BYTES, ON_LISTS, ON_MAPS, ON_OBJECTS, ON_SIZES, TABLE};

use crate::cells::Plan;
use crate::figures::{geometric_mean, largest, smallest, three};
use crate::run::Results;

/// One target.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The name of the target.
    pub(crate) target: String,
    /// The measured figure.
    pub(crate) found: f64,
    /// The limit.
    pub(crate) wanted: f64,
    /// Whether more is better.
    pub(crate) at_least: bool,
}

impl Verdict {
    /// Whether the target is met.
    pub(crate) fn is_met(&self) -> bool {
        if self.at_least {
            self.found >= self.wanted
        } else {
            self.found <= self.wanted
        }
    }

    /// The limit as a string.
    pub(crate) fn wanted(&self) -> String {
        format!(
            "{} {}",
            if self.at_least { "≥" } else { "≤" },
            three(self.wanted)
        )
    }
}

/// The verdicts for targets with figures.
pub(crate) fn verdicts(results: &Results, plan: &Plan) -> Vec<Verdict> {
    let mut out = Vec::new();
    let mut add = |target: &str, found: Option<f64>, at_least: bool, wanted: f64| {
        if let Some(found) = found {
            out.push(Verdict {
                target: target.to_owned(),
                found,
                wanted,
                at_least,
            });
        }
    };
    let table = ratios(results, "table", &TABLE);
    add(
        "table: geometric mean of Go / Rust",
        geometric_mean(&table),
        true,
        25.0,
    );
    add("table: smallest Go / Rust", smallest(&table), true, 12.0);
    let fresh = TABLE.map(|operation| format!("{operation}/fresh"));
    let fresh = ratios(results, "table", &fresh.each_ref().map(String::as_str));
    add(
        "table, fresh objects: geometric mean of Go / Rust",
        geometric_mean(&fresh),
        true,
        25.0,
    );
    add(
        "table, fresh objects: smallest Go / Rust",
        smallest(&fresh),
        true,
        12.0,
    );
    let parses = |object: &str, cell: &str| {
        Some(results.rust(cell)? / results.rust(&format!("parse/{object}/serde_json"))?)
    };
    add(
        "apply of a Pod, in parses by serde_json",
        parses("Pod", "table/Pod/Apply/fresh"),
        false,
        0.6,
    );
    for object in OBJECTS {
        let name = format!("reading of {object}, in parses by serde_json");
        add(
            &name,
            parses(object, &format!("parse/{object}/value")),
            false,
            0.9,
        );
    }
    for (kind, operations) in [
        ("list", &ON_LISTS[..]),
        ("map", &ON_MAPS),
        ("set", proportional()),
    ] {
        for operation in operations {
            let name = format!("{kind} {operation}: largest / smallest size");
            add(&name, growth(results, plan, kind, operation), false, 3.0);
            // Sets of ten paths among many have no target against Go, which walks them completely, but quickly.
            if kind != "set" && plan.sizes.len() > 2 {
                let size = plan.sizes.last().copied().unwrap_or_default();
                let name = format!("{kind} {operation}: Go / Rust at {size}");
                let wanted = if kind == "list" { 10_000.0 } else { 2_500.0 };
                add(
                    &name,
                    results.ratio(&format!("{kind}/{operation}/{size}")),
                    true,
                    wanted,
                );
            }
        }
    }
    add(
        "bytes to bytes: smallest Go / Rust",
        smallest(&ratios(results, "bytes", &BYTES)),
        true,
        6.5,
    );
    add(
        "FieldsV1 decode: smallest Go / Rust",
        smallest(&ratios(results, "fields", &["decode"])),
        true,
        7.0,
    );
    add(
        "FieldsV1 encode: smallest Go / Rust",
        smallest(&ratios(results, "fields", &["encode"])),
        true,
        8.0,
    );
    let reversed: Vec<f64> = OBJECTS
        .iter()
        .filter_map(|object| {
            let sorted = results.rust(&format!("fields/{object}/decode"))?;
            Some(results.rust(&format!("fields/{object}/reversed"))? / sorted)
        })
        .collect();
    add(
        "FieldsV1 reversed / sorted, largest",
        largest(&reversed),
        false,
        2.0,
    );
    let memory = |name: &str| results.memory.get(name).copied();
    let times = |a: &str, b: &str| Some(memory(a)?.0 / memory(b)?.0);
    add(
        "parsed Pod, in its JSON size",
        times("value/Pod", "json/Pod"),
        false,
        2.0,
    );
    let part = |name: &str| memory(name).and_then(|(rust, go)| Some(rust / go?));
    let sets: Vec<f64> = OBJECTS
        .iter()
        .filter_map(|object| part(&format!("set/{object}")))
        .collect();
    add("managed set: largest Rust / Go", largest(&sets), false, 0.5);
    add(
        "10,000 objects with the same managers: Rust / Go",
        part("managed/Pod"),
        false,
        1.0 / 3.0,
    );
    add(
        "bytes kept after 10,000 more calls",
        memory("growth").map(|(rust, _)| rust),
        false,
        0.0,
    );
    let efficiency = |threads: &[(usize, f64)]| {
        let ((_, one), (most, all)) = (*threads.first()?, *threads.last()?);
        Some(all / one / most as f64)
    };
    add(
        "threads: part of linear scaling",
        efficiency(&results.threads),
        true,
        0.9,
    );
    out
}

/// Operations on sets whose cost should be proportional to the change.
fn proportional() -> &'static [&'static str] {
    ON_SIZES
        .get(..ON_SIZES.len().saturating_sub(ON_OBJECTS.len()))
        .unwrap_or_default()
}

fn ratios(results: &Results, kind: &str, operations: &[&str]) -> Vec<f64> {
    let cells = OBJECTS.iter().flat_map(|object| {
        operations
            .iter()
            .map(move |op| format!("{kind}/{object}/{op}"))
    });
    cells.filter_map(|cell| results.ratio(&cell)).collect()
}

/// The ratio of the time of the largest size to that of the smallest.
pub(crate) fn growth(results: &Results, plan: &Plan, kind: &str, operation: &str) -> Option<f64> {
    let time = |size: &usize| results.rust(&format!("{kind}/{operation}/{size}"));
    Some(time(plan.sizes.last()?)? / time(plan.sizes.first()?)?)
}
