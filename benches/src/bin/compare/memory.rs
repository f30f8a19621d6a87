//! The size of objects and sets on the heap.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;

use serde_json::Value;

use crate::error::Error;
use crate::go::Go;

/// Asks both sides. The Rust side is a separate program, since counting takes time.
pub(crate) fn memory(go: &mut Go) -> Result<BTreeMap<String, (f64, Option<f64>)>, Error> {
    let failed = |message: String| Error::Program {
        program: "memory".to_owned(),
        message,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "fieldmanager-benches",
            "--bin",
            "memory",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .map_err(|source| failed(source.to_string()))?;
    let counted: Value = serde_json::from_slice(&output.stdout).map_err(|source| {
        failed(format!(
            "{source}: {}",
            String::from_utf8_lossy(&output.stderr)
        ))
    })?;
    let theirs = go.memory()?;
    let mut out = BTreeMap::new();
    for (name, value) in counted.as_object().into_iter().flatten() {
        let go = theirs.get(name).and_then(Value::as_f64);
        out.insert(name.clone(), (value.as_f64().unwrap_or_default(), go));
    }
    Ok(out)
}
