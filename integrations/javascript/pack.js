// Packs the launcher, and the package of a platform with its program: `node pack.js PROGRAM PLATFORM FOLDER`, where PLATFORM is
// such as `linux-x64`. It prints the two archives.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [program, platform, folder] = process.argv.slice(2);
const { version, license, repository } = JSON.parse(readFileSync(new URL("package.json", import.meta.url)));
const [os, cpu] = platform.split("-");
const staged = mkdtempSync(join(tmpdir(), "fieldmanager-"));
const name = os === "win32" ? "fieldmanager.exe" : "fieldmanager";

copyFileSync(program, join(staged, name));
chmodSync(join(staged, name), 0o755);
const description = `The program fieldmanager for ${platform}`;
const manifest = { name: `@fieldmanager/${platform}`, version, description, license, repository, os: [os], cpu: [cpu], files: [name] };
writeFileSync(join(staged, "package.json"), JSON.stringify(manifest, undefined, 2));
mkdirSync(folder, { recursive: true });
for (const cwd of [staged, new URL(".", import.meta.url)]) {
  const answer = execFileSync("npm", ["pack", "--json", "--pack-destination", resolve(folder)], { cwd, encoding: "utf8" });
  console.log(join(folder, JSON.parse(answer)[0].filename));
}
