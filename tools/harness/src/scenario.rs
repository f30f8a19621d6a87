//! The data model of scenario files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fieldmanager_fieldpath::{ApiVersion, Filter, Set};
use fieldmanager_patch::PatchType;
use fieldmanager_typed::{Duplicates, KeyFields, Ratcheting};
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
            expect.object.is_some() || expect.entries.is_some()
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
        Options {
            unions: true,
            return_input_on_noop: false,
            filters: BTreeMap::new(),
        }
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
    /// A manager writes the live object.
    Write(ManagedWrite),
    /// Replaces the schema; the live object keeps the name of its type.
    ChangeSchema {
        /// The new schema.
        schema: SchemaSource,
    },
    /// Computes something of one object.
    OfObject {
        /// The computation.
        function: ObjectFunction,
        /// The version of the object.
        api_version: ApiVersion,
        /// The object.
        object: Value,
    },
    /// Computes something of two objects.
    OfPair {
        /// The computation.
        function: PairFunction,
        /// The version of both objects.
        api_version: ApiVersion,
        /// The old object, or that on the left.
        old: Value,
        /// The new object, or that on the right.
        new: Value,
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
    /// A request to an API server.
    Request(Box<Request>),
    /// Several branches of steps at once.
    Parallel(Vec<Branch>),
    /// A watch, and steps while it is open.
    Watch(Box<Watch>),
    /// Nothing, for this long.
    Wait(Duration),
}

/// A write of a manager to the live object.
#[derive(Clone, Debug)]
pub struct ManagedWrite {
    /// How the manager writes.
    pub verb: WriteVerb,
    /// The manager.
    pub manager: Str,
    /// The version of the object.
    pub api_version: ApiVersion,
    /// The configuration, the new object, or the patch.
    pub given: Value,
}

/// How a manager writes the live object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// It applies its configuration.
    Apply {
        /// Whether the apply takes conflicting fields.
        force: bool,
    },
    /// It writes the whole object.
    Update,
    /// It extracts its fields, merges the object over them and applies the result with force.
    ExtractApply,
    /// It patches the live object and updates with the result.
    Patch(PatchType),
}

/// A function of one object.
#[derive(Clone, Debug)]
pub enum ObjectFunction {
    /// Checks the object against its type.
    Validate(Duplicates),
    /// Computes its fields.
    Fieldset,
    /// Removes fields.
    Remove(Set),
    /// Keeps only these fields.
    Extract(Set, KeyFields),
}

/// A function of two objects.
#[derive(Clone, Copy, Debug)]
pub enum PairFunction {
    /// The fields that differ.
    Compare,
    /// The new object merged over the old one.
    Merge,
    /// The new object with normalized unions.
    Normalize,
    /// The faults of the unions of the new object.
    ValidateUnions(Ratcheting),
}

impl Action {
    /// The name in the file, such as `extractApply`.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Write(write) => match write.verb {
                WriteVerb::Apply { .. } => "apply",
                WriteVerb::Update => "update",
                WriteVerb::ExtractApply => "extractApply",
                WriteVerb::Patch(_) => "patch",
            },
            Action::ChangeSchema { .. } => "changeSchema",
            Action::OfObject { function, .. } => match function {
                ObjectFunction::Validate(_) => "validate",
                ObjectFunction::Fieldset => "fieldset",
                ObjectFunction::Remove(_) => "remove",
                ObjectFunction::Extract(..) => "extract",
            },
            Action::OfPair { function, .. } => match function {
                PairFunction::Compare => "compare",
                PairFunction::Merge => "merge",
                PairFunction::Normalize => "normalize",
                PairFunction::ValidateUnions(_) => "validateUnions",
            },
            Action::Set { .. } => "set",
            Action::Request(_) => "request",
            Action::Parallel(_) => "parallel",
            Action::Watch(_) => "watch",
            Action::Wait(_) => "wait",
        }
    }

    /// Whether the action reads and changes the live object and its managers.
    pub fn acts_on_state(&self) -> bool {
        matches!(self, Action::Write(_) | Action::ChangeSchema { .. })
    }

    /// The version of the object, if the action uses one.
    pub fn api_version(&self) -> Option<&ApiVersion> {
        match self {
            Action::Write(ManagedWrite { api_version, .. })
            | Action::OfObject { api_version, .. }
            | Action::OfPair { api_version, .. } => Some(api_version),
            _ => None,
        }
    }

    /// The objects of the action.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        let (first, second) = match self {
            Action::Write(write) => (write.object(), None),
            Action::OfObject { object, .. } => (Some(object), None),
            Action::OfPair { old, new, .. } => (Some(old), Some(new)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl ManagedWrite {
    /// The configuration or the new object; a patch is none.
    pub fn object(&self) -> Option<&Value> {
        (!matches!(self.verb, WriteVerb::Patch(_))).then_some(&self.given)
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
    /// The conflicts, as a set. An empty set expects success.
    pub conflicts: Option<BTreeSet<ConflictAt>>,
    /// The expected failure.
    pub error: Option<ExpectedError>,
    /// The sets of fields, by their names in the file: `fields` of the result; `added`, `modified` and `removed` of a
    /// comparison.
    pub sets: BTreeMap<&'static str, Set>,
    /// The faults of unions, as a set.
    pub faults: Option<Vec<ExpectedFault>>,
    /// All managers: the entries of `metadata.managedFields`.
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

impl ExpectedError {
    /// Whether a message is one of the error.
    pub(crate) fn is_in(&self, message: &str) -> bool {
        match self {
            ExpectedError::Any => true,
            ExpectedError::Containing(part) => message.contains(part.as_str()),
        }
    }
}

/// A fault of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFault {
    /// The path of the union, in field-path notation.
    pub path: String,
    /// The message, or a part of it.
    pub message: String,
}
