//! The results as tables in Markdown.

use std::fmt::Write;

use fieldmanager_benches::objects::{OBJECTS, object};
use fieldmanager_benches::operations::{BYTES, ON_LISTS, ON_MAPS, ON_OBJECTS, ON_SIZES, TABLE};

use crate::cells::Plan;
use crate::figures::{bytes, geometric_mean, or_dash, smallest, three, time};
use crate::run::Results;
use crate::targets::{growth, verdicts};

/// All tables, the targets last.
pub(crate) fn markdown(results: &Results, plan: &Plan) -> String {
    let mut out = String::new();
    table(&mut out, results);
    parser(&mut out, results);
    sizes(&mut out, results, plan);
    pairs(&mut out, results, "Bytes to bytes", "bytes", &BYTES);
    pairs(&mut out, results, "FieldsV1", "fields", &ON_OBJECTS);
    memory(&mut out, results);
    threads(&mut out, results);
    targets(&mut out, results, plan);
    out
}

fn row(out: &mut String, cells: &[String]) {
    let _ = writeln!(out, "| {} |", cells.join(" | "));
}

fn head(out: &mut String, title: &str, columns: &[&str]) {
    let _ = writeln!(out, "\n### {title}\n");
    row(
        out,
        &columns
            .iter()
            .map(|column| (*column).to_owned())
            .collect::<Vec<_>>(),
    );
    let lines: Vec<&str> = columns
        .iter()
        .enumerate()
        .map(|(at, _)| if at == 0 { "---" } else { "---:" })
        .collect();
    let _ = writeln!(out, "|{}|", lines.join("|"));
}

fn table(out: &mut String, results: &Results) {
    head(
        out,
        "The table of the Go package",
        &[
            "object, operation",
            "Go",
            "Rust",
            "Go / Rust",
            "Go, fresh",
            "Rust, fresh",
            "Go / Rust, fresh",
        ],
    );
    let (mut reused, mut fresh) = (Vec::new(), Vec::new());
    for object in OBJECTS {
        for operation in TABLE {
            let cell = format!("table/{object}/{operation}");
            let pair = [&cell, &format!("{cell}/fresh")].map(|cell| results.cells.get(cell));
            if pair.iter().all(Option::is_none) {
                continue;
            }
            let mut cells = vec![format!("{object} {operation}")];
            for (measured, ratios) in pair.into_iter().zip([&mut reused, &mut fresh]) {
                let ratio = measured.and_then(|measured| measured.ratio());
                ratios.extend(ratio);
                cells.push(or_dash(measured.and_then(|measured| measured.go), time));
                cells.push(or_dash(measured.map(|measured| measured.rust), time));
                cells.push(or_dash(ratio, three));
            }
            row(out, &cells);
        }
    }
    let [reused, fresh] = [reused, fresh].map(|ratios| {
        let [mean, least] =
            [geometric_mean(&ratios), smallest(&ratios)].map(|value| or_dash(value, three));
        format!("geometric mean {mean}, smallest {least}")
    });
    let _ = writeln!(out, "\nObjects reused: {reused}. Fresh objects: {fresh}.");
}

fn parser(out: &mut String, results: &Results) {
    let columns = [
        "object",
        "JSON",
        "serde_json",
        "own parser",
        "parsed and typed",
        "written",
        "apply, in parses",
        "Go, in parses",
    ];
    head(out, "Against the parser", &columns);
    for name in OBJECTS {
        let parse = |what: &str| results.rust(&format!("parse/{name}/{what}"));
        let Some(yardstick) = parse("serde_json") else {
            continue;
        };
        let apply = results.cells.get(&format!("table/{name}/Apply/fresh"));
        row(
            out,
            &[
                name.to_owned(),
                object(name).map_or_else(String::new, |object| bytes(object.json.len() as f64)),
                time(yardstick),
                or_dash(parse("value"), time),
                or_dash(parse("typed"), time),
                or_dash(parse("write"), time),
                or_dash(apply.map(|apply| apply.rust / yardstick), three),
                or_dash(apply.and_then(|apply| Some(apply.go? / yardstick)), three),
            ],
        );
    }
}

fn sizes(out: &mut String, results: &Results, plan: &Plan) {
    let mut columns = vec!["operation".to_owned()];
    columns.extend(plan.sizes.iter().map(|size| format!("Go {size}")));
    columns.extend(plan.sizes.iter().map(|size| format!("Rust {size}")));
    columns.extend(["growth", "Go / Rust at the largest"].map(str::to_owned));
    head(
        out,
        "Ten parts among many",
        &columns.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    for (kind, operations) in [
        ("list", &ON_LISTS[..]),
        ("map", &ON_MAPS),
        ("set", &ON_SIZES),
    ] {
        for operation in operations {
            let measured: Vec<_> = plan
                .sizes
                .iter()
                .map(|size| results.cells.get(&format!("{kind}/{operation}/{size}")))
                .collect();
            let mut cells = vec![format!("{kind} {operation}")];
            cells.extend(
                measured
                    .iter()
                    .map(|cell| or_dash(cell.and_then(|cell| cell.go), time)),
            );
            cells.extend(
                measured
                    .iter()
                    .map(|cell| or_dash(cell.map(|cell| cell.rust), time)),
            );
            cells.push(or_dash(growth(results, plan, kind, operation), three));
            cells.push(or_dash(
                measured.last().and_then(|cell| (*cell)?.ratio()),
                three,
            ));
            row(out, &cells);
        }
    }
}

fn pairs(out: &mut String, results: &Results, title: &str, kind: &str, operations: &[&str]) {
    head(out, title, &["object, what", "Go", "Rust", "Go / Rust"]);
    for object in OBJECTS {
        for operation in operations {
            let Some(measured) = results.cells.get(&format!("{kind}/{object}/{operation}")) else {
                continue;
            };
            row(
                out,
                &[
                    format!("{object} {operation}"),
                    or_dash(measured.go, time),
                    time(measured.rust),
                    or_dash(measured.ratio(), three),
                ],
            );
        }
    }
}

fn memory(out: &mut String, results: &Results) {
    head(out, "Memory", &["what", "Go", "Rust", "Rust / Go"]);
    for (name, (rust, go)) in &results.memory {
        let part = go.map(|go| rust / go);
        row(
            out,
            &[
                name.clone(),
                or_dash(*go, bytes),
                bytes(*rust),
                or_dash(part, three),
            ],
        );
    }
}

fn threads(out: &mut String, results: &Results) {
    head(
        out,
        "Threads",
        &["threads", "applies a second", "times one thread"],
    );
    let one = results.threads.first().map(|(_, rate)| *rate);
    for (threads, rate) in &results.threads {
        row(
            out,
            &[
                threads.to_string(),
                format!("{rate:.0}"),
                or_dash(one.map(|one| rate / one), three),
            ],
        );
    }
}

fn targets(out: &mut String, results: &Results, plan: &Plan) {
    head(out, "Targets", &["target", "wanted", "found", "met"]);
    for verdict in verdicts(results, plan) {
        let met = if verdict.is_met() { "yes" } else { "**no**" };
        row(
            out,
            &[
                verdict.target.clone(),
                verdict.wanted(),
                three(verdict.found),
                met.to_owned(),
            ],
        );
    }
    if !results.different.is_empty() {
        let _ = writeln!(
            out,
            "\nDifferent results: {}.",
            results.different.join(", ")
        );
    }
}
