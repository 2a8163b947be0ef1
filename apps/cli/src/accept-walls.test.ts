import { expect, it } from "vitest";
import { decideWalls } from "./accept-walls.ts";

const [noCgroup, oldEngine] = [{ name: "no-cgroup" } as const, { name: "old-engine" } as const];

it("a class begins without a word about the sandbox if all weak protections are accepted", () => {
  expect(decideWalls([], true, true)).toBe("nothing");
});

it("a person at a terminal is asked about every weak protection", () => {
  expect([decideWalls([noCgroup], true, false), decideWalls([oldEngine], true, false)]).toEqual(["ask", "ask"]);
});

it("without a terminal a class begins only if the weak protection bounds resources alone", () => {
  expect(decideWalls([noCgroup], false, false)).toBe("accept");
  expect(decideWalls([oldEngine], false, false)).toBe("refuse");
  expect(decideWalls([noCgroup, oldEngine], false, false)).toBe("refuse");
});

it("a weak protection is refused without a question if the operator accepts none", () => {
  expect([decideWalls([noCgroup], true, true), decideWalls([noCgroup], false, true)]).toEqual(["refuse", "refuse"]);
});
