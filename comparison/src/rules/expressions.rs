//! Makes expressions of each type from templates.

use crate::generate::random::Random;

/// A generator of expressions at one place of the schema.
pub(crate) struct Expressions<'r> {
    random: &'r mut Random,
    place: &'static str,
    /// Whether the expression may use `oldSelf`.
    uses_old: bool,
    /// The variables of comprehensions around the expression, with their types.
    variables: Vec<(String, Type)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Int,
    String,
}

/// The fields of each type, for rules at `spec`.
const INTS: [&str; 3] = ["number", "other", "nested.a__dash__b"];
const STRINGS: [&str; 8] = [
    "text",
    "word",
    "maybe",
    "nested.__namespace__",
    "nested.x__underscores__y",
    "nested.c__dot__d__slash__e",
    "version",
    "amount",
];
const INT_LISTS: [&str; 2] = ["numbers", "nested.list"];
const STRING_LISTS: [&str; 2] = ["words", "set"];

/// The rules of a place, with `{}` for its value.
fn rules_of(place: &str) -> &'static [&'static str] {
    // A rule that uses `oldSelf` is a transition rule, which is evaluated only if there is an old value.
    match place {
        "text" => &[
            "{}.size() > 1",
            "{} != 'abc'",
            "{} == ''",
            "{}.trim() == {}",
        ],
        "number" => &["{} > 0", "{} % 2 == 0", "{} + 1 > {}", "-{} < 3"],
        "item" => &[
            "{}.value > 0",
            "has({}.value)",
            "{}.key != 'a'",
            "{}.key < 'c' && {}.value < 9",
        ],

        // The type of a list decides about its equality and concatenation: sets have no order, and maps merge by key.
        "maps" => &[
            "{}.all(i, i.value > 0)",
            "{}.exists(i, i.key == 'a')",
            "{}.map(i, i.key).isSorted()",
            "({} + {}).size() == {}.size()",
            "{} == {}.filter(i, true)",
            "{}.filter(i, has(i.value)).map(i, i.value).sum() > 1",
            "self == oldSelf",
        ],
        "set" => &[
            "{}.exists(i, i == 'a')",
            "({} + ['a']).size() == {}.size()",
            "{} == ['a', 'b']",
            "['b', 'a'] == {}",
            "{}.isSorted()",
            "self == oldSelf",
            "self + oldSelf == oldSelf + self",
        ],
        "labels" => &[
            "{}.all(k, {}[k] != '')",
            "'x' in {}",
            "{}.exists(k, k.contains('-'))",
            "{}.size() < 2",
            "{}['x'] == 'a'",
            "{}.all(k, v, k != v)",
            "{}.transformMap(k, v, v.size()).exists(k, v, v > 1)",
            "{}.transformList(k, v, k + v).size() > 0",
            "{} == {'x': 'a'}",
            "self == oldSelf",
        ],
        "nested" => &[
            "has({}.__namespace__)",
            "{}.a__dash__b > 1",
            "{}.x__underscores__y != ''",
            "has({}.c__dot__d__slash__e) && {}.c__dot__d__slash__e.size() > 0",
            "self == oldSelf",
        ],
        "port" => &[
            "type({}) == int",
            "{} == 'abc'",
            "{} > 1",
            "self == oldSelf",
        ],
        _ => &[],
    }
}

impl<'r> Expressions<'r> {
    /// Expressions at a place, some of which use `oldSelf`.
    pub(crate) fn new(random: &'r mut Random, place: &'static str, uses_old: bool) -> Self {
        Expressions {
            random,
            place,
            uses_old,
            variables: Vec::new(),
        }
    }

