//! The data model of scenario files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fieldmanager_fieldpath::{ApiVersion, Filter, Owners, Set};
use fieldmanager_typed::{Duplicates, KeyFields};
use fieldmanager_value::{Str, Value};

use crate::origin::Origin;
use crate::schemas::SchemaSource;
use crate::server::{Answer, Case, ExpectedEntry, Request, Target};

/// A declarative test of apply behaviour: a schema, steps, and the expected result of each step.
///
/// ```
/// use fieldmanager_harness::Scenario;
///
/// let scenario = Scenario::from_yaml("
/// name: alice owns what she applies
/// schema: {types: [{name: app, map: {fields: [{name: replicas, type: {scalar: numeric}}]}}]}
/// types: {v1: app}
/// steps:
/// - apply: {manager: alice, apiVersion: v1, object: {replicas: 1}}
///   expect:
///     managed: {alice: {apiVersion: v1, operation: Apply, fields: {f:replicas: {}}}}
/// ")?;
/// assert_eq!(scenario.steps[0].action.name(), "apply");
/// # Ok::<(), fieldmanager_harness::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name. A scenario without a name is called by its number in the file.
    pub name: String,
    /// The file and the position of the scenario.
    pub origin: Origin,
    /// The types of the objects.
    pub schema: SchemaSource,
    /// The name of the object's type at each version. With one entry it serves every version.
    pub types: BTreeMap<ApiVersion, Str>,
    /// The options of the library.
    pub options: Options,
    /// The differences between the versions of the object; without it, all versions are the same.
    pub conversion: Option<Conversion>,
    /// What the scenario says about itself as a case of the conformance suite.
    pub case: Option<Case>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// Whether only an API server can run the scenario: it has a step, an expectation or a feature in `needs` that the library
    /// alone does not know, or it is a case of a suite that expects an object or its managers. Those are of a stored object, with
    /// defaults, and without owners of `apiVersion`, `kind` and the name.
    pub fn needs_server(&self) -> bool {
        let needs = |step: &Step| {
            let sends = matches!(
                step.action,
                Action::Request(_) | Action::Parallel(_) | Action::Watch(_) | Action::Wait(_)
            );
            sends || step.expect.answer.is_some() || !step.save.is_empty() || step.within.is_some()
        };
        let expects_stored = |step: &Step| {
            let expect = &step.expect;
            expect.object.is_some() || expect.managed.is_some() || expect.entries.is_some()
        };
        let of_case = self
            .case
            .as_ref()
            .is_some_and(|case| !case.needs.is_empty() || self.steps.iter().any(expects_stored));
        of_case || self.steps.iter().any(needs)
    }
}

/// The options of the library for a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether unions are normalized and checked. True by default.
    pub unions: bool,
    /// Whether an apply without changes still returns the object.
    pub return_input_on_noop: bool,
    /// The fields that are tracked at a version: `ignoredFields` or `onlyFields` of the file.
    pub filters: BTreeMap<ApiVersion, Filter>,
}

impl Default for Options {
    fn default() -> Self {
        Options { unions: true, return_input_on_noop: false, filters: BTreeMap::new() }
    }
}

/// The differences between the versions of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Fields, at any depth, with their name at each version.
    pub renames: Vec<BTreeMap<ApiVersion, Str>>,
    /// The served versions; `None` means all. The managers of other versions are dropped.
    pub served: Option<BTreeSet<ApiVersion>>,
}

