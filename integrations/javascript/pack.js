// Packs the launcher, and the package of a platform with its program: `node pack.js PROGRAM PLATFORM FOLDER LICENCES`, where PLATFORM
// is such as `linux-x64`, and LICENCES the file that `cargo xtask licences` writes. It prints the two archives.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [program, platform, folder, licences] = process.argv.slice(2);
const here = fileURLToPath(new URL(".", import.meta.url));
const { version, license, repository, files } = JSON.parse(readFileSync(join(here, "package.json")));
const [os, cpu] = platform.split("-");
const staged = mkdtempSync(join(tmpdir(), "fieldmanager-"));
const [launcher, native] = [join(staged, "launcher"), join(staged, platform)];
const own = ["LICENSE-APACHE", "LICENSE-MIT"];

for (const file of ["package.json", "README.md", ...files.filter((file) => !own.includes(file))]) {
  cpSync(join(here, file), join(launcher, file), { recursive: true });
}

const name = os === "win32" ? "fieldmanager.exe" : "fieldmanager";
mkdirSync(native);
copyFileSync(program, join(native, name));
chmodSync(join(native, name), 0o755);
copyFileSync(licences, join(native, "THIRD-PARTY.md"));
const description = `The program fieldmanager for ${platform}`;
const kept = [name, "THIRD-PARTY.md", ...own];
const manifest = { name: `@fieldmanager/${platform}`, version, description, license, repository, os: [os], cpu: [cpu], files: kept };
writeFileSync(join(native, "package.json"), JSON.stringify(manifest, undefined, 2));

mkdirSync(folder, { recursive: true });
for (const cwd of [native, launcher]) {
  // npm packs no links.
  for (const licence of own) {
    copyFileSync(join(here, "../..", licence), join(cwd, licence));
  }
  const answer = execFileSync("npm", ["pack", "--json", "--pack-destination", resolve(folder)], { cwd, encoding: "utf8" });
  console.log(join(folder, JSON.parse(answer)[0].filename));
}
