#!/usr/bin/env node
// Runs the program of this platform with the same arguments, and ends as it ends.
import { spawn } from "node:child_process";

import { findProgram } from "../program.js";

let program;
try {
  program = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => program.kill(signal));
}
program.on("error", (error) => {
  console.error(`error: ${error.message}`);
  process.exit(2);
});
program.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
