//! The page of `blame --html`, with and without a browser.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot open the page must fail"
)]

use crate::common;

use crate::common::browser::in_browser;
use crate::common::prints;

const PAGE: &str = "blame --html -f tools/cli/tests/data/web.yaml --now 2026-01-05T00:00:00Z";

/// Names and values that would be interpreted as markup if they were not escaped.
const HOSTILE: &str = r##"{
  "apiVersion": "apps/v1</title><script>document.title='x'</script>",
  "kind": "</title><script>hacked()</script>",
  "metadata": {
    "name": "--><svg onload=hacked()>",
    "namespace": "' onmouseover='hacked()",
    "managedFields": [
      {"manager": "\"><img src=x onerror=hacked()>", "operation": "Apply", "apiVersion": "v1\"><b>",
       "subresource": "</li><iframe srcdoc='x'>", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
       "fieldsV1": {"f:<script>hacked()</script>": {}, "f:\" autofocus onfocus=hacked() x=\"": {}}},
      {"manager": "</script></style><script>hacked()</script>\u202e\u0000", "operation": "Update", "apiVersion": "v1",
       "fieldsType": "FieldsV1", "fieldsV1": {"f:style": {}}}
    ]
  },
  "<script>hacked()</script>": "</td></tr></table><script>hacked()</script>",
  "\" autofocus onfocus=hacked() x=\"": "&lt;b&gt; &amp; javascript:hacked()",
  "style": "</style><style>*{display:none}</style>",
  "{{7*7}}": "<!-- ]]> <math><mtext><mglyph><style><img src=x onerror=hacked()>"
}"##;

/// Operates the filters, and says what it observes.
const HOOK: &str = r#"
const rows = [...document.querySelectorAll('tr[data-owners]')];
const lit = () => rows.filter(row => !row.classList.contains('dim')).length;
const box = name => [...document.querySelectorAll('.manager')].find(m => m.querySelector('bdi, .unowned').textContent === name);
const background = element => getComputedStyle(element).backgroundColor;
const ink = element => getComputedStyle(element).color;
say('rows', rows.length);
say('all', lit());
const shop = box('shop');
if (shop) {
  shop.querySelector('input').click();
  say('without-shop', lit());
  shop.querySelector('input').click();
  say('again', lit());
  shop.querySelector('button').click();
  say('only-shop', lit());
  say('dim', ink(rows.find(row => row.classList.contains('dim')).querySelector('.yaml')) !== ink(document.body));
  say('shared-lit', rows.filter(row => row.dataset.owners.includes(' ') && !row.classList.contains('dim')).length > 0);
  document.getElementById('none').click();
  say('none', lit());
  document.getElementById('all').click();
  say('all-again', lit());
  box('no owner').querySelector('button').click();
  say('only-unowned', lit());
  document.getElementById('all').click();
  say('output', document.querySelector('output').textContent);
  const names = [...document.querySelectorAll('aside bdi.name')];
  const colours = new Set(names.map(background));
  say('colours', colours.size === names.length && !colours.has('rgba(0, 0, 0, 0)'));
  const inTable = [...document.querySelectorAll('.who bdi.name')];
  say('same-colours', inTable.every(name =>
    ink(name) === ink(names.find(known => known.textContent === name.textContent))));
  shop.querySelector('input').focus();
  say('focus', document.activeElement.dataset.manager !== undefined);
  say('yaml', rows.some(row => row.querySelector('.yaml').textContent === '  replicas: 10'));
}
say('scripts', document.querySelectorAll('script').length);
say('styles', document.querySelectorAll('style').length);
say('foreign', document.querySelectorAll('img, svg, iframe, math, b, [onerror], [onload], [onfocus], [onmouseover], [style], [srcdoc]').length);
say('hacked', document.documentElement.dataset.hacked || 'no');
say('hidden', rows.some(row => getComputedStyle(row).display === 'none'));"#;

