//! Expressions about named inputs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fieldmanager_structural::Structural;
use fieldmanager_value::internal::with_room;

use crate::access::{AUTHORIZER, RESOURCE_CHECK};
use crate::check::checker::{self, Checked};
use crate::check::declared::type_of;
use crate::check::scope::{DeclaredInputs, Scope};
use crate::check::types::{BOOL, STRING, Steps, Type};
use crate::check::{RuleOptions, constants, literals};
use crate::expression::Program;
use crate::resolve::resolve;
use crate::tree::{Tree, with_stack};
use crate::value::VARIABLES;

/// The type of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum InputType {
    /// Any value.
    Dynamic,
    /// A value of a schema, and the name of its type in messages. The type is only that of checks: the value is read as it
    /// is.
    Typed(Arc<str>, Structural),
    /// An authorizer.
    Authorizer,
    /// An authorizer with a question about objects.
    ResourceCheck,
    /// The variables that [`Environment::add_variable`] adds.
    Variables,
}

/// The type that the value of an expression must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionType {
    /// Any type.
    Any,
    /// A bool.
    Bool,
    /// A string.
    String,
    /// Null.
    Null,
    /// An apply configuration, `Object{..}`.
    Configuration,
    /// The operations of a JSON patch, `[JSONPatch{..}]`.
    Patches,
}

/// The names that expressions can use, with their types.
///
/// ```
/// use fieldmanager_cel::{BUDGET, Environment, ExpressionInput, ExpressionType, InputType};
/// use fieldmanager_value::Value;
///
/// let mut environment = Environment::new()
///     .with_input("object", InputType::Dynamic)
///     .with_input("variables", InputType::Variables);
/// environment.add_variable("size", "object.replicas * 2")?;
/// let small = environment.compile("variables.size < 10", &[ExpressionType::Bool])?;
/// let refused = environment.compile("object.replicas", &[ExpressionType::Bool]);
/// assert_eq!(refused.unwrap_err(), "must evaluate to bool but got dyn");
///
/// let object = Value::from_yaml("{replicas: 3}")?;
/// let inputs = [("object", ExpressionInput::Value(&object))];
/// let mut activation = environment.activate(&inputs, None, BUDGET);
/// assert_eq!(activation.evaluate(&small).unwrap().as_bool(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Environment {
    pub(crate) inputs: Vec<(&'static str, InputType)>,
    pub(crate) variables: Vec<Variable>,
    /// The places of variables.
    pub(crate) places: BTreeMap<String, usize>,
    options: RuleOptions,
}

/// A variable that is made by an expression.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    of: Type<'static>,
    pub(crate) expression: Result<Expression, String>,
}

/// A compiled expression.
pub struct Expression {
    pub(crate) source: String,
    /// There always is one, but while it is dropped.
    pub(crate) program: Option<Box<Program>>,
}

impl Environment {
    /// One without names, for expressions that are stored.
    pub fn new() -> Self {
        Environment {
            options: RuleOptions {
                is_stored: true,
                ..RuleOptions::default()
            },
            ..Environment::default()
        }
    }

    /// The same, for expressions that are written now: functions that a release refuses in new expressions are unknown.
    #[must_use]
    pub fn for_new(mut self) -> Self {
        self.options.is_stored = false;
        self
    }

    /// The same, with an input. The name may have dots.
    #[must_use]
    pub fn with_input(mut self, name: &'static str, of: InputType) -> Self {
        self.inputs.push((name, of));
        self
    }

    /// Adds a variable, which expressions that are compiled later find in the input of the type
    /// [`Variables`](InputType::Variables). It is evaluated when it is used first.
    ///
    /// # Errors
    ///
    /// It does not compile. It is added all the same, and its use is an error.
    pub fn add_variable(&mut self, name: &str, source: &str) -> Result<(), String> {
        let compiled = self.checked(&self.declared(), source, &[ExpressionType::Any]);
        let (of, expression) = match compiled {
            Ok((expression, of)) => (of, Ok(expression)),
            Err(fault) => (Type::Dyn, Err(fault)),
        };
        let outcome = expression.as_ref().map(|_| ()).map_err(String::clone);
        self.places.insert(name.to_owned(), self.variables.len());
        self.variables.push(Variable {
            name: name.to_owned(),
            of,
            expression,
        });
        outcome
    }

    /// Compiles an expression whose value has one of the given types. Those of mutations have the types `Object` and
    /// `JSONPatch`, and `jsonpatch.escapeKey`.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver for an expression that it refuses.
    ///
    /// Behaviour: `CompileCELExpression` of `k8s.io/apiserver/pkg/admission/plugin/cel/compile.go`.
    pub fn compile(&self, source: &str, expected: &[ExpressionType]) -> Result<Expression, String> {
        self.compile_without("", source, expected)
    }

    /// The same as [`compile`](Self::compile), for an expression that cannot use an input or one whose name continues it.
    ///
    /// # Errors
    ///
    /// The words of kube-apiserver for an expression that it refuses.
    pub fn compile_without(
        &self,
        input: &str,
        source: &str,
        expected: &[ExpressionType],
    ) -> Result<Expression, String> {
        let mut declared = self.declared();
        declared
            .names
            .retain(|(name, _)| name.split('.').next() != Some(input));
        self.checked(&declared, source, expected)
            .map(|(expression, _)| expression)
    }

