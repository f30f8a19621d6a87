//! Tables of rules that change objects: defaults, and what registries do before they store.
//!
//! A YAML document has the rules of each kind (`apps/v1/Deployment`) by what they are for: `defaults`, `create`, `update`,
//! and the name of a subresource for its updates. Another has rules that several kinds share. A rule is a map. Its members
//! are applied in this order:
//!
//! | member | meaning |
//! |---|---|
//! | `when: {PATH: VALUE}` | the rule applies if the object has these values; a list has the accepted values, null is absence, `{not: VALUE}` the opposite |
//! | `when_live: {PATH: VALUE}` | the same for the live object |
//! | `at: PATH` | the rule applies to each value at the path, to which all other paths are relative |
//! | `default: {PATH: VALUE}` | sets values that are absent |
//! | `set: {PATH: VALUE}` | sets values |
//! | `copy: {PATH: FROM}` | sets an absent value to that at another path |
//! | `fill: {PATH: FROM}` | adds the entries of another map that are missing |
//! | `reset: [PATH]` | sets values to those of the zero value of the kind, or removes them if it has none |
//! | `remove: [PATH]` | removes values |
//! | `keep: [PATH]` | takes values of the live object, or removes them if it has none |
//! | `drop: [PATH]` | removes values unless the live object has any of them |
//! | `omit_empty: [PATH]` | removes empty maps and lists |
//! | `apply: TYPE` | applies the rules of a type |
//! | `call: NAME` | calls a function |
//! | `bump: [PATH]` | raises the generation of the live object by one if any of the values differs from the live one |

mod path;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use fieldmanager_structural::GroupVersionKind;
use fieldmanager_value::internal::embedded;
use fieldmanager_value::{Str, Value};

pub(crate) use path::{Edit, Path};

/// A function that a rule calls: from an object (or a part of one) and its live counterpart to the changed one.
pub(crate) type Function = fn(&Value, Option<&Value>) -> Option<Value>;

/// The rules of kinds, each of which is read when it is needed: reading all takes longer than starting a server.
#[derive(Debug)]
pub(crate) struct Table {
    kinds: BTreeMap<&'static str, MemberText<RuleSets>>,
    types: BTreeMap<&'static str, MemberText<Vec<Rule>>>,
    functions: &'static [(&'static str, Function)],
}

/// Rules by their use.
type RuleSets = BTreeMap<Str, Vec<Rule>>;

/// A member of a document, as text until it is needed.
#[derive(Debug)]
struct MemberText<T> {
    text: &'static str,
    read: OnceLock<T>,
}

impl<T> MemberText<T> {
    fn get(&self, read: impl FnOnce(&Value) -> Result<T, String>) -> &T {
        self.read
            .get_or_init(|| embedded("rules of kinds", self.try_read(read)))
    }

    fn try_read(&self, read: impl FnOnce(&Value) -> Result<T, String>) -> Result<T, String> {
        let member = Value::from_yaml(self.text).map_err(|error| error.to_string())?;
        let value = member.as_map().and_then(|member| member.iter().next());
        let (name, value) = value.ok_or("a member has a name and a value")?;
        read(value).map_err(|error| format!("{name}: {error}"))
    }
}

