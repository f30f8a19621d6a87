//! Properties of unions for any sequence of applies and updates.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

use std::sync::LazyLock;

use fieldmanager_fieldpath::{ApiVersion, Owners, Path, Set};
use fieldmanager_merge::{ApplyRequest, Error, UpdateRequest, Updater};
use fieldmanager_schema::internal::{resolve_definitions, type_definitions};
use fieldmanager_schema::{Schema, Type};
use fieldmanager_typed::{Duplicates, TypedValue};
use fieldmanager_value::{Map, Value};
use proptest::prelude::*;

/// Unions of every form; the members `A` and `C` are numbers, `B` is a struct.
static WITH: LazyLock<Type> = LazyLock::new(|| {
    let unions = [
        ("p", ""),
        (
            "d",
            "discriminator: dType, deduceInvalidDiscriminator: true, emptyMembers: [None], ",
        ),
        ("r", "discriminator: rType, emptyMembers: ['', None], "),
        (
            "c",
            "discriminator: cType, emptyMembers: [None], closed: true, ",
        ),
    ];
    let mut fields = String::new();
    let mut all = String::new();
    for (prefix, what) in unions {
        fields += &format!("    - {{name: {prefix}Type, type: {{scalar: string}}}}\n");
        for (member, ty) in [("A", "number"), ("B", "struct"), ("C", "number")] {
            fields += &format!("    - {{name: {prefix}{member}, type: {{namedType: {ty}}}}}\n");
        }
        all += &format!(
            "    - {{{what}fields: [{{fieldName: {prefix}A, discriminatorValue: A}},
        {{fieldName: {prefix}B, discriminatorValue: B}}, {{fieldName: {prefix}C, discriminatorValue: C}}]}}\n"
        );
    }
    let text = format!(
        "types:
- {{name: number, scalar: numeric}}
- name: struct
  map: {{fields: [{{name: u, type: {{scalar: numeric}}}}, {{name: v, type: {{scalar: numeric}}}}]}}
- name: root
  map:
    fields:
    - {{name: name, type: {{scalar: string}}}}
    - name: items
      type: {{list: {{elementRelationship: associative, keys: [name], elementType: {{namedType: root}}}}}}
{fields}    unions:
{all}"
    );
    Schema::from_yaml(&text)
        .unwrap()
        .type_named("root")
        .unwrap()
});

/// The same without the unions.
static WITHOUT: LazyLock<Type> = LazyLock::new(|| {
    let mut definitions = type_definitions(WITH.schema()).to_vec();
    for map in definitions
        .iter_mut()
        .filter_map(|def| def.atom.map.as_mut())
    {
        map.unions.clear();
    }
    resolve_definitions(definitions)
        .unwrap()
        .type_named("root")
        .unwrap()
});

fn fields() -> impl Strategy<Value = Map> {
    let value = prop_oneof![
        5 => Just(None),
        2 => prop::sample::select(vec!["", "A", "B", "C", "None", "Own"]).prop_map(|v| Some(v.into())),
    ];
    let number = prop_oneof![2 => Just(None), 1 => (1i64..3).prop_map(|n| Some(Value::from(n)))];
    let part = (any::<bool>(), 1i64..3).prop_map(|(u, n)| {
        let name = if u { "u" } else { "v" };
        Some(Value::Map([(name, Value::from(n))].into_iter().collect()))
    });
    let structure =
        prop_oneof![3 => Just(None), 1 => Just(Some(Value::Map(Map::new()))), 2 => part];
    let prefix = prop::sample::select(vec!["p", "d", "d", "r", "r", "c"]);
    let union =
        (prefix, value, number.clone(), structure, number).prop_map(|(prefix, value, a, b, c)| {
            let names = ["Type", "A", "B", "C"].map(|name| format!("{prefix}{name}"));
            let all = names.into_iter().zip([value, a, b, c]);
            all.filter_map(|(name, value)| Some((name, value?)))
                .collect::<Vec<_>>()
        });
    prop::collection::vec(union, 1..3).prop_map(|all| all.into_iter().flatten().collect())
}

fn object() -> impl Strategy<Value = Value> {
    let item = (prop::sample::select(vec!["one", "two"]), fields());
    (fields(), prop::option::weighted(0.3, item)).prop_map(|(mut object, item)| {
        if let Some((name, mut item)) = item {
            item.insert("name", name);
            object.insert(
                "items",
                Value::List([Value::Map(item)].into_iter().collect()),
            );
        }
        Value::Map(object)
    })
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Apply,
    Force,
    /// The live object merged with these fields.
    Patch,
}

