//! All participants, one after the other.

use std::sync::Arc;

use fieldmanager_value::Value;

use crate::{Admission, AdmissionRequest, Admitted, Cluster, Denial, Round};

/// Asks all participants in turn to change the object of a request, and once more if a webhook or a policy changed it. The
/// answer has the changed object, all warnings and all annotations.
///
/// # Errors
///
/// The first refusal, with the warnings until then.
///
/// Behaviour: `chainAdmissionHandler.Admit` and `reinvoker.Admit` of `k8s.io/apiserver/pkg/admission`.
pub async fn mutate(
    participants: &[Arc<dyn Admission>],
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let mut all = Admitted::default();
    let mut rounds: Vec<Option<Round>> = Vec::with_capacity(participants.len());
    for participant in participants {
        let object = all.object.clone();
        let request = changed(request, object.as_ref());
        rounds.push(match participant.handles(&request) {
            true => add(&mut all, participant.mutate(request, cluster).await)?,
            false => None,
        });
    }

    if rounds.iter().flatten().any(|round| round.changed) {
        for (participant, first) in participants.iter().zip(&rounds) {
            let object = all.object.clone();
            let request = changed(request, object.as_ref());
            if participant.handles(&request) {
                let again = participant.mutate_again(request, cluster, first.as_ref());
                add(&mut all, again.await)?;
            }
        }
    }
    Ok(all)
}

/// Asks all participants in turn whether a request may proceed.
///
/// # Errors
///
/// The first refusal, with the warnings until then.
pub async fn validate(
    participants: &[Arc<dyn Admission>],
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let mut all = Admitted::default();
    for participant in participants {
        if participant.handles(&request) {
            add(&mut all, participant.validate(request, cluster).await)?;
            all.object = None;
        }
    }
    Ok(all)
}

/// The request with what was made of its object so far.
fn changed<'a>(request: AdmissionRequest<'a>, object: Option<&'a Value>) -> AdmissionRequest<'a> {
    AdmissionRequest {
        object: object.or(request.object),
        ..request
    }
}

/// Adds what a participant answered. A refusal gets the warnings of those before.
fn add(all: &mut Admitted, answer: Result<Admitted, Denial>) -> Result<Option<Round>, Denial> {
    match answer {
        Ok(admitted) => {
            all.object = admitted.object.or(all.object.take());
            all.warnings.extend(admitted.warnings);
            all.annotations.extend(admitted.annotations);
            Ok(admitted.round)
        }
        Err(mut denial) => {
            denial.warnings.splice(..0, all.warnings.drain(..));
            Err(denial)
        }
    }
}
