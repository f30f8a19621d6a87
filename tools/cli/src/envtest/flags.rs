//! The flags of kube-apiserver, as arguments of `serve`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A flag for each line; its first lines say what they mean.
const FLAGS: &str = include_str!("flags.txt");

/// Plain options of `serve` for a server that stands in for kube-apiserver.
const ALWAYS: [&str; 4] = ["--no-collector", "--no-ui", "--tls", "--unions=false"];

/// Where kube-apiserver has its objects in etcd, unless a flag says otherwise.
pub(super) const PREFIX: &str = "/registry";

/// The flags that have a letter.
const SHORT: [(char, &str); 2] = [('h', "help"), ('v', "v")];

/// What the values of a flag are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagKind {
    Bool,
    Int,
    Text,
    Path,
    /// Several values, separated by commas.
    List,
    Array,
    Paths,
}

/// What a flag does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlagEffect {
    /// That of an option of `serve`.
    Option(&'static str),
    /// That of [`translate`].
    Own,
    Nothing,
    Refused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) kind: FlagKind,
    pub(super) effect: FlagEffect,
}

/// What the flags ask for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The arguments of `serve`.
    pub(super) arguments: Vec<String>,
    /// The URLs of etcd.
    pub(super) etcd: Vec<String>,
    /// Below what the server has its objects in etcd.
    pub(super) prefix: String,
    /// The folder in which the certificate is, or is made.
    pub(super) certificates: Option<PathBuf>,
    /// The names of the flags that have no effect.
    pub(super) ignored: BTreeSet<&'static str>,
}

/// What a command line of kube-apiserver asks for.
#[derive(Debug)]
pub(super) enum CommandLine {
    Help,
    Version,
    Serve(Wanted),
}

/// The values of each flag that is set, in order.
type Values = BTreeMap<&'static str, (Flag, Vec<String>)>;

/// The flags of kube-apiserver.
pub(super) fn flags() -> impl Iterator<Item = Flag> {
    let lines = FLAGS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut words = line.split(' ');
        let (name, kind, effect) = (words.next()?, words.next()?, words.next()?);
        let kind = match kind {
            "bool" => FlagKind::Bool,
            "int" => FlagKind::Int,
            "path" => FlagKind::Path,
            "list" => FlagKind::List,
            "array" => FlagKind::Array,
            "paths" => FlagKind::Paths,
            _ => FlagKind::Text,
        };
        let effect = match effect {
            "own" => FlagEffect::Own,
            "refused" => FlagEffect::Refused,
            effect => effect
                .strip_prefix('=')
                .map_or(FlagEffect::Nothing, FlagEffect::Option),
        };
        Some(Flag { name, kind, effect })
    })
}

/// Reads the arguments of kube-apiserver.
///
/// Behaviour: `parseArgs` of `github.com/spf13/pflag/flag.go`, and `WordSepNormalizeFunc` of `k8s.io/component-base/cli/flag`.
///
/// # Errors
///
/// The message of kube-apiserver for what it refuses too, and that a flag is not supported.
pub(super) fn parse(arguments: &[String]) -> Result<CommandLine, String> {
    let known: BTreeMap<&str, Flag> = flags().map(|flag| (flag.name, flag)).collect();
    let mut values = Values::new();
    let mut positional = Vec::new();
    let mut rest = arguments.iter();

    while let Some(argument) = rest.next() {
        let (shown, name, value) = match argument.strip_prefix("--") {
            Some("") => {
                positional.extend(rest.by_ref().cloned());
                break;
            }
            Some(long) => {
                let (name, value) = split(long);
                (format!("--{name}"), name.replace('_', "-"), value)
            }
            None => match argument.strip_prefix('-').filter(|short| !short.is_empty()) {
                Some(short) => of_letters(argument, short)?,
                None => {
                    positional.push(argument.clone());
                    continue;
                }
            },
        };

        let flag = known.get(name.as_str());
        let flag = flag.ok_or_else(|| format!("unknown flag: {shown}"))?;
        // Only boolean flags and `--version` have a value without one being given.
        let value = match (value, flag.kind) {
            (Some(value), _) => value,
            (None, FlagKind::Bool) => "true".to_owned(),
            (None, _) if flag.name == "version" => "true".to_owned(),
            (None, _) => {
                let next = rest.next().cloned();
                next.ok_or_else(|| format!("flag needs an argument: {shown}"))?
            }
        };
        let value = checked(flag.kind, &shown, value)?;
        let entry = values.entry(flag.name);
        entry.or_insert_with(|| (*flag, Vec::new())).1.push(value);
    }

    // Help is given whatever else is wrong with the values.
    if values.contains_key("help") {
        return Ok(CommandLine::Help);
    }
    if !positional.is_empty() {
        return Err(format!(
            "\"kube-apiserver\" does not take any arguments, got {positional:?}"
        ));
    }
    if values.contains_key("version") {
        return Ok(CommandLine::Version);
    }
    translate(&values).map(CommandLine::Serve)
}

/// A name, and the value behind the first `=`.
fn split(text: &str) -> (&str, Option<String>) {
    match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    }
}

