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

test("each page fits narrow and wide windows, light and dark, and axe finds nothing", async () => {
  const page = await browser.newPage();
  const [findings, foreign] = [[], []];
  page.on("request", (request) => {
    const url = request.url();
    // The theme asks for the number of stars of the repository.
    if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("https://api.github.com/")) {
      foreign.push(url);
    }
  });
  for (const path of pages()) {
    for (const [width, scheme] of [[400, "dark"], [1200, "light"]]) {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      const answer = await page.goto(origin + path, { waitUntil: "domcontentloaded" });
      assert.equal(answer.status(), 200, path);
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(scrolled <= width, `${path} is ${scrolled} pixels wide at ${width}`);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => axe.run());
      findings.push(...violations.map(({ id, nodes }) => `${path} at ${width}: ${id}: ${nodes[0].html}`));
      if (IMAGES) {
        mkdirSync(IMAGES, { recursive: true });
        await page.screenshot({ path: join(IMAGES, `${path.replaceAll("/", "-")}${width}-${scheme}.png`) });
      }
    }
  }
  assert.deepEqual(findings, []);
  assert.deepEqual(foreign, [], "requests to other sites");
  await page.close();
});

test("search finds an error text without a network", async () => {
  const page = await browser.newPage();
  await page.setViewport({ width: 1200, height: 900 });
  await page.goto(`${origin}/`, { waitUntil: "load" });
  await page.type("input[name=query]", "managedFields must be nil");
  await page.waitForSelector('.md-search-result__link[href*="troubleshooting"]');
  await page.close();
});