/// The members of documents by name. One begins at each line that is not indented and no item, with its name.
fn members<T>(documents: &[&'static str]) -> BTreeMap<&'static str, MemberText<T>> {
    let mut members = BTreeMap::new();
    for document in documents {
        let is_start = |at: usize| {
            let text = document.get(at..).unwrap_or_default();
            !text.starts_with([' ', '-', '#', '\n'])
        };
        let lines = document.split_inclusive('\n').scan(0, |next, line| {
            let at = *next;
            *next += line.len();
            Some(at)
        });
        let mut starts: Vec<usize> = lines.filter(|at| is_start(*at)).collect();
        starts.push(document.len());
        for pair in starts.windows(2) {
            let text = pair.first().zip(pair.last());
            let text = text
                .and_then(|(from, to)| document.get(*from..*to))
                .unwrap_or_default();
            let name = text.split_once(':').map_or(text, |(name, _)| name);
            let read = OnceLock::new();
            members.insert(name, MemberText { text, read });
        }
    }

    members
}

#[derive(Debug, Default)]
struct Rule {
    when: Vec<(Path, Test)>,
    when_live: Vec<(Path, Test)>,
    at: Option<Path>,
    default: Vec<(Path, Value)>,
    set: Vec<(Path, Value)>,
    copy: Vec<(Path, Path)>,
    fill: Vec<(Path, Path)>,
    reset: Vec<Path>,
    remove: Vec<Path>,
    keep: Vec<Path>,
    drop: Vec<Path>,
    omit_empty: Vec<Path>,
    apply: Option<Str>,
    call: Option<Function>,
    bump: Vec<Path>,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    /// The value is one of these. Null is absence.
    OneOf(Vec<Value>),
    /// The value is none of these.
    Not(Vec<Value>),
}

impl Test {
    pub(crate) fn read(value: &Value) -> Test {
        let list = |value: &Value| match value {
            Value::List(items) => items.iter().cloned().collect(),
            other => vec![other.clone()],
        };
        match value.get("not") {
            Some(refused) => Test::Not(list(refused)),
            None => Test::OneOf(list(value)),
        }
    }

    pub(crate) fn accepts(&self, value: Option<&Value>) -> bool {
        let value = value.unwrap_or(&Value::Null);
        match self {
            Test::OneOf(accepted) => accepted.contains(value),
            Test::Not(refused) => !refused.contains(value),
        }
    }
}

/// The objects to which an object is compared.
#[derive(Clone, Copy)]
struct Other<'v> {
    live: Option<&'v Value>,
    zero: Option<&'v Value>,
}

impl Table {
    /// The rules of kinds from several documents, and those that they share. A kind has all its rules in one document.
    pub(crate) fn new(
        documents: &[&'static str],
        shared: &'static str,
        functions: &'static [(&'static str, Function)],
    ) -> Table {
        Table {
            kinds: members(documents),
            types: members(&[shared]),
            functions,
        }
    }

    /// Reads all rules.
    ///
    /// # Errors
    ///
    /// The fault of a document.
    #[cfg(test)]
    pub(crate) fn read_all(&self) -> Result<(), String> {
        let kinds = self.kinds.values();
        let kinds = kinds.map(|kind| kind.try_read(|sets| read_sets(sets, self.functions)));
        let kinds: Vec<RuleSets> = kinds.collect::<Result<_, _>>()?;
        let types = self.types.values();
        let types = types.map(|rules| rules.try_read(|rules| read_rules(rules, self.functions)));
        let types: Vec<Vec<Rule>> = types.collect::<Result<_, _>>()?;

        // A rule that names an unknown type would be skipped without a notice.
        let rules = kinds
            .iter()
            .flat_map(BTreeMap::values)
            .chain(&types)
            .flatten();
        for name in rules.filter_map(|rule| rule.apply.as_ref()) {
            if !self.types.contains_key(name.as_str()) {
                return Err(format!("apply: {name} is not a type of the table"));
            }
        }
        Ok(())
    }

    /// The names of the kinds that have rules.
    #[cfg(test)]
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().copied()
    }

    /// Applies the rules of a kind for a use to an object; `None` if there are none.
    pub(crate) fn apply(
        &self,
        kind: &GroupVersionKind,
        used_for: &str,
        object: &Value,
        live: Option<&Value>,
        zero: Option<&Value>,
    ) -> Option<Value> {
        let sets = self.kinds.get(name_of(kind).as_str())?;
        let rules = sets
            .get(|sets| read_sets(sets, self.functions))
            .get(used_for)?;
        let mut object = object.clone();
        self.run(rules, &mut object, Other { live, zero });
        Some(object)
    }

    fn run(&self, rules: &[Rule], object: &mut Value, other: Other<'_>) {
        for rule in rules {
            let holds = |tests: &[(Path, Test)], value: &Value| {
                tests
                    .iter()
                    .all(|(path, test)| test.accepts(path.get(value)))
            };

            if !holds(&rule.when, object)
                || !holds(&rule.when_live, other.live.unwrap_or(&Value::Null))
            {
                continue;
            }

            let Some(at) = &rule.at else {
                self.act(rule, object, other);
                continue;
            };

            // Only one value at the path has one counterpart in the live object; items of lists have none.
            let other = if at.is_single() {
                Other {
                    live: other.live.and_then(|live| at.get(live)),
                    zero: other.zero.and_then(|zero| at.get(zero)),
                }
            } else {
                Other {
                    live: None,
                    zero: None,
                }
            };

            // The path is edited only for values that exist: a rule for a part does not create it.
            let changed = at.edit(object, false, &mut |value| {
                let Some(value) = value else {
                    return Edit::Keep;
                };
                let mut new = value.clone();
                self.act(rule, &mut new, other);
                if new.strict_eq(value) {
                    Edit::Keep
                } else {
                    Edit::Set(new)
                }
            });

            if let Some(changed) = changed {
                *object = changed;
            }
        }
    }

    fn act(&self, rule: &Rule, object: &mut Value, other: Other<'_>) {
        // The members are applied in this order, which rules rely on: a value that was set can be kept or dropped
        // afterwards.
        let live = other.live;
        let mut edit = |path: &Path, create: bool, f: &mut dyn FnMut(Option<&Value>) -> Edit| {
            if let Some(changed) = path.edit(object, create, f) {
                *object = changed;
            }
        };
        for (path, value) in &rule.default {
            edit(path, true, &mut |found| if_absent(found, Some(value)));
        }
        for (path, value) in &rule.set {
            edit(path, true, &mut |_| Edit::Set(value.clone()));
        }

        // The zero value is what Go has in a field that the client did not set.
        for path in &rule.reset {
            match other.zero.and_then(|zero| path.get(zero)) {
                Some(value) => edit(path, true, &mut |_| Edit::Set(value.clone())),
                None => edit(path, false, &mut |_| Edit::Remove),
            }
        }

        // A field that this operation cannot change is kept: it has the live value, or none.
        for path in &rule.remove {
            edit(path, false, &mut |_| Edit::Remove);
        }
        for path in &rule.keep {
            match live.and_then(|live| path.get(live)) {
                Some(value) => edit(path, true, &mut |_| Edit::Set(value.clone())),
                None => edit(path, false, &mut |_| Edit::Remove),
            }
        }

        // Fields behind a disabled feature are dropped only if the live object does not use the feature.
        if !rule
            .drop
            .iter()
            .any(|path| live.is_some_and(|live| path.visit(live, &mut |_| true)))
        {
            for path in &rule.drop {
                edit(path, false, &mut |_| Edit::Remove);
            }
        }

        for path in &rule.omit_empty {
            edit(path, false, &mut |found| match found {
                Some(Value::Map(map)) if map.is_empty() => Edit::Remove,
                Some(Value::List(list)) if list.is_empty() => Edit::Remove,
                _ => Edit::Keep,
            });
        }

        // A copied value may be one that the steps before set.
        for (path, from) in &rule.copy {
            let value = from.get(object).cloned();
            if let Some(changed) =
                path.edit(object, true, &mut |found| if_absent(found, value.as_ref()))
            {
                *object = changed;
            }
        }

        for (path, from) in &rule.fill {
            if let Some(Value::Map(entries)) = from.get(object).cloned()
                && let Some(changed) = path.edit(object, true, &mut |found| fill(found, &entries))
            {
                *object = changed;
            }
        }

        // The rules of a part come after those for the whole, and functions see the result of both.
        let applied = rule.apply.as_ref();
        if let Some(rules) = applied.and_then(|name| self.types.get(name.as_str())) {
            let rules = rules.get(|rules| read_rules(rules, self.functions));
            self.run(rules, object, other);
        }
        if let Some(changed) = rule.call.and_then(|call| call(object, live)) {
            *object = changed;
        }

        // The generation is compared last, after what an update cannot change was restored.
        if let Some(live) = live
            && rule
                .bump
                .iter()
                .any(|path| path.get(object) != path.get(live))
        {
            let generation = live
                .get("metadata")
                .and_then(|metadata| metadata.get("generation"));
            let raised = generation
                .and_then(Value::as_i64)
                .unwrap_or_default()
                .saturating_add(1);

            if let Some(changed) =
                Path::parse("metadata.generation")
                    .edit(object, true, &mut |_| Edit::Set(Value::from(raised)))
            {
                *object = changed;
            }
        }
    }
}

