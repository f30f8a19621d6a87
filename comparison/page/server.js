// Servers for the test, and requests to them.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const APPLY = 'application/apply-patch+yaml';
const MERGE = 'application/merge-patch+json';
export const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

// Starts the program. `url` is its address, `page` the link that opens the page, and `token` that of the kubeconfig.
export async function start(...options) {
  const program = spawn(process.env.FIELDMANAGER, ['serve', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = [];
  await new Promise((found, failed) => {
    createInterface({ input: program.stdout }).on('line', (text) => { if (lines.push(text) === 2) found(); });
    program.once('exit', (code) => failed(new Error(`serve ended with ${code}`)));
  });
  const url = lines[0].match(/serving (\S+);/)[1];
  const page = lines[1].match(/page (\S+)/)[1];
  const kubeconfig = JSON.parse(readFileSync(lines[0].match(/; kubeconfig (.*)$/)[1]));
  const { token } = kubeconfig.users[0].user;
  const stop = () => new Promise((ended) => { program.once('exit', ended); program.kill(); });
  return { url, page, token, stop };
}

// A server with a fixed clock and without tokens, unless they are given.
export async function serve(...options) {
  const fixed = ['--test-api', '--seed', '7', '--time', '2026-01-31T12:00:00Z'];
  const open = options.includes('--token-file') ? [] : ['--no-token'];
  const { url, page, stop } = await start(...fixed, ...open, ...options);
  const send = async (method, path, body, type = 'application/json', expected = [200, 201]) => {
    const answer = await fetch(url + path, { method, body: body && JSON.stringify(body), headers: { 'Content-Type': type } });
    const text = await answer.text();
    if (!expected.includes(answer.status)) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
  return {
    url,
    // The link that opens the page.
    page,
    send,
    post: (path, body) => send('POST', path, body),
    apply: (path, manager, body, expected) =>
      send('PATCH', `${path}${path.includes('?') ? '&' : '?'}fieldManager=${encodeURIComponent(manager)}`, body, APPLY, expected),
    merge: (path, manager, body) => send('PATCH', `${path}?fieldManager=${encodeURIComponent(manager)}`, body, MERGE),
    advance: (seconds) => send('POST', '/test/clock/advance', { seconds }),
    stop,
  };
}

// The whole Deployment of the shop.
export function deployment(replicas, image = 'shop:1.4') {
  const labels = { app: 'web' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image, ports: [{ containerPort: 8080 }] }] },
      },
    },
  };
}

// The Deployment with its replicas alone.
export const scaled = (replicas) => ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas } });

// Two managers that take the replicas from each other, after one was refused. Returns the number of events.
export async function fight(server, rounds = 3) {
  const web = `${DEPLOYMENTS}/web`;
  await server.apply(web, 'shop', deployment(3));
  await server.advance(30);
  await server.apply(web, 'autoscaler', scaled(5), [409]);
  for (let round = 0; round < rounds; round += 1) {
    await server.advance(30);
    await server.apply(`${web}?force=true`, 'autoscaler', scaled(5 + round));
    await server.advance(30);
    await server.apply(`${web}?force=true`, 'shop', deployment(3));
  }
  await server.advance(30);
  await server.merge(web, 'kubectl-edit', { spec: { template: { spec: { containers: [
    { name: 'web', image: 'shop:1.5', ports: [{ containerPort: 8080 }], resources: { limits: { memory: '1Gi' } } }] } } } });
  await server.merge(`${web}/status`, 'kube-controller-manager', { status: { replicas: 3, observedGeneration: 8 } });
  await server.advance(12);
  return 4 + 2 * rounds;
}

// A definition of shops, whose `spec` has the given fields.
export const definition = (fields) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shops.example.com' },
  spec: {
    group: 'example.com', scope: 'Namespaced', names: { plural: 'shops', kind: 'Shop' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: {
      spec: { type: 'object', properties: fields } } } } }],
  },
});
