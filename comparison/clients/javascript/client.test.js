// The JavaScript client against the server of a kubeconfig: KUBECONFIG=FILE node --test

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const custom = config.makeApiClient(k8s.CustomObjectsApi);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const namespace = `javascript-${randomBytes(4).toString('hex')}`;

before(async () => {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const definition = k8s.loadYaml(readFileSync(new URL('../crd.yaml', import.meta.url), 'utf8'));
  const definitions = config.makeApiClient(k8s.ApiextensionsV1Api);
  await definitions.createCustomResourceDefinition({ body: definition }).catch((error) => {
    if (error.code !== 409) throw error;
  });
});

after(() => core.deleteNamespace({ name: namespace }));

function deployment(name, image) {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } },
    },
  };
}

function apply(object, manager, force) {
  return objects.patch(object, undefined, undefined, manager, force, k8s.PatchStrategy.ServerSideApply);
}

test('the server knows the user', async () => {
  const reviews = config.makeApiClient(k8s.AuthenticationV1Api);
  const review = await reviews.createSelfSubjectReview({ body: {} });
  assert.equal(review.status.userInfo.username, process.env.EXPECTED_USER ?? 'admin');
});

test('objects are created, read, replaced and deleted', async () => {
  const body = { metadata: { name: 'typed' }, data: { color: 'red' } };
  const created = await core.createNamespacedConfigMap({ namespace, body });
  assert.ok(created.metadata.creationTimestamp instanceof Date);
  created.data.color = 'blue';
  await core.replaceNamespacedConfigMap({ name: 'typed', namespace, body: created });
  const read = await core.readNamespacedConfigMap({ name: 'typed', namespace });
  assert.equal(read.data.color, 'blue');
  await assert.rejects(core.replaceNamespacedConfigMap({ name: 'typed', namespace, body: created }), { code: 409 });
  const status = await core.deleteNamespacedConfigMap({ name: 'typed', namespace });
  assert.equal(status.status, 'Success');
  await assert.rejects(core.readNamespacedConfigMap({ name: 'typed', namespace }), { code: 404 });
});

test('apply reports conflicts and forces them', async () => {
  const applied = await apply(deployment('conflicts', 'nginx:1'), 'alice');
  assert.deepEqual(applied.metadata.managedFields.map((entry) => entry.manager), ['alice']);
  await assert.rejects(apply(deployment('conflicts', 'nginx:2'), 'bob'), (error) => {
    assert.equal(error.code, 409);
    assert.match(error.body, /alice/);
    return true;
  });
  const forced = await apply(deployment('conflicts', 'nginx:2'), 'bob', true);
  assert.equal(forced.spec.template.spec.containers[0].image, 'nginx:2');
});

test('a list of operations is a JSON patch', async () => {
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'operations' }, data: { color: 'red' } } });
  const body = [{ op: 'replace', path: '/data/color', value: 'green' }];
  const patched = await core.patchNamespacedConfigMap({ name: 'operations', namespace, body });
  assert.deepEqual(patched.data, { color: 'green' });
});

test('custom objects are created, listed and deleted', async () => {
  const where = { group: 'stable.example.com', version: 'v1', namespace, plural: 'crontabs' };
  const body = {
    apiVersion: 'stable.example.com/v1',
    kind: 'CronTab',
    metadata: { name: 'nightly' },
    spec: { schedule: '0 3 * * *' },
  };
  const created = await custom.createNamespacedCustomObject({ ...where, body });
  assert.equal(created.spec.replicas, 1);
  const list = await custom.listNamespacedCustomObject(where);
  assert.equal(list.kind, 'CronTabList');
  assert.deepEqual(list.items.map((item) => item.metadata.name), ['nightly']);
  await custom.deleteNamespacedCustomObject({ ...where, name: 'nightly' });
});

test('objects of discovered kinds are read and listed', async () => {
  const body = deployment('discovered', 'nginx:1');
  await objects.create(body);
  const read = await objects.read(body);
  assert.equal(read.spec.replicas, 1);
  const list = await objects.list('apps/v1', 'Deployment', namespace);
  assert.ok(list.items.some((item) => item.metadata.name === 'discovered'));
  const scale = await apps.readNamespacedDeploymentScale({ name: 'discovered', namespace });
  assert.equal(scale.spec.replicas, 1);
});

test('a watch delivers changes in order', async () => {
  const { metadata } = await core.listNamespacedSecret({ namespace });
  const seen = [];
  const watch = new k8s.Watch(config);
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const request = await watch.watch(
    `/api/v1/namespaces/${namespace}/secrets`,
    { resourceVersion: metadata.resourceVersion },
    (type) => {
      seen.push(type);
      if (type === 'DELETED') finish();
    },
    () => finish(),
  );
  const body = { metadata: { name: 'watched' }, stringData: { key: 'value' } };
  const created = await core.createNamespacedSecret({ namespace, body });
  created.metadata.labels = { a: 'b' };
  await core.replaceNamespacedSecret({ name: 'watched', namespace, body: created });
  await core.deleteNamespacedSecret({ name: 'watched', namespace });
  await finished;
  request.abort();
  assert.deepEqual(seen, ['ADDED', 'MODIFIED', 'DELETED']);
});

test('an informer follows the objects of a namespace', async () => {
  const list = () => core.listNamespacedService({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/services`, list);
  const seen = [];
  const deleted = new Promise((resolve) => {
    informer.on('add', (service) => seen.push(`add ${service.metadata.name}`));
    informer.on('delete', (service) => {
      seen.push(`delete ${service.metadata.name}`);
      resolve();
    });
  });
  await informer.start();
  await core.createNamespacedService({ namespace, body: { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } } });
  await core.deleteNamespacedService({ name: 'web', namespace });
  await deleted;
  await informer.stop();
  assert.deepEqual(seen, ['add web', 'delete web']);
});
