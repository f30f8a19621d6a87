//! Custom resources: what an API server does to an object that it reads from a request or from its storage, and the
//! faults of an object that is created or updated.

mod decoder;
mod scale;
mod validator;

pub use decoder::{DecodeError, Decoded, Decoder};
pub use validator::{Validator, ValidatorError};

pub use crate::definition::has_valid_certificates;
