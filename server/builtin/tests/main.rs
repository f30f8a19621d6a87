//! The integration tests of this crate. They are one program, because every program links the crate again.

mod causes;
mod checks;
mod convert;
mod cost;
mod decode;
mod details;
mod devices;
mod pod_details;
mod pod_status;
mod pods;
mod resources;
mod stack;
mod strategies;
mod volumes;
