//! Closures that take part in admission, in place of webhooks.

use std::future::ready;
use std::sync::Arc;

use fieldmanager_managedfields::Status;
use fieldmanager_value::Value;

use crate::{
    Admission, AdmissionAnswer, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial,
};

type Mutate = dyn Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync;
type Validate = dyn Fn(&AdmissionRequest<'_>) -> Result<(), String> + Send + Sync;

/// What a closure does.
enum ClosureAction {
    Mutate(Box<Mutate>),
    Validate(Box<Validate>),
}

/// A closure with a name. It sees every request.
struct Closure {
    name: String,
    action: ClosureAction,
}

/// A participant that changes objects: the closure returns the new object, `None` for no change, or why the request is
/// refused.
///
/// ```
/// use fieldmanager_admission::mutating;
/// use fieldmanager_value::Value;
/// let label = mutating("team.example.com", |request| {
///     let Some(Value::Map(object)) = request.object else { return Ok(None) };
///     let mut object = object.clone();
///     object.insert("team", "blue");
///     Ok(Some(Value::Map(object)))
/// });
/// assert_eq!(label.name(), "team.example.com");
/// ```
pub fn mutating(
    name: &str,
    mutate: impl Fn(&AdmissionRequest<'_>) -> Result<Option<Value>, String> + Send + Sync + 'static,
) -> Arc<dyn Admission> {
    Arc::new(Closure {
        name: name.to_owned(),
        action: ClosureAction::Mutate(Box::new(mutate)),
    })
}

/// A participant that refuses requests: the closure returns why.
pub fn validating(
    name: &str,
    validate: impl Fn(&AdmissionRequest<'_>) -> Result<(), String> + Send + Sync + 'static,
) -> Arc<dyn Admission> {
    Arc::new(Closure {
        name: name.to_owned(),
        action: ClosureAction::Validate(Box::new(validate)),
    })
}

impl Closure {
    /// The words for a refusal by a webhook.
    fn denied(&self, reason: &str) -> Denial {
        let name = &self.name;
        let message = match reason {
            "" => format!("admission webhook {name:?} denied the request without explanation"),
            reason => format!("admission webhook {name:?} denied the request: {reason}"),
        };
        Status::failure(403, "Forbidden", message, None).into()
    }
}

impl Admission for Closure {
    fn name(&self) -> &str {
        &self.name
    }

    fn handles(&self, phase: AdmissionPhase, _: &AdmissionRequest<'_>) -> bool {
        match self.action {
            ClosureAction::Mutate(_) => phase == AdmissionPhase::Mutate,
            ClosureAction::Validate(_) => phase == AdmissionPhase::Validate,
        }
    }

    fn mutate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        _: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        let object = match &self.action {
            ClosureAction::Mutate(mutate) => mutate(&request),
            ClosureAction::Validate(_) => Ok(None),
        };
        let admitted = object.map(|object| Admitted {
            object,
            ..Admitted::default()
        });
        Box::pin(ready(admitted.map_err(|reason| self.denied(&reason))))
    }

    fn validate<'a>(
        &'a self,
        request: AdmissionRequest<'a>,
        _: &'a dyn Cluster,
    ) -> AdmissionAnswer<'a> {
        let checked = match &self.action {
            ClosureAction::Mutate(_) => Ok(()),
            ClosureAction::Validate(validate) => validate(&request),
        };
        let admitted = checked.map(|()| Admitted::default());
        Box::pin(ready(admitted.map_err(|reason| self.denied(&reason))))
    }
}
