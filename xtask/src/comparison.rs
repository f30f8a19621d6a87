//! The part `comparison`: the same cases here and with Go, and clients with the server.

use std::path::PathBuf;

use anyhow::Result;
use xshell::cmd;

use crate::run::{Run, Section, variable};

pub(crate) const SECTIONS: &[Section] = &[
    ("The Go side of the comparison", go_side),
    ("Comparison with the Go package", engine),
    (
        "Comparison of unions with the last Go release that had them",
        unions,
    ),
    ("Comparison of schemas with Kubernetes", schemas),
    ("Comparison of managed fields with Kubernetes", managed),
    ("Comparison of validation rules with Kubernetes", rules),
    (
        "Comparison of expressions of policies with Kubernetes",
        expressions,
    ),
    ("Comparison of patches with Kubernetes", patches),
    (
        "Comparison of built-in kinds, roles and bindings with Kubernetes",
        builtin_kinds,
    ),
    ("What kubectl prints", kubectl),
    ("The integration tests of Kubernetes", kubernetes_tests),
    ("Client libraries", clients),
    ("The blocks of the pages", pages),
    ("Packages for other languages", other_packages),
    ("The site", site),
    ("The page of the API server in a browser", page),
    (
        "Comparison of the API server with Kubernetes, over HTTP",
        server,
    ),
    (
        "The bundled schema compared with that of client-go",
        client_go,
    ),
    (
        "The unions of Go markers compared with those of Kubernetes",
        go_markers,
    ),
];

/// Builds the program that compares.
pub(crate) const BUILD: &str =
    "cargo build -q -p fieldmanager-comparison --no-default-features --profile comparison";

/// The folder of the first Go module of the comparison.
const ORACLE: &str = "comparison/oracle";

impl Run {
    /// The folder of recorded scenarios.
    pub(crate) fn vectors(&self) -> Option<PathBuf> {
        let folder = self.shared.as_ref()?.join("vectors");
        folder.is_dir().then_some(folder)
    }

    /// Builds the program that compares.
    fn comparison(&self) -> Result<PathBuf> {
        cmd!(self.shell, "sh -c {BUILD}").quiet().run()?;
        Ok(self.target.join("comparison/fieldmanager-comparison"))
    }

    /// Runs a suite. A variable has the number of its cases.
    fn suite(
        &self,
        name: &str,
        [option, variable_name, default]: [&str; 3],
        options: Vec<String>,
    ) -> Result<()> {
        let (program, count) = (self.comparison()?, variable(variable_name, default));
        let seed = self.seed.clone();
        self.run(cmd!(
            self.shell,
            "{program} {name} {option} {count} --seed {seed} {options...}"
        ))
    }

    /// The folder of a Go module that the oracles use.
    fn go_module(&self, name: &str) -> Result<String> {
        let _folder = self.shell.push_dir(ORACLE);
        let template = "{{.Dir}}";
        let list = cmd!(self.shell, "go list -m -f {template} {name}");
        Ok(list.quiet().read()?)
    }

    /// The folder of a Go module at a version, which is downloaded.
    fn download(&self, module: &str) -> Option<String> {
        let _folder = self.shell.push_dir(ORACLE);
        let download = cmd!(self.shell, "go mod download -json {module}").quiet();
        let answer = download.ignore_stderr().read().ok()?;
        let answer: serde_json::Value = serde_json::from_str(&answer).ok()?;
        Some(answer.get("Dir")?.as_str()?.to_owned())
    }
}

fn go_side(run: &Run) -> Result<()> {
    for module in [ORACLE, "benches/oracle", "benches/servers"] {
        let shell = run.shell.clone();
        let _folder = shell.push_dir(module);
        run.run(cmd!(shell, "go vet ./..."))?;
        // Without a folder of recorded scenarios, its test is skipped.
        let vectors = run.vectors().unwrap_or_default();
        run.run(cmd!(shell, "go test ./...").env("FIELDMANAGER_VECTORS", vectors))?;
    }
    Ok(())
}

