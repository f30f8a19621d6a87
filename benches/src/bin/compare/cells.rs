//! Selects the cells to measure.

use fieldmanager_benches::objects::OBJECTS;
use fieldmanager_benches::operations::{BYTES, ON_LISTS, ON_MAPS, ON_OBJECTS, ON_SIZES, TABLE};

/// The cells of a run, and the sizes among them.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The sizes of lists, maps and sets in ascending order.
    pub(crate) sizes: Vec<usize>,
    /// All cells that both sides run.
    pub(crate) both: Vec<String>,
    /// The cells without a Go side.
    pub(crate) alone: Vec<String>,
}

impl Plan {
    /// All cells whose name contains a string.
    pub(crate) fn new(quick: bool, only: &str) -> Self {
        let sizes = if quick {
            vec![1_000, 10_000]
        } else {
            vec![1_000, 10_000, 100_000]
        };
        let mut both = Vec::new();
        for (kind, operations) in [
            ("table", &TABLE[..]),
            ("fields", &ON_OBJECTS),
            ("bytes", &BYTES),
        ] {
            for object in OBJECTS {
                both.extend(
                    operations
                        .iter()
                        .map(|operation| format!("{kind}/{object}/{operation}")),
                );
            }
        }
        for object in OBJECTS {
            both.extend(
                TABLE
                    .iter()
                    .map(|operation| format!("table/{object}/{operation}/fresh")),
            );
        }
        for (kind, operations) in [
            ("list", &ON_LISTS[..]),
            ("map", &ON_MAPS),
            ("set", &ON_SIZES),
        ] {
            for operation in operations {
                both.extend(
                    sizes
                        .iter()
                        .map(|size| format!("{kind}/{operation}/{size}")),
                );
            }
        }
        let parse = ["serde_json", "value", "typed", "write"];
        let mut alone: Vec<String> = OBJECTS
            .iter()
            .flat_map(|object| parse.map(|what| format!("parse/{object}/{what}")))
            .collect();
        both.retain(|cell| cell.contains(only));
        alone.retain(|cell| cell.contains(only));
        Plan { sizes, both, alone }
    }
}
