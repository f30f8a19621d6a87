//! Conversions that a server gives, as those of a field manager.

use std::sync::Arc;

use fieldmanager_fieldpath::ApiVersion;
use fieldmanager_managedfields::{ConvertError, ObjectConverter};
use fieldmanager_value::Value;

/// Makes an object have another `apiVersion`. The error is a message.
pub type Convert = dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync;

/// The conversion of a field manager.
pub(crate) struct By(pub(crate) Arc<Convert>);

impl ObjectConverter for By {
    fn convert(&self, object: &Value, version: &ApiVersion) -> Result<Value, ConvertError> {
        (self.0)(object, version.as_str()).map_err(|message| ConvertError::Failed {
            version: version.clone(),
            message,
        })
    }
}
