// A browser, and a server on which two managers have fought over one field, for the tests of the file that imports them.

import { after, before } from 'node:test';
import { launch } from './browser.js';
import { fight, serve } from './server.js';

export let browser;
export let server;
// The number of events in the history of the fight.
export let events;

// Counts an event that a test adds.
export function added() {
  events += 1;
}

before(async () => {
  browser = await launch();
  server = await serve();
  events = await fight(server);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});
