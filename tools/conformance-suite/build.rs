//! Lists the cases, so that the program contains them.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=cases");
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("cases");
    let mut list = String::from("[\n");
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let path = entry?.into_path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let name: Vec<_> = path
                .strip_prefix(&root)?
                .iter()
                .map(|part| part.to_string_lossy())
                .collect();
            writeln!(
                list,
                "    ({:?}, include_str!({:?})),",
                name.join("/"),
                path.display().to_string()
            )?;
        }
    }

    list.push(']');
    std::fs::write(
        PathBuf::from(std::env::var("OUT_DIR")?).join("cases.rs"),
        list,
    )?;
    Ok(())
}
