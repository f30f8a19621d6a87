//! The rule of a fault.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A request, as rules select it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) verb: &'a str,
    /// With the group, as `deployments.apps`.
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) user_agent: &'a str,
    pub(crate) manager: &'a str,
}

/// A rule: which requests it selects, when it fires, and what it does. In JSON the fields have these names in camel case;
/// those that are omitted select everything.
///
/// ```
/// use fieldmanager_apiserver::fault::Fault;
/// let rule = Fault::conflict().verb("update").resource("shops.example.com").after(2).times(1);
/// let json = r#"{"fault":"conflict","verb":"update","resource":"shops.example.com","after":2,"times":1}"#;
/// assert_eq!(serde_json::from_str::<Fault>(json)?, rule);
/// assert_eq!(serde_json::to_string(&rule)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Fault {
    /// What happens.
    #[serde(rename = "fault")]
    pub kind: FaultKind,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete` or `deletecollection`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The resource with its group, as `deployments.apps`, or its plural name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The subresource; empty for the object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The namespace in the path; empty for cluster scope and all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name in the path; empty for a collection, as in a create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The beginning of the header `User-Agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// The parameter `fieldManager`, or else the first part of the user agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// How many of the selected requests are left alone first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after: u64,
    /// How often the rule fires; without it, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// How probable it is that the rule fires, from 0 to 1; without it, 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The header `Retry-After` in seconds, of `tooManyRequests` and `unavailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// The events that a watch delivers before `cutWatch` and `expireWatch` end it. 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<usize>,
    /// How many writes a `stale` read is behind, within the history. 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revisions: Option<u64>,
    /// How long a `delay` or `hang` lasts, in milliseconds, at most an hour. A `hang` lasts a minute by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FaultKind {
    /// The request is not done, and the answer is 409 with the reason `Conflict`, as if another write were first.
    Conflict,
    /// It is not done, and the answer is 429 with `Retry-After`.
    TooManyRequests,
    /// It is not done, and the answer is 500.
    InternalError,
    /// It is not done, and the answer is 503.
    Unavailable,
    /// It is not done, and the answer is 504 with the reason `Timeout`.
    Timeout,
    /// It is not done, and for a time there is no answer; then as `timeout`. A client that waits less gives up first.
    Hang,
    /// It is done, and its answer is lost: the connection ends, or in HTTP/2 the stream. In process, the response is 500
    /// with a body that cannot be read.
    LoseAnswer,
    /// The watch ends after a number of events, as at the end of its time-out. Other requests are not selected.
    CutWatch,
    /// The watch ends after a number of events with an event `ERROR` of code 410. Other requests are not selected.
    ExpireWatch,
    /// The get or list reads an older state, not older than its parameter `resourceVersion`. Other requests are not
    /// selected. A read at an exact version, or of a further page, is as it would be.
    Stale,
    /// The request is done after a time.
    Delay,
}

impl FaultKind {
    /// All kinds.
    #[cfg(test)]
    const ALL: [FaultKind; 11] = [
        FaultKind::Conflict,
        FaultKind::TooManyRequests,
        FaultKind::InternalError,
        FaultKind::Unavailable,
        FaultKind::Timeout,
        FaultKind::Hang,
        FaultKind::LoseAnswer,
        FaultKind::CutWatch,
        FaultKind::ExpireWatch,
        FaultKind::Stale,
        FaultKind::Delay,
    ];

    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FaultKind::Conflict => "conflict",
            FaultKind::TooManyRequests => "tooManyRequests",
            FaultKind::InternalError => "internalError",
            FaultKind::Unavailable => "unavailable",
            FaultKind::Timeout => "timeout",
            FaultKind::Hang => "hang",
            FaultKind::LoseAnswer => "loseAnswer",
            FaultKind::CutWatch => "cutWatch",
            FaultKind::ExpireWatch => "expireWatch",
            FaultKind::Stale => "stale",
            FaultKind::Delay => "delay",
        }
    }

    /// The verbs that it can concern; `None` for all.
    fn verbs(self) -> Option<&'static [&'static str]> {
        match self {
            FaultKind::CutWatch | FaultKind::ExpireWatch => Some(&["watch"]),
            FaultKind::Stale => Some(&["get", "list"]),
            FaultKind::LoseAnswer => Some(VERBS.split_at(8).0),
            _ => None,
        }
    }
}