fn read_sets(sets: &Value, functions: &[(&str, Function)]) -> Result<RuleSets, String> {
    let sets = entries(Some(sets)).into_iter().map(|(name, rules)| {
        let rules = read_rules(&rules, functions).map_err(|error| format!("{name}: {error}"))?;
        Ok((name, rules))
    });
    sets.collect()
}

fn read_rules(rules: &Value, functions: &[(&str, Function)]) -> Result<Vec<Rule>, String> {
    let rules = items(Some(rules));
    rules
        .iter()
        .map(|rule| Rule::read(rule, functions))
        .collect()
}

fn if_absent(found: Option<&Value>, value: Option<&Value>) -> Edit {
    match (found, value) {
        (None, Some(value)) => Edit::Set(value.clone()),
        _ => Edit::Keep,
    }
}

fn fill(found: Option<&Value>, entries: &fieldmanager_value::Map) -> Edit {
    let old = found.and_then(Value::as_map).cloned().unwrap_or_default();
    let missing = entries.iter().filter(|(name, _)| !old.contains(name));
    let edits: Vec<_> = missing
        .map(|(name, value)| (name.clone(), Some(value.clone())))
        .collect();
    if edits.is_empty() {
        Edit::Keep
    } else {
        Edit::Set(Value::Map(old.with_edits(edits)))
    }
}

