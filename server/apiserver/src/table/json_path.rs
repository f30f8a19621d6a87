//! JSON paths of columns of custom resources.

use fieldmanager_value::Value;
use fieldmanager_value::internal::proceed;

/// The maximum number of values that one cell visits. Each `..` of a path can multiply them.
const MAX_VISITED: usize = 100_000;

/// A path such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    /// A member of a map.
    Field(String),
    /// All members or items.
    All,
    /// Items of a list: from, to, and the distance.
    Slice(Option<i64>, Option<i64>, Option<i64>),
    /// The item at a place, or from the end if it is negative.
    Item(i64),
    /// The items for which a condition holds.
    Filter(Filter),
    /// The value and everything in it that has a field.
    Descend,
    /// What the first of these steps leads to, then what the second leads to, and so on.
    Union(Vec<Step>),
}

#[derive(Clone, Debug)]
struct Filter {
    left: JsonPath,
    compared: Option<(String, Operand)>,
}

#[derive(Clone, Debug)]
enum Operand {
    Literal(Value),
    Path(JsonPath),
}

impl JsonPath {
    /// Reads a path; `None` if it is not valid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("[?(") {
                let end = after.find(")]")?;
                steps.push(Step::Filter(Filter::parse(after.get(..end)?)?));
                rest = after.get(end + 2..)?;
            } else if let Some(after) = rest.strip_prefix('[') {
                let end = after.find(']')?;
                steps.push(bracket(after.get(..end)?)?);
                rest = after.get(end + 1..)?;
            } else if let Some(after) = rest.strip_prefix("..") {
                steps.push(Step::Descend);
                // A field follows without another dot.
                rest = after;
                if !rest.starts_with(['[', '.']) {
                    let (name, after) = field(rest);
                    steps.push(step(name));
                    rest = after;
                }
            } else if let Some(after) = rest.strip_prefix('.') {
                let (name, after) = field(after);
                if name.is_empty()
                    && !(after.is_empty() && steps.is_empty())
                    && !after.starts_with('[')
                {
                    return None;
                }

                if !name.is_empty() {
                    steps.push(step(name));
                }
                rest = after;
            } else if let Some(after) = rest.strip_prefix(['@', '$', ' ']) {
                rest = after;
            } else {
                return None;
            }
        }

        Some(JsonPath(steps))
    }

    /// The first value that the path leads to; `None` also if that takes more than [`MAX_VISITED`] values.
    pub(super) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut visits = Visits { left: MAX_VISITED };
        let found = self.find(value, &mut visits)?;
        // A filter takes a path without an end for one that leads to nothing.
        found.into_iter().next().filter(|_| visits.left > 0)
    }

    /// All values that the path leads to; `None` if a step does not fit a value.
    fn find<'v>(&self, value: &'v Value, visits: &mut Visits) -> Option<Vec<&'v Value>> {
        let mut current = vec![value];
        for step in &self.0 {
            let mut next = Vec::new();
            let steps = if let Step::Union(steps) = step {
                steps.as_slice()
            } else {
                std::slice::from_ref(step)
            };

            for step in steps {
                for value in &current {
                    visits.count(1)?;
                    step.walk(value, visits, &mut next)?;
                }
            }

            current = next;
            if current.is_empty() {
                break;
            }
        }

        Some(current)
    }
}

/// The number of values that may still be visited.
struct Visits {
    left: usize,
}

impl Visits {
    /// Counts visits before they take place; `None` if they are too many, or the work of the thread was stopped.
    fn count(&mut self, visits: usize) -> Option<()> {
        self.left = self.left.saturating_sub(visits);
        (self.left > 0 && proceed(visits as u64)).then_some(())
    }
}

/// The name of a field up to the next dot or bracket, without the backslashes that escape dots.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                if let Some((_, escaped)) = chars.next() {
                    name.push(escaped);
                }
            }
            '.' | '[' | ']' | ' ' | ')' => return (name, text.get(at..).unwrap_or_default()),
            _ => name.push(c),
        }
    }

    (name, "")
}

fn step(name: String) -> Step {
    if name == "*" {
        Step::All
    } else {
        Step::Field(name)
    }
}