/// All verbs; `watch` is the last.
const VERBS: [&str; 9] = [
    "get",
    "list",
    "create",
    "update",
    "patch",
    "apply",
    "delete",
    "deletecollection",
    "watch",
];

/// The longest delay.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long a request without an answer lasts by default.
const HANG: Duration = Duration::from_secs(60);

/// The error of a rule that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FaultError {
    message: String,
}

impl FaultError {
    pub(super) fn new(message: String) -> Self {
        FaultError { message }
    }
}

/// A rule for all requests. Its methods restrict it.
impl Fault {
    /// A rule of a kind, with what it does by default.
    pub fn new(kind: FaultKind) -> Self {
        Fault {
            kind,
            verb: None,
            resource: None,
            subresource: None,
            namespace: None,
            name: None,
            user_agent: None,
            manager: None,
            after: 0,
            times: None,
            probability: None,
            retry_after: None,
            events: None,
            revisions: None,
            milliseconds: None,
        }
    }

    /// [`FaultKind::Conflict`].
    pub fn conflict() -> Self {
        Self::new(FaultKind::Conflict)
    }

    /// [`FaultKind::TooManyRequests`] with a number of seconds after which the client may try again.
    pub fn too_many_requests(retry_after: u32) -> Self {
        Fault {
            retry_after: Some(retry_after),
            ..Self::new(FaultKind::TooManyRequests)
        }
    }

    /// [`FaultKind::InternalError`].
    pub fn internal_error() -> Self {
        Self::new(FaultKind::InternalError)
    }

    /// [`FaultKind::Unavailable`].
    pub fn unavailable() -> Self {
        Self::new(FaultKind::Unavailable)
    }

    /// [`FaultKind::Timeout`].
    pub fn timeout() -> Self {
        Self::new(FaultKind::Timeout)
    }

    /// [`FaultKind::Hang`], for a time at most.
    pub fn hang(longest: Duration) -> Self {
        Fault {
            milliseconds: Some(milliseconds(longest)),
            ..Self::new(FaultKind::Hang)
        }
    }

    /// [`FaultKind::LoseAnswer`].
    pub fn lose_answer() -> Self {
        Self::new(FaultKind::LoseAnswer)
    }

    /// [`FaultKind::CutWatch`] after a number of events.
    pub fn cut_watch(events: usize) -> Self {
        Fault {
            events: Some(events),
            ..Self::new(FaultKind::CutWatch)
        }
    }

    /// [`FaultKind::ExpireWatch`] after a number of events.
    pub fn expire_watch(events: usize) -> Self {
        Fault {
            events: Some(events),
            ..Self::new(FaultKind::ExpireWatch)
        }
    }

    /// [`FaultKind::Stale`], a number of writes behind.
    pub fn stale(revisions: u64) -> Self {
        Fault {
            revisions: Some(revisions),
            ..Self::new(FaultKind::Stale)
        }
    }

    /// [`FaultKind::Delay`].
    pub fn delay(duration: Duration) -> Self {
        Fault {
            milliseconds: Some(milliseconds(duration)),
            ..Self::new(FaultKind::Delay)
        }
    }

