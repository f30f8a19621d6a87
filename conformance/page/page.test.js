// The page of `fieldmanager serve` in chromium.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { DEPLOYMENTS, deployment, fight, scaled, serve } from './server.js';

const HISTORY = '/ui/history/deployments.apps/default/web';
const OBJECT = '/ui/objects/deployments.apps/default/web';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const work = mkdtempSync(join(tmpdir(), 'page-'));

let browser;
let server;
let events;

before(async () => {
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    acceptInsecureCerts: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--lang=en-US'],
  });
  server = await serve();
  events = await fight(server);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

// Opens a page, and fails if the browser reports an error or blocks something.
async function open(path, { width = 1200, height = 900, dark = false, script = true, from = server } = {}) {
  const page = await browser.newPage();
  page.faults = [];
  page.on('console', (message) => { if (message.type() === 'error') page.faults.push(message.text()); });
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('request', (request) => {
    const isOwn = [`${from.url}/`, 'data:', 'blob:'].some((start) => request.url().startsWith(start));
    if (!isOwn) page.faults.push(`request to ${request.url()}`);
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
  await page.setJavaScriptEnabled(script);
  await page.goto(from.url + path);
  return page;
}

async function close(page) {
  // Chromium asks for an icon, which the policy does not allow.
  assert.deepEqual(page.faults.filter((fault) => !fault.includes('favicon')), []);
  await page.close();
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent.trim());
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent.trim()));
const position = (page, expected) =>
  page.waitForFunction((wanted) => document.getElementById('position').textContent === wanted, {}, expected);

// The owners and the text of the line of a field.
const line = (page, path) =>
  page.$eval(`tr[title="${path}"]`, (row) => ({
    owners: [...row.querySelectorAll('.who bdi')].map((name) => name.textContent),
    text: row.querySelector('.yaml').textContent.trim(),
    kind: ['changed', 'refused'].filter((name) => row.classList.contains(name)).join(),
  }));

test('a fight of two managers over one field is visible', async () => {
  const page = await open(HISTORY);
  assert.equal(await text(page, '#position'), `${events} of ${events}`);
  const disputed = await text(page, '#fights li');
  assert.match(disputed, /^\.spec\.replicas: autoscaler shop took it 6 times, and were refused once\.$/);
  // The colours of the strip alternate.
  const colours = await page.$$eval('#strip span', (all) => all.map((tick) => getComputedStyle(tick).backgroundColor));
  assert.equal(colours.length, events);
  assert.notEqual(colours[2], colours[3]);
  assert.deepEqual([colours[2], colours[3]], [colours[4], colours[5]]);
  await close(page);
});

test('the history is stepped by keyboard, by links and by playing it', async () => {
  const page = await open(HISTORY);
  await page.focus('#slider');
  await page.keyboard.press('Home');
  await position(page, `1 of ${events}`);
  assert.deepEqual(await line(page, '.spec.replicas'), { owners: ['shop'], text: 'replicas: 3', kind: 'changed' });
  await page.keyboard.press('ArrowRight');
  await position(page, `2 of ${events}`);
  assert.match(await text(page, '#state .sentence'), /^autoscaler: apply was refused with 409 Conflict/);
  assert.deepEqual(await line(page, '.spec.replicas'), { owners: ['shop'], text: 'replicas: 3', kind: 'refused' });
  await page.click('#next');
  await position(page, `3 of ${events}`);
  assert.equal(await text(page, '#state .sentence'), 'autoscaler applied and took .spec.replicas; shop lost .spec.replicas.');
  assert.deepEqual(await line(page, '.spec.replicas'), { owners: ['autoscaler'], text: 'replicas: 5', kind: 'changed' });
  await page.click('#previous');
  await position(page, `2 of ${events}`);
  await page.$$eval('#events a[data-position]', (links) => links.at(3).click());
  await position(page, `4 of ${events}`);
  assert.equal(await page.$$eval('[aria-current]', (all) => all.length), 1);
  // A reload shows the same position.
  await page.reload();
  assert.equal(await text(page, '#position'), `4 of ${events}`);
  // The whole history is played from its beginning, and then ends.
  await page.focus('#slider');
  await page.keyboard.press('End');
  await position(page, `${events} of ${events}`);
  await page.focus('#play');
  await page.keyboard.press('Space');
  const played = [];
  for (let at = 1; at <= events; at += 1) {
    await position(page, `${at} of ${events}`);
    played.push((await line(page, '.spec.replicas')).owners[0]);
  }
  const disputed = ['shop', 'shop', ...Array(3).fill(['autoscaler', 'shop']).flat(), 'shop', 'shop'];
  assert.deepEqual(played, disputed);
  await page.waitForFunction(() => document.getElementById('play').textContent === 'Play');
  await close(page);
});

// A definition of shops, whose `spec` has the given fields.
const definition = (fields) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shops.example.com' },
  spec: {
    group: 'example.com', scope: 'Namespaced', names: { plural: 'shops', kind: 'Shop' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: {
      spec: { type: 'object', properties: fields } } } } }],
  },
});

