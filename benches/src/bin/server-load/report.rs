//! The table of medians and ratios.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::figures::{Figures, quantile};
use crate::mixed::Mixed;
use crate::server::Kind;

/// The runs of each kind.
pub(crate) type Runs = BTreeMap<Kind, Vec<Figures>>;

/// A row: title, name of the figure, and unit.
const ROWS: [(&str, &str, &str); 13] = [
    ("start to the first answer", "start", "ms"),
    ("memory when idle", "idle", "MiB"),
    ("memory with {objects} Deployments", "filled", "MiB"),
    (
        "memory with {objects} Pods that share nothing",
        "unshared",
        "MiB",
    ),
    ("applies per second, 32 clients", "peak", ""),
    ("median of an apply at half of that rate", "half50", "ms"),
    (
        "99th percentile of an apply at half of that rate",
        "half99",
        "ms",
    ),
    (
        "the same at half the rate of kube-apiserver",
        "common99",
        "ms",
    ),
    (
        "applies per second, 32 clients of one HTTP/2 connection",
        "shared",
        "",
    ),
    ("updates per second, 32 clients", "updates", ""),
    (
        "the same with bodies and answers in protobuf",
        "protobuf",
        "",
    ),
    ("list of {objects} Pods, last byte", "list", "ms"),
    ("{watchers} watchers see {changes} changes", "watch", "ms"),
];

/// The factors by which a figure of one kind has to be better than that of another kind.
const WANTED: [(&str, Kind, Kind, f64); 10] = [
    ("start", Kind::Memory, Kind::KubeMemory, 25.0),
    ("idle", Kind::Memory, Kind::KubeMemory, 10.0),
    ("filled", Kind::Memory, Kind::KubeMemory, 10.0),
    ("peak", Kind::Memory, Kind::KubeMemory, 5.0),
    ("peak", Kind::File, Kind::KubeDisk, 3.0),
    ("peak", Kind::Etcd, Kind::KubeMemory, 1.0),
    ("half99", Kind::Memory, Kind::KubeMemory, 2.0),
    ("common99", Kind::Memory, Kind::KubeMemory, 2.0),
    ("list", Kind::Memory, Kind::KubeMemory, 2.0),
    ("watch", Kind::Memory, Kind::KubeMemory, 2.0),
];

/// The median of a figure over all runs of a kind.
fn median(runs: &Runs, kind: Kind, name: &str) -> Option<f64> {
    let mut values: Vec<f64> = runs
        .get(&kind)?
        .iter()
        .filter_map(|figures| figures.get(name).copied())
        .collect();
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}

fn shown(value: f64, unit: &str) -> String {
    let number = match value {
        value if value < 10.0 => format!("{value:.1}"),
        value => grouped(value),
    };
    format!("{number} {unit}").trim().to_owned()
}

/// A whole number with a comma after thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The figures of all kinds that were measured, and the ratios that are wanted.
pub(crate) fn markdown(runs: &Runs, title: impl Fn(&str) -> String) -> String {
    let kinds: Vec<Kind> = runs.keys().copied().collect();
    let mut text = String::from("| |");
    for kind in &kinds {
        let _ = write!(text, " {} |", kind.title());
    }
    let _ = writeln!(text, "\n|---{}|", "|---".repeat(kinds.len()));
    for (row, name, unit) in ROWS {
        let values: Vec<Option<f64>> = kinds.iter().map(|kind| median(runs, *kind, name)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "| {} |", title(row));
        for value in values {
            let _ = write!(
                text,
                " {} |",
                value.map_or_else(|| "-".to_owned(), |value| shown(value, unit))
            );
        }
        text.push('\n');
    }
    let ratios = WANTED.iter().filter_map(|(name, ours, theirs, wanted)| {
        let (a, b) = (median(runs, *ours, name)?, median(runs, *theirs, name)?);
        let factor = if *name == "peak" { a / b } else { b / a };
        let (row, ..) = ROWS.iter().find(|(_, row, _)| row == name)?;
        let verdict = if factor >= *wanted { "met" } else { "missed" };
        let (ours, theirs) = (ours.title(), theirs.title());
        Some(format!(
            "| {} | {ours} | {theirs} | {wanted} | {factor:.1} | {verdict} |\n",
            title(row)
        ))
    });
    let ratios: String = ratios.collect();
    if !ratios.is_empty() {
        let _ = write!(
            text,
            "\n| figure | of | beside | wanted factor | factor | |\n|---|---|---|---|---|---|\n{ratios}"
        );
    }
    text
}

/// What the mixed load found.
pub(crate) fn mixed(mixed: &Mixed) -> String {
    let seconds = mixed.memory.last().map_or(0.0, |(seconds, _)| *seconds);
    let part = |from: f64, to: f64| {
        let within = mixed
            .memory
            .iter()
            .filter(|(at, _)| *at >= seconds * from && *at <= seconds * to);
        let mut values: Vec<f64> = within.map(|(_, memory)| *memory).collect();
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    let (greatest, bound) = mixed.greatest();
    let verdict = if greatest <= bound {
        "within"
    } else {
        "beyond"
    };
    let mut text = format!(
        "{} requests and {} events in {seconds:.0} s; median memory in fifths of that time: {:.0}, {:.0}, {:.0}, {:.0}, {:.0} MiB; at \
         most {greatest:.0} MiB, {verdict} the bound of {bound:.0} MiB; ",
        grouped(mixed.requests as f64),
        grouped(mixed.events as f64),
        part(0.0, 0.2),
        part(0.2, 0.4),
        part(0.4, 0.6),
        part(0.6, 0.8),
        part(0.8, 1.0),
    );
    match mixed.errors.is_empty() {
        true => text.push_str("no errors.\n"),
        false => text.push_str("errors:\n"),
    }
    for (error, count) in &mixed.errors {
        let _ = writeln!(text, "- {count} times {error}");
    }
    text
}
