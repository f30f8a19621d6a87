//! Cells of pods.

use std::collections::BTreeSet;

use fieldmanager_value::{Map, Value};
use jiff::Timestamp;

use super::object::Object;

/// The condition of a row of a pod that ended.
pub(super) fn row_condition(object: &Object<'_>) -> Option<Value> {
    if object.text("kind") != "Pod" || object.text("apiVersion") != "v1" {
        return None;
    }
    let (reason, message) = match object.text("status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    let condition: Map = [
        ("type", "Completed"),
        ("status", "True"),
        ("reason", reason),
        ("message", message),
    ]
    .into_iter()
    .collect();

    Some(condition.into())
}

/// The counts behind the cells of a pod.
#[derive(Default)]
struct Summary {
    reason: String,
    total: usize,
    ready: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
}

impl Summary {
    fn restarted(&mut self, status: &Object<'_>) {
        self.restarts += status.number("restartCount");
        let ended = status.time("lastState.terminated.finishedAt");
        self.last_restart = self.last_restart.max(ended);
    }
}

pub(super) fn pod(object: &Object<'_>) -> Vec<Value> {
    let mut summary = Summary {
        reason: object
            .text_or("status.reason", object.text("status.phase"))
            .to_owned(),
        total: object.count("spec.containers"),
        ..Summary::default()
    };
    let gated = |condition: &Object<'_>| {
        condition.text("type") == "PodScheduled" && condition.text("reason") == "SchedulingGated"
    };

    if object
        .items("status.conditions")
        .any(|condition| gated(&condition))
    {
        "SchedulingGated".clone_into(&mut summary.reason);
    }

    // While an init container runs, it gives the reason, unless the pod was initialized before and its containers run.
    let (sidecars, initializing) = initialize(object, &mut summary);
    let initialized = object.condition("status.conditions", "Initialized");
    if !initializing || initialized.is_some_and(|condition| condition.text("status") == "True") {
        run(object, sidecars, &mut summary);
    }

    // A pod of a node that is lost cannot report its end. One that ended keeps its reason.
    if object.is_deleted() {
        let phase = object.text("status.phase");
        if object.text("status.reason") == "NodeLost" {
            "Unknown".clone_into(&mut summary.reason);
        } else if !matches!(phase, "Failed" | "Succeeded") {
            "Terminating".clone_into(&mut summary.reason);
        }
    }

    let restarts = match summary.last_restart {
        Some(time) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, object.elapsed(time))
        }
        _ => summary.restarts.to_string(),
    };
    let address = object
        .items("status.podIPs")
        .next()
        .map(|address| address.text("ip"));
    let address = address
        .filter(|address| !address.is_empty())
        .unwrap_or("<none>");

    vec![
        format!("{}/{}", summary.ready, summary.total).into(),
        summary.reason.into(),
        restarts.into(),
        object.age().into(),
        address.into(),
        object.text_or("spec.nodeName", "<none>").into(),
        object.text_or("status.nominatedNodeName", "<none>").into(),
        gates(object).into(),
    ]
}

/// Counts the init containers up to the first that is not done. Returns the restarts of sidecars, which are init
/// containers that restart, and whether a container is not done.
fn initialize(object: &Object<'_>, summary: &mut Summary) -> (Summary, bool) {
    let always = |container: &Object<'_>| container.text("restartPolicy") == "Always";
    let sidecars: BTreeSet<&str> = object
        .items("spec.initContainers")
        .filter(always)
        .map(|container| container.text("name"))
        .collect();
    summary.total += sidecars.len();
    let mut restarts = Summary::default();

    for (i, status) in object.items("status.initContainerStatuses").enumerate() {
        let is_sidecar = sidecars.contains(status.text("name"));
        summary.restarted(&status);
        if is_sidecar {
            restarts.restarted(&status);
        }
        let terminated = status.has("state.terminated");
        if terminated && status.number("state.terminated.exitCode") == 0 {
            continue;
        }

        // A sidecar does not end. The next container begins when it has started.
        if is_sidecar && status.flag("started", false) {
            if status.flag("ready", false) {
                summary.ready += 1;
            }
            continue;
        }

        // Init containers run one after the other, so the first that is not done gives the reason.
        let waiting = status.text("state.waiting.reason");
        summary.reason = if terminated {
            format!("Init:{}", ended(&status))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{i}/{}", object.count("spec.initContainers"))
        };
        return (restarts, true);
    }

    (restarts, false)
}

/// Why a container ended.
fn ended(status: &Object<'_>) -> String {
    let reason = status.text("state.terminated.reason");
    let signal = status.number("state.terminated.signal");
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", status.number("state.terminated.exitCode"))
    }
}

/// Counts the containers of a pod that was initialized.
fn run(object: &Object<'_>, sidecars: Summary, summary: &mut Summary) {
    // Init containers are done, so their restarts no longer count. Sidecars run beside the others.
    summary.restarts = sidecars.restarts;
    summary.last_restart = sidecars.last_restart;
    let (mut running, mut failure) = (false, String::new());
    // From the last to the first, so that of several containers the first one gives the reason.
    for status in object.items("status.containerStatuses").rev() {
        summary.restarted(&status);
        let waiting = status.text("state.waiting.reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if status.has("state.terminated") {
            summary.reason = ended(&status);
            if status.number("state.terminated.exitCode") != 0 {
                failure.clone_from(&summary.reason);
            }
        } else if status.flag("ready", false) && status.has("state.running") {
            running = true;
            summary.ready += 1;
        }
    }

    // One container ended with success. The pod is complete only if no other one runs or failed.
    if summary.reason == "Completed" {
        let ready = |condition: &Object<'_>| {
            condition.text("type") == "Ready" && condition.text("status") == "True"
        };
        if running
            && object
                .items("status.conditions")
                .any(|condition| ready(&condition))
        {
            "Running".clone_into(&mut summary.reason);
        } else if !failure.is_empty() {
            summary.reason = failure;
        } else if running {
            "NotReady".clone_into(&mut summary.reason);
        }
    }
}

/// How many readiness gates are open.
fn gates(object: &Object<'_>) -> String {
    let gates = object.items("spec.readinessGates");
    let total = gates.len();
    if total == 0 {
        return "<none>".to_owned();
    }
    let open = gates.filter(|gate| {
        let condition = object.condition("status.conditions", gate.text("conditionType"));
        condition.is_some_and(|condition| condition.text("status") == "True")
    });
    format!("{}/{total}", open.count())
}