test('exported histories are scenario files that pass', async () => {
  const items = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: {
    type: 'object', required: ['name'], properties: { name: { type: 'string' }, size: { type: 'integer', default: 1 } } } };
  await server.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition({ items, color: { type: 'string', default: 'red' } }));
  const shops = '/apis/example.com/v1/namespaces/default/shops';
  const shop = (...items) => ({ apiVersion: 'example.com/v1', kind: 'Shop', metadata: { name: 'a' }, spec: { items } });
  await server.apply(`${shops}/a`, 'alice', shop({ name: 'x', size: 2 }));
  await server.apply(`${shops}/a`, 'bob', shop({ name: 'x', size: 3 }, { name: 'y' }), [409]);
  await server.apply(`${shops}/a?force=true`, 'bob', shop({ name: 'x', size: 3 }, { name: 'y' }));
  await server.merge(`${shops}/a`, 'carol', { spec: { color: 'blue' } });
  await server.apply(`${shops}/a`, 'alice', shop({ name: 'z' }));
  await server.send('DELETE', `${shops}/a`);
  await server.apply(`${shops}/a`, 'alice', shop({ name: 'x' }));

  const page = await open(HISTORY);
  const link = await page.$$eval('a', (all) => all.find((a) => a.textContent.startsWith('Export')).getAttribute('href'));
  await close(page);
  for (const [path, conflicts, scenarios] of [[link, 1, 1], ['/ui/export/shops.example.com/default/a', 1, 2]]) {
    const answer = await fetch(server.url + path);
    assert.match(answer.headers.get('Content-Disposition'), /^attachment; filename="[a-z.-]+\.yaml"$/);
    const file = await answer.text();
    assert.equal(file.split('conflicts:').length - 1, conflicts);
    const name = join(work, 'export.yaml');
    writeFileSync(name, file);
    const run = spawnSync(process.env.FIELDMANAGER, ['test', name], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stdout + run.stderr);
    assert.equal(run.stdout, `${scenarios} passed, 0 failed\n`);
    // The test is not empty: another value or another owner fails.
    writeFileSync(name, file.replaceAll('manager: bob', 'manager: bert').replaceAll('force: true', 'force: false'));
    assert.equal(spawnSync(process.env.FIELDMANAGER, ['test', name]).status, 1);
  }
});

test('pages follow the store', async () => {
  const overview = await open('/ui');
  const history = await open(HISTORY);
  const object = await open(OBJECT);
  const maps = () => overview.$$eval('tr', (rows) => rows.find((row) => row.textContent.startsWith('ConfigMap'))?.querySelector('.number').textContent);
  const counted = Number(await maps());
  await overview.focus('a[href="/ui/kinds/configmaps"]');
  await server.post('/api/v1/namespaces/default/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'live' } });
  await server.apply(`${DEPLOYMENTS}/web?force=true`, 'autoscaler', scaled(9));
  events += 1;
  const shown = (page, check, ...values) => page.bringToFront().then(() => page.waitForFunction(check, { timeout: 15000 }, ...values));
  await shown(overview, (wanted) => [...document.querySelectorAll('tr')].some((row) => row.textContent === wanted), `ConfigMap${counted + 1}`);
  assert.equal(await overview.evaluate(() => document.activeElement.getAttribute('href')), '/ui/kinds/configmaps');
  await shown(history, (wanted) => document.getElementById('position').textContent === wanted, `${events} of ${events}`);
  await history.waitForFunction(() => document.querySelector('#state .sentence').textContent.startsWith('autoscaler applied'));
  assert.deepEqual((await line(history, '.spec.replicas')).owners, ['autoscaler']);
  await shown(object, () => document.getElementById('status').textContent.startsWith('The object has changed'));
  for (const page of [overview, history, object]) await close(page);
});

test('everything can be read without a script', async () => {
  const page = await open('/ui', { script: false });
  const follow = async (selector) => { await Promise.all([page.waitForNavigation(), page.click(selector)]); };
  await follow('a[href="/ui/kinds/deployments.apps"]');
  await follow(`a[href="${HISTORY}"]`);
  assert.deepEqual(await page.$$eval('#slider, #play', (all) => all.map((element) => element.hidden)), [true, true]);
  await follow('#previous');
  assert.equal(await text(page, '#position'), `${events - 1} of ${events}`);
  await page.goto(`${server.url}/ui/owners`);
  await page.type('input[name=path]', '.spec.replicas');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  const rows = await texts(page, 'tbody tr');
  assert.ok(rows.length >= 7 && rows[0].includes('taken by autoscaler'), rows.join('\n'));
  await page.close();
});

// Names and values that would be markup if they were not escaped, that are long, or that are written from right to left.
async function hostile() {
  const markup = '<img src=x onerror=hacked()>"\'&';
  const long = 'x'.repeat(253);
  const role = (name) => server.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name, annotations: { note: `${markup}</td></table><script>hacked()</script>\u202e${long}` } } });
  await role(markup);
  const map = (value) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: long }, data: { color: value } });
  const path = `/api/v1/namespaces/default/configmaps/${long}`;
  await server.apply(path, '</script><script>hacked()</script>', map(markup));
  await server.apply(`${path}?force=true`, `\u05d1\u05e2\u05dc\u05d9\u05dd${'m'.repeat(110)}`, map('\u05d0\u05d3\u05d5\u05dd'));
  await server.apply(`${path}?force=true`, '</script><script>hacked()</script>', map(long));
  return [`configmaps/default/${long}`, `clusterroles.rbac.authorization.k8s.io/-/${encodeURIComponent(markup)}`];
}

