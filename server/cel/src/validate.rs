//! Evaluates the rules of a schema on an object.

use fieldmanager_structural::internal::{Correlated, Correlations};
use fieldmanager_structural::{FieldError, FieldErrorKind, FieldPath};
use fieldmanager_value::internal::{level, proceed};
use fieldmanager_value::{List, Map, Value};

use crate::compile::Node;
use crate::evaluate;
use crate::evaluated::{Evaluated, LISTED, RULE_BUDGET};
use crate::expression::Program;
use crate::meter::{Meter, WORK};
use crate::object::read;
use crate::rule::Rule;
use crate::value::{Fault, Outcome, Val};

/// The maximum length of a message that an expression makes, in bytes.
const MESSAGE: usize = 5 * 1024;

/// The work that the evaluations for one object may do: as many times that of one evaluation as their costs.
const OBJECT_WORK: u64 = 10 * WORK;

/// The place of a value, as a linked list on the stack.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root(&'p FieldPath),
    Child(&'p Place<'p>, &'p str),
    Key(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    fn path(&self) -> FieldPath {
        match self {
            Place::Root(path) => (*path).clone(),
            Place::Child(above, name) => above.path().child(*name),
            Place::Key(above, name) => above.path().key(*name),
            Place::Item(above, at) => above.path().index(*at),
        }
    }
}

/// The correlation of a value with its old value, for errors that are dropped if nothing changed.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    current: Option<Correlated<'a>>,
    /// The nearest value above that is correlated.
    above: Option<Correlated<'a>>,
}

impl<'a> Ratchet<'a> {
    fn field(self, name: &str) -> Self {
        match self.current {
            None => self,
            Some(_) if self.above.is_none() && matches!(name, "apiVersion" | "kind") => {
                Ratchet::default()
            }
            Some(current) => Ratchet {
                current: current.field(name),
                above: Some(current),
            },
        }
    }

    fn item(self, at: usize, known: &mut Correlations<'a>) -> Self {
        match self.current {
            None => self,
            Some(current) => Ratchet {
                current: current.item(at, known),
                above: Some(current),
            },
        }
    }

    fn is_unchanged(self, known: &mut Correlations<'a>) -> bool {
        self.current
            .or(self.above)
            .is_some_and(|correlated| correlated.is_equal(known))
    }
}

/// A stopped evaluation.
struct Stop;

struct Walk<'a> {
    out: Evaluated,
    /// The number of errors that are not listed.
    unlisted: usize,
    /// The cost that is left.
    budget: u64,
    /// The work that is left.
    work: u64,
    known: Correlations<'a>,
}

/// Evaluates all rules.
pub(crate) fn validate(
    node: &Node,
    path: &FieldPath,
    object: &Value,
    old: Option<&Value>,
    budget: u64,
) -> (Evaluated, Option<u64>) {
    let mut walk = Walk {
        out: Evaluated::default(),
        unlisted: 0,
        budget,
        work: OBJECT_WORK,
        known: Correlations::default(),
    };
    // Without an old object nothing is unchanged, so no violation becomes a warning.
    let current = old.map(|old| Correlated {
        new: object,
        old,
        schema: &node.schema,
    });

    let ended = walk.value(
        node,
        &Place::Root(path),
        object,
        old,
        Ratchet {
            current,
            above: None,
        },
    );

    // The number of the rest is an error of its own, so that a shortened list does not look complete.
    if walk.unlisted > 0 {
        let detail = format!("{} more errors are not listed", walk.unlisted);
        let kind = FieldErrorKind::Invalid;
        walk.out.errors.push(FieldError {
            path: FieldPath::default(),
            kind,
            value: None,
            detail,
        });
    }

    (walk.out, ended.is_ok().then(|| budget - walk.budget))
}

impl<'a> Walk<'a> {
    fn value(
        &mut self,
        node: &'a Node,
        place: &Place<'_>,
        object: &'a Value,
        old: Option<&'a Value>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        // Rules do not apply to null, which is like an absent value.
        if object.is_null() {
            return Ok(());
        }
        if !proceed(1) {
            return Err(Stop);
        }

        level(|| {
            self.rules(node, place, object, old, ratchet)?;
            // Rules inside `allOf` see the same value, but only an unchanged value above it makes their violations
            // warnings.
            for part in &node.all_of {
                let ratchet = Ratchet {
                    current: None,
                    above: ratchet.above,
                };
                self.value(part, place, object, old, ratchet)?;
            }

            match object {
                Value::Map(map) => {
                    self.fields(node, place, map, old.and_then(Value::as_map), ratchet)
                }
                Value::List(list) => {
                    self.items(node, place, list, old.and_then(Value::as_list), ratchet)
                }
                _ => Ok(()),
            }
        })
    }

