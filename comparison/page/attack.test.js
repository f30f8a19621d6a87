// Pages of other sites that a browser shows while `fieldmanager serve` runs: they read, create and reset nothing.

import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { launch } from './browser.js';
import { start } from './server.js';

// A part of all that the pages must not read.
const MARKER = 'do-not-read-this';
const NAMESPACE = '/api/v1/namespaces/default';

let browser;

before(async () => {
  // The domain leads to this machine, as its owner can make it lead. What browsers have against it is not relied on.
  browser = await launch(
    '--host-resolver-rules=MAP evil.example 127.0.0.1',
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,HttpsUpgrades',
    '--disable-popup-blocking',
  );
});

after(() => browser?.close());

// Forwards requests to a port unchanged, records those of attempts with their answers, and serves the empty page /attack itself.
async function tap(target) {
  const seen = [];
  const note = ({ url, method }, status) => {
    const attempt = new URL(url, 'http://a').searchParams.get('attempt');
    if (attempt) seen.push({ attempt, method, status });
  };
  const server = createServer((own, answer) => {
    if (own.url === '/attack') return answer.setHeader('Content-Type', 'text/html').end('<!DOCTYPE html><title>attack</title>');
    const { method, url: path, headers } = own;
    const forwarded = request({ host: '127.0.0.1', port: target, method, path, headers, setHost: false }, (found) => {
      note(own, found.statusCode);
      answer.writeHead(found.statusCode, found.headers);
      found.pipe(answer);
    });
    forwarded.on('error', () => answer.destroy());
    own.pipe(forwarded);
    return answer;
  });
  server.on('upgrade', (own, socket) => {
    const other = connect(target, '127.0.0.1', () => {
      const pairs = own.rawHeaders.flatMap((text, at) => (at % 2 ? [] : [`${text}: ${own.rawHeaders[at + 1]}\r\n`]));
      other.write(`${own.method} ${own.url} HTTP/1.1\r\n${pairs.join('')}\r\n`);
      other.once('data', (data) => note(own, Number(data.toString('latin1').split(' ')[1])));
      other.pipe(socket).pipe(other);
    });
    for (const end of [socket, other]) end.on('error', () => { socket.destroy(); other.destroy(); });
  });
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  const stop = () => { server.closeAllConnections(); server.close(); };
  return { port: server.address().port, seen, stop };
}

