/** What ARCHITECTURE.md names is there: a newcomer follows its names into the code. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
const files = ["apps", "docs", "packages", "scripts", "tests"].flatMap((folder) =>
  globSync("**/*.{ts,mjs,md,yaml}", { cwd: join(root, folder), exclude: (name) => name === "node_modules" }).map(
    (file) => `/${folder}/${file}`,
  ),
);

/** Lines of the walk: a file, one column of functions, words for people. A line that begins with a space goes on with words. */
function walk(): { readonly file: string; readonly functions: readonly string[] }[] {
  const block = /^```walk\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
  return block.split("\n").flatMap((line) => {
    const [, folder, file, functions = ""] = /^([a-z]+)\/(\S+) +([A-Za-z]+(?:, [A-Za-z]+)*)/.exec(line) ?? [];
    return file === undefined ? [] : { file: `packages/${folder}/src/${file}`, functions: functions.split(", ") };
  });
}

describe("ARCHITECTURE.md", () => {
  it("has the walk of a PROMPT on one screen", () => {
    expect(walk().length).toBeGreaterThan(10);
    expect(walk().length).toBeLessThan(25);
  });

  it.each(walk())("names functions that are in $file: $functions", ({ file, functions }) => {
    const code = readFileSync(join(root, file), "utf8");
    const there = (name: string) =>
      new RegExp(`function ${name}\\(|^ +(async )?${name}(: )?\\(.*\\{$|^ +${name}: .*=>`, "m");
    expect(functions.filter((name) => !there(name).test(code))).toEqual([]);
  });

  it("names no file that is not there", () => {
    const named = [...text.matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:ts|mjs))`/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(50);
    // `store/src/x.ts` and `store/x.ts` stand for packages/store/src/x.ts.
    const missing = named.filter((name) => {
      const parts = name.replace("/src/", "/").split("/");
      return !files.some((file) => {
        const those = file.replace("/src/", "/").split("/");
        return parts.every((part) => those.includes(part)) && those.at(-1) === parts.at(-1);
      });
    });
    expect(missing).toEqual([]);
  });
});
