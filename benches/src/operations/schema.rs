//! The schema of the built-in types.

use fieldmanager_openapi::Types;
use fieldmanager_value::Value;

use crate::measure::{Prepared, reused};

/// The document that `fieldmanager_openapi::builtin` loads once per process.
const TEXT: &str = include_str!("../../../openapi/src/builtin/kubernetes.json");

pub(super) fn prepare() -> Prepared {
    let load = || Types::load(&Value::from_json(TEXT).unwrap()).unwrap();
    Prepared {
        run: reused(load),
        output: Box::new(move || load().kinds().count().into()),
    }
}
