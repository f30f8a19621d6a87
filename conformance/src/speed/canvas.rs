//! A canvas for PNG files that brings its letters with it: what it draws does not depend on installed fonts.

use std::io::BufWriter;
use std::path::Path;

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind};

use super::Error;

const WEIGHT: FontWeight = FontWeight::Regular;

/// What never happens: drawing into memory does not fail.
#[derive(Debug, thiserror::Error)]
#[error("drawing into memory failed")]
pub(super) struct Never;

/// An image in memory. Lines and areas are drawn point by point, by plotters itself.
pub(super) struct Canvas<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Red, green and blue of every point, row by row.
    pub(super) points: &'a mut Vec<u8>,
}

impl Canvas<'_> {
    fn mix(&mut self, (x, y): BackendCoord, (red, green, blue): (u8, u8, u8), alpha: f64) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else { return };
        if x >= self.width || y >= self.height {
            return;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        for (point, color) in self.points.iter_mut().skip(at).take(3).zip([red, green, blue]) {
            *point = (f64::from(*point) * (1.0 - alpha) + f64::from(color) * alpha).round() as u8;
        }
    }
}

fn letters(size: f64) -> RasterHeight {
    if size < 18.0 { RasterHeight::Size16 } else { RasterHeight::Size20 }
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Never>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Never>> {
        self.mix(point, color.rgb, color.alpha);
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Never>> {
        let height = letters(style.size());
        let width = get_raster_width(WEIGHT, height) * text.chars().count();
        Ok((u32::try_from(width).unwrap_or(u32::MAX), height.val() as u32))
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Never>> {
        let (width, height) = self.estimate_text_size(text, style)?;
        let (width, height) = (width as i32, height as i32);
        let mut x = match style.anchor().h_pos {
            HPos::Left => x,
            HPos::Right => x - width,
            HPos::Center => x - width / 2,
        };
        let y = match style.anchor().v_pos {
            VPos::Top => y,
            VPos::Center => y - height / 2,
            VPos::Bottom => y - height,
        };
        let color = style.color();
        for letter in text.chars() {
            let letter = get_raster(letter, WEIGHT, letters(style.size()));
            for (down, row) in letter.iter().flat_map(|letter| letter.rows()).enumerate() {
                for (right, strength) in row.iter().enumerate() {
                    let alpha = color.alpha * f64::from(*strength) / 255.0;
                    self.mix((x + right as i32, y + down as i32), color.rgb, alpha);
                }
            }
            x += get_raster_width(WEIGHT, letters(style.size())) as i32;
        }
        Ok(())
    }
}

/// Writes the points of an image as a PNG file.
pub(super) fn write_png(path: &Path, width: u32, height: u32, points: &[u8]) -> Result<(), Error> {
    let failed = |source| Error::File { path: path.display().to_string(), source };
    let file = std::fs::File::create(path).map_err(failed)?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(points));
    written.map_err(|source| failed(source.into()))
}