impl Rule {
    fn read(rule: &Value, functions: &[(&str, Function)]) -> Result<Rule, String> {
        let mut out = Rule::default();
        for (member, value) in entries(Some(rule)) {
            let values = || {
                entries(Some(&value))
                    .into_iter()
                    .map(|(path, value)| (Path::parse(&path), value))
            };
            let tests = || {
                values()
                    .map(|(path, value)| (path, Test::read(&value)))
                    .collect()
            };
            let copies = || {
                let from = |value: Value| Path::parse(value.as_str().unwrap_or_default());
                values().map(|(path, value)| (path, from(value))).collect()
            };

            let paths = || {
                items(Some(&value))
                    .iter()
                    .filter_map(Value::as_str)
                    .map(Path::parse)
                    .collect()
            };

            // An unknown member is a fault, so that a spelling error does not disable a rule.
            match &*member {
                "when" => out.when = tests(),
                "when_live" => out.when_live = tests(),
                "at" => out.at = value.as_str().map(Path::parse),
                "default" => out.default = values().collect(),
                "set" => out.set = values().collect(),
                "copy" => out.copy = copies(),
                "fill" => out.fill = copies(),
                "reset" => out.reset = paths(),
                "remove" => out.remove = paths(),
                "keep" => out.keep = paths(),
                "drop" => out.drop = paths(),
                "omit_empty" => out.omit_empty = paths(),
                "apply" => out.apply = value.as_str().map(Str::from),
                "call" => {
                    let known = functions
                        .iter()
                        .find(|(name, _)| value.as_str() == Some(name));
                    let (_, function) =
                        known.ok_or_else(|| format!("call: no function {}", value.to_json()))?;
                    out.call = Some(*function);
                }
                "bump" => out.bump = paths(),
                other => return Err(format!("{other} is not a member of rules")),
            }
        }

        Ok(out)
    }
}

fn entries(value: Option<&Value>) -> Vec<(Str, Value)> {
    let map = value.and_then(Value::as_map);
    map.into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn items(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::List(items)) => items.iter().cloned().collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other.clone()],
    }
}

/// The name of a kind in tables: `apps/v1/Deployment`, `v1/Pod`.
fn name_of(kind: &GroupVersionKind) -> String {
    if kind.group.is_empty() {
        format!("{}/{}", kind.version, kind.kind)
    } else {
        format!("{}/{}/{}", kind.group, kind.version, kind.kind)
    }
}