/// One step of a scenario.
#[derive(Clone, Debug)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The expectations. Omitted parts are not checked.
    pub expect: Expect,
    /// Variables for later steps, with the paths of their values in the answer.
    pub save: BTreeMap<Str, Str>,
    /// How long the step is repeated until its expectations hold.
    pub within: Option<Duration>,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// A manager applies its configuration.
    Apply {
        /// The manager.
        manager: Str,
        /// The version of the object.
        api_version: ApiVersion,
        /// The configuration.
        object: Value,
        /// Whether the apply takes conflicting fields.
        force: bool,
    },
    /// A manager writes the whole object.
    Update {
        /// The manager.
        manager: Str,
        /// The version of the object.
        api_version: ApiVersion,
        /// The new object.
        object: Value,
    },
    /// Extracts the manager's fields, merges the object over them and applies the result with force.
    ExtractApply {
        /// The manager.
        manager: Str,
        /// The version of the object.
        api_version: ApiVersion,
        /// The object that is merged over the extracted fields.
        object: Value,
    },
    /// Replaces the schema; the live object keeps the name of its type.
    ChangeSchema {
        /// The new schema.
        schema: SchemaSource,
    },
    /// Patches the live object and updates with the result.
    Patch {
        /// The manager.
        manager: Str,
        /// The version of the object.
        api_version: ApiVersion,
        /// The format of the patch.
        format: PatchFormat,
        /// The patch.
        patch: Value,
    },
    /// Checks an object against its type.
    Validate {
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
        /// Whether associative lists may have duplicates.
        duplicates: Duplicates,
    },
    /// Compares `lhs` with `rhs`.
    Compare {
        /// The version of both objects.
        api_version: ApiVersion,
        /// The old object.
        lhs: Value,
        /// The new object.
        rhs: Value,
    },
    /// Merges `rhs` over `lhs`.
    Merge {
        /// The version of both objects.
        api_version: ApiVersion,
        /// The object to merge into.
        lhs: Value,
        /// The object to merge.
        rhs: Value,
    },
    /// Computes the fields of an object.
    Fieldset {
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
    },
    /// Removes fields from an object.
    Remove {
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
        /// The fields to remove.
        fields: Set,
    },
    /// Keeps only the given fields of an object.
    Extract {
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
        /// The fields to keep.
        fields: Set,
        /// Whether kept list items keep their key fields too.
        key_fields: KeyFields,
    },
    /// Computes an operation on sets of fields.
    Set {
        /// The operation.
        operation: SetOperation,
        /// The left set.
        lhs: Set,
        /// The right set; empty for an operation on one set.
        rhs: Set,
    },
    /// Normalizes the unions of `new`, a successor of `old`.
    Normalize {
        /// The version of both objects.
        api_version: ApiVersion,
        /// The object before.
        old: Value,
        /// The object to normalize.
        new: Value,
    },
    /// Checks the unions of `new`, a successor of `old`.
    ValidateUnions {
        /// The version of both objects.
        api_version: ApiVersion,
        /// The object before.
        old: Value,
        /// The object to check.
        new: Value,
        /// Whether faults that the old object has too are accepted.
        ratcheting: bool,
    },
    /// A request to an API server.
    Request(Box<Request>),
    /// Several branches of steps at once.
    Parallel(Vec<Branch>),
    /// A watch, and steps while it is open.
    Watch(Box<Watch>),
    /// Nothing, for this long.
    Wait(Duration),
}

