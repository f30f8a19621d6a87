//! Probes and lifecycle handlers.

use fieldmanager_structural::FieldError;
use fieldmanager_value::Value;

use crate::place::{Errors, Place};
use crate::validation::syntax;

/// The handlers of probes.
const OF_PROBES: &[&str] = &["exec", "httpGet", "tcpSocket", "grpc"];
/// The handlers of lifecycles.
pub(super) const OF_LIFECYCLES: &[&str] = &["exec", "httpGet", "tcpSocket", "sleep"];

/// Checks a probe, which is the field `name` of a container.
pub(super) fn probe(probe: &Place<'_>, name: &str, grace_period: Option<i64>, errors: &mut Errors) {
    handler(probe, OF_PROBES, grace_period, errors);
    for name in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        probe.non_negative(name, errors);
    }

    if probe
        .int("terminationGracePeriodSeconds")
        .is_some_and(|seconds| seconds <= 0)
    {
        probe.invalid(
            "terminationGracePeriodSeconds",
            "must be greater than 0",
            errors,
        );
    }

    // A readiness probe does not end the container, so it has no grace period, and it may need several successes.
    if name == "readinessProbe" {
        if probe.get("terminationGracePeriodSeconds").is_some() {
            probe.invalid(
                "terminationGracePeriodSeconds",
                "must not be set for readinessProbes",
                errors,
            );
        }
    } else if probe.int("successThreshold") != Some(1) {
        let found = probe.int("successThreshold").unwrap_or_default();
        errors.push(FieldError::invalid(
            probe.at("successThreshold"),
            found,
            "must be 1",
        ));
    }
}

/// Checks that a value has one handler, and that one.
pub(super) fn handler(
    place: &Place<'_>,
    names: &[&str],
    grace_period: Option<i64>,
    errors: &mut Errors,
) {
    // The first handler in the order of Kubernetes is checked, and the others are forbidden.
    let mut has_handler = false;
    for name in names {
        let Some(handler) = place.child(name) else {
            continue;
        };
        if has_handler {
            place.forbid(name, "may not specify more than 1 handler type", errors);
            continue;
        }

        has_handler = true;
        match *name {
            "exec" => drop(handler.require("command", "", errors)),
            "httpGet" => http(&handler, errors),
            "tcpSocket" => port(&handler, errors),
            "grpc" => {
                port(&handler, errors);
                handler.one_of("mode", &["Plaintext", "TLS"], errors);
            }
            _ => {
                // A pod is killed after its grace period, so a hook that sleeps must end before.
                let seconds = handler.int("seconds").unwrap_or_default();
                if let Some(period) = grace_period.filter(|period| seconds < 0 || seconds > *period)
                {
                    let detail = format!(
                        "must be non-negative and less than terminationGracePeriodSeconds ({period})"
                    );
                    errors.push(FieldError::invalid(handler.path, seconds, detail));
                }
            }
        }
    }

    if !has_handler {
        errors.push(FieldError::required(
            place.path.clone(),
            "must specify a handler type",
        ));
    }
}

fn http(get: &Place<'_>, errors: &mut Errors) {
    get.require("path", "", errors);
    port(get, errors);
    let schemes = &["HTTP", "HTTPS"];
    get.text_one_of("scheme", schemes, errors);
    // The errors of headers have the path of the list.
    for header in get.values("httpHeaders") {
        let name = header
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        for fault in syntax::header_name(name) {
            errors.push(FieldError::invalid(get.at("httpHeaders"), name, fault));
        }
    }
    get.one_of("protocol", &["HTTP1", "HTTP2"], errors);
}

fn port(handler: &Place<'_>, errors: &mut Errors) {
    // An absent port is 0 in Go, and is shown like that.
    match handler.get("port") {
        Some(Value::String(_)) => handler.faults("port", syntax::port_name, errors),
        Some(_) => handler.in_range("port", 1, 65535, errors),
        None => errors.push(FieldError::invalid(
            handler.at("port"),
            0,
            "must be between 1 and 65535, inclusive",
        )),
    }
}
