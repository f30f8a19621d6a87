//! Random scenarios: a schema, objects that mostly fit it, and steps.
//!
//! A seed and a profile always give the same scenario. Alphabets are small, so that managers set the same fields. Most
//! objects are created by changing an earlier one, so that most of an object stays equal.

pub(crate) mod fields;
pub(crate) mod go_types;
pub(crate) mod objects;
pub(crate) mod random;
pub(crate) mod schema;
mod steps;
pub(crate) mod template;
pub(crate) mod types;
mod versions;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use self::objects::Objects;
use self::random::Random;
use self::steps::Steps;
use self::types::Types;
use self::versions::Versions;

/// The size of the objects in generated scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Small objects of random types, which reach the corner cases.
    Small,
    /// Lists of 20 to 200 items and maps of 40 to 150 keys, for which the library uses another representation.
    Large,
    /// Mostly small ones, some large.
    #[default]
    All,
}

/// The scenario of a seed, in the format of scenario files, without expectations.
pub fn scenario(seed: u64, profile: Profile) -> Value {
    let mut rng = Random::new(seed);
    let large = match profile {
        Profile::Small => false,
        Profile::Large => true,
        Profile::All => rng.chance(6),
    };
    let types = if large && rng.chance(60) {
        schema::workload(&mut rng)
    } else {
        schema::random(&mut rng)
    };
    // The options have sets and patterns at all versions, so they are made after these.
    let versions = Versions::random(&mut rng, &types);

    let options = options(&mut rng, &types, &versions, large);

    let mut out = Map::new();
    out.insert("name".to_owned(), json!(format!("seed {seed}")));
    out.insert("schema".to_owned(), versions.schema(&types));
    out.insert("types".to_owned(), versions.types(&types));
    out.insert("options".to_owned(), options);
    if let Some(conversion) = &versions.conversion {
        out.insert("conversion".to_owned(), conversion.clone());
    }
    let steps = Steps::new(&mut rng, types, &versions, large).write();
    out.insert("steps".to_owned(), Value::Array(steps));

    Value::Object(out)
}

fn options(rng: &mut Random, types: &Types, versions: &Versions, large: bool) -> Value {
    // The reference implementation has no unions.
    let mut out = Map::new();
    out.insert("unions".to_owned(), json!(false));
    if rng.chance(15) {
        out.insert("returnInputOnNoop".to_owned(), json!(true));
    }

    // Sets and patterns are those of an object, since random ones would match nothing.
    let sample = Objects::new(rng, types, large).object();
    match rng.below(100) {
        0..=8 => {
            let set = fields::random(rng, types, &sample);
            let mut by_version = Map::new();
            for version in &versions.all {
                // The reference implementation needs an entry for each version.
                if !rng.chance(2) {
                    by_version.insert(version.name.clone(), fields::renamed(&set, &version.names));
                }
            }
            out.insert("ignoredFields".to_owned(), Value::Object(by_version));
        }
        9..=15 => {
            let mut by_version = Map::new();
            for version in &versions.all {
                if !rng.chance(15) {
                    by_version.insert(
                        version.name.clone(),
                        json!(fields::patterns(rng, types, &sample, &version.names)),
                    );
                }
            }
            out.insert("onlyFields".to_owned(), Value::Object(by_version));
        }
        _ => {}
    }

    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_scenario() {
        for seed in 0..50 {
            assert_eq!(scenario(seed, Profile::All), scenario(seed, Profile::All));
            assert_ne!(
                scenario(seed, Profile::Small),
                scenario(seed + 1, Profile::Small)
            );
        }
    }

    #[test]
    fn large_objects_are_large_and_bounded() {
        let mut long_lists = 0;
        for seed in 0..40 {
            let text = scenario(seed, Profile::Large).to_string();
            assert!(
                text.len() < 4_000_000,
                "seed {seed} has {} bytes",
                text.len()
            );
            long_lists += usize::from(text.len() > 20_000);
        }
        assert!(long_lists > 20, "{long_lists} of 40");
    }
}