    /// The expression of the spec.
    fn spec(&mut self) -> &'static str {
        let is_old = self.uses_old && self.random.chance(40);
        match (self.place, is_old) {
            ("root", false) => "self.spec",
            ("root", true) => "oldSelf.spec",
            (_, false) => "self",
            (_, true) => "oldSelf",
        }
    }

    fn has_spec(&self) -> bool {
        matches!(self.place, "spec" | "root")
    }

    fn own(&mut self) -> &'static str {
        if self.uses_old && self.random.chance(40) {
            "oldSelf"
        } else {
            "self"
        }
    }

    fn field(&mut self, names: &[&'static str]) -> String {
        let spec = self.spec();
        format!("{spec}.{}", self.random.name(names))
    }

    fn variable(&mut self, of: Type) -> Option<String> {
        let matching: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, kind)| *kind == of)
            .map(|(name, _)| name.clone())
            .collect();
        // The body of a comprehension should use its variable in most cases.
        if matching.is_empty() || self.random.chance(35) {
            return None;
        }
        self.random.pick(&matching).cloned()
    }

    /// A name of a variable for a comprehension.
    fn fresh(&self) -> String {
        // The number is that of the variables in scope, so that no variable hides another one of this form.
        format!("v{}", self.variables.len())
    }

    /// An expression in the scope of a variable.
    fn with(&mut self, of: Type, make: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let name = self.fresh();
        self.variables.push((name.clone(), of));
        let body = make(self);
        self.variables.pop();
        (name, body)
    }

    pub(crate) fn boolean(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.plain_boolean();
        }
        // Every operand is less deep, so that an expression ends.
        let depth = depth - 1;
        // Only a rule that sees the spec can use its fields. Elsewhere these numbers give a plain rule.
        match self.random.below(38) {
            0 => format!("{} && {}", self.boolean(depth), self.boolean(depth)),
            1 => format!("{} || {}", self.boolean(depth), self.boolean(depth)),
            2 => format!("!({})", self.boolean(depth)),
            3 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.boolean(depth),
                self.boolean(depth)
            ),
            4 | 5 => {
                let operator = self.random.name(&["<", "<=", ">", ">=", "==", "!="]);
                format!("{} {operator} {}", self.int(depth), self.int(depth))
            }
            6 | 7 => {
                let operator = self.random.name(&["<", ">=", "==", "!="]);
                format!("{} {operator} {}", self.string(depth), self.string(depth))
            }
            8 => {
                let method = self.random.name(&["startsWith", "endsWith", "contains"]);
                format!("{}.{method}({})", self.string(depth), self.string(0))
            }
            9 => {
                let pattern = self
                    .random
                    .name(&["^a", "[a-z]+$", "\\\\d", "^\\\\w*$", "b|c", "^$"]);
                format!("{}.matches('{pattern}')", self.string(depth))
            }
            10 | 11 => {
                let method = self.random.name(&["all", "exists", "exists_one"]);
                let list = self.int_list(depth);
                let (name, body) = self.with(Type::Int, |this| this.boolean(depth));
                format!("{list}.{method}({name}, {body})")
            }
            12 | 13 => {
                let method = self.random.name(&["all", "exists", "exists_one"]);
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.boolean(depth));
                format!("{list}.{method}({name}, {body})")
            }
            14 => format!("{} in {}", self.int(depth), self.int_list(depth)),
            15 => format!("{} in {}", self.string(depth), self.string_list(depth)),
            16 => format!("{} == {}", self.int_list(depth), self.int_list(depth)),
            17 => format!("{} == {}", self.string_list(depth), self.string_list(depth)),
            18 => {
                let list = self.int_list(depth);
                let method = self.random.name(&["isSorted()", "includes(2)"]);
                format!("{list}.{method}")
            }
            19 => {
                let function = self.random.name(&["contains", "equivalent", "intersects"]);
                format!(
                    "sets.{function}({}, {})",
                    self.string_list(depth),
                    self.string_list(0)
                )
            }
            20 => {
                let operator = self.random.name(&["<", ">=", "=="]);
                format!("{} {operator} {}", self.double(depth), self.double(depth))
            }
            21 | 34 | 35 if self.has_spec() => self.library(),
            22 if self.has_spec() => self.times(),
            23 | 36 | 37 if self.has_spec() => self.structures(depth),
            24 => {
                let list = self.string_list(depth);
                // With two variables the first one of a list is the index.
                let (index, body) = self.with(Type::Int, |this| {
                    this.variables.push(("w".to_owned(), Type::String));
                    let body = this.boolean(depth);
                    this.variables.pop();
                    body
                });
                let method = self.random.name(&["all", "exists", "existsOne"]);
                format!("{list}.{method}({index}, w, {body})")
            }
            25 if self.has_spec() => {
                let spec = self.spec();
                let field =
                    self.random
                        .name(&["labels.?x", "nested.?a__dash__b", "?number", "?maybe"]);
                let method =
                    self.random
                        .name(&["hasValue()", "orValue('a') == 'a'", "orValue(1) > 0"]);
                format!("{spec}.{field}.{method}")
            }
            26 if self.has_spec() => {
                let spec = self.spec();
                let test = self.random.name(&[
                    "type({}.port) == int",
                    "type({}.port) == string && {}.port.size() > 1",
                    "type({}.port) == int ? {}.port < 5 : {}.port == 'abc'",
                    "{}.port == 1",
                    "string({}.port) == '1'",
                    "int({}.port) > 1",
                    "{}.port < 3",
                ]);

                test.replace("{}", spec)
            }
            _ => self.plain_boolean(),
        }
    }

    fn plain_boolean(&mut self) -> String {
        let own = self.own();
        let rules = rules_of(self.place);
        if !rules.is_empty() {
            return self.random.name(rules).replace("{}", own);
        }

        // Places without rules of their own are the spec and the root, which see all fields.
        match self.random.below(6) {
            0 => self.field(&["flag"]),
            1 => {
                let fields: Vec<&'static str> =
                    INTS.into_iter().chain(STRINGS).chain(INT_LISTS).collect();
                let field = self.field(&fields);
                format!("has({field})")
            }
            2 => format!("{} > {}", self.int(0), self.int(0)),
            3 => format!("{} == {}", self.string(0), self.string(0)),
            4 => self.random.name(&["true", "false"]).to_owned(),
            _ => {
                let list = self.string_list(0);
                format!("{list}.size() > 1")
            }
        }
    }

    pub(crate) fn int(&mut self, depth: usize) -> String {
        if let Some(name) = self.variable(Type::Int) {
            return name;
        }
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&INTS),
                _ => self
                    .random
                    .name(&["0", "1", "-1", "2", "7", "9223372036854775807"])
                    .to_owned(),
            };
        }

        // Many of these fail: overflows, divisions by zero, indexes beyond the end. Both sides must report the same
        // errors.
        let depth = depth - 1;
        match self.random.below(12) {
            0 => {
                let operator = self.random.name(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", self.int(depth), self.int(depth))
            }
            1 => format!("size({})", self.string(depth)),
            2 => format!("{}.size()", self.string_list(depth)),
            3 => format!("{}.sum()", self.int_list(depth)),
            4 => {
                let method = self
                    .random
                    .name(&["min()", "max()", "indexOf(2)", "lastIndexOf(1)"]);
                format!("{}.{method}", self.int_list(depth))
            }
            5 => {
                let method = self.random.name(&[
                    "indexOf('b')",
                    "lastIndexOf('b')",
                    "indexOf('', 1)",
                    "indexOf('c', 2)",
                ]);
                format!("{}.{method}", self.string(depth))
            }
            6 => format!("int({})", self.string(depth)),
            7 => format!("int({})", self.double(depth)),
            8 => format!("{}[{}]", self.int_list(depth), self.int(depth)),
            9 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.int(depth),
                self.int(depth)
            ),
            10 => format!("-({})", self.int(depth)),
            _ => self.int(0),
        }
    }

    pub(crate) fn double(&mut self, depth: usize) -> String {
        // The only field with doubles is in the spec.
        if depth == 0 || !self.has_spec() {
            return self.random.name(&["0.0", "1.5", "-2.0", "1e20"]).to_owned();
        }
        let depth = depth - 1;
        match self.random.below(4) {
            0 => format!("double({})", self.int(depth)),
            1 => {
                let operator = self.random.name(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.double(depth), self.double(depth))
            }
            2 => format!("double({})", self.string(depth)),
            _ => self.field(&["ratio"]),
        }
    }

    pub(crate) fn string(&mut self, depth: usize) -> String {
        if let Some(name) = self.variable(Type::String) {
            return name;
        }
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&STRINGS),
                _ => self
                    .random
                    .name(&["''", "'a'", "'b'", "'abc'", "'ö'", "'1'"])
                    .to_owned(),
            };
        }

        // Many of these fail too, such as indexes beyond the end, and both sides must report the same errors.
        let depth = depth - 1;
        match self.random.below(13) {
            0 => format!("({} + {})", self.string(depth), self.string(depth)),
            1 => {
                let method = self
                    .random
                    .name(&["lowerAscii()", "upperAscii()", "trim()"]);
                format!("{}.{method}", self.string(depth))
            }
            2 => format!("{}.replace('b', {})", self.string(depth), self.string(0)),
            3 => format!(
                "{}.replace({}, 'x', {})",
                self.string(depth),
                self.string(0),
                self.int(0)
            ),
            4 => format!(
                "{}.substring({})",
                self.string(depth),
                self.random.name(&["0", "1", "2", "5"])
            ),
            5 => format!(
                "{}.substring(0, {})",
                self.string(depth),
                self.random.name(&["0", "1", "2", "9"])
            ),
            6 => format!(
                "{}.charAt({})",
                self.string(depth),
                self.random.name(&["0", "1", "3"])
            ),
            7 => format!(
                "{}.join({})",
                self.string_list(depth),
                self.random.name(&["", "','", "'--'"])
            ),
            8 => {
                let numbers = ["1", "{}", "1.5", "{d}", "1234567.5", "true", "2u", "b'a'"];
                let number = self.random.name(&numbers).replace("{}", &self.int(depth));
                let number = number.replace("{d}", &self.double(depth));
                format!("string({number})")
            }
            9 => {
                let pattern = self.random.name(&["[a-z]+", "b", "\\\\d*", "."]);
                format!("{}.find('{pattern}')", self.string(depth))
            }
            10 => format!(
                "({} ? {} : {})",
                self.boolean(depth),
                self.string(depth),
                self.string(depth)
            ),
            11 => {
                let clause = self.random.name(&[
                    "'%d'.format([{i}])",
                    "'%s-%s'.format([{s}, {i}])",
                    "'%x'.format([{i}])",
                ]);
                let (int, string) = (self.int(0), self.string(0));
                clause.replace("{i}", &int).replace("{s}", &string)
            }
            _ => self.string(0),
        }
    }

    pub(crate) fn int_list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&INT_LISTS),
                _ => self
                    .random
                    .name(&["[1]", "[1, 2, 3]", "[3, 1, 2, 1]"])
                    .to_owned(),
            };
        }

        // A `map` makes integers of strings, so that lists of both types nest in each other.
        let depth = depth - 1;
        match self.random.below(6) {
            0 => {
                let list = self.int_list(depth);
                let (name, body) = self.with(Type::Int, |this| this.int(depth));
                format!("{list}.map({name}, {body})")
            }
            1 => {
                let list = self.int_list(depth);
                let (name, body) = self.with(Type::Int, |this| this.boolean(depth));
                format!("{list}.filter({name}, {body})")
            }
            2 => format!("({} + {})", self.int_list(depth), self.int_list(depth)),
            3 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.int(depth));
                format!("{list}.map({name}, {body})")
            }
            4 => format!("[{}, {}]", self.int(depth), self.int(depth)),
            _ => self.int_list(0),
        }
    }

    pub(crate) fn string_list(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(2) {
                0 if self.has_spec() => self.field(&STRING_LISTS),
                _ => self
                    .random
                    .name(&["['a']", "['a', 'b']", "['c', 'a', 'a']"])
                    .to_owned(),
            };
        }

        // Each variable is in the scope of its own body alone, so that the list is made before it.
        let depth = depth - 1;
        match self.random.below(7) {
            0 => {
                let separator = self.random.name(&["','", "''", "'b'", "' '"]);
                format!("{}.split({separator})", self.string(depth))
            }
            1 => format!(
                "{}.split('b', {})",
                self.string(depth),
                self.random.name(&["0", "1", "2", "-1"])
            ),
            2 => format!(
                "({} + {})",
                self.string_list(depth),
                self.string_list(depth)
            ),
            3 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.string(depth));
                format!("{list}.map({name}, {body})")
            }
            4 => {
                let list = self.string_list(depth);
                let (name, body) = self.with(Type::String, |this| this.boolean(depth));
                format!("{list}.filter({name}, {body})")
            }
            5 => format!(
                "{}.findAll('[a-z]'{})",
                self.string(depth),
                self.random.name(&["", ", 1", ", 0"])
            ),
            _ => self.string_list(0),
        }
    }

    /// A use of the API server's library.
    pub(crate) fn library(&mut self) -> String {
        let spec = self.spec();
        // The fields hold texts that these functions parse and texts that they refuse, see `object` in `generate.rs`.
        let text = self.random.name(&[
            "isIP({}.address)",
            "isIP({}.address) && ip({}.address).family() == 4",
            "ip({}.address).isLoopback()",
            "ip({}.address).isGlobalUnicast()",
            "ip({}.address).isLinkLocalUnicast()",
            "ip.isCanonical({}.address)",
            "string(ip({}.address)) == '::1'",
            "isCIDR({}.network)",
            "cidr({}.network).containsIP('10.1.2.3')",
            "cidr({}.network).containsCIDR('10.1.0.0/16')",
            "cidr({}.network).prefixLength() > 8",
            "cidr({}.network).masked() == cidr('192.168.1.0/24')",
            "cidr({}.network).ip() == ip('10.0.0.0')",
            "isURL({}.link)",
            "url({}.link).getScheme() == 'https'",
            "url({}.link).getHost() == 'example.com:80'",
            "url({}.link).getHostname() == 'example.com'",
            "url({}.link).getPort() == '80'",
            "url({}.link).getEscapedPath() == '/p%20a'",
            "url({}.link).getQuery()['x'] == ['1', '2']",
            "isQuantity({}.amount)",
            "quantity({}.amount).isGreaterThan(quantity('1'))",
            "quantity({}.amount).isLessThan(quantity('1Ki'))",
            "quantity({}.amount).compareTo(quantity('1500m')) < 0",
            "quantity({}.amount).isInteger()",
            "quantity({}.amount).asInteger() > 3",
            "quantity({}.amount).asApproximateFloat() < 1.0",
            "quantity({}.amount).add(quantity('1')).sub(1).sign() == 1",
            "quantity({}.amount) == quantity('1000')",
            "isSemver({}.version)",
            "isSemver({}.version, true)",
            "semver({}.version).major() == 1",
            "semver({}.version, true).isLessThan(semver('2.0.0'))",
            "semver({}.version).compareTo(semver('1.0.0')) > 0",
            "semver({}.version, true).minor() + semver({}.version, true).patch() > 3",
            "!format.dns1123Label().validate({}.text).hasValue()",
            "format.dns1123Subdomain().validate({}.text).orValue([]).size() == 0",
            "format.dns1035LabelPrefix().validate({}.text) == optional.none()",
            "format.qualifiedName().validate({}.text).hasValue()",
            "format.labelValue().validate({}.text).hasValue()",
            "format.named('uuid').hasValue() && format.named('odd') == optional.none()",
            "format.uri().validate({}.link).hasValue()",
            "format.datetime().validate({}.text).hasValue()",
            "format.byte().validate({}.text).hasValue()",
            "{}.words.slice(0, 1).size() == 1",
            "{}.words.distinct().size() == {}.words.size()",
            "{}.words.sort() == {}.words",
            "{}.words.reverse() == {}.words",
            "[[1], [2, 3]].flatten() == [1, 2, 3]",
            "lists.range(3) == [0, 1, 2]",
            "{}.words.first().orValue('') == 'a'",
            "{}.words.last() == optional.of('b')",
            "{}.words.sortBy(w, w.size()) == {}.words",
            "{}.numbers.sortBy(n, -n) == {}.numbers",
            "{}.numbers.sort().reverse() == {}.numbers.distinct()",
            "{}.maps.sortBy(i, i.key).first().hasValue()",
            "{}.words.slice(1, {}.number).size() == 1",
            "lists.range({}.number).size() > 2",
            "[[[1]], [[2, 3]]].flatten({}.number).size() == 2",
            "isSemver({}.version) && {}.version.size() > 3",
            "format.dns1035Label().validate({}.text).hasValue()",
            "format.dns1123LabelPrefix().validate({}.word).hasValue()",
            "format.dns1123SubdomainPrefix().validate({}.word).hasValue()",
            "format.uuid().validate({}.text).value().size() == 1",
            "format.date().validate({}.text).hasValue()",
            "format.named({}.word).hasValue()",
            "format.uri() == format.named('uri').value()",
            "ip({}.address).isUnspecified() || ip({}.address).isLinkLocalMulticast()",
            "ip({}.address) != ip('::1') && ip({}.address) == ip('10.0.0.1')",
            "cidr({}.network).containsIP(ip({}.address))",
            "cidr('10.0.0.0/8').containsIP({}.address)",
            "cidr('10.0.0.0/8').containsCIDR({}.network)",
            "cidr('10.0.0.0/8').containsCIDR(cidr({}.network)) || cidr({}.network) != cidr('0.0.0.0/0')",
            "url({}.link) == url('/a/b') || url({}.link) != url('/a/b')",
            "url({}.link).getQuery().all(k, v, k in v || v.size() == 2)",
            "url({}.link).getQuery().exists(k, k == 'x')",
            "quantity({}.amount).sign() > 0 || quantity({}.amount) != quantity('1')",
            "semver({}.version).major() == {}.number",
            "optional.unwrap([{}.?maybe, optional.of('a')]).size() == 2",
            "[{}.?maybe, optional.none()].unwrapOpt() == ['a']",
            "type({}.words) == list && type({}.labels) == map && type({}.ratio) == double",
            "uint({}.number) > 1u || double({}.number) < 1.5",
            "bytes({}.text).size() > 2 || bytes({}.text) < b'abc'",
            "bool({}.text) || dyn({}.flag)",
            "{}.data + b'x' != b'x' && {}.data < b'hello' && {}.data.size() >= 0",
            "b'a' in [{}.data, b'a']",
            "strings.quote({}.text).size() > 2",
            "{}.text.matches({}.word)",
            "{}.text.find({}.word) != '' || {}.text.findAll({}.word).size() > 1",
            "{}.text.split({}.word, {}.number).join({}.word) == {}.text",
            "{}.text.replace({}.word, {}.version) == {}.text",
            "{}.text.lastIndexOf({}.word, {}.number) > 0",
            "'%s %s %s'.format([{}.words, {}.labels, {}.numbers]).size() > 20",
            "'%.2f %e %b %o %X %s'.format([{}.ratio, {}.ratio, {}.flag, {}.number, {}.text, {}.wait]) != ''",
        ]);

        text.replace("{}", spec)
    }

    /// A use of times and durations.
    pub(crate) fn times(&mut self) -> String {
        let spec = self.spec();
        // The object has negative and malformed durations, a leap day, and times of other zones.
        let text = self.random.name(&[
            "{}.wait > duration('1m')",
            "{}.wait + duration('1s') == duration('2s')",
            "{}.wait.getMinutes() >= 1",
            "{}.wait.getMilliseconds() > 100",
            "string({}.wait) == '1s'",
            "{}.time.getFullYear() == 2024",
            "{}.time.getMonth() == 1",
            "{}.time.getDayOfWeek() == 4",
            "{}.time.getDayOfYear() > 50",
            "{}.time.getHours('+02:00') == 14",
            "{}.time > timestamp('2000-01-01T00:00:00Z')",
            "{}.time - timestamp('2024-02-29T00:00:00Z') > duration('12h')",
            "{}.time + {}.wait > {}.time",
            "string({}.time) == '2024-02-29T12:30:45Z'",
            "{}.day.getDate() == 29",
            "{}.day == timestamp('1970-01-01T00:00:00Z')",
            "{}.data == b'hello'",
            "{}.data.size() > 2",
            "string({}.data) == 'hello'",
            "timestamp({}.text) > {}.time",
            "duration({}.text) > {}.wait",
        ]);

        text.replace("{}", spec)
    }

    /// A use of maps, objects and lists of the object.
    pub(crate) fn structures(&mut self, depth: usize) -> String {
        let spec = self.spec();
        // Most of these read parts that may be absent, null or of another type, so that they fail for some objects.
        let text = self.random.name(&[
            "{}.labels.all(k, {}.labels[k].size() > 0)",
            "{}.labels == {'x': 'a'}",
            "'x' in {}.labels && {}.labels['x'] != ''",
            "{}.labels.x == 'a'",
            "has({}.labels.x)",
            "{}.maps.exists(i, i.key == 'a' && i.value > 1)",
            "{}.maps.map(i, i.key) == ['a', 'b']",
            "{}.maps.filter(i, has(i.value)).size() == {}.maps.size()",
            "{}.maps[0].value > 0",
            "{}.maps.all(i, i.value > 0)",
            "{}.maps.map(i, has(i.value), i.value).max() > 3",
            "{}.nested == {}.nested",
            "{}.set == {}.words",
            "{}.words == {}.set",
            "({}.set + {}.words).size() > 2",
            "{}.set + ['zz'] == ['zz'] + {}.set",
            "{}.template.kind == 'Pod'",
            "{}.template.metadata.name != ''",
            "has({}.template.metadata.generateName)",
            "{}.words.transformList(i, w, i > 0, w + string(i)).size() > 0",
            "{}.words.transformMapEntry(i, w, {w: i}).size() > 1",
            "{}.maps.all(i, i.key in {}.labels)",
            "{}.?maybe.optMap(m, m + 'x').orValue('none') == 'none'",
            "optional.of({}.text).value() == {}.text",
            "{}.labels[?'x'].orValue('none') == 'none'",
            "{}.words[?5].hasValue()",
            "[?{}.?maybe, 'b'].size() == 2",
            "{}.holes.all(h, h == null || h > 0)",
            "{}.holes.exists(h, h > 1)",
            "{}.holes.filter(h, h != null).size() == {}.holes.size()",
            "{}.free.known > 1",
            "{}.free == {}.free",
            "self.free == oldSelf.free",
            "self.nested == oldSelf.nested && self.labels == oldSelf.labels",
            "self.maps == oldSelf.maps || self.set == oldSelf.set",
            "self.template == oldSelf.template",
            "dyn({}.number) == 1.0",
            "dyn({}.text) == dyn(1)",
            "{}.numbers.all(n, n > 0) || {}.numbers.exists(n, n / 0 > 1)",
            "({}.flag ? {}.nested : {}.nested).a__dash__b > 1",
            "({}.flag ? {}.numbers : [1, 2])[{}.number] > 1",
            "{}.flag ? has({}.nested.list) : {}.flag",
            "has(({}.flag ? {}.nested : {}.nested).list)",
            "{}.?nested.list.orValue([1]).size() > 1",
            "{}.?nested.?list[?0].orValue(3) > 1 || {}.nested.?list.hasValue()",
            "{}.?maybe.or(optional.of({}.text)).value() == {}.text",
            "{}.?nested.optMap(n, n.list.size() + n.a__dash__b).orValue(2) > 2",
            "{}.?number.optMap(n, {}.?other.optMap(m, n + m)).hasValue()",
            "{}.?number.optFlatMap(n, {}.?other.optMap(m, n / m)).orValue(2) > 1",
            "{}.?maybe.optMap(m, 5).hasValue()",
            "{}.numbers.map(n, n > 1 ? {}.words[n] : {}.text).exists(w, w.size() > 1)",
            "{}.numbers.map(n, {'a': n, 'b': [n, {}.number]}).all(m, m.a in m.b)",
            "{}.numbers.map(n, {}.words.filter(w, w.size() == n)).exists(l, l == ['a'])",
            "{}.words.exists_one(w, {}.labels[w] == 'a')",
            "{}.words.existsOne(i, w, i > 0 && {}.labels[w] == 'a')",
            "{}.words.filter(w, {}.labels[w] != '').size() > 0",
            "{}.words.map(w, w in {}.labels, {}.labels[w]).size() > 0",
            "{}.words.transformList(i, w, w in {}.labels, {}.labels[w]).size() > 0",
            "{}.words.transformList(i, w, {}.numbers[i] / i).size() > 0",
            "{}.words.transformMap(i, w, {}.labels[w]).size() > 0",
            "{}.words.transformMap(i, w, i > 0, {}.numbers[i]).exists(k, v, v > k)",
            "{}.words.transformMapEntry(i, w, {'a': i}).size() > 0",
            "{}.words.transformMapEntry(i, w, i > 0, {w: {}.labels[w]}).size() > 0",
            "{}.labels.transformMapEntry(k, v, {v: k}).map(k, k).sort() == ['a', 'b']",
            "{}.labels.exists_one(k, k > 'b') || {}.labels.existsOne(k, v, v > k)",
            "{}.labels.filter(k, {}.labels[k] == 'a') == ['x']",
            "{}.numbers[{}.flag ? 0 : {}.number] > 1 && {}.numbers[?{}.number + 1].hasValue()",
            "{?'a': {}.?maybe, 'b': {}.text}.size() == 2",
            "{'a': {}.number, 'a': {}.other}.a > 1",
            "{}.words.includes({}.text) && [{}.numbers].includes([1])",
            "[{}.numbers, [1]].indexOf([1]) == 1 && {}.maps.lastIndexOf({}.maps[0]) == 0",
            "{}.words.isSorted() && {}.words.max() > {}.words.min()",
            "[1.5, {}.ratio].sum() > 2.0 && [{}.wait].sum() == {}.wait",
            "sets.intersects({}.numbers, {}.nested.list) || sets.equivalent({}.words, {}.set)",
            "{}.number in [1, 2, 3] || {}.text in ['a', {}.word] || {}.word in []",
            "{}.numbers == {}.numbers.map(n, n) && {}.numbers != []",
            "[1, 2, 3][{}.number] > 1 && ['a', {}.text][{}.number] > 'a'",
            "{}.numbers.map(n, 1).size() > 1 && {}.words.sortBy(w, 'a') == {}.words",
        ]);

        // As an operand, an error passes through the outer expression.
        let text = text.replace("{}", spec);
        if self.random.chance(20) {
            format!("({text}) == ({})", self.boolean(depth))
        } else {
            text
        }
    }
}
