// The pages by real key presses alone: what has the focus, that it is visible, and where Tab leads.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HISTORY, NARROW, OBJECT, close, line, open, position, text, texts } from './browser.js';
import { browser, events, server } from './prepared.js';

// The element that has the focus, in words; null at the end of the page. Fails if the focus cannot be seen: it needs an outline
// with a contrast of 3 to the page, in the window, with nothing above the element.
async function focused(page) {
  const { name, faults } = await page.evaluate(() => {
    const element = document.activeElement;
    if (!element || element === document.body) return { name: null, faults: [] };
    const faults = [];
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
    if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2) faults.push(`outline ${outlineStyle} ${outlineWidth}`);
    const brightness = (colour) => {
      const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => {
        const share = Number(part) / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    const [light, dark] = [outlineColor, getComputedStyle(document.body).backgroundColor].map(brightness).sort((a, b) => b - a);
    if (light / dark < 3) faults.push(`contrast of the outline ${light / dark}`);
    const box = element.getClientRects()[0];
    const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
    const above = document.elementFromPoint(middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight));
    if (!element.contains(above)) faults.push(`hidden by ${above?.outerHTML.slice(0, 80)}`);
    const label = element.getAttribute('aria-label') ?? element.closest('label')?.textContent ?? element.textContent;
    return { name: `${element.localName} ${element.getAttribute('href') ?? (element.id || label.trim())}`, faults };
  });
  assert.deepEqual(faults, [], `${page.url()}: the focus at ${name}`);
  return name;
}

// Presses Tab, or another key, until an element has the focus that a selector names.
async function tabTo(page, selector, keys = ['Tab']) {
  const passed = [];
  while (!(await page.evaluate((wanted) => document.activeElement.matches(wanted), selector))) {
    for (const key of keys) await page.keyboard.down(key);
    for (const key of keys.toReversed()) await page.keyboard.up(key);
    const name = await focused(page);
    passed.push(name);
    assert.ok(name && passed.length < 200, `${selector} is not reached: ${passed.join(', ')}`);
  }
}

const tabBackTo = (page, selector) => tabTo(page, selector, ['Shift', 'Tab']);

// Presses a key, and checks which element has the focus then.
async function press(page, key, expected) {
  await page.keyboard.press(key);
  assert.equal(await focused(page), expected, `after ${key}`);
}

// Follows the link that has the focus, or sends the form.
const enter = (page) => Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);

test('everything can be done by keyboard alone', async () => {
  const page = await open(browser, `${server.url}/ui`);
  await press(page, 'Tab', 'a #content');
  assert.ok(await page.$eval('.skip', (link) => link.getBoundingClientRect().left > 0), 'the link to the content is visible');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'content');

  await tabTo(page, 'a[href="/ui/kinds/deployments.apps"]');
  await enter(page);
  await tabTo(page, `a[href="${OBJECT}"]`);
  await enter(page);
  // The lines of a manager, and of no manager.
  await tabTo(page, 'button[data-only="0"]');
  await page.keyboard.press('Enter');
  assert.match(await text(page, 'output'), /^[1-9]\d* of \d+ lines/);
  await press(page, 'Tab', 'input kubectl-edit');
  await tabBackTo(page, 'input[data-manager="0"]');
  await page.keyboard.press('Space');
  assert.match(await text(page, 'output'), /^0 of \d+ lines/);
  await tabTo(page, '#all');
  await page.keyboard.press('Space');
  assert.match(await text(page, 'output'), /^([1-9]\d*) of \1 lines/);
  await tabBackTo(page, `a[href="${HISTORY}"]`);
  await enter(page);

  // The slider.
  await tabTo(page, '#slider');
  for (const [key, at] of [['ArrowLeft', events - 1], ['Home', 1], ['ArrowRight', 2], ['ArrowUp', 3], ['ArrowDown', 2],
    ['PageUp', 3], ['End', events]]) {
    await press(page, key, 'input slider');
    await position(page, `${at} of ${events}`);
  }
  assert.match(await page.$eval('#slider', (slider) => slider.ariaValueText), new RegExp(`^${events} of ${events}: kube-controller`));
  // The links beside it, which keep the focus at the ends.
  await press(page, 'Tab', `a ${HISTORY}?at=${await number(page, events - 1)}`);
  for (let at = events - 1; at > 0; at -= 1) {
    await page.keyboard.press('Enter');
    await position(page, `${at} of ${events}`);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'previous');
  }
  assert.match(await focused(page), /previous/);
  await press(page, 'Enter', await focused(page));
  assert.equal(await text(page, '#position'), `1 of ${events}`);
  await press(page, 'Tab', 'button play');
  await press(page, 'Tab', `a ${HISTORY}?at=${await number(page, 2)}`);
  await page.keyboard.press('Enter');
  await position(page, `2 of ${events}`);
  assert.deepEqual(await line(page, '.spec.replicas'), { owners: ['shop'], text: 'replicas: 3', kind: 'refused' });
  // It plays, is stopped, and goes on, while the focus can move on.
  await tabBackTo(page, '#play');
  await press(page, 'Space', 'button play');
  assert.equal(await text(page, '#play'), 'Pause');
  await position(page, `4 of ${events}`);
  await press(page, 'Enter', 'button play');
  assert.equal(await text(page, '#play'), 'Play');
  await press(page, 'Enter', 'button play');
  await tabTo(page, '#state .code');
  const shown = await text(page, '#position');
  await page.waitForFunction((before) => document.getElementById('position').textContent !== before, {}, shown);
  assert.equal(await focused(page), 'div the object');
  // An event.
  await tabTo(page, '#events [data-position="3"]');
  await press(page, 'Enter', `a ${HISTORY}?at=${await number(page, 4)}`);
  await position(page, `4 of ${events}`);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-current')), 'true');

  // The export.
  const downloadPath = mkdtempSync(join(tmpdir(), 'page-'));
  const client = await page.createCDPSession();
  await client.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath, eventsEnabled: true });
  const done = new Promise((resolve) => {
    client.on('Browser.downloadProgress', ({ state }) => { if (state === 'completed') resolve(); });
  });
  await tabBackTo(page, 'a[href^="/ui/export/"]');
  await page.keyboard.press('Enter');
  await done;
  assert.deepEqual(readdirSync(downloadPath), ['deployments-web.yaml']);

  // The search for the owners of a field.
  await tabBackTo(page, 'nav a[href="/ui/owners"]');
  await enter(page);
  await tabTo(page, 'input[name=path]');
  await page.keyboard.type('.spec.replicas');
  await press(page, 'Tab', 'input Kind');
  await page.keyboard.type('Deployment');
  await tabTo(page, 'form button');
  await enter(page);
  assert.match((await texts(page, 'tbody tr'))[0], /taken by autoscaler/);
  await tabTo(page, 'tbody tr:nth-child(2) a');
  await enter(page);
  assert.equal(await text(page, '#position'), `3 of ${events}`);
  await tabBackTo(page, 'nav a[href="/ui"]');
  await enter(page);
  assert.equal(await text(page, 'h1'), 'Objects');
  await close(page);
});

