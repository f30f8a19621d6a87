//! Patches: an update with the object that a patch makes of the live one.

use fieldmanager_patch::{Fault, PatchSchema, PatchType, json_merge, json_patch, strategic};
use fieldmanager_value::Value;

use crate::error::Error;
use crate::managed::list_of;
use crate::manager::{FieldManager, Outcome, check_object};
use crate::time::Time;

impl FieldManager {
    /// Patches the live object and tracks the result as an [`update`](Self::update).
    ///
    /// `schema` is the type of the object as a strategic merge patch needs it, `PatchTypes::of_kind` finds it; none
    /// is for kinds that take no such patches, as custom resources. The live object is patched with its managed
    /// fields in it, so that a patch can take them out.
    ///
    /// A patch is not forced and never conflicts with other managers. A configuration that is applied is no patch
    /// here: that is [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// | error | status |
    /// |---|---|
    /// | [`Error::NoObject`]: there is no live object | 404 |
    /// | [`Error::Patch`]: the patch is of a type that is not taken, is none, or does not apply | 415, 400, 413, 422 |
    /// | [`Error::Patch`]: the schema has a fault | 500 |
    /// | [`Error::PatchResult`]: what comes out is of another kind, or does not fit its type | 422 |
    /// | [`Error::Modified`]: the patch names a `resourceVersion` or `uid` that the live object does not have | 409 |
    ///
    /// and those of an update. Whether a name may change, and what else storage decides, is not looked at.
    ///
    /// Behaviour: `patchResource` in `endpoints/handlers/patch.go` of `k8s.io/apiserver`.
    ///
    /// ```
    /// use fieldmanager_managedfields::{FieldManager, Force, Time};
    /// use fieldmanager_openapi::GroupVersionKind;
    /// use fieldmanager_patch::{PatchSchema, PatchType};
    /// use fieldmanager_value::Value;
    ///
    /// let manager = FieldManager::builder(GroupVersionKind::from_api_version_kind("v1", "ConfigMap")).build()?;
    /// let noon: Time = "2026-01-31T12:00:00Z".parse()?;
    /// let config = Value::from_json(r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","b":"1"}}"#)?;
    /// let live = manager.apply(&Value::Null, &config, "ci", Force::No, noon)?.object;
    ///
    /// let patch = Value::from_json(r#"{"data":{"b":"2","c":"2"}}"#)?;
    /// let schema = Some(PatchSchema::free());
    /// let patched = manager.patch(&live, &patch, PatchType::Strategic, schema, "ops", noon)?;
    /// assert_eq!(patched.object.get("data").unwrap().to_json(), r#"{"a":"1","b":"2","c":"2"}"#);
    /// let owned = |at: usize| patched.managed.entries()[at].fields.to_string();
    /// assert_eq!((owned(0), owned(1)), (".data\n.data.a".into(), ".data.b\n.data.c".into()));
    ///
    /// let error = manager.patch(&live, &patch, PatchType::Strategic, None, "ops", noon).unwrap_err();
    /// assert_eq!(error.status().code, 415);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn patch(
        &self,
        live: &Value,
        patch: &Value,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
        manager: &str,
        now: Time,
    ) -> Result<Outcome, Error> {
        let new = self.patched(live, patch, how, schema)?;
        self.update(live, &new, manager, now).map_err(|error| match error {
            Error::Invalid { callers: true, .. } => refused(&new, error),
            other => other,
        })
    }

    /// The object that a patch makes of the live one, with its defaults. Nothing is tracked yet.
    fn patched(
        &self,
        live: &Value,
        patch: &Value,
        how: PatchType,
        schema: Option<PatchSchema<'_>>,
    ) -> Result<Value, Error> {
        let accepted: &[PatchType] = match schema {
            Some(_) => &[PatchType::Json, PatchType::Merge, PatchType::Strategic],
            None => &[PatchType::Json, PatchType::Merge],
        };
        let not_taken = || {
            let accepted = accepted.iter().map(|how| how.content_type()).collect();
            Error::Patch(Fault::MediaType { accepted }.into())
        };
        if !accepted.contains(&how) {
            return Err(not_taken());
        }
        if live.is_null() {
            return Err(Error::NoObject { kind: self.kind.to_string() });
        }
        check_object("live object", live, true)?;
        let live = self.to_request_version(live, "convert live object to proper version")?;
        let new = match (how, schema) {
            (PatchType::Json, _) => json_patch::apply(&live, patch)?,
            (PatchType::Merge, _) => json_merge::apply_to_object(&live, patch)?,
            (PatchType::Strategic, Some(schema)) => strategic::apply(&live, patch, schema)?,
            (PatchType::Strategic, None) | (PatchType::Apply, _) => return Err(not_taken()),
        };
        check_object("patched object", &new, false).map_err(|error| refused(&new, error))?;
        let said = |object: &Value| ["apiVersion", "kind"].map(|name| object.get(name).cloned());
        if said(&live) != said(&new) {
            let text = |name: &str| new.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let found = format!("{}, Kind={}", text("apiVersion"), text("kind"));
            return Err(refused(&new, Error::ObjectType { found }));
        }
        self.check_unmodified(&live, &new)?;
        Ok(match &self.defaulter {
            Some(defaulter) => defaulter(&new),
            None => new,
        })
    }

    /// A patch that names the `resourceVersion` or the `uid` is meant for that state of that object. Where the live
    /// object has none, there is nothing to compare with.
    fn check_unmodified(&self, live: &Value, new: &Value) -> Result<(), Error> {
        for field in ["resourceVersion", "uid"] {
            let text = |object: &Value| {
                let value = object.get("metadata").and_then(|metadata| metadata.get(field));
                value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
            };
            if let (Some(found), Some(wanted)) = (text(live), text(new))
                && found != wanted
            {
                return Err(Error::Modified { object: self.described(live), field, wanted, found });
            }
        }
        Ok(())
    }
}

/// Refuses what a patch made. Its managed fields are nothing that the caller should read in a message.
fn refused(new: &Value, source: Error) -> Error {
    let shown = match list_of(new) {
        Some(_) => crate::managed::with_list(new, None),
        None => new.clone(),
    };
    Error::PatchResult { object: shown, source: Box::new(source) }
}
