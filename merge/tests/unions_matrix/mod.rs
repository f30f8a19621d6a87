//! The test matrix of KEP-1027 (2022): which members change × discriminator or none × client knows every
//! member or not × server knows every member or not × union optional or required, for every verb, with
//! clients that drop or keep fields that they do not know.
//!
//! [`Case::expected`] derives the expected result from what the client wants and can express, not from the
//! implementation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod conclusions;

use fieldmanager_fieldpath::Owners;
use fieldmanager_merge::{ApplyRequest, Error, UpdateRequest, Updater};
use fieldmanager_patch::json_merge;
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, Ratcheting, TypedValue};
use fieldmanager_value::{Map, Value};

/// How the union names the member that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// It has no discriminator.
    Plain,
    /// KEP-1027 of 2019: the discriminator follows; other values are accepted.
    Deducing,
    /// KEP-1027 of 2022: the discriminator is respected, its list of values closed.
    Respecting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Create,
    Put,
    MergePatch,
    Apply,
}

/// The change of the union that the client wants. The client also changes another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// No change.
    None,
    /// The member `b`, which every client and server knows.
    Known,
    /// The member `n`, which was added to the union recently.
    New,
    /// No member.
    Clear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// It drops unknown fields when it reads and writes.
    Structured,
    /// It keeps unknown fields.
    Unstructured,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    form: Form,
    optional: bool,
    verb: Verb,
    change: Change,
    /// The member that is set before: `a`, which every client and server knows, or `n`.
    live: &'static str,
    client: Client,
    client_knows: bool,
    server_knows: bool,
}

/// The result in the notation of [`shown`]: the members and the discriminator, or a refusal.
type Outcome = Option<String>;

const REFUSED: Outcome = None;

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in [Form::Plain, Form::Deducing, Form::Respecting] {
        for optional in [true, false] {
            for verb in [Verb::Create, Verb::Put, Verb::MergePatch, Verb::Apply] {
                for change in [Change::None, Change::Known, Change::New, Change::Clear] {
                    for live in ["a", "n"] {
                        for client in [Client::Structured, Client::Unstructured] {
                            for (client_knows, server_knows) in
                                [(true, true), (true, false), (false, true), (false, false)]
                            {
                                let case = Case {
                                    form,
                                    optional,
                                    verb,
                                    change,
                                    live,
                                    client,
                                    client_knows,
                                    server_knows,
                                };
                                cases.extend(case.is_possible().then_some(case));
                            }
                        }
                    }
                }
            }
        }
    }
    cases
}

fn value_of(member: &str) -> String {
    member.to_uppercase()
}

fn map<'v>(entries: impl IntoIterator<Item = (&'v str, Value)>) -> Map {
    entries.into_iter().collect()
}

fn has(object: &Map, field: &str) -> bool {
    object.get(field).is_some_and(|value| !value.is_null())
}

impl Case {
    fn is_possible(&self) -> bool {
        let server_has_it = self.live == "a" || self.server_knows;
        let client_can = self.change != Change::New || self.client_knows;
        // Before a create there is no member to keep or clear.
        let is_create = self.verb == Verb::Create;
        server_has_it
            && client_can
            && !(is_create && (self.change == Change::Clear || self.live == "n"))
    }

    fn has_discriminator(&self) -> bool {
        self.form != Form::Plain
    }

    /// The value that selects no member: a value of the API in the form of 2019, the empty string in that of 2022. A
    /// required union has no such value.
    fn nothing(&self) -> Option<&'static str> {
        match self.form {
            Form::Plain => None,
            Form::Deducing => self.optional.then_some("None"),
            Form::Respecting => self.optional.then_some(""),
        }
    }

    /// The result if the server sets a member.
    fn with(&self, member: &str) -> Outcome {
        let discriminator = self.has_discriminator().then(|| value_of(member));
        Some(shown(&[member], discriminator.as_deref()))
    }

    /// The result if no member is left.
    fn without(&self, discriminator: Option<&str>) -> Outcome {
        Some(shown(&[], discriminator))
    }

    /// An object without members and discriminator, which is valid only if the union is optional.
    fn empty(&self) -> Outcome {
        if self.optional {
            self.without(None)
        } else {
            REFUSED
        }
    }

    /// The expected result of the case.
    fn expected(&self) -> Outcome {
        match self.change {
            Change::None => self.expected_of_none(),
            // An added member or a changed discriminator clears the other members, whether or not the client knows
            // them.
            Change::Known => self.with("b"),
            Change::New if self.server_knows => self.with("n"),
            Change::New => self.expected_of_a_member_that_the_server_does_not_know(),
            Change::Clear => self.expected_of_clear(),
        }
    }

    fn unaware(&self) -> bool {
        self.live == "n" && !self.client_knows
    }

    fn expected_of_none(&self) -> Outcome {
        match self.verb {
            Verb::Create => self.empty(),
            // Both contain only changes.
            Verb::MergePatch | Verb::Apply => self.with(self.live),
            Verb::Put if self.client == Client::Structured && self.unaware() => match self.form {
                // The client has dropped the member, and the server cannot detect that this is not intended.
                Form::Plain => self.empty(),
                // The discriminator still selects it.
                Form::Deducing | Form::Respecting => REFUSED,
            },
            Verb::Put => self.with(self.live),
        }
    }

    /// The server drops the member and keeps the discriminator, if there is one.
    fn expected_of_a_member_that_the_server_does_not_know(&self) -> Outcome {
        match self.form {
            Form::Respecting => REFUSED,
            // An unknown value may or may not select a member. A required member is missing in any case.
            Form::Deducing if self.optional => self.without(Some("N")),
            Form::Deducing => REFUSED,
            // The configuration is empty and clears nothing.
            Form::Plain if self.verb == Verb::Apply => self.with(self.live),
            Form::Plain => self.empty(),
        }
    }

    fn expected_of_clear(&self) -> Outcome {
        if let Some(nothing) = self.nothing() {
            return self.without(Some(nothing));
        }
        match self.verb {
            // An applier that omits a member which it does not own does not clear it.
            Verb::Apply => self.with(self.live),
            // A member that the client cannot name is kept.
            Verb::Put | Verb::MergePatch if self.unaware() && !self.drops_in_put() => {
                match self.form {
                    Form::Plain | Form::Deducing => self.with(self.live),
                    // The client has removed the discriminator, which is required.
                    Form::Respecting => REFUSED,
                }
            }
            _ => self.empty(),
        }
    }

    fn drops_in_put(&self) -> bool {
        self.client == Client::Structured && self.verb == Verb::Put
    }
}

