// What axe-core finds in the states of the pages, and in the other pages that the program makes.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HISTORY, OBJECT, audit, choose, close, open, text, texts } from './browser.js';
import { added, browser, events, server } from './prepared.js';
import { DEPLOYMENTS, scaled } from './server.js';

const MAPS = '/api/v1/namespaces/default/configmaps';
const work = mkdtempSync(join(tmpdir(), 'page-'));
const map = (color) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'gone' }, data: { color } });

// Audits a page that shows what is expected.
async function audited(path, shown, prepare = async () => {}, code = 200) {
  const page = await open(browser, server.url + path, { code });
  await prepare(page);
  assert.match(await text(page, 'body'), shown, path);
  await audit(page, `${path}, ${shown}`);
  await close(page);
}

test('axe-core finds nothing in any kind of page', async () => {
  await audited('/ui', /Latest changes/);
  await audited('/ui/kinds/deployments.apps', /1 objects/);
  await audited('/ui/kinds/-?namespace=default', /Deployment/);
  await audited(OBJECT, /lines with these owners/);
  await audited('/ui/owners', /Who owned a field/);
});

test('axe-core finds nothing in an object with lines that are dimmed', () =>
  audited(OBJECT, /[1-9] of \d+ lines/, (page) => page.click('button[data-only="0"]')));

test('axe-core finds nothing in the states of a history', async () => {
  await audited(HISTORY, new RegExp(`${events} of ${events}`));
  await audited(HISTORY, /Revision \d+autoscaler applied and took/, (page) => choose(page, 3, events));
  await audited(HISTORY, /Refused request.*conflict with "shop"/, (page) => choose(page, 2, events));
  await audited(HISTORY, /PreviousPauseNext/, (page) => page.click('#play'));
});

test('axe-core finds nothing in a history with an injected fault', async () => {
  await server.post('/test/faults', { fault: 'unavailable', verb: 'apply', times: 1 });
  await server.apply(`${DEPLOYMENTS}/web`, 'autoscaler', scaled(4), [503]);
  added();
  await audited(HISTORY, /Faultunavailable/);
});

test('axe-core finds nothing in the pages of a removed object', async () => {
  await server.apply(`${MAPS}/gone`, 'shop', map('red'));
  await server.send('DELETE', `${MAPS}/gone`);
  await audited('/ui/objects/configmaps/default/gone', /does not exist any more/);
  await audited('/ui/history/configmaps/default/gone', /The object was removed/);
});

test('axe-core finds nothing in the answers of a search', async () => {
  await audited('/ui/owners?path=.spec.replicas', /taken by autoscaler/);
  await audited('/ui/owners?path=.spec.none&kind=Deployment', /No manager owned it/);
});

test('axe-core finds nothing in error pages, which lead back', async () => {
  for (const [path, code, message] of [
    ['/ui/objects/configmaps/default/none', 404, /ConfigMap default\/none does not exist/],
    ['/ui/history/configmaps/default/none', 404, /the server has no history of it/],
    ['/ui/kinds/none.example.com', 404, /page not found/],
    ['/ui/kinds/-?after=%01', 400, /not a key/],
    ['/ui/objects/configmaps/default/%3Cscript%3Ehacked()', 404, /default\/<script>hacked\(\) does not exist/],
  ]) {
    await audited(path, message, async (page) => {
      assert.deepEqual(await texts(page, 'nav a'), ['Kinds', 'Owners of a field']);
      assert.equal(await page.evaluate(() => 'hacked' in document.documentElement.dataset), false);
    }, code);
  }
});

// What the program prints, with an expected exit code.
function printed(code, ...args) {
  const run = spawnSync(process.env.FIELDMANAGER, args, { encoding: 'utf8' });
  assert.equal(run.status, code, run.stderr);
  return run.stdout;
}

async function auditedFile(content, shown, name) {
  const file = join(work, name);
  writeFileSync(file, content);
  const page = await open(browser, `file://${file}`);
  assert.match(await text(page, 'body'), shown);
  await audit(page, name);
  await close(page);
}

test('axe-core finds nothing in the page of `blame --html`', async () => {
  const object = join(work, 'object.json');
  writeFileSync(object, await server.send('GET', `${DEPLOYMENTS}/web`));
  for (const chosen of [[], ['--manager', 'shop']]) {
    const page = printed(0, 'blame', '-f', object, '--now', '2026-02-01T12:00:00Z', '--html', ...chosen);
    await auditedFile(page, /kubectl-edit/, 'blame.html');
  }
});

test('axe-core finds nothing in the page of `plan -o html`', async () => {
  const live = join(work, 'live.json');
  writeFileSync(live, await server.send('GET', `${DEPLOYMENTS}/web`));
  const config = join(work, 'config.json');
  const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: 7 } };
  writeFileSync(config, `${JSON.stringify(web)}\n---\n${JSON.stringify(map('red'))}\n`);
  const page = printed(1, 'plan', '--manager', 'ci', '--live', live, '-o', 'html', config);
  await auditedFile(page, /1 conflict.*created\s+ConfigMap/s, 'plan.html');
});

test('axe-core finds nothing in the page of `blame --html` of several objects', async () => {
  const objects = join(work, 'objects.json');
  const web = JSON.parse(await server.send('GET', `${DEPLOYMENTS}/web`));
  writeFileSync(objects, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [web, map('blue')] }));
  const page = printed(0, 'blame', '-f', objects, '--now', '2026-02-01T12:00:00Z', '--html');
  await auditedFile(page, /2 objects/, 'blame-several.html');
});

test('axe-core finds nothing in the page of `conformance --report html`', async () => {
  const step = { apply: { manager: 'shop', object: map('red') } };
  const scenario = (name, ...steps) => JSON.stringify({ name, schema: 'builtin:kubernetes', steps });
  const cases = join(work, 'cases.yaml');
  const failing = scenario('<script>hacked()</script>', { ...step, expect: { object: map('blue') } });
  writeFileSync(cases, `${scenario('passes', step)}\n---\n${failing}\n`);
  const page = printed(1, 'conformance', cases, '--server', server.url, '--report', 'html');
  await auditedFile(page, /1 passed, 1 failed.*differs at \.data\.color/s, 'report.html');
});
