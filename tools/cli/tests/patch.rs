//! `patch` and `diff`.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::{Folder, line, prints};
use fieldmanager_testing::definition;

const WEB: &str = "apply --manager shop -f examples/deployment/web.yaml";

/// The properties of `Shop`.
const PROPERTIES: &str = "
spec:
  type: object
  properties:
    open: {type: boolean, default: true}
    goods: {type: array, items: {type: string}}
";

/// A folder with a live Deployment, a patch and a custom resource.
fn folder(patch: &str) -> Folder {
    let shop =
        "{apiVersion: example.com/v1, kind: Shop, metadata: {name: s}, spec: {goods: [a, b]}}";
    Folder::new(&[
        ("live.yaml", &prints(WEB)),
        ("patch.yaml", patch),
        ("crd.yaml", &definition("Shop", "", PROPERTIES)),
        ("shop.yaml", shop),
    ])
}

#[test]
fn built_in_kinds_default_to_strategic_merge_patches() {
    let folder = folder(
        "spec: {template: {spec: {containers: [{name: nginx, image: 'nginx:2'}, {name: log, image: 'log:1'}]}}}",
    );
    let text = prints(&folder.line("patch --manager ops --live @/live.yaml -f @/patch.yaml"));
    let containers = "      containers:
      - image: nginx:2
        imagePullPolicy: IfNotPresent
        name: nginx
        ports:
        - containerPort: 80
          protocol: TCP
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      - image: log:1
        imagePullPolicy: IfNotPresent
        name: log
        resources: {}
";
    assert!(text.contains(containers), "{text}");
    let entry = "              k:{\"name\":\"log\"}:
                .: {}
                f:image: {}
                f:imagePullPolicy: {}
                f:name: {}
                f:resources: {}
                f:terminationMessagePath: {}
                f:terminationMessagePolicy: {}
              k:{\"name\":\"nginx\"}:
                f:image: {}
    manager: ops
    operation: Update
";
    assert!(text.contains(entry), "{text}");
    assert_eq!(
        prints(
            &folder.line("patch --type strategic --manager ops --live @/live.yaml -f @/patch.yaml")
        ),
        text
    );
    // The same document as a merge patch replaces the list.
    let merged =
        prints(&folder.line("patch --type merge --manager ops --live @/live.yaml -f @/patch.yaml"));
    assert!(!merged.contains("containerPort: 80"), "{merged}");
    let named = prints(
        &folder.line("patch --live @/live.yaml -f @/patch.yaml --time 2026-01-31T12:00:00Z"),
    );
    assert!(named.contains(
        "    manager: unknown\n    operation: Update\n    time: \"2026-01-31T12:00:00Z\"\n"
    ));
}

#[test]
fn dry_run_shows_fields_and_owners() {
    let folder = folder("spec: {replicas: 4}");
    let line = "patch --manager ops --live @/live.yaml -f @/patch.yaml";
    assert_eq!(
        prints(&folder.line(&format!("{line} --dry-run"))),
        "\
fields
  ~ .metadata.generation: 1 -> 2
  ~ .spec.replicas: 3 -> 4

owners
  ops (Update apps/v1)
    + .spec.replicas
  shop (Apply)
    - .spec.replicas
"
    );
    let printed = prints(&folder.line(&format!("{line} --dry-run=server -o yaml")));
    assert_eq!(printed, prints(&folder.line(line)));
    let nothing = folder
        .line(&format!("{line} --dry-run"))
        .replace("patch.yaml", "live.yaml");
    assert_eq!(prints(&nothing), "nothing would change\n");
}

#[test]
fn json_patch_applies_its_operations() {
    let folder = folder("[{op: replace, path: /spec/replicas, value: 5}]");
    let text =
        prints(&folder.line("patch --type json --manager ops --live @/live.yaml -f @/patch.yaml"));
    assert!(text.contains("\n  replicas: 5\n"), "{text}");
    let run = line(&folder.line("patch --type json --live @/patch.yaml -f @/patch.yaml"));
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert_eq!(
        folder.shortened(&run.err),
        "error: @/patch.yaml: expected an object, got list\n"
    );
}

#[test]
fn refusals_name_the_fault_and_its_path() {
    let cases = [
        (
            "merge",
            "[1]",
            2,
            "@/patch.yaml: error decoding patch: json: cannot unmarshal array into Go value of type",
            400,
        ),
        (
            "json",
            "[{op: remove, path: /spec/none}]",
            1,
            "the server rejected our request due to an error in our request",
            422,
        ),
        (
            "strategic",
            "{spec: {strategy: {$retainKeys: [type], extra: 1}}}",
            2,
            "@/patch.yaml: invalid patch format of retainKeys",
            400,
        ),
        (
            "merge",
            "{spec: {replicas: many}}",
            1,
            "\"\" is invalid: patch: Invalid value: ",
            422,
        ),
        (
            "merge",
            "{kind: Pod}",
            1,
            "\"\" is invalid: patch: Invalid value: ",
            422,
        ),
        (
            "merge",
            "{spec: {replicas: -1}}",
            1,
            "Deployment.apps \"web\" is invalid: spec.replicas: ",
            422,
        ),
    ];
    for (kind, patch, code, message, status) in cases {
        let folder = folder(patch);
        let patch_line = folder.line(&format!(
            "patch --type {kind} --live @/live.yaml -f @/patch.yaml"
        ));
        let run = line(&patch_line);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{patch}");
        let said = folder.shortened(&run.err);
        assert!(
            said.starts_with(&format!("error: {message}")),
            "{patch}: {said}"
        );
        let run = line(&format!("{patch_line} -o json"));
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{patch}");
        assert!(
            run.err.contains(&format!("\"code\": {status}")),
            "{patch}: {}",
            run.err
        );
    }
}

#[test]
fn patch_for_another_state_is_a_conflict() {
    let live = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, resourceVersion: '7'}}";
    let folder = Folder::new(&[
        ("live.yaml", live),
        ("patch.yaml", "{metadata: {resourceVersion: '6'}}"),
    ]);
    let run = line(&folder.line("patch --live @/live.yaml -f @/patch.yaml"));
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    let expected =
        "error: Operation cannot be fulfilled on configmaps \"x\": the object has been modified; ";
    assert!(run.err.starts_with(expected), "{}", run.err);
    let run = line(&folder.line("patch --live @/live.yaml -f @/patch.yaml -o json"));
    assert_eq!(run.code, 1);
    assert!(run.err.contains("\"code\": 409"), "{}", run.err);
}

