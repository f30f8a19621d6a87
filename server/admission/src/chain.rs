//! All participants, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::Value;

use crate::meter::Meter;
use crate::{
    Admission, AdmissionPhase, AdmissionRequest, Admitted, Cluster, Denial, Observed, Round,
};

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
    let step = Meter::start(cluster, AdmissionPhase::Mutate.name(), &request);
    let answer = mutate_in_rounds(participants, request, cluster).await;
    step.stop(Observed::Step, answer.is_err());
    answer
}

async fn mutate_in_rounds(
    participants: &[Arc<dyn Admission>],
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let mut all = Admitted::default();
    // What those said who have rounds, by their index.
    let mut rounds: BTreeMap<usize, Round> = BTreeMap::new();
    // One more round at most: participants that undo each other would never come to an end.
    for _ in 0..2 {
        for (index, participant) in participants.iter().enumerate() {
            // A copy, since the answer of the participant changes `all` while the request is borrowed.
            let object = all.object.clone();
            let request = changed(request, object.as_ref());
            if participant.handles(AdmissionPhase::Mutate, &request) {
                let meter = Meter::start(cluster, AdmissionPhase::Mutate.name(), &request);
                let answer = participant.mutate_again(request, cluster, rounds.get(&index));
                let round = add(&mut all, &**participant, answer.await, &meter)?;
                rounds.extend(round.map(|round| (index, round)));
            }
        }
        if !rounds.values().any(|round| round.changed) {
            break;
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
    let step = Meter::start(cluster, AdmissionPhase::Validate.name(), &request);
    let answer = validate_in_turn(participants, request, cluster).await;
    step.stop(Observed::Step, answer.is_err());
    answer
}

async fn validate_in_turn(
    participants: &[Arc<dyn Admission>],
    request: AdmissionRequest<'_>,
    cluster: &dyn Cluster,
) -> Result<Admitted, Denial> {
    let mut all = Admitted::default();
    for participant in participants {
        if participant.handles(AdmissionPhase::Validate, &request) {
            let meter = Meter::start(cluster, AdmissionPhase::Validate.name(), &request);
            let answer = participant.validate(request, cluster).await;
            // The object was validated by now, so a change would be stored unchecked.
            let answer = answer.map(|admitted| Admitted {
                object: None,
                ..admitted
            });
            add(&mut all, &**participant, answer, &meter)?;
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

/// Adds what a participant answered. A refusal gets the warnings and the annotations of those before.
fn add(
    all: &mut Admitted,
    participant: &dyn Admission,
    answer: Result<Admitted, Denial>,
    meter: &Meter<'_>,
) -> Result<Option<Round>, Denial> {
    meter.stop(Observed::Participant(participant.name()), answer.is_err());
    match answer {
        Ok(admitted) => {
            if admitted.object.is_some() {
                // Webhooks and policies, which have rounds, say themselves what they did.
                if admitted.round.is_none() {
                    let effect = format!("{} changed the object", participant.name());
                    all.effects.push(effect);
                }
                all.effects.extend(admitted.effects);
            }
            all.object = admitted.object.or(all.object.take());
            all.warnings.extend(admitted.warnings);
            all.annotations.extend(admitted.annotations);
            Ok(admitted.round)
        }
        Err(mut denial) => {
            if denial.by.is_empty() {
                participant.name().clone_into(&mut denial.by);
            }
            // The client sees warnings in the order in which they were given.
            denial.warnings.splice(..0, all.warnings.drain(..));
            denial.annotations.splice(..0, all.annotations.drain(..));
            Err(denial)
        }
    }
}