    /// Checks the syntax and the types of an expression, whatever the type of its value is.
    ///
    /// ```
    /// use fieldmanager_cel::{Environment, InputType};
    /// use fieldmanager_structural::Structural;
    /// use fieldmanager_value::Value;
    ///
    /// let schema = Value::from_yaml("{type: object, properties: {size: {type: integer}}}")?;
    /// let shop = InputType::Typed("Shop".into(), Structural::from_value(&schema)?);
    /// let environment = Environment::new().with_input("object", shop);
    /// assert_eq!(environment.check("object.size + 1"), Ok(()));
    /// assert!(environment.check("object.sizes").unwrap_err().contains("undefined field 'sizes'"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The faults, in the words of kube-apiserver.
    pub fn check(&self, source: &str) -> Result<(), String> {
        let declared = self.declared();
        with_stack(|| checked_tree(Scope::Declared(&declared), source, self.options).map(|_| ()))
    }

    fn checked(
        &self,
        declared: &DeclaredInputs<'_>,
        source: &str,
        expected: &[ExpressionType],
    ) -> Result<(Expression, Type<'static>), String> {
        let scope = Scope::Declared(declared);
        let is_mutation = |of| {
            matches!(
                of,
                &ExpressionType::Configuration | &ExpressionType::Patches
            )
        };
        let options = RuleOptions {
            has_patch_types: expected.iter().any(is_mutation),
            ..self.options
        };
        // The depth of an expression is bounded, and still needs more room than a thread may have.
        with_stack(|| {
            let failed = |text: String| format!("compilation failed: {text}");
            let (tree, checked) = checked_tree(scope, source, options).map_err(failed)?;

            let found = checked.types.get(tree.root).unwrap_or(&Type::Dyn);
            check_type(found, expected)?;
            let of = kept(found);
            if let Some(fault) = literals::wrong_constant(&tree, &checked) {
                return Err(format!("program instantiation failed: {fault}"));
            }
            let names = self.inputs.iter().map(|(name, _)| *name).collect();
            let program = resolve(&tree, checked.called, names).map_err(failed)?;
            let expression = Expression {
                source: source.to_owned(),
                program: Some(Box::new(program)),
            };
            Ok((expression, of))
        })
    }

    fn declared(&self) -> DeclaredInputs<'_> {
        let variables = self.variables.iter();
        DeclaredInputs {
            names: self
                .inputs
                .iter()
                .map(|(name, input)| (*name, input.checked()))
                .collect(),
            variables: variables
                .map(|variable| (variable.name.as_str(), variable.of.clone()))
                .collect(),
        }
    }
}

/// An expression with the types of its parts, or the faults of both.
fn checked_tree<'s>(
    scope: Scope<'s, '_>,
    source: &str,
    options: RuleOptions,
) -> Result<(Tree, Checked<'s>), String> {
    let mut tree = Tree::parse(source)?;
    let checked = checker::check(&mut tree, scope, options)
        .ok_or_else(|| "the types of the expression are too large".to_owned())?;
    constants(source, &tree, &checked)?;
    Ok((tree, checked))
}

impl InputType {
    fn checked(&self) -> Type<'_> {
        match self {
            InputType::Dynamic => Type::Dyn,
            InputType::Typed(name, schema) => type_of(schema, name),
            InputType::Authorizer => Type::Named(AUTHORIZER),
            InputType::ResourceCheck => Type::Named(RESOURCE_CHECK),
            InputType::Variables => Type::Named(VARIABLES),
        }
    }
}

impl ExpressionType {
    fn checked(self) -> Type<'static> {
        match self {
            ExpressionType::Any => Type::Dyn,
            ExpressionType::Bool => BOOL,
            ExpressionType::String => STRING,
            ExpressionType::Null => Type::Null,
            ExpressionType::Configuration => Type::Message("Object".into()),
            ExpressionType::Patches => Type::list(Type::Message("JSONPatch".into())),
        }
    }
}

fn check_type(found: &Type<'_>, expected: &[ExpressionType]) -> Result<(), String> {
    let types: Vec<Type<'_>> = expected.iter().map(|of| of.checked()).collect();
    let is = |of: &Type<'_>| found.is(of, &mut Steps { left: 4 });
    if expected.contains(&ExpressionType::Any) || types.iter().any(is) {
        return Ok(());
    }
    let names: Vec<String> = types.iter().map(Type::written).collect();
    let found = found.written();
    Err(match names.as_slice() {
        [one] => format!("must evaluate to {one} but got {found}"),
        many => format!(
            "must evaluate to one of [{}] but got {found}",
            many.join(" ")
        ),
    })
}

/// What the type of an expression says of a variable.
///
/// Behaviour: `convertCelTypeToDeclType` of `k8s.io/apiserver/pkg/admission/plugin/cel/composition.go`.
fn kept(of: &Type<'_>) -> Type<'static> {
    fieldmanager_value::internal::level(|| match of {
        Type::Plain(name) => Type::Plain(name),
        Type::Null => Type::Null,
        Type::List(item) => Type::list(kept(item)),
        Type::Map(pair) => {
            let [key, value] = &**pair;
            Type::map(kept(key), kept(value))
        }
        _ => Type::Dyn,
    })
}

impl Drop for Expression {
    fn drop(&mut self) {
        if let Some(program) = self.program.take() {
            with_room(|| drop(program));
        }
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source).finish()
    }
}
