import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { request as requestWithTls } from "node:https";
import { createInterface } from "node:readline";

import { findProgram } from "./program.js";

export { findProgram };

export async function startServer({ args = [], cwd, program = findProgram() } = {}) {
  // The pipe to standard input ends with this process, and the server with it.
  const child = spawn(program, ["serve", "--test-api", "--stop-with-stdin", ...args], { cwd });
  let errors = "";
  child.stderr.on("data", (text) => (errors += text));
  const ended = once(child, "close");
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), "line").then(([text]) => text),
    ended.then(() => ""),
  ]);
  const [, url, kubeconfig] = /^serving (.*); kubeconfig (.*)$/.exec(line) ?? [];
  if (!kubeconfig) {
    child.kill();
    throw new Error(`${program} serve: ${errors.trim()}`);
  }

  const config = JSON.parse(await readFile(kubeconfig, "utf8"));
  return new Server(child, ended, url, kubeconfig, config);
}

class Server {
  #child;
  #ended;
  #ca;

  constructor(child, ended, url, kubeconfig, config) {
    this.#child = child;
    this.#ended = ended;
    this.url = url;
    this.kubeconfig = kubeconfig;
    this.token = config.users[0].user.token;
    const authority = config.clusters[0].cluster["certificate-authority-data"];
    this.#ca = authority && Buffer.from(authority, "base64");
    // A server alone does not keep a process alive.
    for (const part of [child, child.stdin, child.stdout, child.stderr]) {
      part.unref();
    }
  }

  async request(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    if (this.token) {
      headers.Authorization = `Bearer ${this.token}`;
    }
    const send = this.url.startsWith("https:") ? requestWithTls : request;
    const sent = send(`${this.url}/test${path}`, { method, headers, ca: this.#ca });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await once(sent, "response");
    const text = (await answer.toArray()).join("");
    if (answer.statusCode >= 400) {
      throw new Error(`${method} /test${path}: ${answer.statusCode}: ${text}`);
    }
    return text;
  }

  async reset() {
    await this.request("POST", "/reset");
  }

  async snapshot() {
    const { id } = JSON.parse(await this.request("POST", "/snapshots"));
    return async () => {
      await this.request("POST", `/snapshots/${id}/restore`);
    };
  }

  async inject(fault) {
    return JSON.parse(await this.request("POST", "/faults", fault));
  }

  async addUser(name, ...groups) {
    return JSON.parse(await this.request("POST", "/users", { name, groups })).token;
  }

  async log(query = {}) {
    const text = await this.request("GET", `/log?${new URLSearchParams(query)}`);
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async stop() {
    this.#child.ref();
    this.#child.kill();
    await this.#ended;
  }

  [Symbol.asyncDispose ?? Symbol.for("asyncDispose")]() {
    return this.stop();
  }
}

export function owners(object, field) {
  const entries = object.metadata?.managedFields ?? [];
  const found = entries.filter(({ fieldsV1 }) => owns(fieldsV1 ?? {}, "", field)).map(({ manager }) => manager);
  return [...new Set(found)].sort();
}

/** Whether a FieldsV1 at a path has a field. */
function owns(fields, path, field) {
  const names = Object.keys(fields);
  if (names.length === 0) {
    return path === field;
  }
  return names.some((name) => {
    if (name === ".") {
      return path === field;
    }
    const below = path + element(name);
    return field.startsWith(below) && owns(fields[name], below, field);
  });
}

/** The text of a path element, such as `[name="web"]` for `k:{"name":"web"}`. */
function element(name) {
  const colon = name.indexOf(":");
  const [kind, value] = [name.slice(0, colon), name.slice(colon + 1)];
  switch (kind) {
    case "f":
      return `.${value}`;
    case "k": {
      const keys = Object.entries(JSON.parse(value)).sort(([a], [b]) => (a < b ? -1 : 1));
      return `[${keys.map(([key, item]) => `${key}=${JSON.stringify(item)}`).join(",")}]`;
    }
    case "v":
      return `[=${value}]`;
    default:
      return `[${value}]`;
  }
}
