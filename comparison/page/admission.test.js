// What plugins and webhooks did, in the page of `fieldmanager serve` in chromium.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { audit, choose, close, open, texts } from './browser.js';
import { browser } from './prepared.js';
import { serve } from './server.js';

// A webhook that gives ConfigMaps a label, and refuses red ones.
const webhook = createServer(async (request, response) => {
  let text = '';
  for await (const part of request) text += part;
  const { uid, object } = JSON.parse(text).request;
  const patch = Buffer.from('[{"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}}]').toString('base64');
  const answer = request.url.startsWith('/mutate') ? { allowed: true, patchType: 'JSONPatch', patch }
    : { allowed: object.data?.color !== 'red', status: { code: 403, reason: 'Forbidden', message: 'red is not allowed' } };
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: { uid, ...answer } };
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(review));
});
after(() => webhook.close());

// A configuration of the webhook for ConfigMaps.
const configuration = (kind, path) => ({
  apiVersion: 'admissionregistration.k8s.io/v1', kind: `${kind}WebhookConfiguration`, metadata: { name: path },
  webhooks: [{
    name: `${path}.example.com`, admissionReviewVersions: ['v1'], sideEffects: 'None',
    clientConfig: { service: { namespace: 'default', name: 'hook', path: `/${path}` } },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
  }],
});

test('each revision shows who changed or refused it in admission', async () => {
  await new Promise((listening) => webhook.listen(0, '127.0.0.1', listening));
  const server = await serve('--webhook-service', `default/hook=http://127.0.0.1:${webhook.address().port}`);
  const base = '/apis/admissionregistration.k8s.io/v1';
  await server.post(`${base}/mutatingwebhookconfigurations`, configuration('Mutating', 'mutate'));
  await server.post(`${base}/validatingwebhookconfigurations`, configuration('Validating', 'validate'));
  const map = (color) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'paint' }, data: { color } });
  const paint = '/api/v1/namespaces/default/configmaps/paint';
  await server.apply(paint, 'alice', map('blue'));
  await server.apply(paint, 'alice', map('red'), [403]);

  const page = await open(browser, `${server.url}/ui/history/configmaps/default/paint`);
  await choose(page, 1, 2);
  assert.deepEqual(await texts(page, 'dd.admission'), ['mutate.example.com changed the object']);
  await choose(page, 2, 2);
  assert.deepEqual(await texts(page, 'dd.admission'), ['validate.example.com refused the request']);
  assert.match((await texts(page, '#state'))[0], /refused with 403 .*red is not allowed/);
  await audit(page, 'admission');
  await close(page);

  // A plugin of the server is named in the same way.
  const limits = { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'limits' }, spec: { limits: [{ type: 'Container', default: { cpu: '1' } }] } };
  await server.post('/api/v1/namespaces/default/limitranges', limits);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers: [{ name: 'web', image: 'web' }] } };
  await server.post('/api/v1/namespaces/default/pods', pod);
  const pods = await open(browser, `${server.url}/ui/history/pods/default/web`);
  await choose(pods, 1, 1);
  assert.ok((await texts(pods, 'dd.admission')).includes('LimitRanger changed the object'));
  await close(pods);
  await server.stop();
});

test('the history shows which policy changed which fields, and which one refused', async () => {
  const server = await serve();
  const base = '/apis/admissionregistration.k8s.io/v1';
  const matchConstraints = { resourceRules: [{ operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }] };
  const expression = "Object{metadata: Object.metadata{labels: Object.metadata.labels{team: 'shop'}}}";
  const team = { matchConstraints, failurePolicy: 'Fail', reinvocationPolicy: 'Never', mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }] };
  const red = { matchConstraints, validations: [{ expression: "object.data.color != 'red'", message: 'red is not allowed' }] };
  for (const [kind, name, spec, more] of [['Mutating', 'team', team, {}], ['Validating', 'red', red, { validationActions: ['Deny'] }]]) {
    const path = `${base}/${kind.toLowerCase()}admissionpolic`;
    const apiVersion = 'admissionregistration.k8s.io/v1';
    await server.post(`${path}ies`, { apiVersion, kind: `${kind}AdmissionPolicy`, metadata: { name }, spec });
    await server.post(`${path}ybindings`, { apiVersion, kind: `${kind}AdmissionPolicyBinding`, metadata: { name }, spec: { policyName: name, ...more } });
  }
  const map = (color) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'paint' }, data: { color } });
  const paint = '/api/v1/namespaces/default/configmaps/paint';
  await server.apply(paint, 'alice', map('blue'));
  await server.apply(paint, 'alice', map('red'), [422]);

  const page = await open(browser, `${server.url}/ui/history/configmaps/default/paint`);
  await choose(page, 1, 2);
  assert.deepEqual(await texts(page, 'dd.admission'), ['MutatingAdmissionPolicy team changed the object: /metadata/labels']);
  await choose(page, 2, 2);
  assert.deepEqual(await texts(page, 'dd.admission'), ['ValidatingAdmissionPolicy red refused the request']);
  await close(page);
  await server.stop();
});
