import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { after, before, test } from "node:test";

import axe from "axe-core";
import puppeteer from "puppeteer-core";

const { CHROMIUM, IMAGES, SITE } = process.env;
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml" };
let browser;
let server;
let origin;

before(async () => {
  // Search is a worker, which files cannot start.
  server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://site").pathname));
    const file = join(SITE, path.endsWith("/") ? `${path}index.html` : path);
    try {
      const body = readFileSync(file);
      response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
      response.end(body);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${server.address().port}`;
  browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(async () => {
  await browser.close();
  server.close();
});

/** The pages of the site. */
function pages() {
  const files = readdirSync(SITE, { recursive: true });
  const found = files.filter((file) => file.endsWith("index.html")).map((file) => `/${file.slice(0, -"index.html".length)}`);
  assert.ok(found.length > 15, `${found.length} pages`);
  return found;
}

/** Opens a page in a window of a size and scheme, and calls a function with it. Requests to other sites are faults. */
async function visit(width, scheme, look) {
  // A visitor without a past: the theme remembers the scheme of the first visit.
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const foreign = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:")) {
      foreign.push(url);
    }
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await look(page);
  assert.deepEqual(foreign, [], "requests to other sites");
  await context.close();
}

/** What is wrong with a page in a window. */
async function faults(page, path, width, scheme) {
  const answer = await page.goto(origin + path, { waitUntil: "load" });
  assert.equal(answer.status(), 200, path);
  const where = `${path} at ${width}, ${scheme}`;
  const [scrolled, painted] = await page.evaluate(() => [document.documentElement.scrollWidth, document.body.dataset.mdColorScheme]);
  assert.equal(painted, scheme === "dark" ? "slate" : "default", where);
  assert.ok(scrolled <= width, `${where}: ${scrolled} pixels wide`);
  if (IMAGES) {
    mkdirSync(IMAGES, { recursive: true });
    await page.screenshot({ path: join(IMAGES, `${path.replaceAll("/", "-")}${width}-${scheme}.png`) });
  }
  return findings(page, where);
}

/** What axe finds on a page as it is. */
async function findings(page, where) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => axe.run());
  return violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes[0].html}`);
}

for (const width of [400, 1200]) {
  for (const scheme of ["light", "dark"]) {
    test(`each page fits ${width} pixels, ${scheme}, and axe finds nothing`, async () => {
      const found = [];
      await visit(width, scheme, async (page) => {
        for (const path of pages()) {
          found.push(...(await faults(page, path, width, scheme)));
        }
      });
      assert.deepEqual(found, []);
    });
  }
}

/** Opens a part of the theme with its hidden checkbox, as its buttons do, and waits until it has moved. */
async function open(page, part) {
  await page.goto(`${origin}/`, { waitUntil: "load" });
  await page.evaluate((id) => document.getElementById(id).click(), part);
  await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)));
}

for (const [query, found, width, scheme] of [
  ["managedFields must be nil", "guides/managed-fields-must-be-nil", 1200, "light"],
  ["before-first-apply", "guides/before-first-apply", 400, "dark"],
  ["kubectl scale", "guides/kubectl-scale", 400, "light"],
]) {
  test(`search for \`${query}\` finds its page without a network, and axe finds nothing`, async () => {
    await visit(width, scheme, async (page) => {
      await open(page, "__search");
      await page.focus("input[name=query]");
      await page.keyboard.type(query);
      await page.waitForSelector(`.md-search-result__link[href*="${found}"]`);
      assert.deepEqual(await findings(page, query), []);
    });
  });
}

test("the navigation of a narrow window has no finding of axe", async () => {
  for (const scheme of ["light", "dark"]) {
    await visit(400, scheme, async (page) => {
      await open(page, "__drawer");
      assert.deepEqual(await findings(page, scheme), []);
    });
  }
});

test("each page can be reached by the navigation", async () => {
  await visit(1200, "light", async (page) => {
    await page.goto(`${origin}/`, { waitUntil: "load" });
    const links = await page.evaluate(() => [...document.querySelectorAll(".md-nav--primary a[href]")].map((link) => new URL(link.href).pathname));
    assert.deepEqual(pages().filter((path) => !links.includes(path)), []);
  });
});
