//! Writes expressions of each type by templates.

use crate::generate::random::Random;
use crate::rules::expressions::Expressions;

/// The type of an expression, as far as templates distinguish it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Kind {
    Bool,
    Int,
    Double,
    Text,
    Texts,
    Ints,
    #[default]
    Any,
}

/// Writes expressions of a policy.
pub(super) struct Writer<'r> {
    pub(super) random: &'r mut Random,
    has_params: bool,
    has_access: bool,
    /// The variables that can be used, with their types.
    pub(super) variables: Vec<(&'static str, Kind)>,
}

/// In a template, `$o` is an object and `$s` its spec, `$f` is the name of a field, and `$b`, `$i`, `$d`, `$t`, `$l`, `$n` and
/// `$a` are expressions: a bool, an integer, a double, a text, a list of texts, one of integers, and any.
const BOOLS: &[&str] = &[
    "$o == null",
    "oldObject == null || object == oldObject",
    "has($o.metadata.labels)",
    "has($s.$f)",
    "has($o.$f)",
    "$b && $b",
    "$b || $b",
    "!$b",
    "dyn($a) == dyn($a)",
    "$a == null",
    "dyn($a) != dyn($a)",
    "dyn($a) < dyn($a)",
    "dyn($a) >= $i",
    "dyn($a) in [dyn($a), dyn($a)]",
    "dyn($a) in dyn($a)",
    "type($a) == type($a)",
    "type($a) == map",
    "request.dryRun",
    "has(request.subResource)",
    "has(request.requestSubResource)",
    "has(request.userInfo.extra)",
    "has(request.userInfo.extra.key)",
    "has(request.userInfo.uid)",
    "has(request.namespace)",
    "has(request.options)",
    "has(request.name)",
    "request.kind == request.requestKind",
    "request.operation in ['CREATE', $t]",
    "request.userInfo.groups.exists(g, g == $t)",
    "request.userInfo.groups.all(g, g.startsWith('system:'))",
    "request.userInfo.extra.all(k, request.userInfo.extra[k].size() > 0)",
    "request.userInfo.extra == {}",
    "request.userInfo.extra.exists(k, v, v.exists(w, w == $t))",
    "request == null",
    "request.options != null",
    "request.dryRun == $b",
    "request.resource.resource == 'shops' && $b",
    "request.name == object.metadata.name",
    "namespaceObject == null",
    "has(namespaceObject.metadata.labels)",
    "namespaceObject.metadata.labels.environment == 'test'",
    "'environment' in namespaceObject.metadata.labels",
    "namespaceObject.metadata.labels.all(k, v, k != v)",
    "has(namespaceObject.metadata.annotations.owner)",
    "namespaceObject.metadata.?labels['environment'].orValue('prod') == 'prod'",
    "namespaceObject.status.conditions.exists(c, c.type == 'Ready')",
    "namespaceObject.metadata.generation > 1",
    "namespaceObject.metadata.creationTimestamp < timestamp('2025-01-01T00:00:00Z')",
    "has(namespaceObject.metadata.deletionTimestamp)",
    "has(namespaceObject.status.conditions[0].reason)",
    "namespaceObject.spec.finalizers == ['kubernetes']",
    "$o.metadata.labels.all(k, k.size() < $i)",
    "'x' in $o.metadata.labels",
    "$o.metadata.labels == {'x': 'y'}",
    "$o.?metadata.labels.hasValue()",
    "$o.metadata.?annotations.orValue({}).size() == 0",
    "[$a].exists(e, e == dyn($a))",
    "[dyn($a), dyn($b)].all(e, e)",
    "{'k': $a}.exists(k, k == $t)",
    "$l.exists(e, e == $t)",
    "$n.exists_one(e, e > $i)",
    "$l.all(i, e, i < 3 && e != $t)",
    "variables.x == $a",
    "has(variables.x)",
    "variables.x == variables.x",
    "variables.?x.hasValue()",
    "dyn(variables) == dyn(variables)",
    "($b ? $a : dyn($a)) == 1",
    "isIP($t)",
    "isCIDR($t)",
    "isURL($t)",
    "isQuantity($t)",
    "isSemver($t)",
    "quantity('1') == quantity($t)",
    "ip('10.0.0.1').isLoopback()",
    "optional.of($a).hasValue()",
    "$t.matches($t)",
    "sets.contains([$a], [$a])",
    "sets.equivalent($n, $n)",
    "format.dns1123Label().validate($t).hasValue()",
    "timestamp('2024-02-29T12:30:45Z') > timestamp($t)",
    "duration('1h') < duration($t)",
    "b'abc' < bytes($t)",
    "1u < uint($i)",
    "$d < double($i)",
    "true == (dyn($a) == $i)",
    "false || dyn($a)",
    "true && dyn($a)",
    "dyn($a) ? true : false",
    "!dyn($a)",
];
const INTS: &[&str] = &[
    "size($t)",
    "size($l)",
    "$n[0]",
    "$n[$i]",
    "$i + $i",
    "$i * $i",
    "-$i",
    "$i % $i",
    "int($t)",
    "int($d)",
    "request.userInfo.groups.size()",
    "namespaceObject.metadata.generation",
    "$o.metadata.labels.size()",
    "size($o.metadata.name)",
    "$s.$f.size()",
    "size(request.userInfo.extra)",
    "$s.$f + $i",
    "object.spec.number - oldObject.spec.number",
    "($b ? $i : $i)",
    "$n.sum()",
    "$l.indexOf($t)",
    "$t.indexOf($t)",
    "quantity('2').asInteger()",
    "quantity('1500m').compareTo(quantity($t))",
    "semver('1.2.3').minor()",
    "cidr('10.0.0.0/8').prefixLength()",
    "ip('::1').family()",
    "timestamp('2024-02-29T12:30:45Z').getFullYear()",
    "timestamp('2024-02-29T12:30:45Z').getHours($t)",
    "duration('90m').getMinutes()",
    "variables.x",
    "dyn($a) + 1",
    "size(dyn($a))",
    "dyn($a).size()",
    "variables.x.size()",
    "int(timestamp('2024-02-29T12:30:45Z'))",
    "namespaceObject.metadata.deletionGracePeriodSeconds",
    "params.spec.number",
    "object.spec.?number.orValue($i)",
    "int(1u)",
];
const TEXTS: &[&str] = &[
    "request.name",
    "request.namespace",
    "request.operation",
    "request.userInfo.username",
    "request.userInfo.uid",
    "request.kind.kind",
    "request.kind.group",
    "request.resource.resource",
    "request.requestKind.version",
    "request.requestResource.group",
    "request.?subResource.orValue('none')",
    "request.subResource",
    "request.userInfo.groups[0]",
    "request.userInfo.extra['key'][0]",
    "request.userInfo.extra.key[1]",
    "request.options.kind",
    "request.options.?fieldManager.orValue($t)",
    "namespaceObject.metadata.name",
    "namespaceObject.metadata.labels['environment']",
    "namespaceObject.metadata.annotations.owner",
    "namespaceObject.status.phase",
    "namespaceObject.metadata.UID",
    "namespaceObject.metadata.resourceVersion",
    "namespaceObject.status.conditions[0].reason",
    "namespaceObject.spec.finalizers[$i]",
    "namespaceObject.metadata.labels.`a-b`",
    "$o.metadata.name",
    "$o.metadata.labels.x",
    "$o.metadata.labels[$t]",
    "$o.kind",
    "$o.apiVersion",
    "$s.$f",
    "params.data.name",
    "params.metadata.name",
    "params.?data.name.orValue($t)",
    "variables.x",
    "string($i)",
    "string($d)",
    "string($b)",
    "string(b'abc')",
    "string(duration('90s'))",
    "string(timestamp('2024-02-29T12:30:45Z'))",
    "string(ip('::1'))",
    "string(1u)",
    "string(dyn($a))",
    "'%s'.format([$a])",
    "'%d %s'.format([$i, $l])",
    "'%s'.format([{'a': $a}])",
    "'%s'.format([dyn([$a])])",
    "'%s'.format([type($a)])",
    "'%s'.format([null])",
    "'%.2f'.format([$d])",
    "'%x'.format([$t])",
    "'%b'.format([$i])",
    "'%s|%s'.format([$t])",
    "'%e'.format([$d])",
    "'%d'.format([dyn($a)])",
    "'%X'.format([b'abc'])",
    "'%o'.format([dyn($a)])",
    "$t + $t",
    "$l.join($t)",
    "$t.substring(1)",
    "$t.charAt($i)",
    "$t.upperAscii()",
    "$t.replace($t, $t)",
    "$t.trim()",
    "$l[$i]",
    "strings.quote($t)",
    "$t.reverse()",
    "($b ? $t : $t)",
    "url('https://a.b/c?d=e').getHost()",
    "ip.isCanonical($t) ? 'a' : 'b'",
    "dyn($a) + 'a'",
    "format.named('uuid').value().validate($t).value()[0]",
    "['b', $t].max()",
    "$t.find($t)",
];
const LISTS: &[&str] = &[
    "request.userInfo.groups",
    "request.userInfo.extra.key",
    "namespaceObject.spec.finalizers",
    "namespaceObject.metadata.finalizers",
    "$o.metadata.labels.map(k, k)",
    "$s.words",
    "[$t, $t]",
    "$l + $l",
    "$l.filter(e, e != $t)",
    "$l.map(e, e + $t)",
    "$n.map(e, $t)",
    "$t.split($t)",
    "variables.x",
    "$l.sort()",
    "$l.reverse()",
    "$l.distinct()",
    "$l.slice(0, $i)",
    "request.userInfo.extra.map(k, k)",
    "$t.findAll('[a-z]')",
    "format.dns1123Label().validate($t).orValue([])",
    "[[$t], $l].flatten()",
    "[$s.?maybe, optional.of($t)].unwrapOpt()",
    "params.spec.words",
    "$l.transformList(i, e, e)",
    "object.metadata.?finalizers.orValue($l)",
    "url('https://a.b/c?d=e&d').getQuery()['d']",
    "dyn($l)",
    "namespaceObject.metadata.labels.map(k, namespaceObject.metadata.labels[k])",
];
const ANY: &[&str] = &[
    "$o",
    "$s",
    "$o.metadata",
    "$o.metadata.labels",
    "$o.?metadata.labels",
    "$o.metadata.?annotations",
    "$s.$f",
    "$s.?$f",
    "$s[?'$f']",
    "$o.?spec.?$f",
    "$s['$f']",
    "$s.$f.$f",
    "$s.nested.list[0]",
    "$s.maps[$i]",
    "$s.maps[0].key",
    "$s.free.other",
    "$s.template.metadata.labels",
    "request",
    "request.kind",
    "request.requestKind",
    "request.resource",
    "request.requestResource",
    "request.userInfo",
    "request.userInfo.extra",
    "request.options",
    "request.?subResource",
    "request.?namespace",
    "request.options.?dryRun",
    "dyn(request).uid",
    "dyn(request).object",
    "dyn(request)[$t]",
    "dyn(request).userInfo.?extra",
    "request.?userInfo.?extra.?key",
    "dyn(request).map(k, k)",
    "dyn(request).size()",
    "namespaceObject",
    "namespaceObject.metadata",
    "namespaceObject.metadata.labels",
    "namespaceObject.metadata.creationTimestamp",
    "namespaceObject.metadata.?deletionTimestamp",
    "namespaceObject.status",
    "namespaceObject.status.conditions",
    "namespaceObject.status.conditions[0].lastTransitionTime",
    "namespaceObject.?metadata",
    "namespaceObject.spec",
    "dyn(namespaceObject).metadata.uid",
    "dyn(namespaceObject).kind",
    "namespaceObject.metadata.annotations",
    "namespaceObject.metadata.labels.transformMap(k, v, v + k)",
    "params",
    "params.data",
    "params.?data",
    "params.spec",
    "variables",
    "variables.x",
    "variables.?x",
    "variables.spec",
    "variables.spec.$f",
    "[variables.x, variables.x]",
    "null",
    "type($a)",
    "duration($t)",
    "duration('1h30m')",
    "timestamp($t)",
    "timestamp('2024-02-29T12:30:45.123Z')",
    "timestamp($i)",
    "duration('1h') + duration('30s')",
    "timestamp('2024-02-29T12:30:45Z') - timestamp('2023-01-01T00:00:00Z')",
    "timestamp('2024-02-29T12:30:45Z') + duration($t)",
    "bytes($t)",
    "b'abc' + bytes($t)",
    "uint($i)",
    "uint($t)",
    "1u + uint($i)",
    "$d",
    "$d * $d",
    "double($t)",
    "double($i)",
    "dyn($a)",
    "bool($t)",
    "optional.of($a)",
    "optional.ofNonZeroValue($a)",
    "optional.none()",
    "optional.of($a).or(optional.none())",
    "optional.of(dyn($a)).orValue(dyn($a))",
    "$s.?$f.optMap(v, [v, v])",
    "$s.?$f.optFlatMap(v, optional.of([v]))",
    "optional.of($a).value()",
    "$l.first()",
    "$l.last()",
    "$l[?$i]",
    "{'a': $a}[?$t]",
    "[?$s.?$f, ?optional.of(dyn($a))]",
    "{?'a': $s.?$f, 'b': dyn($a)}",
    "quantity('1.5Gi')",
    "quantity($s.amount)",
    "quantity('1').add(quantity($t))",
    "quantity('100m').sub(quantity('1k'))",
    "quantity($t)",
    "quantity('1500m').asApproximateFloat()",
    "ip('10.0.0.1')",
    "ip($s.address)",
    "cidr('10.0.0.7/8')",
    "cidr($s.network)",
    "cidr('10.1.2.3/8').masked()",
    "cidr('10.1.2.3/8').ip()",
    "url('https://a.b:80/c%20d?x=1&y')",
    "url($s.link)",
    "url($s.link).getQuery()",
    "semver('1.2.3-rc.1+b')",
    "semver($s.version)",
    "semver('v1.2', true)",
    "format.named($t)",
    "format.dns1123Label()",
    "format.uuid().validate($t)",
    "ip($t)",
    "semver($t)",
    "[$a]",
    "[dyn($a), dyn($a)]",
    "[$i, dyn($d)]",
    "{'a': $a}",
    "{$t: $a}",
    "{$i: $t}",
    "{true: $a, false: dyn($i)}",
    "{1u: $i}",
    "{dyn($a): 1}",
    "{$t: $i, 'a': $i}",
    "[$a] + [$a]",
    "dyn([$a]) + dyn([$a])",
    "dyn($a) + dyn($a)",
    "dyn($a) - dyn($a)",
    "dyn($a) * dyn($a)",
    "dyn($a) / dyn($a)",
    "dyn($a) % dyn($a)",
    "-dyn($a)",
    "dyn($a)[dyn($a)]",
    "dyn($a).$f",
    "dyn($a)[?dyn($a)]",
    "dyn($a).?$f",
    "($b ? $a : dyn($a))",
    "($b ? dyn($a) : dyn($a))",
    "$l.map(e, $a)",
    "$n.map(e, [e, dyn($a)])",
    "$l.transformMap(i, e, $a)",
    "$l.transformMapEntry(i, e, {e: $a})",
    "{'a': $a}.map(k, dyn($a))",
    "{'a': $i, 'b': $i}.transformMap(k, v, v + $i)",
    "[$a].filter(e, $b)",
    "[[$a], [$a]].flatten()",
    "[dyn($a), [$i]].flatten()",
    "[$a].distinct()",
    "[$a, $a].reverse()",
    "lists.range(3)",
    "[$d, $d].sum()",
    "[$d].max()",
    "[duration('1s'), duration('2m')].sum()",
    "[duration('1s')].max()",
    "[dyn($a), dyn($a)].sort()",
    "[$i, $i].sortBy(e, -e)",
    "[dyn($a)].sum()",
    "[dyn($a), dyn($a)].min()",
    "dyn($a).map(e, e)",
    "dyn($a).filter(e, $b)",
    "dyn($a).all(e, $b)",
    "dyn($a).exists(e, e == $i)",
    "has($s.$f) ? $s.$f : dyn($a)",
    "math.greatest($i, $i)",
    "cel.bind(b, $a, [b, b])",
    "string(dyn($a))",
    "int(dyn($a))",
    "double(dyn($a))",
    "bytes(dyn($a))",
    "bool(dyn($a))",
    "timestamp(dyn($a))",
    "duration(dyn($a))",
    "type(dyn($a))",
    "quantity(dyn($a))",
    "uint(dyn($a))",
    "ip(dyn($a))",
    "url(dyn($a))",
    "[type($a), type($a)]",
    "1.0 / 0.0",
    "-1.0 / 0.0",
    "0.0 / 0.0",
    "1e308 * 10.0",
    "18446744073709551615u",
    "-9223372036854775808",
    "'\\u00e9\\n\\t\\x01'",
    "r'a\\n'",
    "b'\\xff\\x00'",
    "\"\"\"a\nb\"\"\"",
    "{}",
    "[]",
    "''",
    "b''",
    "0u",
    "{'a': {'b': [$a, null]}}",
];
/// Templates about the authorizer, some of which ask nothing.
const ACCESS: &[&str] = &[
    "authorizer",
    "authorizer.requestResource",
    "authorizer.path('/x').check('get')",
    "authorizer.path('/x').check($t).allowed()",
    "authorizer.path('/healthz').check('get').allowed()",
    "authorizer.path($t).check('list').reason()",
    "authorizer.group('apps').resource('deployments').subresource('status').namespace('default').name('a').check('broken').error()",
    "authorizer.group('').resource('pods').check('broken').errored()",
    "authorizer.serviceAccount('default', 'sa').path('/x').check('list').reason()",
    "authorizer.serviceAccount('Default', $t).path('/x').check('list').allowed()",
    "authorizer.requestResource.check('get').allowed()",
    "authorizer.requestResource.subresource('x').check('delete').reason()",
    "authorizer.group('apps').resource('deployments')",
    "authorizer.group('apps')",
    "authorizer.path('/x')",
    "authorizer.serviceAccount('default', 'sa')",
    "[authorizer.path('/x')]",
    "authorizer.requestResource.check($t).error()",
    "authorizer == authorizer",
    "type(authorizer)",
    "authorizer.group('').resource('pods').fieldSelector('a=b').check('get').allowed()",
    "authorizer.group('').resource('pods').labelSelector('a in (').check('list').reason()",
    "authorizer.requestResource == authorizer.requestResource",
    "authorizer.path('/x').check('get') == authorizer.path('/x').check('get')",
];
/// Fields of the spec, some of which do not exist.
const FIELDS: [&str; 30] = [
    "number",
    "other",
    "ratio",
    "text",
    "word",
    "flag",
    "maybe",
    "port",
    "wait",
    "time",
    "day",
    "data",
    "numbers",
    "words",
    "set",
    "maps",
    "labels",
    "nested",
    "holes",
    "free",
    "address",
    "network",
    "link",
    "amount",
    "version",
    "template",
    "absent",
    "kind",
    "metadata",
    "namespace",
];
/// How a field of a schema is written in an object without one.
const UNTYPED: [(&str, &str); 8] = [
    ("a__dash__b", "`a-b`"),
    ("x__underscores__y", "x__y"),
    ("c__dot__d__slash__e", "`c.d/e`"),
    ("__namespace__", "namespace"),
    ("self.wait", "duration(self.wait)"),
    ("self.time", "timestamp(self.time)"),
    ("self.day", "timestamp(self.day + 'T00:00:00Z')"),
    ("self.data", "bytes(self.data)"),
];