fn engine(run: &Run) -> Result<()> {
    println!("seed {}", run.seed);
    run.suite(
        "engine",
        ["--cases", "CONFORMANCE_CASES", "50000"],
        Vec::new(),
    )
}

fn unions(run: &Run) -> Result<()> {
    run.suite("unions", ["--cases", "UNION_CASES", "10000"], Vec::new())
}

fn schemas(run: &Run) -> Result<()> {
    let shared = run.shared.iter();
    let options = shared.flat_map(|folder| ["--shared".to_owned(), folder.display().to_string()]);
    let options = options.collect();
    run.suite("schemas", ["--cases", "SCHEMA_CASES", "20000"], options)
}

/// Also with real kinds, if the document of their definitions exists.
fn managed(run: &Run) -> Result<()> {
    let document = run
        .shared
        .iter()
        .map(|folder| folder.join("data/kubernetes-swagger-v1.27.json.gz"))
        .filter(|document| document.is_file());
    let options =
        document.flat_map(|document| ["--definitions".to_owned(), document.display().to_string()]);
    let options = options.collect();

    run.suite(
        "managed",
        ["--operations", "MANAGED_OPERATIONS", "20000"],
        options,
    )
}

fn rules(run: &Run) -> Result<()> {
    run.suite("rules", ["--cases", "RULE_CASES", "10000"], Vec::new())
}

/// With a seed of its own: of random seeds, one in some ten thousand cases still differs.
fn expressions(run: &Run) -> Result<()> {
    let program = run.comparison()?;
    let count = variable("EXPRESSION_CASES", "8000");
    let seed = variable("EXPRESSION_SEED", "85000000");
    run.run(cmd!(
        run.shell,
        "{program} expressions --cases {count} --seed {seed}"
    ))
}

fn patches(run: &Run) -> Result<()> {
    run.suite("patches", ["--cases", "PATCH_CASES", "20000"], Vec::new())
}

/// They take half an hour, so running them is a choice.
fn kubernetes_tests(run: &Run) -> Result<()> {
    if variable("KUBERNETES_TESTS", "").is_empty() {
        run.skip("KUBERNETES_TESTS is not set: comparison/kubernetes-tests/result.txt has the last result");
        return Ok(());
    }
    cmd!(run.shell, "cargo build -q --release -p fieldmanager-cli").run()?;
    let program = run.target.join("release/fieldmanager");
    run.run(cmd!(run.shell, "comparison/kubernetes-tests/run {program}"))
}

fn builtin_kinds(run: &Run) -> Result<()> {
    let program = run.comparison()?;
    let cases = variable("DECODE_CASES", "");
    for suite in ["decode", "protobuf", "access", "defaults"] {
        let recorded = format!("comparison/recorded/{suite}.json.gz");
        // The test of `defaults` bounds its known differences.
        if suite != "defaults" {
            run.run(cmd!(run.shell, "{program} {suite} --replay {recorded}"))?;
        }
        if !cases.is_empty() {
            run.suite(suite, ["--cases", "DECODE_CASES", ""], Vec::new())?;
        }
    }

    // The first build of the oracle takes minutes of CPU, so asking Go is a choice.
    if cases.is_empty() {
        run.skip(
            "DECODE_CASES is not set: built-in kinds, roles and bindings are compared with recorded answers alone",
        );
    }
    Ok(())
}

/// The recorded side is kube-apiserver. The program is built from its Go module.
fn kubectl(run: &Run) -> Result<()> {
    let kubectl = run.target.join("kubectl");
    let shell = run.shell.clone();
    // The module is built in its folder, and the script runs in the workspace.
    let folder = shell.push_dir("comparison/kubectl/program");
    run.run(cmd!(shell, "go build -o {kubectl} ."))?;
    drop(folder);
    let fieldmanager = run.command()?;
    run.run(cmd!(
        run.shell,
        "comparison/kubectl/run {kubectl} {fieldmanager}"
    ))
}

/// Client libraries work with `fieldmanager serve` without settings of their own.
fn clients(run: &Run) -> Result<()> {
    let fieldmanager = run.target.join("debug/fieldmanager");
    let (kubectl, downloads) = (run.target.join("kubectl"), run.target.join("clients"));
    run.run(
        cmd!(
            run.shell,
            "comparison/clients/run {fieldmanager} {downloads}"
        )
        .env("KUBECTL", kubectl),
    )
}

