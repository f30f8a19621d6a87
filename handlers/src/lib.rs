//! Requests to an API server: create, update, patch and apply, from a body and the live object to the object to store,
//! warnings, or a `Status`.

pub mod custom;
