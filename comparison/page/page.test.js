// The page of `fieldmanager serve` in chromium: what it shows.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HISTORY, NARROW, OBJECT, audit, choose, close, line, open, position, text, texts } from './browser.js';
import { added, browser, events, server } from './prepared.js';
import { DEPLOYMENTS, definition, fight, scaled, serve } from './server.js';

const work = mkdtempSync(join(tmpdir(), 'page-'));

test('a fight of two managers over one field is visible', async () => {
  const page = await open(browser, server.url + HISTORY);
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

test('the history is stepped by links and by playing it', async () => {
  const page = await open(browser, server.url + HISTORY);
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
  await choose(page, 4, events);
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

  const page = await open(browser, server.url + HISTORY);
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
  const overview = await open(browser, `${server.url}/ui`);
  const history = await open(browser, server.url + HISTORY);
  const object = await open(browser, server.url + OBJECT);
  const maps = () => overview.$$eval('tr', (rows) => rows.find((row) => row.textContent.startsWith('ConfigMap'))?.querySelector('.number').textContent);
  const counted = Number(await maps());
  await overview.focus('a[href="/ui/kinds/configmaps"]');
  await server.post('/api/v1/namespaces/default/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'live' } });
  await server.apply(`${DEPLOYMENTS}/web?force=true`, 'autoscaler', scaled(9));
  added();
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
  const page = await open(browser, `${server.url}/ui`, { script: false });
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

test('a history of 1,000 revisions is complete and can be stepped', async () => {
  const map = (color) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'busy' }, data: { color } });
  for (let at = 0; at < 1005; at += 1) {
    await server.apply('/api/v1/namespaces/default/configmaps/busy?force=true', `manager-${at % 50}`, map(`c${at}`));
  }
  const start = performance.now();
  const page = await open(browser, `${server.url}/ui/history/configmaps/default/busy`, { width: NARROW });
  assert.equal(await text(page, '#position'), '1000 of 1000');
  assert.equal(await page.$$eval('#events tbody tr', (rows) => rows.length), 1000);
  assert.match(await text(page, '#events'), /5 older events are no longer kept/);
  await page.focus('#slider');
  await page.keyboard.press('Home');
  await position(page, '1 of 1000');
  assert.equal((await line(page, '.data.color')).text, 'color: c5');
  console.log(`1,000 revisions: opened and stepped after ${Math.round(performance.now() - start)} ms`);
  // The names of many managers are not a part of what stays in the window.
  assert.ok(await page.$eval('.player', (player) => player.getBoundingClientRect().height) < 150);
  await audit(page, '1,000 revisions', [NARROW]);
  await close(page);
});

test('a link lets a browser in once', async () => {
  const tokens = join(work, 'tokens');
  writeFileSync(tokens, 'secret,alice\n');
  const guarded = await serve('--token-file', tokens);
  const other = await browser.createBrowserContext();
  try {
    const page = await browser.newPage();
    assert.equal((await page.goto(`${guarded.url}/ui`)).status(), 401);
    assert.match(await text(page, 'body'), /the link that the server printed/);
    assert.equal((await page.goto(guarded.page)).status(), 200);
    assert.equal(page.url(), `${guarded.url}/ui`);
    assert.equal(await text(page, 'h1'), 'Objects');
    // The cookie is what the browser has from now on; scripts cannot read it.
    assert.equal((await page.goto(`${guarded.url}/ui/owners`)).status(), 200);
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.ok(!(await page.content()).includes('secret'));
    const stranger = await other.newPage();
    assert.equal((await stranger.goto(guarded.page)).status(), 401);
    const headers = { Authorization: 'Bearer secret' };
    const { link } = await (await fetch(`${guarded.url}/ui/link`, { method: 'POST', headers })).json();
    assert.equal((await stranger.goto(link)).status(), 200);
    await page.close();
  } finally {
    await other.close();
    await guarded.stop();
  }
});

test('the page works over TLS', async () => {
  const file = join(work, 'shops.json');
  writeFileSync(file, JSON.stringify(definition({ color: { type: 'string' } })));
  const secure = await serve('--tls', '--crd', file);
  try {
    const page = await open(browser, `${secure.url}/ui`);
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
      const page = await open(browser, fresh.url + HISTORY, { width: 1200, height: 700, dark });
      await choose(page, 5, 10);
      await page.evaluate(() => document.activeElement.blur());
      const path = join(process.env.IMAGES, `${name}.png`);
      await page.screenshot({ path, optimizeForSpeed: false });
      assert.ok(statSync(path).size > 10000, path);
      await close(page);
    }
  } finally {
    await fresh.stop();
  }
});
