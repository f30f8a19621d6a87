//! A plot for each figure, in one picture.

use std::path::Path;

use plotters::prelude::*;

use crate::Row;

const SIZE: (u32, u32) = (1000, 900);
const COLUMNS: usize = 2;

/// Draws the figures to an SVG file. Both axes are logarithmic.
pub(crate) fn draw(path: &Path, sizes: &[usize], rows: &[Row]) -> Result<(), String> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    let failed = |error: DrawingAreaErrorKind<std::io::Error>| error.to_string();
    root.fill(&WHITE).map_err(failed)?;

    let areas = root.split_evenly((rows.len().div_ceil(COLUMNS), COLUMNS));
    for (area, row) in areas.iter().zip(rows) {
        draw_one(area, sizes, row).map_err(failed)?;
    }
    root.present().map_err(failed)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

fn draw_one(area: &Area<'_>, sizes: &[usize], row: &Row) -> Result<(), Failed> {
    let number = |size: &usize| f64::from(u32::try_from(*size).unwrap_or(u32::MAX));
    let points: Vec<(f64, f64)> = sizes.iter().map(number).zip(row.times.clone()).collect();
    let (left, right) = ends(points.iter().map(|point| point.0));
    let (low, high) = ends(points.iter().map(|point| point.1));

    // A decade below and above shows that a line is flat.
    let mut chart = ChartBuilder::on(area)
        .caption(row.figure.title, ("sans-serif", 17))
        .margin(10)
        .margin_right(34)
        .x_label_area_size(36)
        .y_label_area_size(62)
        .build_cartesian_2d(
            (left..right).log_scale(),
            (low / 10.0..high * 10.0).log_scale(),
        )?;
    let unit = if row.figure.is_for_each {
        "µs for each object"
    } else {
        "µs for one request"
    };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("objects")
        .y_desc(unit)
        .x_label_formatter(&|objects| format!("{objects:.0}"))
        .y_label_formatter(&|time| time.to_string())
        .draw()?;

    let style = RGBColor(0x1f, 0x77, 0xb4).stroke_width(2);
    chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
    let dots = points
        .into_iter()
        .map(|point| Circle::new(point, 4, style.filled()));
    chart.draw_series(dots)?;
    Ok(())
}

fn ends(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min).max(1e-3);
    (low, values.fold(low * 1.01, f64::max))
}