// A server that checks nothing: it shows which attempts a browser sends, and what pages can read.
async function careless() {
  const server = createServer((own, answer) => {
    own.resume();
    answer.writeHead(200, { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*', 'Access-Control-Allow-Methods': '*' });
    answer.end(JSON.stringify(MARKER));
  });
  server.on('upgrade', (own, socket) => socket.end('HTTP/1.1 500 No\r\n\r\n'));
  await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
  return { port: server.address().port, stop: () => { server.closeAllConnections(); server.close(); } };
}

// Runs in the page: makes all attempts on a server, and returns what it could read.
async function attack(target, namespace) {
  const read = [];
  const say = (attempt, text) => read.push(`${attempt}: ${text}`);
  const at = (attempt, path = '/api/v1/secrets') => `${target}${path}${path.includes('?') ? '&' : '?'}attempt=${attempt}`;
  const limit = (promise) => Promise.race([promise, new Promise((ended) => { setTimeout(ended, 3000); })]);
  const object = (name) => JSON.stringify({ metadata: { name } });
  const maps = `${namespace}/configmaps`;
  const shown = async (attempt, answer) => say(attempt, `${answer.type} ${answer.status} ${await answer.text()}`);
  const get = (attempt, url, options) => limit(fetch(url, options).then((answer) => shown(attempt, answer)).catch((error) => say(attempt, error)));
  const all = [];

  for (const mode of ['cors', 'no-cors', 'same-origin']) {
    for (const credentials of ['include', 'omit']) {
      for (const [name, path] of [['secrets', '/api/v1/secrets'], ['page', '/ui'], ['log', '/test/log'], ['root', '/']]) {
        const attempt = `read-${name}-${mode}-${credentials}`;
        all.push(get(attempt, at(attempt, path), { mode, credentials }));
      }
    }
    const text = object(`write-${mode}`);
    const bodies = {
      text: () => text,
      untyped: () => new Blob([text]),
      bytes: () => new TextEncoder().encode(text),
      plain: () => new Blob([text], { type: 'text/plain' }),
      json: () => new Blob([text], { type: 'application/json' }),
      fields: () => new URLSearchParams({ [text]: '' }),
      form: () => { const form = new FormData(); form.set('a', text); return form; },
    };
    for (const [kind, body] of Object.entries(bodies)) {
      for (const [name, path] of [['create', maps], ['evict', `${namespace}/pods/a/eviction`], ['reset', '/test/reset'], ['review', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews']]) {
        const attempt = `${name}-${kind}-${mode}`;
        all.push(get(attempt, at(attempt, path), { method: 'POST', mode, body: body(), credentials: 'include' }));
      }
    }
    const headers = { 'Content-Type': 'application/json' };
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const attempt = `change-${method}-${mode}`;
      all.push(get(attempt, at(attempt, `${maps}/kept`), { method, mode, headers, body: method === 'DELETE' ? undefined : object('kept') }));
    }
    all.push(get(`login-${mode}`, at(`login-${mode}`, '/ui/link'), { method: 'POST', mode, credentials: 'include' }));
    const loud = `authorized-${mode}`;
    all.push(get(loud, at(loud), { mode, headers: { Authorization: 'Bearer admin' } }));
  }

  for (const [kind, body] of [['text', object('beacon')], ['untyped', new Blob([object('beacon')])], ['json', new Blob([object('beacon')], { type: 'application/json' })]]) {
    for (const [name, path] of [['create', maps], ['reset', '/test/reset']]) {
      try { say(`beacon-${name}-${kind}`, navigator.sendBeacon(at(`beacon-${name}-${kind}`, path), body)); } catch (error) { say('beacon', error); }
    }
  }

  const load = (attempt, tag, properties) => limit(new Promise((ended) => {
    const element = Object.assign(document.createElement(tag), properties);
    for (const event of ['load', 'error', 'loadedmetadata']) {
      element.addEventListener(event, () => {
        let inside = '';
        try { inside = element.contentDocument?.documentElement?.textContent ?? element.sheet?.cssRules.length ?? ''; } catch (error) { inside = error; }
        say(attempt, `${event} ${inside}`);
        ended();
      });
    }
    document.body.append(element);
  }));
  window.addEventListener('error', (event) => say('script', event.message));
  for (const tag of ['img', 'script', 'iframe', 'embed', 'video', 'audio']) {
    all.push(load(`load-${tag}`, tag, { src: at(`load-${tag}`) }));
  }
  all.push(load('load-module', 'script', { type: 'module', src: at('load-module') }));
  all.push(load('load-style', 'link', { rel: 'stylesheet', href: at('load-style') }));
  all.push(load('load-object', 'object', { data: at('load-object') }));
  all.push(load('load-page', 'iframe', { src: at('load-page', '/ui') }));
  all.push(limit(import(at('load-import')).then((found) => say('import', JSON.stringify(found)), (error) => say('import', error))));

  // The name and the value of the field are the body: JSON, in a form of plain text.
  for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    for (const [name, path] of [['create', maps], ['reset', '/test/reset']]) {
      const attempt = `form-${name}-${enctype.split('/')[1]}`;
      const frame = Object.assign(document.createElement('iframe'), { name: attempt });
      const form = Object.assign(document.createElement('form'), { action: at(attempt, path), method: 'post', enctype, target: attempt });
      form.append(Object.assign(document.createElement('input'), { name: '{"metadata": {"name": "form"}, "data": {"a": "', value: '"}}' }));
      document.body.append(frame, form);
      form.submit();
    }
  }
  const link = Object.assign(document.createElement('a'), { href: at('link'), ping: at('ping', maps), target: '_blank' });
  document.body.append(link);
  link.click();
  const opened = window.open(at('window'));

  const address = new URL(target).host;
  for (const protocols of [[], ['base64.binary.k8s.io'], ['v5.channel.k8s.io']]) {
    const attempt = `socket-${protocols.length ? protocols[0].split('.')[0] : 'plain'}`;
    const path = `/api/v1/secrets?watch=true&attempt=${attempt}`;
    all.push(limit(new Promise((ended) => {
      const socket = new WebSocket(`ws://${address}${path}`, protocols);
      socket.onmessage = (message) => { say(attempt, message.data); ended(); };
      socket.onopen = () => say(attempt, 'open');
      socket.onerror = () => { say(attempt, 'error'); ended(); };
    })));
  }
  for (const withCredentials of [true, false]) {
    all.push(limit(new Promise((ended) => {
      const source = new EventSource(at(`events-${withCredentials}`, '/api/v1/secrets?watch=true'), { withCredentials });
      source.onmessage = (message) => { say('events', message.data); ended(); };
      source.onerror = () => { source.close(); ended(); };
    })));
  }
  all.push(limit(new Promise((ended) => {
    const code = `try { importScripts(${JSON.stringify(at('worker'))}); } catch (error) { postMessage(String(error)); } postMessage('end');`;
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = (message) => { say('worker', message.data); if (message.data === 'end') ended(); };
  })));
  await Promise.all(all);
  await new Promise((ended) => { setTimeout(ended, 500); });
  try { say('window', opened.document.documentElement.textContent); } catch (error) { say('window', error); }
  return read;
}

// Opens a page of an origin, which makes its attempts. Returns what it read, and what arrived at the tap.
async function attacked(tapped, origin, target) {
  const page = await browser.newPage();
  const pages = await browser.pages();
  await page.goto(`${origin}/attack`);
  tapped.seen.length = 0;
  const read = await page.evaluate(attack, target, NAMESPACE);
  for (const other of await browser.pages()) if (!pages.includes(other) || other === page) await other.close();
  return { read, seen: tapped.seen.splice(0) };
}

// The origins of pages with the address at which they attack a port. The last one is a domain that leads to the server
// itself, so that the page has its origin.
const kinds = (attacker, port) => [
  ['another site', `http://evil.example:${attacker}`, `http://127.0.0.1:${port}`],
  ['another port', `http://localhost:${attacker}`, `http://localhost:${port}`],
  ['a rebound domain', `http://evil.example:${port}`, `http://evil.example:${port}`],
];

const names = (seen) => new Set(seen.map(({ attempt }) => attempt));

// The attempts that arrive at a server that checks nothing, by the kind of page.
async function possible() {
  const open = await careless();
  const [attacker, tapped] = [await tap(open.port), await tap(open.port)];
  const found = new Map();
  try {
    for (const [kind, origin, target] of kinds(attacker.port, tapped.port)) {
      const { read, seen } = await attacked(tapped, origin, target);
      assert.ok(read.some((text) => text.includes(MARKER)), `${kind} could read nothing: ${read.join('\n')}`);
      found.set(kind, names(seen));
    }
  } finally {
    [open, attacker, tapped].forEach((server) => server.stop());
  }
  return found;
}

test('pages of other sites reach nothing', async (t) => {
  const arriving = await possible();
  for (const [kind, attempts] of arriving) {
    t.diagnostic(`${kind}: ${attempts.size} attempts arrive at a server that checks nothing`);
    assert.ok(attempts.size > 90, `${kind}: ${attempts.size}`);
    for (const attempt of ['create-untyped-no-cors', 'reset-plain-no-cors', 'beacon-create-untyped', 'form-create-plain', 'socket-plain', 'events-true', 'load-img', 'link', 'window', 'worker']) {
      assert.ok(attempts.has(attempt), `${kind}: ${attempt} does not arrive`);
    }
  }
  for (const options of [[], ['--no-token'], ['--test-api'], ['--test-api', '--no-token']]) {
    const server = await start(...options);
    const send = async (method, path, body) => {
      const headers = { Authorization: `Bearer ${server.token}`, 'Content-Type': 'application/json' };
      const answer = await fetch(server.url + path, { method, headers, body: body && JSON.stringify(body) });
      assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
      return answer.text();
    };
    const port = Number(new URL(server.url).port);
    const [attacker, tapped] = [await tap(port), await tap(port)];
    try {
      await send('POST', `${NAMESPACE}/secrets`, { metadata: { name: 'kept' }, stringData: { a: MARKER }, type: MARKER });
      await send('POST', `${NAMESPACE}/configmaps`, { metadata: { name: 'kept' }, data: { a: MARKER } });
      await send('POST', `${NAMESPACE}/pods`, { metadata: { name: 'a' }, spec: { containers: [{ name: 'a', image: MARKER }] } });
      const lists = ['configmaps', 'secrets', 'pods', 'namespaces'].map((plural) => `/api/v1/${plural}`);
      lists.push('/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
      const objects = async () => (await Promise.all(lists.map((path) => send('GET', path)))).join('\n');
      const before_ = await objects();
      assert.ok(before_.includes(MARKER));

      // The browser shows the page of the server, so that it has the cookie.
      const own = await browser.newPage();
      const link = new URL(server.page);
      assert.equal((await own.goto(`http://localhost:${tapped.port}${link.pathname}${link.search}`)).status(), 200);
      assert.equal((await own.goto(`http://localhost:${tapped.port}/ui/owners`)).status(), 200);
      const cookies = await browser.cookies();
      assert.equal(cookies.length, options.includes('--no-token') ? 0 : 1);
      for (const cookie of cookies) {
        assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path, cookie.session], [true, 'Strict', '/ui', true]);
      }

      for (const [kind, origin, target] of kinds(attacker.port, tapped.port)) {
        const where = `${options.join(' ') || 'defaults'}, ${kind}`;
        const { read, seen } = await attacked(tapped, origin, target);
        const passed = seen.filter(({ status }) => status !== 403);
        assert.deepEqual(passed, [], where);
        const missing = [...arriving.get(kind)].filter((attempt) => !names(seen).has(attempt));
        assert.deepEqual(missing, [], `${where}: attempts that did not arrive`);
        const found = read.filter((text) => [MARKER, server.token, 'kube-system'].some((part) => text.includes(part)) || /: open| 20\d /.test(text));
        assert.deepEqual(found, [], `${where}: what the page read`);
        t.diagnostic(`${where}: ${seen.length} requests of ${names(seen).size} attempts were refused`);
      }
      assert.equal(await objects(), before_, options.join(' '));
      await own.close();
      await browser.deleteCookie(...cookies);
    } finally {
      [attacker, tapped].forEach((end) => end.stop());
      await server.stop();
    }
  }
});