/// The object and its owners.
type Outcome = (Value, Owners);

type Step = (Verb, &'static str, Value);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop::sample::select(vec![Verb::Apply, Verb::Apply, Verb::Force, Verb::Patch]);
    let who = prop::sample::select(vec!["alice", "bob", "carol"]);
    prop::collection::vec((verb, who, object()), 2..7)
}

struct World {
    updater: Updater,
    ty: Type,
    live: TypedValue,
    owners: Owners,
}

impl World {
    fn new(ty: &Type, unions: bool) -> Self {
        let updater = Updater::builder().unions(unions).build();
        World {
            updater,
            ty: ty.clone(),
            live: TypedValue::null(ty.clone()),
            owners: Owners::new(),
        }
    }

    fn typed(&self, value: &Value) -> TypedValue {
        TypedValue::new(value.clone(), self.ty.clone(), Duplicates::Allow).unwrap()
    }

    fn step(&mut self, (verb, who, object): &Step) -> Result<(), Error> {
        let v1 = ApiVersion::from("v1");
        match verb {
            Verb::Apply | Verb::Force => {
                let force = matches!(verb, Verb::Force);
                let config = self.typed(object);
                let applied = self.updater.apply(
                    ApplyRequest::new(&self.live, &config)
                        .version(&v1)
                        .owners(&self.owners)
                        .manager(who)
                        .force_if(force),
                )?;
                self.live = applied.object.unwrap_or_else(|| self.live.clone());
                self.owners = applied.owners;
            }
            Verb::Patch => {
                let mut new = self.live.value().as_map().cloned().unwrap_or_default();
                for (name, value) in object.as_map().into_iter().flatten() {
                    new.insert(name.as_str(), value.clone());
                }
                let new = self.typed(&Value::Map(new));
                let updated = self.updater.update(
                    UpdateRequest::new(&self.live, &new)
                        .version(&v1)
                        .owners(&self.owners)
                        .manager(who),
                )?;
                self.live = updated.object;
                self.owners = updated.owners;
            }
        }
        Ok(())
    }

    fn shown(&self) -> String {
        let all = self.owners.iter();
        let owned: Vec<String> = all
            .map(|(name, entry)| format!("{name}: {}", entry.set().to_json()))
            .collect();
        format!("{} {owned:?}", self.live.value().to_json())
    }
}

/// The members of unions, and what is below them, that a manager owns; each with the struct that it is in.
fn members(set: &Set) -> Vec<(Path, Path)> {
    let is_member = |name: &str| name.len() == 2 && name.ends_with(['A', 'B', 'C']);
    let split = |path: Path| {
        let at = path
            .iter()
            .position(|element| element.as_field().is_some_and(|name| is_member(name)))?;
        Some((path.iter().take(at).cloned().collect(), path))
    };
    set.paths().filter_map(split).collect()
}

/// An update of the live object merged with other fields: once with an object that shares unchanged parts, and once with
/// an object that was parsed again.
fn updates(world: &World, over: &Value) -> (Result<Outcome, Error>, Result<Outcome, Error>) {
    let mut new = world.live.value().as_map().cloned().unwrap_or_default();
    for (name, value) in over.as_map().into_iter().flatten() {
        new.insert(name.as_str(), value.clone());
    }
    let new = Value::Map(new);
    let read = |value: &Value| Value::from_json(value.to_json().as_str()).unwrap();
    let update = |live: &TypedValue, new: &Value| {
        let v1 = ApiVersion::from("v1");
        let updated = world.updater.update(
            UpdateRequest::new(live, &world.typed(new))
                .version(&v1)
                .owners(&world.owners)
                .manager("dave"),
        );
        updated.map(|updated| (updated.object.into_value(), updated.owners))
    };
    (
        update(&world.live, &new),
        update(&world.typed(&read(world.live.value())), &read(&new)),
    )
}

