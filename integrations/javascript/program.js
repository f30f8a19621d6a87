import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";

const require = createRequire(import.meta.url);
const file = process.platform === "win32" ? "fieldmanager.exe" : "fieldmanager";

/** The program of the package for this platform, if it is installed. */
export function packagedProgram() {
  try {
    return require.resolve(`@fieldmanager/${process.platform}-${process.arch}/${file}`);
  } catch {
    return undefined;
  }
}

/** The path of the program: that of the variable FIELDMANAGER, the installed one, or the first one in PATH. */
export function findProgram() {
  const inPath = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const found =
    process.env.FIELDMANAGER ??
    packagedProgram() ??
    // Packages link their own launcher there, which is no program.
    inPath.filter((folder) => !folder.includes("node_modules")).map((folder) => join(folder, file)).find(existsSync);
  if (!found) {
    throw new Error(
      `there is no program fieldmanager for ${process.platform}-${process.arch}: ` +
        "install without --omit=optional, or set FIELDMANAGER to its path",
    );
  }
  return found;
}
