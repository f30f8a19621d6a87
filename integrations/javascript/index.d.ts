/** How a server is started. */
export interface ServerOptions {
  /** More arguments of `fieldmanager serve`, such as `["--crd", "crds.yaml"]`. */
  args?: string[];
  /** The folder for relative paths; that of the process by default. */
  cwd?: string;
  /** The path of the program; the installed one by default. */
  program?: string;
}

/** A write of a request, as docs/testing.md describes it. */
export interface LogEntry {
  number: number;
  time: string;
  user: string;
  manager: string;
  verb: string;
  path: string;
  status: number;
  [member: string]: unknown;
}

/** A running server. */
export interface Server {
  /** The address, such as http://127.0.0.1:41235. */
  readonly url: string;
  /** The file with the configuration of a client. It exists until the server stops. */
  readonly kubeconfig: string;
  /** The token of a client. */
  readonly token: string | undefined;
  /** Sends a request to a path below /test, and returns the text of the answer. */
  request(method: string, path: string, body?: unknown): Promise<string>;
  /** Restores the state after the start, without faults and without the log. */
  reset(): Promise<void>;
  /** Keeps the state, and returns a function that restores it. */
  snapshot(): Promise<() => Promise<void>>;
  /** Adds a fault, such as `{ fault: "conflict", verb: "update", times: 1 }`. */
  inject(fault: Record<string, unknown>): Promise<unknown>;
  /** The token of a user, who may do what roles allow if the server has `--authorization rbac`. */
  addUser(name: string, ...groups: string[]): Promise<string>;
  /** The entries of the log that have some values, such as `{ manager: "alice", path: ".spec.replicas" }`. */
  log(query?: Record<string, string>): Promise<LogEntry[]>;
  /** Ends the server. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server on a free port of the loopback interface; it ends with this process. */
export function startServer(options?: ServerOptions): Promise<Server>;

/** The path of the program `fieldmanager`. */
export function findProgram(): string;

/** The managers that own a field of an object, such as `.spec.containers[name="web"].image`, by name. */
export function owners(object: object, field: string): string[];