#[test]
fn custom_resources_default_to_merge_patches() {
    let folder = folder("{spec: {goods: [c]}}");
    let arguments = "patch --schema @/crd.yaml --manager ops --live @/shop.yaml -f @/patch.yaml";
    let text = prints(&folder.line(arguments));
    assert!(
        text.ends_with("spec:\n  goods:\n  - c\n  open: true\n"),
        "{text}"
    );
    let run = line(&folder.line(&format!("{arguments} --type strategic")));
    assert_eq!(run.code, 2);
    assert_eq!(
        folder.shortened(&run.err),
        "error: @/shop.yaml: @/crd.yaml has no strategies for patches of example.com/v1 Shop: expected --type merge \
         or --type json\n"
    );
    let run = line(&folder.line(&format!("{arguments} --type strategic -o json")));
    assert!(run.err.contains("\"code\": 415"), "{}", run.err);
}

#[test]
fn openapi_document_provides_strategies() {
    let document = "
definitions:
  shop:
    type: object
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {type: object, additionalProperties: {type: string}}
      tags:
        type: array
        items: {type: string}
        x-kubernetes-list-type: set
        x-kubernetes-patch-strategy: merge
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Shop}]
";
    let shop = |tags: &str| format!("{{apiVersion: example.com/v1, kind: Shop, tags: [{tags}]}}");
    let folder = Folder::new(&[
        ("openapi.yaml", document),
        ("old.yaml", &shop("a, b")),
        ("new.yaml", &shop("b, c")),
        ("patch.yaml", "{$deleteFromPrimitiveList/tags: [a]}"),
    ]);
    let text = prints(&folder.line("diff --schema @/openapi.yaml @/old.yaml @/new.yaml -o json"));
    assert!(
        text.contains("\"$deleteFromPrimitiveList/tags\": [\n    \"a\"\n  ]"),
        "{text}"
    );
    let text =
        prints(&folder.line("patch --schema @/openapi.yaml --live @/old.yaml -f @/patch.yaml"));
    assert!(text.contains("tags:\n- b\n"), "{text}");
}

#[test]
fn diff_patches_one_object_into_the_other() {
    let old = prints(WEB);
    let new = old
        .replace("replicas: 3", "replicas: 4")
        .replace("nginx:1.29", "nginx:2")
        .replace("manager: shop", "manager: house");
    let folder = Folder::new(&[("old.yaml", &old), ("new.yaml", &new)]);
    let strategic = prints(&folder.line("diff @/old.yaml @/new.yaml"));
    assert_eq!(
        strategic,
        "\
spec:
  replicas: 4
  template:
    spec:
      $setElementOrder/containers:
      - name: nginx
      containers:
      - image: nginx:2
        name: nginx
"
    );
    for kind in ["json", "merge", "strategic"] {
        let patch = prints(&folder.line(&format!("diff --type {kind} @/old.yaml @/new.yaml")));
        std::fs::write(folder.path().join("patch.yaml"), patch).unwrap();
        let arguments =
            format!("patch --type {kind} --manager shop --live @/old.yaml -f @/patch.yaml -o json");
        // The server counts the changes of the spec.
        let patched =
            prints(&folder.line(&arguments)).replace("\"generation\": 2", "\"generation\": 1");
        std::fs::write(folder.path().join("patched.json"), patched).unwrap();
        assert_eq!(
            prints(&folder.line("diff --type json @/new.yaml @/patched.json")),
            "[]\n"
        );
    }
}

#[test]
fn diff_of_unknown_kinds_is_a_merge_patch() {
    let folder = Folder::new(&[
        (
            "old.yaml",
            "{apiVersion: example.com/v1, kind: Shop, spec: {a: 1, goods: [{name: a}]}}",
        ),
        (
            "new.yaml",
            "{apiVersion: example.com/v1, kind: Shop, spec: {goods: [{name: b}]}}",
        ),
        ("other.yaml", "{apiVersion: example.com/v2, kind: Shop}"),
    ]);
    assert_eq!(
        prints(&folder.line("diff @/old.yaml @/new.yaml")),
        "spec:\n  a: null\n  goods:\n  - name: b\n"
    );
    let run = line(&folder.line("diff --type strategic @/old.yaml @/new.yaml"));
    assert_eq!(run.code, 2);
    assert!(
        run.err
            .contains("has no strategies for patches of example.com/v1 Shop"),
        "{}",
        run.err
    );
    let run = line(&folder.line("diff @/old.yaml @/other.yaml"));
    assert_eq!(
        (run.code, folder.shortened(&run.err)),
        (
            2,
            "error: @/other.yaml: apiVersion is \"example.com/v2\", expected \"example.com/v1\" as in @/old.yaml\n"
                .to_owned()
        )
    );
}
