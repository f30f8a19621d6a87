//! stub
use std::sync::Arc; use http::Response; use super::{Body, Head, negotiate::Format}; use crate::endpoint::{Core, Failure, WatchCall};
pub(super) fn format(_: &Head) -> Result<Format, Failure> { Ok(Format::JSON) }
pub(super) async fn respond(_: &Arc<Core>, _: &Head, _: Format, _: WatchCall) -> Result<Response<Body>, Failure> { Err(Failure::path_not_found()) }
