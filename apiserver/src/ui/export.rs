//! The history of an object as a scenario file.

use super::frame::Page;
use super::place::Place;
use crate::endpoint::{Core, Failure};

pub(super) async fn export(_core: &Core, place: &Place) -> Result<Page, Failure> {
    Err(place.not_found())
}
