//! The description of a kind: the facts about it that are not recorded.

use fieldmanager_structural::internal::NameSyntax;
use fieldmanager_structural::{FieldError, GroupVersionKind};
use fieldmanager_value::Value;

use crate::validation::Field;

/// The checks of an object besides those of its metadata, in the order of Kubernetes.
pub(crate) type Checks = fn(&Field<'_>, &mut Vec<FieldError>);

/// The faults of the name of an object, or with `true`, of the start of a generated name.
pub(crate) type NameFaults = fn(&Value, &str, bool) -> Vec<String>;

/// The warnings about an object, from a new object and the live one.
pub(crate) type Warnings = fn(&Value, Option<&Value>) -> Vec<String>;

/// The description of a built-in kind: what Kubernetes does with it and not with others.
///
/// Every kind has one, by family, in a file beside this one. The rules of its defaults, and of what its strategy changes
/// before an object is stored, are in the file of the same name in YAML.
///
/// ```
/// use fieldmanager_builtin::Kind;
/// use fieldmanager_structural::GroupVersionKind;
/// let service = Kind::of(&GroupVersionKind::new("", "v1", "Service")).unwrap().description();
/// assert!(service.has_allocations && service.returns_deleted && !service.keeps_dependents);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct KindDescription {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The versions that the description is of.
    pub versions: &'static [&'static str],
    /// The kind.
    pub kind: &'static str,

    pub(crate) checks: Checks,
    /// The checks of updates of subresources, by name.
    pub(crate) subresource_checks: &'static [(&'static str, Checks)],
    pub(crate) metadata: MetadataChecks,
    pub(crate) name_syntax: NameSyntax,
    /// The faults of a name, or of a prefix of names, that depend on the object.
    pub(crate) name_faults: Option<NameFaults>,
    /// Whether an update does not check `generateName` by the syntax of names.
    pub(crate) accepts_any_prefix: bool,
    /// Whether the validation of the status checks no finalizers.
    pub(crate) has_unchecked_status_metadata: bool,
    /// Whether errors that occur again are reported again, as by kinds without declarative validation.
    pub(crate) repeats_errors: bool,
    pub(crate) warnings: Warnings,

    /// The warning of each request to the version; `None` if it is not deprecated.
    pub deprecation: Option<&'static str>,
    /// The version, with its group, whose form the internal type of Kubernetes has; `None` if it is that of the storage.
    /// Errors name its group, and the columns of tables are of its fields.
    pub internal: Option<&'static str>,

    /// What an object loses in the store.
    pub stored_as: StoredForm,
    /// Whether the answer to a write has defaults that the object gets when it is read from the store.
    pub is_defaulted_when_stored: bool,
    /// The annotation in which the version has what the status of the stored version has in a field.
    pub status_annotation: Option<&'static str>,
    /// Whether an update that changes the object at the version of the store alone raises the generation.
    pub generation_follows_storage: bool,
    /// Where an empty list or map of a request counts as a change.
    pub counts_empty: Option<CountsEmpty>,
    /// Whether a new object without a name has its uid for a name.
    pub is_named_by_uid: bool,
    /// Whether `status.lastPhaseTransitionTime` is the time of the last change of the phase.
    pub has_phase_time: bool,

    /// Whether the objects define resources. They have validation and warnings of their own, in `handlers`.
    pub is_definition: bool,
    /// Whether the objects hold the objects of other kinds: they have finalizers in the spec, and some must remain.
    pub is_namespace: bool,
    /// Whether the server gives the objects addresses and ports.
    pub has_allocations: bool,
    /// Whether the objects say how other programs are at this moment, and are not stored.
    pub is_probed: bool,
    /// The question that an object asks; `None` if objects are stored.
    pub review: Option<Review>,

    /// Whether a deletion gives an object time to end.
    pub has_grace_period: bool,
    /// Whether the dependents of a deleted object remain unless the request says otherwise.
    pub keeps_dependents: bool,
    /// Whether objects are no owners of others, so that a deletion need not say what happens to dependents.
    pub has_no_dependents: bool,
    /// The warning of a deletion that does not say what happens to dependents.
    pub deletion_warning: Option<&'static str>,
    /// Whether the answer to a deletion is the object, in place of a `Status`.
    pub returns_deleted: bool,

    /// The labels of field selectors that are paths.
    pub labels: &'static [&'static str],
    /// Other labels of field selectors.
    pub derived_labels: &'static [DerivedLabel],
    /// The message for another label, in which `{label}`, `{quoted}` and `{kind}` stand for what was found.
    pub label_fault: &'static str,

    /// The effect that the objects have on kube-apiserver and not on this server, such as `nothing is limited`.
    pub without_effect: Option<&'static str>,
    /// Why subresources that need other programs are not served.
    pub unserved: &'static str,
}