    /// Only for a verb.
    #[must_use]
    pub fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = Some(verb.into());
        self
    }

    /// Only for a resource: `deployments.apps`, or `deployments`.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Only for a subresource; empty for the object itself.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Only in a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Only for a name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only for user agents that begin so.
    #[must_use]
    pub fn user_agent(mut self, beginning: impl Into<String>) -> Self {
        self.user_agent = Some(beginning.into());
        self
    }

    /// Only for a manager.
    #[must_use]
    pub fn manager(mut self, manager: impl Into<String>) -> Self {
        self.manager = Some(manager.into());
        self
    }

    /// Leaves the first of the selected requests alone.
    #[must_use]
    pub fn after(mut self, requests: u64) -> Self {
        self.after = requests;
        self
    }

    /// Fires at most so often.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Fires with a probability from 0 to 1.
    #[must_use]
    pub fn probability(mut self, probability: f64) -> Self {
        self.probability = Some(probability);
        self
    }

    /// How long a delay or a hang lasts.
    pub(super) fn duration(&self) -> Duration {
        self.milliseconds.map_or(HANG, Duration::from_millis)
    }

    /// Whether the rule concerns a request.
    pub(super) fn selects(&self, target: &Target<'_>) -> bool {
        let is = |own: &Option<String>, found: &str| own.as_ref().is_none_or(|own| own == found);
        let plural = target.resource.split('.').next().unwrap_or_default();
        is(&self.verb, target.verb)
            && self
                .kind
                .verbs()
                .is_none_or(|verbs| verbs.contains(&target.verb))
            && (is(&self.resource, target.resource) || is(&self.resource, plural))
            && is(&self.subresource, target.subresource)
            && is(&self.namespace, target.namespace)
            && is(&self.name, target.name)
            && self
                .user_agent
                .as_ref()
                .is_none_or(|own| target.user_agent.starts_with(own.as_str()))
            && is(&self.manager, target.manager)
    }

    /// Checks that the parts of the rule fit together.
    pub(super) fn check(&self) -> Result<(), FaultError> {
        // Every combination that could never fire is refused: a test with such a rule would pass without a fault.
        let kind = self.kind.name();
        if let Some(verb) = &self.verb {
            let accepted = self.kind.verbs().unwrap_or(&VERBS);
            if !accepted.contains(&verb.as_str()) {
                let accepted = accepted.join(", ");
                return Err(FaultError::new(format!(
                    "verb: {kind} accepts one of {accepted}, got {verb:?}"
                )));
            }
        }

        if let Some(probability) = self
            .probability
            .filter(|value| !(0.0..=1.0).contains(value))
        {
            return Err(FaultError::new(format!(
                "probability: expected a number from 0 to 1, got {probability}"
            )));
        }

        // A parameter that the kind does not read would have no effect.
        let parameters: [(&str, bool, &[FaultKind]); 4] = [
            (
                "retryAfter",
                self.retry_after.is_some(),
                &[FaultKind::TooManyRequests, FaultKind::Unavailable],
            ),
            (
                "events",
                self.events.is_some(),
                &[FaultKind::CutWatch, FaultKind::ExpireWatch],
            ),
            ("revisions", self.revisions.is_some(), &[FaultKind::Stale]),
            (
                "milliseconds",
                self.milliseconds.is_some(),
                &[FaultKind::Delay, FaultKind::Hang],
            ),
        ];

        for (name, is_set, kinds) in parameters {
            if is_set && !kinds.contains(&self.kind) {
                let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                return Err(FaultError::new(format!(
                    "{name}: only {} has it, got {kind}",
                    kinds.join(" or ")
                )));
            }
        }

        // A hang has a default duration, and a delay has none.
        if self.kind == FaultKind::Delay && self.milliseconds.is_none() {
            return Err(FaultError::new("milliseconds: delay needs it".to_owned()));
        }
        if self
            .milliseconds
            .is_some_and(|milliseconds| Duration::from_millis(milliseconds) > LONGEST)
        {
            let longest = LONGEST.as_millis();
            return Err(FaultError::new(format!(
                "milliseconds: expected at most {longest}"
            )));
        }

        Ok(())
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_contradict_themselves_are_refused() {
        let refused = |fault: Fault| fault.check().unwrap_err().to_string();
        assert_eq!(
            refused(Fault::conflict().verb("write")),
            "verb: conflict accepts one of get, list, create, update, patch, apply, delete, deletecollection, watch, got \"write\""
        );
        assert_eq!(
            refused(Fault::stale(1).verb("watch")),
            "verb: stale accepts one of get, list, got \"watch\""
        );
        assert_eq!(
            refused(Fault::conflict().probability(1.5)),
            "probability: expected a number from 0 to 1, got 1.5"
        );
        let mut fault = Fault::conflict();
        fault.events = Some(1);
        assert_eq!(
            refused(fault),
            "events: only cutWatch or expireWatch has it, got conflict"
        );
        assert_eq!(
            refused(Fault::new(FaultKind::Delay)),
            "milliseconds: delay needs it"
        );
        assert_eq!(
            refused(Fault::delay(LONGEST * 2)),
            "milliseconds: expected at most 3600000"
        );
    }

    #[test]
    fn unknown_names_in_json_are_refused_with_those_that_exist() {
        let refused = |json: &str| serde_json::from_str::<Fault>(json).unwrap_err().to_string();
        assert!(
            refused(r#"{"fault": "x"}"#).contains("expected one of `conflict`, `tooManyRequests`")
        );
        assert!(
            refused(r#"{"fault": "stale", "verbs": []}"#)
                .contains("expected one of `fault`, `verb`")
        );
        assert!(refused("{}").starts_with("missing field `fault`"));
    }

    #[test]
    fn names_of_kinds_are_those_of_json() {
        for kind in FaultKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
