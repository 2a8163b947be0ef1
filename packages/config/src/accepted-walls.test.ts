import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { acceptedWalls, rememberWalls } from "./accepted-walls.ts";

let base: string;
let file: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "markmill walls-"));
  file = join(base, "own settings/markmill/accepted-walls.json");
  mkdirSync(join(base, "one project"));
  mkdirSync(join(base, "other"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

it("an accepted wall is stored for one project by its real path, and for no other", () => {
  const project = join(base, "one project");
  expect(acceptedWalls(project, file)).toEqual([]);
  expect(rememberWalls(project, ["no-cgroup"], file)).toBe(true);
  expect(rememberWalls(project, ["no-cgroup", "old-engine"], file)).toBe(true);
  symlinkSync(project, join(base, "link"));
  expect(acceptedWalls(join(base, "link"), file)).toEqual(["no-cgroup", "old-engine"]);
  expect(acceptedWalls(join(base, "other"), file)).toEqual([]);
});

it("a file of accepted walls that others can write or that is invalid counts as empty", () => {
  const project = join(base, "one project");
  rememberWalls(project, ["no-cgroup"], file);
  chmodSync(file, 0o666);
  expect(acceptedWalls(project, file)).toEqual([]);
  chmodSync(file, 0o600);
  writeFileSync(file, "[1");
  expect(acceptedWalls(project, file)).toEqual([]);
  writeFileSync(file, JSON.stringify({ [project]: "no-cgroup" }));
  expect(acceptedWalls(project, file)).toEqual([]);
});

it("rememberWalls returns false if it cannot store the decision", () => {
  writeFileSync(join(base, "taken"), "");
  expect(rememberWalls(join(base, "other"), ["no-cgroup"], join(base, "taken/accepted-walls.json"))).toBe(false);
});