impl<'r> Writer<'r> {
    pub(super) fn new(random: &'r mut Random, has_params: bool, has_access: bool) -> Self {
        Writer {
            random,
            has_params,
            has_access,
            variables: Vec::new(),
        }
    }

    /// The type and the expression of a variable.
    pub(super) fn variable(&mut self) -> (Kind, String) {
        let kind = self.random.of(&[
            Kind::Bool,
            Kind::Int,
            Kind::Text,
            Kind::Texts,
            Kind::Ints,
            Kind::Double,
            Kind::Any,
            Kind::Any,
            Kind::Any,
        ]);
        let depth = self.random.below(3);
        (kind, self.write(kind, depth))
    }

    /// An expression.
    pub(super) fn write(&mut self, kind: Kind, depth: usize) -> String {
        let known = self.variables.iter().filter(|(_, of)| *of == kind);
        let known: Vec<&'static str> = known.map(|(name, _)| *name).collect();
        if !known.is_empty() && self.random.chance(20) {
            return format!("variables.{}", self.random.name(&known));
        }
        // Those of rules are about the spec.
        if kind != Kind::Any && (depth == 0 || self.random.chance(35)) {
            return self.of_rules(kind, depth);
        }
        let templates = match kind {
            Kind::Bool => BOOLS,
            Kind::Int => INTS,
            Kind::Text => TEXTS,
            Kind::Texts => LISTS,
            Kind::Double | Kind::Ints => return self.of_rules(kind, depth),
            Kind::Any if self.has_access && self.random.chance(8) => ACCESS,
            Kind::Any if depth > 0 && self.random.chance(35) => {
                let kind = self.random.of(&[
                    Kind::Bool,
                    Kind::Int,
                    Kind::Text,
                    Kind::Texts,
                    Kind::Double,
                    Kind::Ints,
                ]);
                return self.write(kind, depth);
            }
            Kind::Any => ANY,
        };
        // Without room for parts, one is taken that has none.
        for _ in 0..50 {
            let template = self.random.name(templates);
            let has_parts = ["$a", "$b", "$i", "$d", "$t", "$l", "$n"]
                .iter()
                .any(|part| template.contains(part));
            if self.is_declared(template) && (depth > 0 || !has_parts) {
                return self.fill(template, depth.saturating_sub(1));
            }
        }
        "object".to_owned()
    }