/// How the metadata of objects is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataChecks {
    /// Before everything else. A finalizer has a prefix or is one of Kubernetes.
    First,
    /// Before everything else. Any finalizer is accepted.
    AnyFinalizer,
    /// If a new object has no other error. Any finalizer is accepted.
    Last,
    /// As `First`, and a new object has no errors but those of `managedFields`.
    ManagedFields,
    /// With the other checks of the kind.
    Own,
}

/// The form in which the objects of a kind are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredForm {
    /// Protobuf, which has no difference between an empty list and none.
    Protobuf,
    /// Protobuf with a map of bytes, in which null is no bytes.
    ProtobufWithBytes(&'static str),
    /// JSON, which keeps all differences.
    Json,
}

/// A member whose empty lists and selectors differ from absent ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountsEmpty {
    /// The member of the object.
    pub member: &'static str,
    /// A field of the member that gets a default instead; empty if there is none.
    pub except: &'static str,
}

/// A question that an object asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// Whether a user may do something.
    Access,
    /// The rights of the user.
    Rules,
    /// The user of a token.
    Token,
    /// The name of the user.
    User,
}

/// A label of field selectors that is not a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivedLabel {
    /// The name in selectors.
    pub label: &'static str,
    /// The paths of the value. The first that leads to one is used.
    pub paths: &'static [&'static str],
    /// The value of objects without the field.
    pub absent: &'static str,
}

pub(super) const NAME: &str = "metadata.name";
pub(super) const NAMESPACE: &str = "metadata.namespace";
/// The message of kinds with labels of their own.
pub(super) const UNSUPPORTED_LABEL: &str = "field label not supported: {label}";

impl KindDescription {
    /// A kind with nothing of its own.
    pub(super) const fn of(
        group: &'static str,
        versions: &'static [&'static str],
        kind: &'static str,
    ) -> Self {
        // The values are those of most kinds, so that a description lists only what differs.
        KindDescription {
            group,
            versions,
            kind,

            // What is refused, and what is said about it.
            checks: |_, _| {},
            subresource_checks: &[],
            metadata: MetadataChecks::First,
            name_syntax: NameSyntax::Subdomain,
            name_faults: None,
            accepts_any_prefix: false,
            has_unchecked_status_metadata: false,
            repeats_errors: false,
            warnings: |_, _| Vec::new(),
            deprecation: None,

            // What is stored.
            internal: None,
            stored_as: StoredForm::Protobuf,
            is_defaulted_when_stored: false,
            status_annotation: None,
            generation_follows_storage: false,
            counts_empty: None,
            is_named_by_uid: false,
            has_phase_time: false,

            // What depends on it, and how it ends.
            is_definition: false,
            is_namespace: false,
            has_allocations: false,
            is_probed: false,
            review: None,
            has_grace_period: false,
            keeps_dependents: false,
            has_no_dependents: false,
            deletion_warning: None,
            returns_deleted: false,
            labels: &[NAME, NAMESPACE],
            derived_labels: &[],
            label_fault: r#"{quoted} is not a known field selector: only "metadata.name", "metadata.namespace""#,
            without_effect: None,
            unserved: "there is no kubelet",
        }
    }

    /// Whether the description is of a kind.
    pub(super) fn describes(&self, kind: &GroupVersionKind) -> bool {
        kind.kind == self.kind
            && kind.group == self.group
            && self.versions.contains(&kind.version.as_str())
    }

    /// The checks of an update of the object, or of a subresource.
    pub(crate) fn checks_of(&self, subresource: &str) -> Option<Checks> {
        let mut others = self.subresource_checks.iter();
        match subresource {
            "" => Some(self.checks),
            _ => others
                .find(|(name, _)| *name == subresource)
                .map(|(_, checks)| *checks),
        }
    }

    /// The group of the internal type of Kubernetes, which is that of stored objects too.
    pub fn internal_group(&self) -> &'static str {
        match self.internal {
            Some(version) => version.split_once('/').map_or("", |(group, _)| group),
            None => self.group,
        }
    }
}
