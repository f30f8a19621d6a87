//! The steps of a patch, in the order in which they run. It ends with an update to the patched object.

use fieldmanager_patch::{Fault, PatchType, json_merge, json_patch, strategic};
use fieldmanager_structural::internal::ObjectExt as _;
use fieldmanager_value::Value;

use crate::error::Error;
use crate::object::{check_live_object, check_object, described, with_list};
use crate::outcome::Outcome;
use crate::request::{PatchRequest, UpdateRequest};
use crate::settings::Settings;
use crate::update::Update;

/// A patch in progress.
pub(crate) struct PatchRun<'r> {
    settings: &'r Settings,
    request: &'r PatchRequest<'r>,
}

impl<'r> PatchRun<'r> {
    pub(crate) fn run(
        settings: &'r Settings,
        request: &'r PatchRequest<'r>,
    ) -> Result<Outcome, Error> {
        let patch = PatchRun { settings, request };
        patch.check_type()?;
        patch.check_live()?;
        let live =
            settings.to_request_version(request.live, "convert live object to proper version")?;
        let new = patch.patched(&live)?;
        // A fault of the result is one of the patch, since the live object had none.
        check_object("patched object", &new).map_err(|error| refused(&new, error))?;
        check_same_kind(&live, &new)?;
        check_unmodified(&live, &new)?;
        let new = settings.defaulted(&new);
        let mut update = UpdateRequest::new(request.live, &new).manager(request.manager);
        update.now = request.now;

        Update::run(settings, &update).map_err(|error| match error {
            Error::Invalid { callers: true, .. } => refused(&new, error),
            other => other,
        })
    }

    /// Strategic merge patches need a schema.
    fn check_type(&self) -> Result<(), Error> {
        if self.accepted().contains(&self.request.patch_type) {
            Ok(())
        } else {
            Err(self.not_accepted())
        }
    }

    fn accepted(&self) -> &'static [PatchType] {
        match self.request.schema {
            Some(_) => &[PatchType::Json, PatchType::Merge, PatchType::Strategic],
            None => &[PatchType::Json, PatchType::Merge],
        }
    }

    fn not_accepted(&self) -> Error {
        let accepted = self
            .accepted()
            .iter()
            .map(|patch_type| patch_type.content_type())
            .collect();
        Error::Patch(Fault::MediaType { accepted }.into())
    }

    fn check_live(&self) -> Result<(), Error> {
        if self.request.live.is_null() {
            Err(Error::NoObject {
                kind: self.settings.kind.to_string(),
            })
        } else {
            check_live_object(self.request.live)
        }
    }

    /// The live object, patched.
    fn patched(&self, live: &Value) -> Result<Value, Error> {
        let PatchRequest {
            patch,
            patch_type,
            schema,
            ..
        } = *self.request;
        Ok(match (patch_type, schema) {
            (PatchType::Json, _) => json_patch::apply(live, patch)?,
            (PatchType::Merge, _) => json_merge::apply_to_object(live, patch)?,
            (PatchType::Strategic, Some(schema)) => strategic::apply(live, patch, schema)?,
            (PatchType::Strategic, None) | (PatchType::Apply, _) => return Err(self.not_accepted()),
        })
    }
}

/// A patch cannot change the kind of an object.
fn check_same_kind(live: &Value, new: &Value) -> Result<(), Error> {
    let declared = |object: &Value| ["apiVersion", "kind"].map(|name| object.get(name).cloned());
    if declared(live) == declared(new) {
        return Ok(());
    }
    let found = format!("{}, Kind={}", new.api_version(), new.string("kind"));

    Err(refused(new, Error::ObjectType { found }))
}

/// A patch that names a `resourceVersion` or a `uid` applies only to the object that has it. If the live object has none,
/// there is nothing to compare with.
fn check_unmodified(live: &Value, new: &Value) -> Result<(), Error> {
    for field in ["resourceVersion", "uid"] {
        let text = |object: &Value| {
            object
                .metadata_field(field)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };

        if let (Some(found), Some(wanted)) = (text(live), text(new))
            && found != wanted
        {
            return Err(Error::Modified {
                object: described(live),
                field,
                wanted,
                found,
            });
        }
    }

    Ok(())
}

/// Refuses a patched object. The message shows it without managed fields.
fn refused(new: &Value, source: Error) -> Error {
    Error::PatchResult {
        object: with_list(new, None),
        source: Box::new(source),
    }
}
