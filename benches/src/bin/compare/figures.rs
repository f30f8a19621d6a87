//! Formats figures.

/// A time: `812 ns`, `1.23 µs`, `45.6 ms`.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three(value))
}

/// A number of bytes.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes < 10_000.0 {
        format!("{bytes:.0} B")
    } else {
        format!("{} KB", three(bytes / 1000.0))
    }
}

/// A number with three significant digits.
pub(crate) fn three(value: f64) -> String {
    match value {
        value if !value.is_finite() => "?".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The figure, or a dash without one.
pub(crate) fn or_dash(value: Option<f64>, write: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), write)
}

/// The geometric mean; `None` without values.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

/// The smallest; `None` without values.
pub(crate) fn smallest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

/// The largest; `None` without values.
pub(crate) fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}
