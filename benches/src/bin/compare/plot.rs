//! The curves over size.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::cells::Plan;
use crate::error::Error;
use crate::figures::time;
use crate::run::Results;

const WIDTH: u32 = 1200;
const HEIGHT: u32 = 520;

/// One operation of one side, over the sizes.
struct Curve {
    name: String,
    go: bool,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// A panel beside others.
struct Panel {
    title: &'static str,
    curves: Vec<Curve>,
}

const COLORS: [RGBColor; 4] = [
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0xd6, 0x27, 0x28),
    RGBColor(0x2c, 0xa0, 0x2c),
    RGBColor(0x94, 0x67, 0xbd),
];

fn panels(results: &Results, plan: &Plan) -> Vec<Panel> {
    let panel = |title, kind: &str, operations: &[&str]| {
        let mut curves = Vec::new();
        for (operation, color) in operations.iter().zip(COLORS) {
            for go in [true, false] {
                let points: Vec<(f64, f64)> = plan
                    .sizes
                    .iter()
                    .filter_map(|size| {
                        let cell = results.cells.get(&format!("{kind}/{operation}/{size}"))?;
                        Some((*size as f64, if go { cell.go? } else { cell.rust }))
                    })
                    .collect();
                let name = format!("{} {operation}", if go { "Go" } else { "Rust" });
                curves.push(Curve {
                    name,
                    go,
                    color,
                    points,
                });
            }
        }
        curves.retain(|curve| !curve.points.is_empty());
        Panel { title, curves }
    };
    vec![
        panel(
            "10 items of a keyed list",
            "list",
            &["first", "again", "update", "managers"],
        ),
        panel("10 keys of a map", "map", &["first", "again", "update"]),
        panel(
            "10 items of a set",
            "set",
            &["union", "difference", "decode", "encode"],
        ),
    ]
}

/// Draws the curves to `sizes.svg` in a folder, and returns its path.
pub(crate) fn plot(results: &Results, plan: &Plan, folder: &Path) -> Result<PathBuf, Error> {
    let svg = folder.join("sizes.svg");
    std::fs::create_dir_all(folder).map_err(|source| Error::File {
        path: folder.display().to_string(),
        source,
    })?;
    draw(
        &SVGBackend::new(&svg, (WIDTH, HEIGHT)).into_drawing_area(),
        &panels(results, plan),
    )?;
    Ok(svg)
}

fn draw(area: &DrawingArea<SVGBackend<'_>, Shift>, panels: &[Panel]) -> Result<(), Error> {
    let failed = |error: DrawingAreaErrorKind<_>| Error::Plot(error.to_string());
    area.fill(&WHITE).map_err(failed)?;
    let points = || {
        panels
            .iter()
            .flat_map(|panel| &panel.curves)
            .flat_map(|curve| &curve.points)
    };
    if points().next().is_none() {
        return Ok(());
    }
    let range = |axis: fn(&(f64, f64)) -> f64| {
        let values = || points().map(axis);
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        )
    };
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    for (part, panel) in area.split_evenly((1, panels.len())).iter().zip(panels) {
        let mut chart = ChartBuilder::on(part)
            .caption(panel.title, ("sans-serif", 20))
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(
                (left * 0.8..right * 1.25).log_scale(),
                (low * 0.6..high * 300.0).log_scale(),
            )
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(0xdd, 0xdd, 0xdd))
            .x_desc("size")
            .x_labels(4)
            .y_labels(9)
            .label_style(("sans-serif", 15))
            .x_label_formatter(&|size| format!("{size:.0}"))
            .y_label_formatter(&|nanoseconds| time(*nanoseconds))
            .draw()
            .map_err(failed)?;
        for curve in &panel.curves {
            let width = if curve.go { 1 } else { 3 };
            let style = curve.color.stroke_width(width);
            let go = curve.go;
            chart
                .draw_series(LineSeries::new(curve.points.iter().copied(), style))
                .map_err(failed)?
                .label(curve.name.clone())
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], style));
            let marks = curve.points.iter().map(|point| {
                let fill = if go {
                    curve.color.stroke_width(1)
                } else {
                    curve.color.filled()
                };
                Circle::new(*point, 4, fill)
            });
            chart.draw_series(marks).map_err(failed)?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .label_font(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
    }
    area.present().map_err(failed)
}
