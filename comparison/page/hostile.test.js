// Names, values and field paths that would be markup if they were not escaped, that are long, or that change the direction of
// text.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { NARROW, audit, choose, close, fits, launch, line, open } from './browser.js';
import { definition, serve } from './server.js';

const MARKUP = '<img src=x onerror=hacked()>"\'&';
const SCRIPT = '</script><script>hacked()</script>';
const LONG = 'x'.repeat(253);

// Keys of a map.
const KEYS = [
  MARKUP,
  SCRIPT,
  '"quoted" and \'quoted\' \\ `quoted`',
  'a/b/../c?d=e#f%20g',
  'abc\u202edef',
  '\u2066isolated\u2069',
  '\u05d0\u05d3\u05d5\u05dd',
  '\u{1f469}\u200d\u{1f4bb} \u{1f600}',
  '[name="a"].b',
  'line\nline\ttab',
  'two  spaces',
  'k'.repeat(1000),
  ' ',
  '',
];

// A string with the characters escaped that are invisible or change the direction of text.
const printable = (string) =>
  string.replace(/[\n\t\u200d\u202a-\u202e\u2066-\u2069]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

let browser;
let server;

before(async () => {
  browser = await launch();
  server = await serve();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

// Fails if something of the object has become a part of the page, or a script of it ran.
async function isText(page, scripts) {
  assert.equal(await page.$$eval('img, svg, iframe, [onerror], [onload], [style]', (all) => all.length), 0, page.url());
  assert.equal(await page.$$eval('script', (all) => all.length), scripts, page.url());
  assert.equal(await page.evaluate(() => 'hacked' in document.documentElement.dataset), false, page.url());
}

test('pages with hostile names and values are text, accessible and narrow', async () => {
  await server.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole',
    metadata: { name: MARKUP, annotations: { note: `${MARKUP}</td></table>${SCRIPT}\u202e${LONG}` } } });
  const map = (value) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: LONG }, data: { color: value } });
  const path = `/api/v1/namespaces/default/configmaps/${LONG}`;
  await server.apply(path, SCRIPT, map(MARKUP));
  await server.apply(`${path}?force=true`, `\u05d1\u05e2\u05dc\u05d9\u05dd${'m'.repeat(110)}`, map('\u05d0\u05d3\u05d5\u05dd'));
  await server.apply(`${path}?force=true`, SCRIPT, map(LONG));
  const paths = ['/ui', '/ui/kinds/clusterroles.rbac.authorization.k8s.io', '/ui/kinds/-?namespace=default',
    '/ui/owners?path=.data&kind=ConfigMap'];
  for (const object of [`configmaps/default/${LONG}`, `clusterroles.rbac.authorization.k8s.io/-/${encodeURIComponent(MARKUP)}`]) {
    paths.push(`/ui/objects/${object}`, `/ui/history/${object}`);
  }
  for (const path of paths) {
    const page = await open(browser, server.url + path);
    await audit(page, path.slice(0, 60));
    await isText(page, path.includes('/objects/') ? 2 : 1);
    await close(page);
  }
});

const SHOP = 'shops.example.com/default/a';
const paths = KEYS.map((key) => `.spec.any.${key}.leaf`);

// Two managers that take all fields of a shop from each other, after one was refused. There are four events.
async function fightOverKeys() {
  const any = { 'x-kubernetes-preserve-unknown-fields': true, type: 'object' };
  await server.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition({ any }));
  const path = '/apis/example.com/v1/namespaces/default/shops/a';
  const shop = (value) => ({ apiVersion: 'example.com/v1', kind: 'Shop', metadata: { name: 'a' },
    spec: { any: Object.fromEntries(KEYS.map((key) => [key, { leaf: value }])) } });
  await server.apply(path, 'alice', shop('red'));
  await server.apply(path, 'bob', shop('blue'), [409]);
  await server.apply(`${path}?force=true`, 'bob', shop('blue'));
  await server.apply(`${path}?force=true`, 'alice', shop('red'));
}

// The texts as they are seen: without the spaces that a browser leaves out.
const seen = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.innerText));

function includesAll(found, what) {
  const missing = paths.map(printable).filter((path) => !found.includes(path));
  assert.deepEqual(missing, [], `${what} has ${found.join('\n')}`);
}

test('hostile field paths are shown as they are', async () => {
  await fightOverKeys();
  const history = await open(browser, `${server.url}/ui/history/${SHOP}`);
  includesAll(await seen(history, '#fights code'), 'the disputed fields');
  for (const [event, list] of [[1, '.effects code'], [2, '.conflicts code'], [3, '.effects code'], [4, '.effects code']]) {
    await choose(history, event, 4);
    includesAll(await seen(history, `#state ${list}`), `event ${event}`);
    const [owner, value] = event === 3 ? ['bob', 'blue'] : ['alice', 'red'];
    const kind = event === 2 ? 'refused' : 'changed';
    for (const path of paths.map(printable)) {
      assert.deepEqual(await line(history, path), { owners: [owner], text: `leaf: ${value}`, kind }, path);
    }
  }
  assert.ok((await seen(history, '#state .yaml')).includes(`    ${MARKUP}:`));
  await isText(history, 1);
  await audit(history, 'history');
  await close(history);

  const object = await open(browser, `${server.url}/ui/objects/${SHOP}`);
  includesAll(await object.$$eval('tr[title]', (rows) => rows.map((row) => row.title)), 'the object');
  await isText(object, 2);
  await audit(object, 'object');
  await close(object);
});

test('owners of hostile field paths are found', async () => {
  const all = await open(browser, `${server.url}/ui/owners?path=.spec.any`);
  includesAll(await seen(all, '.paths code'), 'the search');
  await isText(all, 1);
  await audit(all, 'search');
  await close(all);
  const one = await open(browser, `${server.url}/ui/owners`, { width: NARROW });
  for (const path of paths) {
    await one.goto(`${server.url}/ui/owners?path=${encodeURIComponent(path)}`);
    const found = new Set(await seen(one, '.paths code'));
    assert.deepEqual([...found], [printable(path)]);
    assert.equal(await one.$eval('input[name=path]', (input) => input.value), path.replace('\n', ''));
    await isText(one, 1);
    await fits(one, path);
  }
  await close(one);
});

test('a history with hostile field paths is exported as a scenario that passes', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'page-')), 'export.yaml');
  writeFileSync(file, await server.send('GET', `/ui/export/${SHOP}`));
  const run = spawnSync(process.env.FIELDMANAGER, ['test', file], { encoding: 'utf8' });
  assert.equal(run.stdout, '1 passed, 0 failed\n', run.stderr);
});
