#![no_main]

use fieldmanager_invariants::{RulesInput, check_rules_charged, check_rules_compiled};

// `allocation_counter` counts the allocations of a closure. Initialize lazily loaded data first, to exclude it.
libfuzzer_sys::fuzz_target!(
    init: {
        let first = include_str!("../seeds/rules/patterns.yaml");
        RulesInput::compile(first).map(|input| input.validate());
    },
    |bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let mut compiled = None;
        let found = allocation_counter::measure(|| compiled = RulesInput::compile(text));
        if let Err(message) = check_rules_compiled(text.len(), found.bytes_total) {
            panic!("{message}");
        }

        let Some(compiled) = compiled else { return };
        let mut charged = None;
        let found = allocation_counter::measure(|| charged = Some(compiled.validate()));
        let checked = charged.map(|charged| check_rules_charged(text.len(), charged, found.bytes_total));
        if let Some(Err(message)) = checked {
            panic!("{message}");
        }
    }
);