/// Members and discriminator on one line.
fn shown(members: &[&str], discriminator: Option<&str>) -> String {
    format!("{members:?} {discriminator:?}")
}

impl Case {
    fn client_members(&self) -> &'static [&'static str] {
        if self.client_knows {
            &["a", "b", "n"]
        } else {
            &["a", "b"]
        }
    }

    /// The object as the client reads and sends it.
    fn as_the_client_has_it(&self, object: &Map) -> Map {
        let known = |name: &str| {
            name == "other"
                || (name == "type" && self.has_discriminator())
                || self.client_members().contains(&name)
        };
        let kept = object
            .iter()
            .filter(|(name, _)| self.client == Client::Unstructured || known(name));
        kept.map(|(name, value)| (name.to_string(), value.clone()))
            .collect()
    }

    fn wanted(&self) -> Option<&'static str> {
        match self.change {
            Change::Known => Some("b"),
            Change::New => Some("n"),
            Change::None | Change::Clear => None,
        }
    }

    /// The edit of the client: it removes the members that it knows and sets the one that it wants.
    fn edit(&self, object: &mut Map) {
        object.insert("other", 2);
        if self.change == Change::None {
            return;
        }
        for member in self.client_members() {
            object.remove(member);
        }
        if let Some(member) = self.wanted() {
            object.insert(member, 1);
            if self.has_discriminator() {
                object.insert("type", value_of(member).as_str());
            }
        } else if let Some(nothing) = self.nothing() {
            object.insert("type", nothing);
        } else {
            object.remove("type");
        }
    }

    /// The configuration of an applier, with nothing but the wanted member.
    fn configuration(&self) -> Map {
        let mut config = map([("other", Value::from(2))]);
        if let Some(member) = self.wanted() {
            config.insert(member, 1);
            if self.has_discriminator() {
                config.insert("type", value_of(member).as_str());
            }
        } else if self.change == Change::Clear
            && let Some(nothing) = self.nothing()
        {
            config.insert("type", nothing);
        }
        config
    }
}

