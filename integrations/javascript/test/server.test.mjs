import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { after, before, beforeEach, test } from "node:test";

import { owners, startServer } from "fieldmanager";

const PATH = "/api/v1/namespaces/default/configmaps/colours";
let server;
let restore;

before(async () => {
  server = await startServer();
  restore = await server.snapshot();
});
after(() => server.stop());
beforeEach(() => restore());

async function send(method, path, body, token = server.token) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/apply-patch+yaml" };
  const answer = await fetch(server.url + path, { method, headers, body });
  return { code: answer.status, object: await answer.json() };
}

function apply(manager, data) {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "colours" }, data };
  return send("PATCH", `${PATH}?fieldManager=${manager}`, JSON.stringify(body));
}

test("two managers own one field each", async () => {
  assert.equal((await apply("alice", { sky: "blue" })).code, 201);
  const { object } = await apply("bob", { grass: "green" });
  assert.deepEqual(owners(object, ".data.sky"), ["alice"]);
  assert.deepEqual(owners(object, ".data.grass"), ["bob"]);
  assert.equal((await server.log({ manager: "bob", path: ".data.grass" })).length, 1);
});

test("a snapshot is restored before each test", async () => {
  assert.equal((await send("GET", PATH)).code, 404);
});

test("a fault is injected once", async () => {
  await server.inject({ fault: "conflict", verb: "apply", manager: "bob", times: 1 });
  assert.equal((await apply("bob", {})).code, 409);
  assert.equal((await apply("bob", {})).code, 201);
});

test("a user has a token", async () => {
  const token = await server.addUser("alice", "dev");
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const answer = await fetch(server.url + path, { method: "POST", headers, body: JSON.stringify(review) });
  assert.equal((await answer.json()).status.userInfo.username, "alice");
});

test("failures say why", async () => {
  await assert.rejects(startServer({ args: ["--no-such-option"] }), /--no-such-option/);
  await assert.rejects(server.request("GET", "/nothing"), /404/);
  await assert.rejects(startServer({ program: "/no/such/program" }), /ENOENT/);
});

test("TLS and a token", async () => {
  const other = await startServer({ args: ["--tls"] });
  await other.reset();
  await other.stop();
});

test("a server ends with its process", () => {
  const code = `import { startServer } from "fieldmanager"; console.log((await startServer()).url)`;
  const url = execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }).trim();
  return assert.rejects(async () => {
    for (;;) {
      await fetch(`${url}/readyz`);
    }
  });
});

test("owners of items and values", () => {
  const ports = { 'k:{"protocol":"TCP","port":80}': { ".": {}, "f:name": {} } };
  const fieldsV1 = { "f:spec": { "f:ports": ports, "f:set": { 'v:"x"': {} }, "f:list": { "i:0": {} } } };
  const object = { metadata: { managedFields: [{ manager: "alice", fieldsV1 }] } };
  const item = '.spec.ports[port=80,protocol="TCP"]';
  for (const field of [item, `${item}.name`, '.spec.set[="x"]', ".spec.list[0]"]) {
    assert.deepEqual(owners(object, field), ["alice"], field);
  }
  assert.deepEqual(owners(object, ".spec"), []);
});

test("the launcher ends as the program", () => {
  const run = (...args) => spawnSync("npx", ["fieldmanager", ...args], { encoding: "utf8" });
  assert.match(run("--version").stdout, /^fieldmanager \d/);
  assert.equal(run("no-such-command").status, 2);
});