impl Action {
    /// The name in the file, such as `extractApply`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Apply { .. } => "apply",
            Action::Update { .. } => "update",
            Action::ExtractApply { .. } => "extractApply",
            Action::ChangeSchema { .. } => "changeSchema",
            Action::Patch { .. } => "patch",
            Action::Validate { .. } => "validate",
            Action::Compare { .. } => "compare",
            Action::Merge { .. } => "merge",
            Action::Fieldset { .. } => "fieldset",
            Action::Remove { .. } => "remove",
            Action::Extract { .. } => "extract",
            Action::Set { .. } => "set",
            Action::Normalize { .. } => "normalize",
            Action::ValidateUnions { .. } => "validateUnions",
            Action::Request(_) => "request",
            Action::Parallel(_) => "parallel",
            Action::Watch(_) => "watch",
            Action::Wait(_) => "wait",
        }
    }

    /// Whether the action reads and changes the live object and its managers.
    pub fn acts_on_state(&self) -> bool {
        matches!(
            self,
            Action::Apply { .. }
                | Action::Update { .. }
                | Action::ExtractApply { .. }
                | Action::ChangeSchema { .. }
                | Action::Patch { .. }
        )
    }

    /// The version of the object, if the action uses one.
    pub fn api_version(&self) -> Option<&ApiVersion> {
        match self {
            Action::ChangeSchema { .. }
            | Action::Set { .. }
            | Action::Request(_)
            | Action::Parallel(_)
            | Action::Watch(_)
            | Action::Wait(_) => None,
            Action::Apply { api_version, .. }
            | Action::Update { api_version, .. }
            | Action::ExtractApply { api_version, .. }
            | Action::Patch { api_version, .. }
            | Action::Validate { api_version, .. }
            | Action::Compare { api_version, .. }
            | Action::Merge { api_version, .. }
            | Action::Fieldset { api_version, .. }
            | Action::Remove { api_version, .. }
            | Action::Extract { api_version, .. }
            | Action::Normalize { api_version, .. }
            | Action::ValidateUnions { api_version, .. } => Some(api_version),
        }
    }

    /// The objects of the action.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        let (first, second) = match self {
            Action::ChangeSchema { .. }
            | Action::Set { .. }
            | Action::Patch { .. }
            | Action::Request(_)
            | Action::Parallel(_)
            | Action::Watch(_)
            | Action::Wait(_) => (None, None),
            Action::Apply { object, .. }
            | Action::Update { object, .. }
            | Action::ExtractApply { object, .. }
            | Action::Validate { object, .. }
            | Action::Fieldset { object, .. }
            | Action::Remove { object, .. }
            | Action::Extract { object, .. } => (Some(object), None),
            Action::Compare { lhs, rhs, .. } | Action::Merge { lhs, rhs, .. } => (Some(lhs), Some(rhs)),
            Action::Normalize { old, new, .. } | Action::ValidateUnions { old, new, .. } => {
                (Some(old), Some(new))
            }
        };
        first.into_iter().chain(second)
    }
}

/// Steps that run in order, at the same time as those of other branches.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The number of copies; each has its number, from 1, as the variable `i`.
    pub times: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A watch and the steps that happen while it is open.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The collection; with a name, the object.
    pub target: Target,
    /// More parameters. Without `resourceVersion`, the watch starts at the version of a list.
    pub query: Vec<(Str, Str)>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// The format of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchFormat {
    /// JSON Patch.
    Json,
    /// JSON Merge Patch.
    Merge,
    /// Strategic merge patch.
    Strategic,
}

/// An operation on sets of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// The elements of either set.
    Union,
    /// The elements of both sets.
    Intersection,
    /// The elements of only the left set.
    Difference,
    /// The elements of the left set, without elements of the right set and their descendants.
    RecursiveDifference,
    /// The elements of the left set without descendants.
    Leaves,
}

/// The expectations after a step. Parts that are `None` are not checked.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// The live object after a step that acts on the state, otherwise the result.
    pub object: Option<Value>,
    /// All managers.
    pub managed: Option<Owners>,
    /// The conflicts, as a set. An empty set expects success.
    pub conflicts: Option<BTreeSet<ConflictAt>>,
    /// The expected failure.
    pub error: Option<ExpectedError>,
    /// The added fields of a comparison.
    pub added: Option<Set>,
    /// The modified fields of a comparison.
    pub modified: Option<Set>,
    /// The removed fields of a comparison.
    pub removed: Option<Set>,
    /// The resulting set of fields.
    pub fields: Option<Set>,
    /// The faults of unions, as a set.
    pub faults: Option<Vec<ExpectedFault>>,
    /// All entries of `metadata.managedFields`, for a server. `managed` has the same, if the library can have them.
    pub entries: Option<Vec<ExpectedEntry>>,
    /// The expectations of the answer of a server.
    pub answer: Option<Box<Answer>>,
}

/// A conflict: a field and the manager that owns it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct ConflictAt {
    /// The manager that owns the field.
    pub manager: String,
    /// The field, in field-path notation.
    pub path: String,
}

/// An expected error. Conflicts have a separate expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedError {
    /// Any error.
    Any,
    /// An error whose message contains this string.
    Containing(String),
}

/// A fault of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFault {
    /// The path of the union, in field-path notation.
    pub path: String,
    /// The message, or a part of it.
    pub message: String,
}