/// An apply that empties the discriminator of a deducing union leaves an object whose unions are not
/// normalized. The next update must normalize them.
#[test]
fn an_emptied_discriminator_follows_in_the_next_update() {
    let mut world = World::new(&WITH, true);
    let read = |yaml| Value::from_yaml(yaml).unwrap();
    world
        .step(&(Verb::Patch, "ops", read("{items: [{name: one, dA: 1}]}")))
        .unwrap();
    world
        .step(&(
            Verb::Force,
            "alice",
            read("{items: [{name: one, dType: ''}]}"),
        ))
        .unwrap();
    let (shared, anew) = updates(&world, &read("{name: x}"));
    assert_eq!(shared, anew);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    /// If unions are switched off, every step has the result of a schema without unions.
    #[test]
    fn switched_off_unions_have_no_effect(steps in steps()) {
        let (mut off, mut without) = (World::new(&WITH, false), World::new(&WITHOUT, true));
        for step in &steps {
            let (left, right) = (off.step(step), without.step(step));
            prop_assert_eq!(left.map_err(|e| e.to_string()), right.map_err(|e| e.to_string()));
            prop_assert_eq!(off.shown(), without.shown());
        }
    }

    /// No field of a manager is cleared without a conflict or force. After an apply with neither, other managers still own
    /// their members, with the same values.
    #[test]
    fn no_member_is_taken_without_conflict_or_force(steps in steps()) {
        let mut world = World::new(&WITH, true);
        for step in &steps {
            let (live, owners) = (world.live.clone(), world.owners.clone());
            let done = world.step(step);
            if done.is_err() {
                prop_assert_eq!(world.live.value(), live.value());
                continue;
            }
            let (Verb::Apply, who) = (step.0, step.1) else { continue };
            for (name, before) in owners.iter().filter(|(name, _)| *name != who) {
                let after = world.owners.get(name).map(|entry| entry.set().clone()).unwrap_or_default();
                for (parent, path) in members(before.set()) {
                    // Pruning removes an item of a list that no manager owns, with all its fields.
                    if !parent.is_empty() && world.live.get(&parent).is_none() {
                        continue;
                    }
                    prop_assert!(after.has(&path), "{} lost {}: {} -> {}", name, path, live.value(), world.shown());
                    // The value may have gained parts that other managers added. It may also have been null, which is
                    // what pruning leaves of a map without fields.
                    let (was, is) = (live.get(&path), world.live.get(&path));
                    let scalar = was.is_some_and(|was| was.as_map().is_none() && !was.is_null());
                    prop_assert_eq!(was.is_some(), is.is_some(), "{} of {}: {}", path, name, world.shown());
                    if scalar {
                        prop_assert_eq!(was, is, "{} of {}", path, name);
                    }
                }
            }
        }
    }

    /// With force there are no conflicts. Without it, an apply either conflicts or has the same result.
    #[test]
    fn force_only_overrides_conflicts(steps in steps(), last in object()) {
        let mut world = World::new(&WITH, true);
        for step in &steps {
            let _ = world.step(step);
        }
        let v1 = ApiVersion::from("v1");
        let config = world.typed(&last);
        let apply = |force| world.updater.apply(ApplyRequest::new(&world.live, &config).version(&v1).owners(&world.owners).manager("dave").force_if(force));
        match (apply(false), apply(true)) {
            (Ok(unforced), Ok(forced)) => {
                prop_assert_eq!(unforced.owners, forced.owners);
                let value = |object: Option<TypedValue>| object.map(TypedValue::into_value);
                prop_assert_eq!(value(unforced.object), value(forced.object));
            }
            (Err(Error::Conflicts(conflicts)), Ok(_)) => {
                // The manager of every conflict owns the field or a part of it.
                for conflict in &conflicts {
                    let owned = world.owners.get(&conflict.manager).unwrap().set();
                    let has = owned.paths().any(|path| path.starts_with(&conflict.path));
                    prop_assert!(has, "{}", conflict);
                }
            }
            (Err(left), Err(right)) => prop_assert_eq!(left, right),
            (Ok(_), Err(error)) => prop_assert!(false, "forced: {}", error),
            (Err(error), Ok(_)) => prop_assert!(false, "unforced: {}", error),
        }
    }

    /// Applying the same configuration again changes nothing.
    #[test]
    fn applying_again_changes_nothing(steps in steps(), last in object()) {
        let mut world = World::new(&WITH, true);
        for step in &steps {
            let _ = world.step(step);
        }
        if world.step(&(Verb::Force, "dave", last.clone())).is_ok() {
            let once = world.shown();
            world.step(&(Verb::Apply, "dave", last)).unwrap();
            prop_assert_eq!(world.shown(), once);
        }
    }

    /// Skipping the parts that an object shares with the live one makes no difference.
    #[test]
    fn an_update_is_the_same_whether_or_not_it_shares_the_live_object(steps in steps(), last in object()) {
        let mut world = World::new(&WITH, true);
        for step in &steps {
            let _ = world.step(step);
        }
        let (shared, anew) = updates(&world, &last);
        prop_assert_eq!(shared, anew);
    }
}
