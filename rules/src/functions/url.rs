//! Functions of URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use fieldmanager_value::internal::go_format::quote;

use super::function::{Function, first, global, member, one, unary};
use crate::url::{Url, parse, split_host};
use crate::value::{Key, MapVal, Outcome, Val, fault};

pub(super) const ALL: &[Function] = &[
    global("url", 1, first, |a, _| unary(a, url)),
    global("isURL", 1, one, |a, _| unary(a, |text: &str| parse(text).is_ok())),
    member("getScheme", 1, one, |a, _| unary(a, |url: &Url| url.scheme.clone())),
    member("getHost", 1, one, |a, _| unary(a, |url: &Url| url.host.clone())),
    member("getHostname", 1, one, |a, _| unary(a, |url: &Url| split_host(&url.host).0.to_owned())),
    member("getPort", 1, one, |a, _| unary(a, |url: &Url| split_host(&url.host).1.to_owned())),
    member("getEscapedPath", 1, one, |a, _| unary(a, |url: &Url| url.path.clone())),
    member("getQuery", 1, one, |a, call| {
        unary(a, |url: &Url| {
            call.meter.make(url.query.len().saturating_mul(2))?;
            call.meter.make_items(url.query.matches('&').count().saturating_add(1).saturating_mul(4))?;
            Ok(Val::Map(MapVal::Made(Arc::new(query(&url.query)))))
        })
    }),
];

fn url<'a>(text: &str) -> Outcome<'a> {
    parse(text).map(|url| Val::Url(Arc::new(url))).or_else(|why| {
        fault(format!("URL parse error during conversion from string: parse {}: {why}", quote(text)))
    })
}

/// The parameters of a query, by name.
fn query<'a>(text: &str) -> BTreeMap<Key, Val<'a>> {
    let mut all: BTreeMap<String, Vec<Val<'a>>> = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescaped(name), unescaped(value)) {
            all.entry(name).or_default().push(Val::text(value));
        }
    }
    all.into_iter().map(|(name, values)| (Key::String(name.into()), Val::list(values))).collect()
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