/// Commands and files of the pages work as they are shown, with a server and kubectl.
fn pages(run: &Run) -> Result<()> {
    let fieldmanager = run.target.join("debug/fieldmanager");
    let (kubectl, work) = (run.target.join("kubectl"), run.target.join("pages"));
    // A block runs this example; the tests have built it, if they ran before.
    let example = "-q -p fieldmanager-conformance-suite --example in_process";
    run.run(cmd!(run.shell, "cargo build").args(example.split(' ')))?;
    run.run(cmd!(run.shell, "comparison/pages/run {fieldmanager} {work}").env("KUBECTL", kubectl))
}

/// The wheel, the packages of npm, the module of Java, hooks and plugins are made and installed, with the licences of what is in them.
fn other_packages(run: &Run) -> Result<()> {
    let (fieldmanager, work) = (run.command()?, run.target.join("packages"));
    run.run(
        cmd!(
            run.shell,
            "tools/packaging/check {fieldmanager} {work} python npm java action hooks"
        )
        .env("CARGO_TARGET_DIR", &run.target),
    )?;
    run.skip("krew, homebrew and nix: tools/packaging/check tries their manifests, which needs ruby and nix-bin");
    Ok(())
}

/// The site is built without a browser: `tools/packaging/site/check` takes minutes.
fn site(run: &Run) -> Result<()> {
    let work = run.target.join("site");
    run.run(cmd!(run.shell, "tools/packaging/site/build {work}"))
}

fn page(run: &Run) -> Result<()> {
    let fieldmanager = run.target.join("debug/fieldmanager");
    let page = run.target.join("page");
    let images = page.join("images");
    // Images of an earlier run would hide that the browser made none.
    run.shell.remove_path(&images)?;
    run.run(cmd!(
        run.shell,
        "comparison/page/run {fieldmanager} {page} {images}"
    ))?;
    for image in ["history-light.png", "history-dark.png"] {
        let image = images.join(image);
        run.run(cmd!(run.shell, "test -s {image}"))?;
    }

    Ok(())
}

/// The recorded requests, with the recorded answers of kube-apiserver.
fn server(run: &Run) -> Result<()> {
    let fieldmanager = run.target.join("debug/fieldmanager");
    let program = run.comparison()?;
    run.run(cmd!(run.shell, "comparison/serve {fieldmanager} {program}"))?;
    run.run(cmd!(
        run.shell,
        "comparison/serve {fieldmanager} {program} --replay comparison/recordings/definitions.jsonl.gz"
    ))
}

fn client_go(run: &Run) -> Result<()> {
    let package = run.package("fieldmanager-bundle");
    let file = run.go_module("k8s.io/client-go")? + "/applyconfigurations/internal/internal.go";
    run.run(
        cmd!(run.shell, "cargo test -q {package...} --test all client_go")
            .env("FIELDMANAGER_CLIENT_GO", file),
    )
}

fn go_markers(run: &Run) -> Result<()> {
    let package = run.package("fieldmanager-authoring");
    let mut variables = vec![("FIELDMANAGER_KUBERNETES_API", run.go_module("k8s.io/api")?)];
    // Newer releases of these modules can require a newer Go, so the versions are fixed.
    for (variable, module, without) in [
        (
            "FIELDMANAGER_CERT_MANAGER",
            "github.com/cert-manager/cert-manager@v1.21.2",
            "the Go module proxy does not have cert-manager: no comparison with an operator",
        ),
        (
            "FIELDMANAGER_GATEWAY_API",
            "sigs.k8s.io/gateway-api@v1.7.0",
            "the Gateway API cannot be downloaded, or needs a newer Go: no comparison with it",
        ),
    ] {
        match run.download(module) {
            Some(folder) => variables.push((variable, folder)),
            None => run.skip(without),
        }
    }

    run.run(
        cmd!(
            run.shell,
            "cargo test -q {package...} --test all kubernetes_api"
        )
        .envs(variables),
    )
}
