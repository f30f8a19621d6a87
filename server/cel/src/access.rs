//! Questions to an authorizer, which expressions make step by step.
//!
//! Behaviour: `k8s.io/apiserver/pkg/cel/library/authz.go`.

/// What an expression asks an authorizer.
///
/// ```
/// use fieldmanager_cel::AccessQuestion;
/// let question = AccessQuestion { verb: "get".into(), resource: "pods".into(), ..AccessQuestion::default() };
/// assert!(question.path.is_empty() && question.service_account.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessQuestion {
    /// The namespace and the name of a service account; `None` for the user of the request.
    pub service_account: Option<(String, String)>,
    /// What it would do.
    pub verb: String,
    /// A path that is not one of objects; empty if the question is about objects.
    pub path: String,
    /// The group of objects.
    pub group: String,
    /// The resource of objects.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace of objects.
    pub namespace: String,
    /// The name of an object.
    pub name: String,
    /// A selector of fields.
    pub field_selector: String,
    /// A selector of labels.
    pub label_selector: String,
}

/// What an authorizer says to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why; may be empty.
    pub reason: String,
    /// What went wrong; empty if nothing did.
    pub error: String,
}

/// What answers the questions of expressions.
pub trait Authorizer {
    /// The answer; `None` if it is not known yet, which ends the evaluation.
    fn decide(&self, question: &AccessQuestion) -> Option<AccessDecision>;
}

/// A step on the way from `authorizer` to a decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AccessVal {
    Authorizer(AccessQuestion),
    Path(AccessQuestion),
    Group(AccessQuestion),
    Resource(AccessQuestion),
    /// A complete question, which the evaluation answers.
    Asked(AccessQuestion),
    Decision(AccessDecision),
}

/// The types of the steps.
pub(crate) const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
pub(crate) const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";

impl AccessVal {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            AccessVal::Authorizer(_) => AUTHORIZER,
            AccessVal::Path(_) => "kubernetes.authorization.PathCheck",
            AccessVal::Group(_) => "kubernetes.authorization.GroupCheck",
            AccessVal::Resource(_) => RESOURCE_CHECK,
            AccessVal::Asked(_) | AccessVal::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}