/// A flag by its letter, as it is shown, its name, and its value if that follows.
fn of_letters(argument: &str, short: &str) -> Result<(String, String, Option<String>), String> {
    let mut letters = short.chars();
    let letter = letters.next().unwrap_or_default();
    let known = SHORT.iter().find(|(known, _)| *known == letter);
    let (_, name) =
        known.ok_or_else(|| format!("unknown shorthand flag: {letter:?} in {argument}"))?;

    let value = letters.as_str();
    let value = value.strip_prefix('=').unwrap_or(value);
    let value = (!value.is_empty()).then(|| value.to_owned());
    Ok((format!("-{letter}, --{name}"), (*name).to_owned(), value))
}

/// A value that its kind has, as `serve` writes it.
fn checked(kind: FlagKind, shown: &str, value: String) -> Result<String, String> {
    let parsed = match kind {
        FlagKind::Bool => match value.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => return Ok("true".to_owned()),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => return Ok("false".to_owned()),
            _ => Err("ParseBool"),
        },
        FlagKind::Int => value.parse::<i64>().map_err(|_| "ParseInt"),
        _ => return Ok(value),
    };
    match parsed {
        Ok(number) => Ok(number.to_string()),
        Err(function) => Err(format!(
            "invalid argument {value:?} for {shown:?} flag: strconv.{function}: parsing {value:?}: invalid syntax"
        )),
    }
}

/// The arguments of `serve` that do what the flags ask for.
fn translate(values: &Values) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    for (flag, given) in values.values() {
        match flag.effect {
            FlagEffect::Nothing => {
                wanted.ignored.insert(flag.name);
            }
            FlagEffect::Refused => {
                return Err(format!(
                    "fieldmanager stands in for kube-apiserver, and does not support --{}",
                    flag.name
                ));
            }
            FlagEffect::Option(option) => {
                let values = all(flag.kind, given).into_iter();
                let arguments = values.map(|value| format!("--{option}={value}"));
                wanted.arguments.extend(arguments);
            }
            FlagEffect::Own => {}
        }
    }

    let own = |name: &str| {
        let given = values.get(name);
        given.map_or(Vec::new(), |(flag, given)| all(flag.kind, given))
    };
    wanted.etcd = own("etcd-servers");
    if wanted.etcd.is_empty() {
        return Err("--etcd-servers must be specified".to_owned());
    }
    let prefix = own("etcd-prefix").pop();
    wanted.prefix = prefix.unwrap_or_else(|| PREFIX.to_owned());
    let arguments = &mut wanted.arguments;
    arguments.extend(ALWAYS.map(str::to_owned));
    arguments.push(format!(
        "--authorization={}",
        mode(&own("authorization-mode"))?
    ));

    // Of two families, that of IPv4 counts.
    let ranges = own("service-cluster-ip-range").pop();
    let ranges = ranges.unwrap_or_else(|| "10.0.0.0/24".to_owned());
    let range = ranges.split(',').find(|range| range.contains('.'));
    arguments.push(format!(
        "--service-cluster-ip-range={}",
        range.unwrap_or(&ranges)
    ));
    if !values.contains_key("secure-port") {
        arguments.push("--port=6443".to_owned());
    }
    if own("token-auth-file").is_empty() {
        arguments.push("--no-token".to_owned());
    }
    if !values.contains_key("tls-cert-file") {
        wanted.certificates = own("cert-dir").pop().map(PathBuf::from);
    }
    Ok(wanted)
}

/// The values that count: all, or the last one. An empty value is none, and paths are those of this process.
fn all(kind: FlagKind, given: &[String]) -> Vec<String> {
    let values: Vec<&str> = match kind {
        FlagKind::List => given.iter().flat_map(|value| value.split(',')).collect(),
        FlagKind::Array | FlagKind::Paths => given.iter().map(String::as_str).collect(),
        _ => given.last().map(String::as_str).into_iter().collect(),
    };
    let absolute = |value: &str| match kind {
        FlagKind::Path | FlagKind::Paths => std::path::absolute(Path::new(value))
            .map_or_else(|_| value.to_owned(), |path| path.display().to_string()),
        _ => value.to_owned(),
    };
    values
        .into_iter()
        .filter(|value| !value.is_empty())
        .map(absolute)
        .collect()
}

/// The authorization of `serve` for the modes of kube-apiserver, of which the first that decides does.
fn mode(modes: &[String]) -> Result<&'static str, String> {
    for mode in modes {
        match mode.as_str() {
            "AlwaysAllow" | "RBAC" | "Node" => {}
            "AlwaysDeny" | "ABAC" | "Webhook" => {
                return Err(format!(
                    "fieldmanager stands in for kube-apiserver, and does not support --authorization-mode={mode}"
                ));
            }
            _ => return Err(format!("authorization-mode {mode:?} is not a valid mode")),
        }
    }
    let has = |wanted: &str| modes.iter().any(|mode| mode == wanted);
    Ok(if modes.is_empty() || has("AlwaysAllow") {
        "allow"
    } else {
        "rbac"
    })
}
