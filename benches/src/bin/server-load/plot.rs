//! Plots: the times of applies, and the memory of the mixed load.

use std::path::Path;

use plotters::prelude::*;

use crate::error::Error;

const SIZE: (u32, u32) = (900, 480);

const COLORS: [RGBColor; 5] = [
    RGBColor(0xd6, 0x27, 0x28),
    RGBColor(0xff, 0x7f, 0x0e),
    RGBColor(0x1f, 0x77, 0xb4),
    RGBColor(0x2c, 0xa0, 0x2c),
    RGBColor(0x94, 0x67, 0xbd),
];

/// A line with its name.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The titles of a plot.
pub(crate) struct Titles {
    pub(crate) caption: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
}

/// Draws lines to an SVG file. Times have a logarithmic axis.
pub(crate) fn draw(
    path: &Path,
    titles: &Titles,
    lines: &[Line],
    is_log: bool,
) -> Result<(), Error> {
    let failed = |error: DrawingAreaErrorKind<std::io::Error>| Error::Plot(error.to_string());
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let points = || lines.iter().flat_map(|line| &line.points);
    let right = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let high = points().map(|(_, y)| *y).fold(0.0, f64::max) * 1.3 + 1.0;
    let low = points().map(|(_, y)| *y).fold(high, f64::min).max(0.01);
    let mut builder = ChartBuilder::on(&area);
    builder
        .caption(titles.caption, ("sans-serif", 20))
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(70);
    macro_rules! chart {
        ($range:expr) => {{
            let mut chart = builder
                .build_cartesian_2d(0.0..right, $range)
                .map_err(failed)?;
            let mut mesh = chart.configure_mesh();
            mesh.light_line_style(WHITE)
                .x_desc(titles.x)
                .y_desc(titles.y)
                .label_style(("sans-serif", 15));
            mesh.draw().map_err(failed)?;
            for (line, color) in lines.iter().zip(COLORS) {
                let style = color.stroke_width(2);
                let series = LineSeries::new(line.points.iter().copied(), style);
                let drawn = chart.draw_series(series).map_err(failed)?;
                drawn
                    .label(&line.name)
                    .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 22, y)], style));
            }
            let mut labels = chart.configure_series_labels();
            labels
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE.mix(0.85));
            labels
                .label_font(("sans-serif", 15))
                .draw()
                .map_err(failed)?;
        }};
    }
    if is_log {
        chart!((low..high).log_scale());
    } else {
        chart!(0.0..high);
    }
    area.present().map_err(failed)
}
