//! Functions of URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::internal::go_format::quote;

use super::function::{Run, unary};
use crate::meter::Meter;
use crate::url::{Url, parse, split_host};
use crate::value::{Key, MapVal, Outcome, Val, fault};

/// The implementation of a function.
pub(super) fn run(name: &str) -> Option<Run> {
    Some(match name {
        "url" => |a, _| unary(a, url),
        "isURL" => |a, _| unary(a, |text: &str| parse(text).is_ok()),
        "getScheme" => |a, _| unary(a, |url: &Url| url.scheme.clone()),
        "getHost" => |a, _| unary(a, |url: &Url| url.host.clone()),
        "getHostname" => |a, _| unary(a, |url: &Url| split_host(&url.host).0.to_owned()),
        "getPort" => |a, _| unary(a, |url: &Url| split_host(&url.host).1.to_owned()),
        "getEscapedPath" => |a, _| unary(a, |url: &Url| url.path.clone()),
        "getQuery" => |a, call| unary(a, |url: &Url| query(&url.query, call.meter)),
        _ => return None,
    })
}

fn url<'a>(text: &str) -> Outcome<'a> {
    parse(text)
        .map(|url| Val::Url(Arc::new(url)))
        .or_else(|why| {
            fault(format!(
                "URL parse error during conversion from string: parse {}: {why}",
                quote(text)
            ))
        })
}

/// The parameters of a query, by name.
fn query<'a>(text: &str, meter: &mut Meter) -> Outcome<'a> {
    meter.make(text.len().saturating_mul(2))?;
    let count = text.matches('&').count().saturating_add(1);
    meter.make_items(count.saturating_mul(4))?;
    let mut all: BTreeMap<String, Vec<Val<'a>>> = BTreeMap::new();
    for pair in text
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescaped(name), unescaped(value)) {
            all.entry(name).or_default().push(Val::text(value));
        }
    }

    let made = all
        .into_iter()
        .map(|(name, values)| (Key::String(name.into()), Val::list(values)));
    Ok(Val::Map(MapVal::Made(Arc::new(made.collect()))))
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                let digits = std::str::from_utf8(&digits).ok()?.to_owned();
                out.push(u8::from_str_radix(&digits, 16).ok()?);
            }
            other => out.push(other),
        }
    }

    Some(String::from_utf8_lossy(&out).into_owned())
}