/// The step in brackets: a quoted name, an index, a slice, or several of them with commas between.
fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::Slice(None, None, None));
    }
    let quoted = text
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    if let Some(name) = quoted.filter(|name| !name.contains('\'')) {
        return Some(Step::Field(name.replace('\\', "")));
    }

    if text.contains(',') {
        let steps: Option<Vec<Step>> = text
            .split(',')
            .map(|part| bracket(part.trim_matches(' ')))
            .collect();
        return steps.map(Step::Union);
    }

    let number = |text: &str| {
        if text.is_empty() {
            Some(None)
        } else {
            text.parse().ok().map(Some)
        }
    };
    let parts: Vec<&str> = text.split(':').collect();

    match parts[..] {
        // As in client-go, empty brackets select the first item.
        [""] => Some(Step::Item(0)),
        [index] => Some(Step::Item(index.parse().ok()?)),
        [from, to] => Some(Step::Slice(number(from)?, number(to)?, None)),
        [from, to, by] => Some(Step::Slice(number(from)?, number(to)?, number(by)?)),
        _ => None,
    }
}

impl Step {
    fn walk<'v>(
        &self,
        value: &'v Value,
        visits: &mut Visits,
        out: &mut Vec<&'v Value>,
    ) -> Option<()> {
        // Items count before they are visited, so that a path of several steps cannot multiply its work beyond the
        // bound.
        match (self, value) {
            (Step::All | Step::Slice(..) | Step::Filter(_), Value::List(items)) => {
                visits.count(items.len())?
            }
            (Step::All, Value::Map(members)) => visits.count(members.len())?,
            _ => {}
        }

        match (self, value) {
            (_, Value::Null) => {}
            (Step::Field(name), value) => out.extend(value.get(name)),
            (Step::All, Value::Map(members)) => {
                out.extend(members.iter().map(|(_, member)| member))
            }
            (Step::All, Value::List(items)) => out.extend(items),
            (Step::All, _) => {}
            (Step::Descend, value) => descend(value, visits, out)?,
            (Step::Item(index), Value::List(items)) => {
                let length = i64::try_from(items.len()).ok()?;
                let index = if *index < 0 { index + length } else { *index };
                out.push(items.get(usize::try_from(index).ok()?)?);
            }
            (Step::Slice(from, to, by), Value::List(items)) => {
                slice(items, (*from, *to, *by), out)?
            }
            (Step::Filter(filter), Value::List(items)) => {
                for item in items {
                    if filter.holds(item, visits)? {
                        out.push(item);
                    }
                }
            }
            _ => return None,
        }

        Some(())
    }
}

fn descend<'v>(value: &'v Value, visits: &mut Visits, out: &mut Vec<&'v Value>) -> Option<()> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        visits.count(1)?;
        out.push(value);
        match value {
            Value::Map(members) => open.extend(members.iter().map(|(_, member)| member)),
            Value::List(items) => open.extend(items),
            _ => {}
        }
    }

    Some(())
}

fn slice<'v>(
    items: &'v fieldmanager_value::List,
    (from, to, by): (Option<i64>, Option<i64>, Option<i64>),
    out: &mut Vec<&'v Value>,
) -> Option<()> {
    let length = i64::try_from(items.len()).ok()?;
    let place = |at: i64| if at < 0 { at + length } else { at };
    let (from, to) = (place(from.unwrap_or(0)), place(to.unwrap_or(length)));
    // As in client-go, an empty slice is no error, and one beyond the list is.
    if from == to {
        return Some(());
    }
    if from < 0 || from >= length || to < 0 || to > length || from > to {
        return None;
    }
    let by = usize::try_from(by.unwrap_or(1)).ok().filter(|by| *by > 0)?;
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    out.extend(items.iter().take(to).skip(from).step_by(by));

    Some(())
}

impl Filter {
    fn parse(text: &str) -> Option<Self> {
        let Some(at) = text.find(['!', '<', '>', '=']) else {
            return Some(Filter {
                left: JsonPath::parse(text)?,
                compared: None,
            });
        };

        let (left, rest) = text.split_at_checked(at)?;
        let end = rest.find(|c| !matches!(c, '!' | '<' | '>' | '='))?;
        let (operator, right) = rest.split_at_checked(end)?;
        let right = right.trim();
        let quoted = |quote: char| {
            right
                .strip_prefix(quote)
                .and_then(|rest| rest.strip_suffix(quote))
        };
        let operand = if let Some(text) = quoted('"').or_else(|| quoted('\'')) {
            Operand::Literal(text.replace("\\\"", "\"").into())
        } else if right == "true" || right == "false" {
            Operand::Literal((right == "true").into())
        } else if let Ok(number) = right.parse::<i64>() {
            Operand::Literal(number.into())
        } else if let Ok(number) = right.parse::<f64>() {
            Operand::Literal(number.into())
        } else {
            Operand::Path(JsonPath::parse(right)?)
        };

        Some(Filter {
            left: JsonPath::parse(left.trim())?,
            compared: Some((operator.to_owned(), operand)),
        })
    }