    fn fields(
        &mut self,
        node: &'a Node,
        place: &Place<'_>,
        map: &'a Map,
        old: Option<&'a Map>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        // Only these map types correlate fields by name; under another one, fields have no old values.
        let correlates = matches!(
            node.schema.extensions.map_type.as_deref(),
            None | Some("granular" | "atomic")
        );
        let old = old.filter(|_| correlates);
        let old_field = |name: &str| old.and_then(|old| old.get(name));

        if let Some(inner) = &node.additional {
            for (name, value) in map {
                self.value(
                    inner,
                    &Place::Key(place, name),
                    value,
                    old_field(name),
                    ratchet.field(name),
                )?;
            }
        }

        if node.properties.is_empty() {
            return Ok(());
        }
        for (name, value) in map {
            if let Some(inner) = node.properties.get(name.as_str()) {
                self.value(
                    inner,
                    &Place::Child(place, name),
                    value,
                    old_field(name),
                    ratchet.field(name),
                )?;
            }
        }

        Ok(())
    }

    fn items(
        &mut self,
        node: &'a Node,
        place: &Place<'_>,
        list: &'a List,
        old: Option<&'a List>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        let Some(inner) = &node.items else {
            return Ok(());
        };
        for (at, item) in list.iter().enumerate() {
            let old = old.and_then(|old| self.known.find(&node.schema, old, item));
            let ratchet = ratchet.item(at, &mut self.known);
            self.value(inner, &Place::Item(place, at), item, old, ratchet)?;
        }
        Ok(())
    }

    /// Lists an error, or counts it.
    fn error(&mut self, error: impl FnOnce() -> FieldError) {
        if self.out.errors.len() < LISTED {
            self.out.errors.push(error());
        } else {
            self.unlisted += 1;
        }
    }

    /// Evaluates a program; returns its cost too.
    fn run(
        &mut self,
        program: &Program,
        value: Val<'a>,
        old: Option<Val<'a>>,
    ) -> (Outcome<'a>, u64) {
        // One evaluation may use at most the work that is left for the object.
        let mut meter = Meter::new(RULE_BUDGET, WORK.min(self.work));
        let old = old.map_or_else(|| evaluate::missing("oldSelf"), Ok);
        let outcome = evaluate::run(program, [Ok(value), old], None, &mut meter);
        self.work = self.work.saturating_sub(meter.work());
        (outcome, meter.cost())
    }

    fn rules(
        &mut self,
        node: &'a Node,
        place: &Place<'_>,
        object: &'a Value,
        old: Option<&'a Value>,
        ratchet: Ratchet<'a>,
    ) -> Result<(), Stop> {
        if node.rules.is_empty() {
            return Ok(());
        }
        let type_name = &node.schema.generic.type_name;
        let invalid =
            |detail: String| move || FieldError::invalid(place.path(), type_name.clone(), detail);
        const UNTYPED: &str = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
        const EXHAUSTED: &str = "validation failed due to running out of cost budget, no further validation rules will be run";
        if !node.has_type {
            self.error(invalid(UNTYPED.to_owned()));
            return Ok(());
        }
        // A budget that is used up ends the evaluation of the whole object, before another value is read.
        if self.budget == 0 {
            self.error(invalid(EXHAUSTED.to_owned()));
            return Err(Stop);
        }

        // A null old value is like an absent one, so rules about transitions do not run.
        let old = old.filter(|old| !old.is_null());
        let new_value = read(object, &node.values);
        let old_value = old
            .filter(|_| node.uses_old_self)
            .map(|old| read(old, &node.values));

        for rule in &node.rules {
            let program = match &rule.program {
                Ok(program) => program,
                Err(fault) => {
                    self.error(invalid(format!(
                        "rule compile error: compilation failed: {fault}"
                    )));
                    continue;
                }
            };
            // A rule about a transition needs an old value, unless `optionalOldSelf` gives it an empty optional one.
            if program.uses_old_self && old.is_none() && !rule.has_optional_old {
                continue;
            }

            let old_self = match (&old_value, rule.has_optional_old) {
                (Some(Ok(value)), true) => Some(Val::some(value.clone())),
                (None, true) => Some(Val::Optional(None)),
                (Some(Ok(value)), false) => Some(value.clone()),
                (Some(Err(_)) | None, _) => None,
            };
            // An old value that cannot be read is an error only of the rules that use it.
            let conversion = match &old_value {
                Some(Err(fault)) if program.uses_old_self => Err(fault.clone()),
                _ => new_value.clone(),
            };
            let (outcome, cost) = match conversion {
                Ok(value) => self.run(program, value, old_self.clone()),
                Err(fault) => (Err(fault), 0),
            };

            // The cost counts before the outcome: a rule that exceeds the rest of the budget decides nothing.
            if cost > self.budget {
                self.error(invalid(EXHAUSTED.to_owned()));
                return Err(Stop);
            }
            self.budget -= cost;

            match outcome {
                Ok(Val::Bool(true)) => continue,
                Ok(_) => {}
                Err(Fault::Cost) => {
                    self.error(invalid(format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be \
                         run due to call cost exceeds limit for rule: {}",
                        rule.name()
                    )));
                    return Err(Stop);
                }
                Err(Fault::Broken(message)) => {
                    self.error(invalid(format!(
                        "{message} evaluating rule: {}",
                        rule.name()
                    )));
                    continue;
                }
                Err(Fault::Error(message)) => {
                    self.error(invalid(if message.starts_with("no such overload") {
                        format!(
                            "'{message}': call arguments did not match a supported operator, function or macro \
                             signature for rule: {}",
                            rule.name()
                        )
                    } else {
                        format!("{message} evaluating rule: {}", rule.name())
                    }));
                    continue;
                }
            }

            // `fieldPath` is relative to the value.
            let path = || match rule.field_path.as_str() {
                "" => place.path(),
                below => place.path().child(below),
            };
            // The expression of the message gets the old value itself, also where the rule gets an optional one.
            let plain_old = old_value
                .as_ref()
                .and_then(|value| value.as_ref().ok())
                .cloned();
            let message = self.message(rule, new_value.as_ref().ok(), plain_old);
            // A message that costs too much ends the evaluation, but only after the violation is listed.
            let stops = message.is_err();
            let error = || match message {
                Ok(detail) => {
                    let shown = !matches!(type_name.as_str(), "object" | "array");
                    let detail = detail.unwrap_or_else(|| rule.detail());
                    rule.error(path(), shown.then_some(object), detail)
                }
                Err(detail) => FieldError::invalid(path(), type_name.clone(), detail),
            };

            // An unchanged value is stored already, so its violation is a warning. A rule about a transition always
            // counts.
            if program.uses_old_self || !ratchet.is_unchanged(&mut self.known) {
                self.error(error);
            } else if self.out.warnings.len() < LISTED {
                self.out.warnings.push(error().to_string());
            }

            if stops {
                return Err(Stop);
            }
        }

        Ok(())
    }

    /// The message that the rule's expression makes, if there is one and it makes a valid message. The error says that
    /// it costs too much.
    fn message(
        &mut self,
        rule: &Rule,
        value: Option<&Val<'a>>,
        old: Option<Val<'a>>,
    ) -> Result<Option<String>, String> {
        let (Some((program, source)), Some(value)) = (&rule.message_expression, value) else {
            return Ok(None);
        };
        let (outcome, cost) = self.run(program, value.clone(), old);
        if cost > self.budget {
            return Err("messageExpression evaluation failed due to running out of cost budget, no further validation \
                        rules will be run"
                .to_owned());
        }

        // A message that is empty, too long or has several lines is replaced by that of the rule, as in the API server.
        match outcome {
            Err(Fault::Cost) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                fieldmanager_value::internal::go_format::quote(source)
            )),
            Ok(Val::String(text)) => {
                self.budget -= cost;
                let text = text.trim();
                let is_valid = !text.is_empty() && text.len() <= MESSAGE && !text.contains('\n');
                Ok(is_valid.then(|| text.to_owned()))
            }
            _ => {
                self.budget -= cost;
                Ok(None)
            }
        }
    }
}