    fn is_declared(&self, template: &str) -> bool {
        let has = |name: &str| self.variables.iter().any(|(known, _)| *known == name);
        (self.has_params || !template.contains("params"))
            && (has("x")
                || !["variables.x", "variables.?x"]
                    .iter()
                    .any(|name| template.contains(name)))
            && (has("spec") || !template.contains("variables.spec"))
    }

    /// The template with its parts.
    fn fill(&mut self, template: &str, depth: usize) -> String {
        let mut parts = template.split('$');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_at_checked(1).unwrap_or((part, ""));
            let kind = match name {
                "b" => Kind::Bool,
                "i" => Kind::Int,
                "d" => Kind::Double,
                "t" => Kind::Text,
                "l" => Kind::Texts,
                "n" => Kind::Ints,
                _ => Kind::Any,
            };
            let filled = match name {
                "o" => self.object().to_owned(),
                "s" => self.spec().to_owned(),
                "f" => self.random.name(&FIELDS).to_owned(),
                _ => self.write(kind, depth),
            };
            // A method or an operator must not apply to the last part alone.
            let is_open =
                filled.contains(' ') && !(filled.starts_with('(') && filled.ends_with(')'));
            if is_open && !matches!(rest.chars().next(), Some(',' | ')' | ']'))
                || filled.starts_with('-')
            {
                out.push_str(&format!("({filled})"));
            } else {
                out.push_str(&filled);
            }
            out.push_str(rest);
        }
        out
    }

    fn object(&mut self) -> &'static str {
        match self.random.below(10) {
            0 => "oldObject",
            1 if self.has_params => "params",
            _ => "object",
        }
    }

    fn spec(&mut self) -> &'static str {
        match self.random.below(12) {
            0 => "oldObject.spec",
            1 if self.has_params => "params.spec",
            2 | 3 if self.variables.iter().any(|(name, _)| *name == "spec") => "variables.spec",
            _ => "object.spec",
        }
    }

    /// An expression that rules have too, about the spec of an object.
    fn of_rules(&mut self, kind: Kind, depth: usize) -> String {
        let mut rules = Expressions::new(self.random, "spec", false);
        let text = match kind {
            Kind::Bool => rules.boolean(depth),
            Kind::Int => rules.int(depth),
            Kind::Double => rules.double(depth),
            Kind::Texts => rules.string_list(depth),
            Kind::Ints => rules.int_list(depth),
            Kind::Text | Kind::Any => rules.string(depth),
        };
        let text = UNTYPED.into_iter().fold(text, |text, (typed, untyped)| {
            if self.random.chance(90) {
                text.replace(typed, untyped)
            } else {
                text
            }
        });
        let spec = self.spec();
        text.replace("oldSelf", "oldObject.spec")
            .replace("self", spec)
    }
}