    /// Whether the condition holds for an item; `None` if values cannot be compared.
    fn holds(&self, item: &Value, visits: &mut Visits) -> Option<bool> {
        let lefts = self.left.find(item, visits).unwrap_or_default();
        let Some((operator, operand)) = &self.compared else {
            return Some(!lefts.is_empty());
        };
        // A comparison needs one value on each side: none is false, and several are an error.
        let left = match lefts[..] {
            [] => return Some(false),
            [left] => left,
            _ => return None,
        };
        let right = match operand {
            Operand::Literal(value) => value,
            Operand::Path(path) => match path.find(item, visits)?[..] {
                [] => return Some(false),
                [right] => right,
                _ => return None,
            },
        };

        // Go compares values of equal types only: an integer and a float are an error, and booleans have no order.
        let comparable = match (left, right) {
            (Value::Bool(_), Value::Bool(_)) => matches!(operator.as_str(), "==" | "!="),
            (Value::String(_), Value::String(_)) => true,
            (Value::Int(_), Value::Int(_)) | (Value::Float(_), Value::Float(_)) => true,
            _ => false,
        };
        if !comparable {
            return None;
        }

        match operator.as_str() {
            "==" => Some(left == right),
            "!=" => Some(left != right),
            "<" => Some(left < right),
            "<=" => Some(left <= right),
            ">" => Some(left > right),
            ">=" => Some(left >= right),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(path: &str) -> Option<String> {
        let object = Value::from_yaml(
            "
            status:
              conditions:
              - {type: Ready, status: 'True', num: 1}
              - {type: Live, status: 'False', num: 2}
            tags: [a, b, c]
            labels: {example.com/owner: me, x: null}
            ",
        );
        JsonPath::parse(path)?
            .first(&object.unwrap())
            .map(Value::to_json)
    }

    #[test]
    fn paths_lead_to_fields_items_and_filtered_items() {
        for (path, expected) in [
            (".tags", r#"["a","b","c"]"#),
            (".tags[0]", r#""a""#),
            (".tags[-1]", r#""c""#),
            (".tags[1:]", r#""b""#),
            (".tags[*]", r#""a""#),
            (".tags[::2]", r#""a""#),
            (r".labels.example\.com/owner", r#""me""#),
            (".labels['example\\.com/owner']", r#""me""#),
            (
                r#".status.conditions[?(@.type=="Live")].status"#,
                r#""False""#,
            ),
            (r#".status.conditions[?(@.num>1)].type"#, r#""Live""#),
            (
                r#".status.conditions[?(@.type!="Ready")].status"#,
                r#""False""#,
            ),
            (r#".status.conditions[?(@.num)].type"#, r#""Ready""#),
            (".status.conditions[*].type", r#""Ready""#),
            (".labels.x", "null"),
            (".tags[]", r#""a""#),
            (".status.conditions[].type", r#""Ready""#),
            (".tags[1,]", r#""b""#),
            (".tags[1,0]", r#""b""#),
            (".tags[2:3, 0]", r#""c""#),
            (r".labels['none','example\.com/owner']", r#""me""#),
        ] {
            assert_eq!(first(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn a_path_visits_a_bounded_number_of_values() {
        use fieldmanager_value::internal::Work;
        use fieldmanager_value::{Map, Str};

        let nested = |levels: usize| {
            let below = (0..levels).fold(Value::from(1), |below, _| {
                Value::Map(Map::from_iter([(Str::from("a"), below)]))
            });
            Value::Map(Map::from_iter([(
                Str::from("list"),
                Value::from(vec![below; 10]),
            )]))
        };
        let steps = |path: &str, levels: usize| {
            let (path, object, work) =
                (JsonPath::parse(path).unwrap(), nested(levels), Work::new());
            let found = work.run(|| path.first(&object).is_some()).unwrap();
            (found, work.steps())
        };

        for path in [
            "..a..a..a..a..a..a",
            ".list[?(@..a..a..a..a..a)]",
            "['list','list']..a..a..a..a..a",
        ] {
            let (found, taken) = steps(path, 100);
            assert!(
                !found && taken <= MAX_VISITED as u64 + 2000,
                "{path}: {taken}"
            );
            assert!(steps(path, 7).0, "{path}");
        }
        // Without a product, the number of values counts.
        let (few, many) = (steps("..b", 20).1, steps("..b", 200).1);
        assert!(many < 11 * few, "{few}, {many}");
    }

    #[test]
    fn paths_to_nothing_and_invalid_paths_have_no_value() {
        for path in [
            ".tags[3]",
            ".tags[0,9]",
            ".labels[]",
            ".none",
            ".none.more",
            ".tags[",
            ".tags[x]",
            "tags",
            r#".tags[?(@.a=="b")].c"#,
        ] {
            assert_eq!(first(path), None, "{path}");
        }
    }
}
