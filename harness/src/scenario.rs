//! What a scenario file says.

use std::collections::{BTreeMap, BTreeSet};

use fieldmanager_fieldpath::{ApiVersion, Filter, Owners, Set};
use fieldmanager_typed::{Duplicates, KeyFields};
use fieldmanager_value::{Str, Value};

use crate::origin::Origin;
use crate::schemas::SchemaSource;

/// A declarative test of apply behaviour: a schema, steps, and what must hold after each.
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
    /// What it is about. A scenario without a name is called by its number in the file.
    pub name: String,
    /// Where it was read from.
    pub origin: Origin,
    /// The types of the objects.
    pub schema: SchemaSource,
    /// The name of the object's type at each version. With one entry it serves every version.
    pub types: BTreeMap<ApiVersion, Str>,
    /// How the library is set up.
    pub options: Options,
    /// How the versions of the object differ; without it every version is the same.
    pub conversion: Option<Conversion>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// How the library is set up for a scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether unions are normalized and checked. True unless the file says otherwise.
    pub unions: bool,
    /// Whether an apply that changes nothing still returns the object.
    pub return_input_on_noop: bool,
    /// Which fields count at a version: `ignoredFields` or `onlyFields` of the file.
    pub filters: BTreeMap<ApiVersion, Filter>,
}

impl Default for Options {
    fn default() -> Self {
        Options { unions: true, return_input_on_noop: false, filters: BTreeMap::new() }
    }
}

/// How the versions of the object differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// Fields, at any depth, by their name at each version.
    pub renames: Vec<BTreeMap<ApiVersion, Str>>,
    /// The versions that exist; none means all. The managers of other versions are dropped.
    pub served: Option<BTreeSet<ApiVersion>>,
}

/// One step of a scenario.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// What must hold afterwards. What it leaves out is not checked.
    pub expect: Expect,
}

/// What a step does.
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
        /// Whether conflicts are overruled.
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
    /// Extracts what the manager owns, merges the object over it and applies the result with force.
    ExtractApply {
        /// The manager.
        manager: Str,
        /// The version of the object.
        api_version: ApiVersion,
        /// What is merged over the extracted fields.
        object: Value,
    },
    /// Puts another schema in the place of the present one; the live object keeps the name of its type.
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
        /// How the patch is written.
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
    /// Finds what was added, modified and removed from `lhs` to `rhs`.
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
        /// What is merged into.
        lhs: Value,
        /// What is merged over it.
        rhs: Value,
    },
    /// Finds the fields of an object.
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
        /// What is removed.
        fields: Set,
    },
    /// Keeps only the given fields of an object.
    Extract {
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
        /// What is kept.
        fields: Set,
        /// Whether kept list items keep their key fields too.
        key_fields: KeyFields,
    },
    /// Computes with sets of fields.
    Set {
        /// How.
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
        /// The object that is normalized.
        new: Value,
    },
    /// Checks the unions of `new`, a successor of `old`.
    ValidateUnions {
        /// The version of both objects.
        api_version: ApiVersion,
        /// The object before.
        old: Value,
        /// The object that is checked.
        new: Value,
        /// Whether faults that the old object has too are let through.
        ratcheting: bool,
    },
}

impl Action {
    /// The name that the file uses, such as `extractApply`.
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
        }
    }

    /// Whether it reads and changes the live object and its managers.
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

    /// The version of the object that it works on, if it works on one.
    pub fn api_version(&self) -> Option<&ApiVersion> {
        match self {
            Action::ChangeSchema { .. } | Action::Set { .. } => None,
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

    /// The objects that it brings.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        let (first, second) = match self {
            Action::ChangeSchema { .. } | Action::Set { .. } | Action::Patch { .. } => (None, None),
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

/// How a patch is written.
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
    /// What either has.
    Union,
    /// What both have.
    Intersection,
    /// What only the left has.
    Difference,
    /// What the left has and the right has neither itself nor above it.
    RecursiveDifference,
    /// What the left has and has nothing below.
    Leaves,
}

/// What must hold after a step. What is none is not checked.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// The object: the live one after a step that acts on the state, otherwise the result.
    pub object: Option<Value>,
    /// Every manager, and nothing else.
    pub managed: Option<Owners>,
    /// The conflicts, as a set. An empty set expects success.
    pub conflicts: Option<BTreeSet<ConflictAt>>,
    /// That the step fails.
    pub error: Option<ExpectedError>,
    /// What a comparison finds added.
    pub added: Option<Set>,
    /// What a comparison finds modified.
    pub modified: Option<Set>,
    /// What a comparison finds removed.
    pub removed: Option<Set>,
    /// The resulting set of fields.
    pub fields: Option<Set>,
    /// The faults of unions, as a set.
    pub faults: Option<Vec<ExpectedFault>>,
}

/// A conflict: which manager has which field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct ConflictAt {
    /// The manager that owns the field.
    pub manager: String,
    /// The field, in field-path notation.
    pub path: String,
}

/// How a step must fail. Conflicts are no error in this sense; they have an expectation of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedError {
    /// In any way.
    Any,
    /// With a message that has this part.
    Containing(String),
}

/// A fault of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFault {
    /// Where the union is, in field-path notation.
    pub path: String,
    /// The message, or a part of it.
    pub message: String,
}