// The number that the server gave to an event; 1 is the first.
const number = (page, event) => page.$eval('#slider', (slider, at) => slider.dataset.numbers.split(' ')[at - 1], event);

// All elements in the order of Tab, or of Shift and Tab, until the page ends or begins again; each gets its place in the
// attribute `data-` and a mark.
async function order(page, mark, keys) {
  const names = [];
  for (;;) {
    for (const key of keys) await page.keyboard.down(key);
    for (const key of keys.toReversed()) await page.keyboard.up(key);
    const name = await focused(page);
    const isNew = await page.evaluate((mark, at) => {
      const { dataset } = document.activeElement;
      const isNew = !(mark in dataset);
      dataset[mark] ??= at;
      return isNew;
    }, mark, names.length);
    if (name === null || !isNew) return names;
    names.push(name);
  }
}

test('Tab reaches everything in the order in which it is seen, and the end', async () => {
  const paths = ['/ui', '/ui/kinds/-?namespace=default', OBJECT, HISTORY, `${HISTORY}?at=1`, '/ui/owners?path=.spec.replicas'];
  for (const path of paths) {
    for (const width of [1200, NARROW]) {
      const page = await open(browser, server.url + path, { width, dark: width === NARROW });
      const where = `${path}, ${width} pixels`;
      const forth = await order(page, 'forth', ['Tab']);
      const { wrong, missing } = await page.evaluate(() => {
        document.activeElement.blur();
        scrollTo(0, 0);
        const all = [...document.querySelectorAll('[data-forth]:not(body)')].sort((a, b) => a.dataset.forth - b.dataset.forth);
        const name = (element) => element.outerHTML.slice(0, 120);
        const wrong = [];
        for (const [at, next] of all.entries()) {
          const last = all[at - 1];
          // The link to the content is seen only while it has the focus.
          if (!last || last.matches('.skip') || last.contains(next)) continue;
          const [from, to] = [last.getBoundingClientRect(), next.getBoundingClientRect()];
          // The next one is further down, or further to the right.
          if (to.top < from.bottom - 2 && to.left < from.right - 2) wrong.push(`${name(last)} before ${name(next)}`);
        }
        const can = [...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')];
        return { wrong, missing: can.filter((element) => !element.hidden && !element.dataset.forth).map(name) };
      });
      assert.deepEqual(wrong, [], where);
      assert.deepEqual(missing, [], where);
      const back = await order(page, 'back', ['Shift', 'Tab']);
      assert.deepEqual(back.toReversed(), forth, where);
      await close(page);
    }
  }
});