#[test]
fn colours_and_filters_work() {
    let Some(result) = in_browser(&prints(PAGE), HOOK) else {
        return;
    };
    // The expected filter results, from the terminal output of the command.
    let text = prints(&PAGE.replace("--html ", ""));
    let cells: Vec<&str> = text
        .lines()
        .map(|line| line.split('│').next().unwrap().trim())
        .filter(|cell| !cell.is_empty())
        .collect();
    let count = |wanted: &dyn Fn(&str) -> bool| cells.iter().filter(|cell| wanted(cell)).count();
    let (all, shop) = (cells.len(), count(&|cell| cell.contains("shop ")));
    let shop_alone = count(&|cell| cell.starts_with("shop ") && !cell.contains(','));
    let unowned = count(&|cell| cell == "-");
    assert!(shop_alone > 0 && shop > shop_alone && unowned > 0);
    let mut expected = vec![format!("rows={all}"), format!("all={all}")];
    expected.push(format!("without-shop={}", all - shop_alone));
    expected.push(format!("again={all}"));
    expected.push(format!("only-shop={shop}"));
    expected.extend(["dim=true", "shared-lit=true", "none=0"].map(str::to_owned));
    expected.push(format!("all-again={all}"));
    expected.push(format!("only-unowned={unowned}"));
    expected.push(format!("output={all} of {all} lines with these owners"));
    let rest = [
        "colours=true",
        "same-colours=true",
        "focus=true",
        "yaml=true",
    ];
    expected.extend(rest.iter().chain(&TEXT_ONLY).map(|line| (*line).to_owned()));
    assert_eq!(result, expected);
}

/// The result of the hook in a page that has only the elements of the template.
const TEXT_ONLY: [&str; 5] = [
    "scripts=2",
    "styles=1",
    "foreign=0",
    "hacked=no",
    "hidden=false",
];

#[test]
fn policy_blocks_injected_style_and_script() {
    let script = "<script>document.documentElement.dataset.hacked='yes'</script>";
    let style = "<style>tr { display: none }</style>";
    let page = prints(PAGE).replacen("</main>", &format!("{script}{style}</main>"), 1);
    let Some(result) = in_browser(&page, HOOK) else {
        return;
    };
    let last = &result[result.len() - 5..];
    assert_eq!(
        last,
        [
            "scripts=3",
            "styles=2",
            "foreign=0",
            "hacked=no",
            "hidden=false"
        ]
    );
}

fn hostile_page() -> String {
    let run = common::run_with(
        &[
            "blame",
            "--html",
            "-f",
            "-",
            "--now",
            "2026-01-05T00:00:00Z",
        ],
        HOSTILE,
    );
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    run.out
}

#[test]
fn hostile_names_and_values_stay_text_in_a_browser() {
    let Some(result) = in_browser(&hostile_page(), HOOK) else {
        return;
    };
    assert_eq!(result[2..], TEXT_ONLY);
}

#[test]
fn hostile_names_and_values_stay_text() {
    let page = hostile_page();
    // Every tag of the page is a tag of the template.
    let known = [
        "!DOCTYPE", "html", "head", "meta", "title", "style", "body", "header", "h1", "bdi", "p",
        "time", "div", "aside", "fieldset", "legend", "label", "input", "button", "ul", "li",
        "span", "output", "main", "table", "thead", "tbody", "tr", "th", "td", "small", "script",
    ];
    let (style, script) = (
        page.matches("<style>").count(),
        page.matches("<script>").count(),
    );
    assert_eq!((style, script), (1, 1));
    let without = |text: &str, tag: &str| {
        let (before, rest) = text.split_once(&format!("<{tag}>")).unwrap();
        let (_, after) = rest.split_once(&format!("</{tag}>")).unwrap();
        format!("{before}{after}")
    };
    for part in without(&without(&page, "style"), "script")
        .split('<')
        .skip(1)
    {
        let end = part
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '!')
            .unwrap();
        let name = part.trim_start_matches('/');
        let name = if part.starts_with('/') {
            &name[..name.find('>').unwrap()]
        } else {
            &part[..end]
        };
        assert!(known.contains(&name), "{name}: {part}");
        // Every attribute is one of the template, so there is no event handler.
        let tag = part.split('>').next().unwrap();
        assert!(
            !tag.contains(" on") || tag.contains("&quot;") || tag.contains("only "),
            "{tag}"
        );
    }
    // No characters that change the text direction, and no NUL.
    assert!(!page.contains('\u{202e}') && !page.contains('\0'));
}

#[test]
fn page_is_complete_and_self_contained() {
    let page = prints(PAGE);
    assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\">") && page.ends_with("</html>"));
    for outside in ["http://", "https://", "src=\"", "href=", "url(", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    // The lines of chosen managers start bright and all others dimmed, before any script runs.
    let chosen = prints(&format!("{PAGE} --manager autoscaler"));
    assert_eq!(chosen.matches(" checked").count(), 1);
    let dim = chosen
        .split("<tr")
        .filter(|row| row.contains("class=\"dim"))
        .count();
    assert!(
        dim > 20 && !chosen.contains("class=\"dim\" data-owners=\"1\""),
        "{dim}"
    );
}
