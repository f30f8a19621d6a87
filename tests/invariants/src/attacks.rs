//! Hostile input of any size for [`run_cost`](crate::run_cost).

/// An attack: a name, a function that returns the input for a size, and the size at which the growth of the cost is
/// measured. The length of the input is proportional to the size, except for attacks that increase the nesting depth.
/// If a limit bounds nonlinear work, the size exceeds that limit; below it, the constants of
/// [`check_cost`](crate::check_cost) bound the work.
pub type Attack = (&'static str, fn(usize) -> String, usize);

/// All attacks.
pub const ATTACKS: &[Attack] = &[
    ("unknown fields", unknown_fields, 256),
    ("one long unknown field", long_unknown_field, 512),
    ("descending keys", descending_keys, 1024),
    ("similar names of one struct", similar_names, 256),
    ("nested defaults", nested_defaults, 1 << 20),
    ("aliases of one long string", aliases, 12_288),
    ("list items with one merge key", merge_key, 2_048),
    ("JSON patch at the start of a list", json_patch, 1024),
    ("managers at many versions", versions, 256),
    ("conflicts with many managers", conflicts, 4_096),
    ("conflicts below one long name", long_conflicts, 16_384),
];

const LIVE: &str = "{apiVersion: example.com/v1, kind: Shop, metadata: {name: x}}";

/// A custom resource definition with a schema for `spec`, in flow style.
fn definition(spec: &str) -> String {
    format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: shops.example.com}}, \
         spec: {{group: example.com, scope: Namespaced, names: {{kind: Shop, plural: shops, singular: shop, listKind: \
         ShopList}}, versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, \
         properties: {{spec: {spec}}}}}}}}}]}}}}\n"
    )
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

fn shop(spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: Shop\nmetadata: {{name: x}}\nspec:\n{spec}")
}

/// Undeclared fields, each of which is compared with the declared ones.
pub fn unknown_fields(n: usize) -> String {
    let properties = lines(n, |i| format!("known{i:06}: {{type: string}}, "));
    let types = definition(&format!("{{type: object, properties: {{{properties}}}}}"));
    let object = shop(&lines(n, |i| format!("  knwon{i:06}: a\n")));
    format!("{types}---\n{LIVE}\n---\n{object}")
}

/// An undeclared field with a long name, which is compared with a long declared name.
pub fn long_unknown_field(n: usize) -> String {
    let (known, unknown) = ("a".repeat(n), "ab".repeat(n / 2));
    let types = definition(&format!(
        "{{type: object, properties: {{\n? {known}\n: {{type: string}}}}}}"
    ));
    format!(
        "{types}---\n{LIVE}\n---\n{}",
        shop(&format!("  ? {unknown}\n  : a\n"))
    )
}

/// Keys in descending order.
pub fn descending_keys(n: usize) -> String {
    format!(
        "{{}}\n---\n{LIVE}\n---\n{}",
        shop(&lines(n, |i| format!("  k{:06}: 1\n", n - i)))
    )
}

/// Properties of the same length with the same first, middle and last characters.
pub fn similar_names(n: usize) -> String {
    let name = |i: usize| format!("aa{:03}aaaa{:03}aa", i / 1_000, i % 1_000);
    let properties = lines(n, |i| format!("{}: {{type: string}}, ", name(i)));
    let types = definition(&format!("{{type: object, properties: {{{properties}}}}}"));
    let object = shop(&lines(n, |i| format!("  {}: a\n", name(i))));
    format!("{types}---\n{object}\n---\n{object}")
}

/// Nested arrays with defaults of ten items each. The depth grows with the logarithm of the size.
pub fn nested_defaults(n: usize) -> String {
    let mut spec = "{type: object, properties: {a: {type: string, default: x}}}".to_owned();
    for _ in 0..n.ilog2().saturating_sub(3) / 2 {
        let items = "{}, ".repeat(10);
        spec = format!(
            "{{type: object, properties: {{a: {{type: array, items: {spec}, default: [{items}]}}}}}}"
        );
    }
    let object = shop("  {}\n");
    format!("{}---\n{object}\n---\n{object}", definition(&spec))
}

/// One long string, and aliases of it.
pub fn aliases(n: usize) -> String {
    let items = lines(n / 8, |_| "  - *a\n".to_owned());
    format!(
        "{{}}\n---\n{LIVE}\n---\n{}",
        shop(&format!("  a: &a {}\n  b:\n{items}", "x".repeat(n)))
    )
}

/// A strategic merge patch with many items that have the same merge key, each of which adds an item to a nested list.
pub fn merge_key(n: usize) -> String {
    let items = lines(n, |i| {
        format!("    - {{name: a, env: [{{name: e{i}, value: x}}]}}\n")
    });
    format!(
        "{{}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: x}}, spec: {{containers: [{{name: a}}]}}}}\n---\n\
         {{apiVersion: v1, kind: Pod, metadata: {{name: x}}}}\n---\nspec:\n    containers:\n{items}"
    )
}

/// Insertions at the start of a list.
pub fn json_patch(n: usize) -> String {
    let items = lines(n, |i| format!("  - {i}\n"));
    let operations = lines(n, |_| "- {op: add, path: /spec/0, value: 1}\n".to_owned());
    format!("{{}}\n---\n{}---\n{LIVE}\n---\n{operations}", shop(&items))
}

fn entry(manager: usize, version: usize, fields: &str) -> String {
    format!(
        "  - {{manager: m{manager}, operation: Apply, apiVersion: example.com/v{version}, fieldsType: FieldsV1, \
         fieldsV1: {{'f:spec': {{{fields}}}}}}}\n"
    )
}

fn managed(entries: &str, spec: &str) -> String {
    format!(
        "apiVersion: example.com/v1\nkind: Shop\nmetadata:\n  name: x\n  managedFields:\n{entries}spec:\n{spec}"
    )
}

/// Managers with a different version each.
pub fn versions(n: usize) -> String {
    let live = managed(
        &lines(n, |i| entry(i, i + 1, &format!("'f:k{i}': {{}}"))),
        &lines(n, |i| format!("  k{i}: 1\n")),
    );
    format!("{{}}\n---\n{live}---\n{}", shop("  k0: 2\n"))
}

/// Managers that own the same fields, all of which change. The input grows with the product of both numbers.
pub fn conflicts(n: usize) -> String {
    let side = n.isqrt();
    let fields = lines(side, |i| format!("'f:k{i}': {{}}, "));
    let live = managed(
        &lines(side, |i| entry(i, 1, &fields)),
        &lines(side, |i| format!("  k{i}: 1\n")),
    );
    format!(
        "{{}}\n---\n{live}---\n{}",
        shop(&lines(side, |i| format!("  k{i}: 2\n")))
    )
}

/// Conflicting fields below a field with a long name, which the path of each conflict repeats.
pub fn long_conflicts(n: usize) -> String {
    let (name, fields) = ("a".repeat(n), n / 16);
    let map = |value: usize| {
        format!(
            "  ? {name}\n  : {{{}}}\n",
            lines(fields, |i| format!("k{i}: {value}, "))
        )
    };
    let owned = lines(fields, |i| format!("'f:k{i}': {{}}, "));
    let entry = entry(0, 1, &format!("? 'f:{name}'\n: {{{owned}}}"));
    format!(
        "{{}}\n---\n{}---\n{}",
        managed(&entry, &map(1)),
        shop(&map(2))
    )
}
