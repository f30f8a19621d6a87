//! What the server counts of admission, under the names of kube-apiserver.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use fieldmanager_admission::{Observation, Observed, plugins};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use crate::metrics::write;

/// The upper bounds of durations, in seconds. Webhooks have two more.
const DURATIONS: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];

/// The labels of checks; mutations do not have the last one.
const CHECKED: [&str; 4] = [
    "policy",
    "policy_binding",
    "error_type",
    "enforcement_action",
];

/// The upper bounds of the durations of policies.
const CHECKS: [f64; 5] = [5e-7, 0.001, 0.01, 0.1, 1.0];

/// The most webhooks and bindings of policies that have series of their own; with one more, the series of all begin anew:
/// their names are those that clients choose.
const MAX_NAMES: usize = 1000;

/// The greatest code in a label.
const MAX_CODE: u16 = 600;

/// The metrics of admission.
///
/// Behaviour: `newAdmissionMetrics` of `k8s.io/apiserver/pkg/admission/metrics/metrics.go`. There is no summary of the steps.
pub(crate) struct AdmissionMetrics {
    registry: Registry,
    steps: HistogramVec,
    plugins: HistogramVec,
    webhooks: HistogramVec,
    calls: IntCounterVec,
    rejections: IntCounterVec,
    open: IntCounterVec,
    /// Of validating policies, and of mutating ones.
    checks: [(IntCounterVec, HistogramVec); 2],
    /// The webhooks and bindings that have series.
    names: Mutex<BTreeSet<String>>,
}

impl AdmissionMetrics {
    pub(crate) fn new() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the names are valid, and each is registered once"
        )]
        Self::registered().expect("valid metrics")
    }

    fn registered() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let name = format!("admission_{name}");
            histogram(&registry, &name, help, buckets, labels)
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            counter(&registry, &format!("admission_{name}"), help, labels)
        };

        // The first six buckets are those of steps and plugins; webhooks have all of them.
        let own = ["name", "type", "operation", "rejected"];
        let [_, step @ ..] = own;
        let [mutated @ .., _] = CHECKED;
        let [first @ .., _, _] = DURATIONS;
        Ok(AdmissionMetrics {
            steps: histogram(
                "step_admission_duration_seconds",
                "Seconds of all mutations or validations of a request.",
                &first,
                &step,
            )?,
            plugins: histogram(
                "controller_admission_duration_seconds",
                "Seconds of a plugin, for the requests that it looks at.",
                &first,
                &own,
            )?,
            webhooks: histogram(
                "webhook_admission_duration_seconds",
                "Seconds of the call of a webhook.",
                &DURATIONS,
                &own,
            )?,
            calls: counter(
                "webhook_request_total",
                "Calls of webhooks, with the code of the answer.",
                &["name", "type", "operation", "code", "rejected"],
            )?,
            rejections: counter(
                "webhook_rejection_count",
                "Calls of webhooks for which a request was refused.",
                &["name", "type", "operation", "error_type", "rejection_code"],
            )?,
            open: counter(
                "webhook_fail_open_count",
                "Calls of webhooks that failed without an effect.",
                &["name", "type"],
            )?,
            checks: [
                of_policies(&registry, "validating", &CHECKED)?,
                of_policies(&registry, "mutating", &mutated)?,
            ],
            registry,
            names: Mutex::default(),
        })
    }

    /// Counts what was measured.
    pub(crate) fn observe(&self, observation: &Observation<'_>) {
        let Observation {
            subject,
            phase,
            operation,
            is_rejected,
            took,
        } = *observation;
        let (took, operation) = (took.as_secs_f64(), operation.name());
        let rejected = if is_rejected { "true" } else { "false" };
        let (code, reason, fails_open, name) = match subject {
            Observed::Step => {
                observe(&self.steps, &[phase, operation, rejected], took);
                return;
            }
            Observed::Participant(name) => {
                // Closures have no series.
                if plugins::KNOWN.contains(&name) {
                    observe(&self.plugins, &[name, phase, operation, rejected], took);
                }
                return;
            }
            Observed::Check {
                policy,
                binding,
                error,
                action,
            } => {
                self.make_room(&format!("{policy}/{binding}"));
                let [validating, mutating] = &self.checks;
                let labels = [policy, binding, error, action];
                let ((total, durations), labels) = match labels.as_slice() {
                    [mutated @ .., ""] => (mutating, mutated),
                    validated => (validating, validated),
                };
                increase(total, labels);
                observe(durations, labels, took);
                return;
            }
            Observed::Call {
                webhook,
                code,
                error,
                fails_open,
            } => (code.min(MAX_CODE).to_string(), error, fails_open, webhook),
        };

        // Names come from clients, so their number is bounded.
        self.make_room(name);
        observe(&self.webhooks, &[name, phase, operation, rejected], took);
        increase(&self.calls, &[name, phase, operation, &code, rejected]);
        if is_rejected {
            increase(&self.rejections, &[name, phase, operation, reason, &code]);
        }
        if fails_open {
            increase(&self.open, &[name, phase]);
        }
    }

    /// Removes the series of all webhooks and bindings if there is no room for those of one more.
    fn make_room(&self, name: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return;
        }
        if names.len() >= MAX_NAMES {
            names.clear();
            self.webhooks.reset();
            for counters in [&self.calls, &self.rejections, &self.open] {
                counters.reset();
            }
            for (counters, histograms) in &self.checks {
                counters.reset();
                histograms.reset();
            }
        }
        names.insert(name.to_owned());
    }

    /// The metrics in the text format of Prometheus. The error is a message.
    pub(crate) fn text(&self) -> Result<String, String> {
        write(&self.registry)
    }
}

/// The counter and the durations of the checks of policies of a kind.
fn of_policies(
    registry: &Registry,
    kind: &str,
    labels: &[&str],
) -> prometheus::Result<(IntCounterVec, HistogramVec)> {
    let name = |end| format!("{kind}_admission_policy_check_{end}");
    let total = "Checks of policies, by their result.";
    let took = "Seconds of an expression of a policy.";
    Ok((
        counter(registry, &name("total"), total, labels)?,
        histogram(registry, &name("duration_seconds"), took, &CHECKS, labels)?,
    ))
}

fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
    labels: &[&str],
) -> prometheus::Result<HistogramVec> {
    let options = HistogramOpts::new(format!("apiserver_{name}"), help);
    let histogram = HistogramVec::new(options.buckets(buckets.to_vec()), labels)?;
    registry.register(Box::new(histogram.clone()))?;
    Ok(histogram)
}

fn counter(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    let counter = IntCounterVec::new(Opts::new(format!("apiserver_{name}"), help), labels)?;
    registry.register(Box::new(counter.clone()))?;
    Ok(counter)
}

fn observe(histogram: &HistogramVec, labels: &[&str], seconds: f64) {
    if let Ok(series) = histogram.get_metric_with_label_values(labels) {
        series.observe(seconds);
    }
}

fn increase(counter: &IntCounterVec, labels: &[&str]) {
    if let Ok(series) = counter.get_metric_with_label_values(labels) {
        series.inc();
    }
}
