// The browser of the tests: pages of a server, what they show, and what axe-core finds in them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import puppeteer from 'puppeteer-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const HISTORY = '/ui/history/deployments.apps/default/web';
export const OBJECT = '/ui/objects/deployments.apps/default/web';

// The width of a narrow page, in pixels.
export const NARROW = 400;

export const launch = (...args) => puppeteer.launch({
  executablePath: process.env.CHROMIUM,
  acceptInsecureCerts: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', '--lang=en-US', ...args],
});

// Opens an address, and records what close() fails for. Requests may go to addresses that begin as the opened one does, up to
// its third slash.
export async function open(browser, address, { width = 1200, height = 900, dark = false, script = true, code = 200 } = {}) {
  const page = await browser.newPage();
  const own = address.split('/').slice(0, 3).join('/');
  page.faults = [];
  page.on('console', (message) => {
    // Chromium reports the code of the page itself, and asks for an icon, which the policy does not allow.
    const isExpected = message.text().includes(`status of ${code} `) && message.location().url === address;
    if (message.type() === 'error' && !isExpected && !message.text().includes('favicon')) page.faults.push(message.text());
  });
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('request', (request) => {
    const isOwn = [`${own}/`, 'data:', 'blob:'].some((start) => request.url().startsWith(start));
    if (!isOwn) page.faults.push(`request to ${request.url()}`);
  });
  // Markup of the hostile names calls it, if it ever becomes a part of the page.
  await page.evaluateOnNewDocument(() => { globalThis.hacked = () => { document.documentElement.dataset.hacked = ''; }; });
  await show(page, { width, height, dark });
  await page.setJavaScriptEnabled(script);
  const answer = await page.goto(address);
  if (answer && own.startsWith('http')) assert.ok([code, 304].includes(answer.status()), `${address}: ${answer.status()}`);
  return page;
}

async function show(page, { width, height = 900, dark }) {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }]);
}

// Fails if the browser reported an error, blocked something, or asked another server.
export async function close(page) {
  assert.deepEqual(page.faults, [], page.url());
  await page.close();
}

// Fails if axe-core finds something in the page as it is, or if the page is wider than the window: in all widths, in light and
// dark.
export async function audit(page, where, widths = [1200, NARROW]) {
  // The policy of the page does not apply to what the debugger runs.
  await page.evaluate(axe);
  for (const mode of widths.flatMap((width) => [false, true].map((dark) => ({ width, dark })))) {
    const at = `${where}, ${mode.width} pixels, ${mode.dark ? 'dark' : 'light'}`;
    await show(page, mode);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`);
    assert.deepEqual(found, [], at);
    await fits(page, at);
  }
}

// Fails if the page is wider than the window.
export async function fits(page, where) {
  const [page_, window_] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(page_ <= window_, `${where}: ${page_} pixels wide in a window of ${window_}`);
}

export const text = (page, selector) => page.$eval(selector, (element) => element.textContent.trim());
export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((element) => element.textContent.trim()));
export const position = (page, expected) =>
  page.waitForFunction((wanted) => document.getElementById('position').textContent === wanted, {}, expected);

// Shows an event of the history of `all` events by a click on its link; 1 is the first.
export async function choose(page, number, all) {
  await page.$$eval('#events a[data-position]', (links, at) => links.at(at).click(), number - 1);
  await position(page, `${number} of ${all}`);
}

// The owners and the text of the line of a field.
export const line = (page, path) =>
  page.$$eval('tr[title]', (rows, wanted) => {
    const row = rows.find((own) => own.title === wanted);
    return row && {
      owners: [...row.querySelectorAll('.who bdi')].map((name) => name.textContent),
      text: row.querySelector('.yaml').textContent.trim(),
      kind: ['changed', 'refused'].filter((name) => row.classList.contains(name)).join(),
    };
  }, path);