impl Case {
    fn server_type(&self) -> Type {
        let members: &[&str] = if self.server_knows {
            &["a", "b", "n"]
        } else {
            &["a", "b"]
        };
        let form = match self.form {
            Form::Plain => "",
            Form::Deducing => "discriminator: type, deduceInvalidDiscriminator: true, ",
            Form::Respecting => "discriminator: type, closed: true, ",
        };
        let nothing = self
            .nothing()
            .map(|value| format!("emptyMembers: ['{value}'], "))
            .unwrap_or_default();
        let fields: Vec<_> = members
            .iter()
            .map(|m| format!("{{name: {m:?}, type: {{scalar: numeric}}}}"))
            .collect();
        let union: Vec<_> = members
            .iter()
            .map(|m| {
                format!(
                    "{{fieldName: {m:?}, discriminatorValue: {:?}}}",
                    value_of(m)
                )
            })
            .collect();
        let schema = format!(
            "types: [{{name: root, map: {{fields: [{{name: other, type: {{scalar: numeric}}}},
            {{name: type, type: {{scalar: string}}}}, {}],
            unions: [{{{form}{nothing}required: {}, fields: [{}]}}]}}}}]",
            fields.join(", "),
            !self.optional,
            union.join(", ")
        );
        Schema::from_yaml(&schema)
            .unwrap()
            .type_named("root")
            .unwrap()
    }

    /// The object without the fields that the server does not know.
    fn typed(&self, object: &Map) -> TypedValue {
        let ty = self.server_type();
        let known = ty.atom().map.as_ref().unwrap();
        let kept = object
            .iter()
            .filter(|(name, _)| known.field(name).is_some());
        let kept: Map = kept
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect();
        TypedValue::new(Value::Map(kept), ty.clone(), Duplicates::Allow).unwrap()
    }

    fn live_object(&self) -> Map {
        let mut live = map([("other", Value::from(1)), (self.live, Value::from(1))]);
        if self.has_discriminator() {
            live.insert("type", value_of(self.live).as_str());
        }
        live
    }

    fn run(&self) -> Outcome {
        let updater = Updater::builder().build();
        let null = TypedValue::null(self.server_type());
        let live = self.live_object();
        let read = self.as_the_client_has_it(&live);
        let mut edited = read.clone();
        self.edit(&mut edited);
        let (old, owners) = match self.verb {
            Verb::Create => (null, Owners::new()),
            _ => {
                let made = updater
                    .update(
                        UpdateRequest::new(&null, &self.typed(&live))
                            .version("v1")
                            .manager("owner"),
                    )
                    .unwrap();
                assert!(
                    null.validate_unions(&made.object, Ratcheting::Off)
                        .is_empty()
                );
                (made.object, made.owners)
            }
        };
        let sent = match self.verb {
            Verb::Create => {
                let mut object = Map::new();
                self.edit(&mut object);
                self.as_the_client_has_it(&object)
            }
            Verb::Put => self.as_the_client_has_it(&edited),
            Verb::MergePatch => {
                let patch = json_merge::create(&read.into(), &edited.into()).unwrap();
                json_merge::apply(old.value(), &patch)
                    .unwrap()
                    .as_map()
                    .cloned()
                    .unwrap()
            }
            Verb::Apply => self.as_the_client_has_it(&self.configuration()),
        };
        let sent = self.typed(&sent);
        let new = match self.verb {
            Verb::Apply => {
                let applied = updater
                    .apply(
                        ApplyRequest::new(&old, &sent)
                            .version("v1")
                            .owners(&owners)
                            .manager("client")
                            .force(),
                    )
                    .unwrap();
                let new = applied.object.unwrap_or_else(|| old.clone());
                let unforced = updater.apply(
                    ApplyRequest::new(&old, &sent)
                        .version("v1")
                        .owners(&owners)
                        .manager("client"),
                );
                self.check_conflicts(unforced.map(drop), &old, &new);
                new
            }
            _ => {
                updater
                    .update(
                        UpdateRequest::new(&old, &sent)
                            .version("v1")
                            .owners(&owners)
                            .manager("client"),
                    )
                    .unwrap()
                    .object
            }
        };
        let faults = old.validate_unions(&new, Ratcheting::Off);
        let object = new.value().as_map().cloned().unwrap_or_default();
        let members: Vec<&str> = ["a", "b", "n"]
            .into_iter()
            .filter(|m| has(&object, m))
            .collect();
        let discriminator = object.get("type").and_then(Value::as_str);
        faults.is_empty().then(|| shown(&members, discriminator))
    }

    /// Without force, an apply conflicts if and only if it takes a field from its owner.
    fn check_conflicts(&self, unforced: Result<(), Error>, old: &TypedValue, new: &TypedValue) {
        let fields = ["type", "a", "b", "n"];
        let changed =
            |f: &&&str| old.value().get(f).is_some() && old.value().get(f) != new.value().get(f);
        let taken: Vec<&&str> = fields.iter().filter(changed).collect();
        match unforced {
            Ok(()) => panic!("{self:?}: `other` is always a conflict"),
            Err(Error::Conflicts(conflicts)) => {
                let paths: Vec<String> = conflicts.iter().map(|c| c.path.to_string()).collect();
                let mut wanted = vec![".other".to_owned()];
                // A conflict about the discriminator covers the members.
                let told = taken.contains(&&"type");
                wanted.extend(
                    taken
                        .iter()
                        .filter(|f| !told || ***f == "type")
                        .map(|f| format!(".{f}")),
                );
                wanted.sort();
                let mut sorted = paths.clone();
                sorted.sort();
                assert_eq!(sorted, wanted, "{self:?}");
            }
            Err(error) => panic!("{self:?}: {error}"),
        }
    }
}

fn cell(form: Form, verb: Verb, change: Change, live: &'static str, client: Client) -> Case {
    Case {
        form,
        optional: true,
        verb,
        change,
        live,
        client,
        client_knows: true,
        server_knows: true,
    }
}

#[test]
fn every_case_of_the_matrix() {
    let cases = all();
    let mut wrong = Vec::new();
    for case in &cases {
        let (expected, got) = (case.expected(), case.run());
        if expected != got {
            wrong.push(format!(
                "{case:?}\n  expected {expected:?}\n  got      {got:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert!(
        cases.len() > 250,
        "the matrix has lost cases: {}",
        cases.len()
    );
}