test('pages with hostile names are text, accessible and narrow', async () => {
  const objects = await hostile();
  const paths = ['/ui', '/ui/kinds/clusterroles.rbac.authorization.k8s.io', '/ui/kinds/-?namespace=default', OBJECT, HISTORY,
    '/ui/owners', '/ui/owners?path=.spec.replicas', '/ui/owners?path=.data&kind=ConfigMap'];
  for (const object of objects) paths.push(`/ui/objects/${object}`, `/ui/history/${object}`);
  for (const path of paths) {
    for (const { width, dark } of [{ width: 1200, dark: false }, { width: 1200, dark: true }, { width: 400, dark: false }, { width: 400, dark: true }]) {
      const where = `${path.slice(0, 60)}, ${width}, ${dark ? 'dark' : 'light'}`;
      const page = await open(path, { width, dark });
      // The policy of the page does not apply to what the debugger runs.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const found = violations.map((fault) => `${fault.id}: ${fault.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`);
      assert.deepEqual(found, [], where);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${where}: ${wide} pixels wide`);
      assert.equal(await page.$$eval('img, svg, iframe, [onerror], [onload], [style]', (all) => all.length), 0, where);
      assert.equal(await page.$$eval('script', (all) => all.length), path.includes('/objects/') ? 2 : 1, where);
      await close(page);
    }
  }
});

test('a history of 1,000 revisions is complete and can be stepped', async () => {
  const map = (color) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'busy' }, data: { color } });
  for (let at = 0; at < 1005; at += 1) {
    await server.apply('/api/v1/namespaces/default/configmaps/busy?force=true', `manager-${at % 2}`, map(`c${at}`));
  }
  const start = performance.now();
  const page = await open('/ui/history/configmaps/default/busy', { width: 400 });
  assert.equal(await text(page, '#position'), '1000 of 1000');
  assert.equal(await page.$$eval('#events tbody tr', (rows) => rows.length), 1000);
  assert.match(await text(page, '#events'), /5 older events are no longer kept/);
  await page.focus('#slider');
  await page.keyboard.press('Home');
  await position(page, '1 of 1000');
  assert.equal((await line(page, '.data.color')).text, 'color: c5');
  console.log(`1,000 revisions: opened and stepped after ${Math.round(performance.now() - start)} ms`);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
  await close(page);
});

test('a browser signs in with a token as the password', async () => {
  const tokens = join(work, 'tokens');
  writeFileSync(tokens, 'secret,alice\n');
  const guarded = await serve('--token-file', tokens);
  try {
    const page = await browser.newPage();
    assert.equal((await page.goto(`${guarded.url}/ui`).catch(() => null))?.status() ?? 401, 401);
    await page.authenticate({ username: 'me', password: 'secret' });
    assert.equal((await page.goto(`${guarded.url}/ui`)).status(), 200);
    assert.equal(await text(page, 'h1'), 'Objects');
    await page.close();
  } finally {
    await guarded.stop();
  }
});

test('the page works over TLS', async () => {
  const file = join(work, 'shops.json');
  writeFileSync(file, JSON.stringify(definition({ color: { type: 'string' } })));
  const secure = await serve('--tls', '--crd', file);
  try {
    const page = await open('/ui', { from: secure });
    assert.match(page.url(), /^https:/);
    await Promise.all([page.waitForNavigation(), page.click('a[href="/ui/kinds/customresourcedefinitions.apiextensions.k8s.io"]')]);
    await Promise.all([page.waitForNavigation(), page.click('a[href*="/shops.example.com"]')]);
    assert.match(await text(page, 'main'), /shops\.example\.com/);
    await close(page);
  } finally {
    await secure.stop();
  }
});

test('screenshots of the documents', { skip: !process.env.IMAGES && 'no folder for images' }, async () => {
  const fresh = await serve();
  try {
    await fight(fresh);
    mkdirSync(process.env.IMAGES, { recursive: true });
    for (const [name, dark] of [['history-light', false], ['history-dark', true]]) {
      const page = await open(HISTORY, { width: 1200, height: 700, dark, from: fresh });
      await page.$$eval('#events a[data-position]', (links) => links.at(4).click());
      await position(page, '5 of 10');
      await page.evaluate(() => document.activeElement.blur());
      await page.screenshot({ path: join(process.env.IMAGES, `${name}.png`), optimizeForSpeed: false });
      await close(page);
    }
  } finally {
    await fresh.stop();
  }
});
