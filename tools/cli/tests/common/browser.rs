//! Opens pages in a browser.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that cannot open the page must fail"
)]

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::Folder;

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// Defines `say`, which the hook observes with, and `hacked`, which only a fault of the page calls.
const BEGIN: &str = "{
const out = [];
const say = (name, value) => out.push(`${name}=${value}`);
window.hacked = () => document.documentElement.dataset.hacked = 'yes';
";

/// Writes what the hook observed into the document.
const END: &str = "
const result = document.createElement('pre');
result.id = 'result';
result.textContent = out.join('\\n');
document.body.append(result);
}";

/// Adds the hook to the page and to its policy.
fn hooked(page: &str, hook: &str) -> String {
    let hook = [BEGIN, hook, END].concat();
    let hash = STANDARD.encode(Sha256::digest(&hook));
    let page = page.replacen(
        "script-src 'sha256-",
        &format!("script-src 'sha256-{hash}' 'sha256-"),
        1,
    );
    page.replacen("</body>", &format!("<script>{hook}</script></body>"), 1)
}

/// What the hook, a script, said in the page, as `NAME=VALUE`; `None` without a browser.
pub(crate) fn in_browser(page: &str, hook: &str) -> Option<Vec<String>> {
    let Some(program) = chromium() else {
        // Bypasses the test runner, which captures the output of passing tests.
        eprintln!("skipped: there is no chromium to open the page with");
        return None;
    };
    let folder = Folder::new(&[("page.html", &hooked(page, hook))]);
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(program)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!(
            "file://{}",
            folder.path().join("page.html").display()
        ))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    let result = dom
        .split("<pre id=\"result\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next());
    let result = result.unwrap_or_else(|| {
        panic!(
            "the hook did not run: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    Some(result.lines().map(str::to_owned).collect())
}
