import { expect, it } from "vitest";
import { decideWalls } from "./accept-walls.ts";

const [noCgroup, oldEngine] = [{ name: "no-cgroup" } as const, { name: "old-engine" } as const];

it("decideWalls: a class starts without a message if all weak sandbox protections are accepted", () => {
  expect(decideWalls([], true, true)).toBe("nothing");
});

it("decideWalls: a person at a terminal is asked about every weak sandbox protection", () => {
  expect([decideWalls([noCgroup], true, false), decideWalls([oldEngine], true, false)]).toEqual(["ask", "ask"]);
});

it("decideWalls: without a terminal a class starts only if the weak sandbox protection concerns resources alone", () => {
  expect(decideWalls([noCgroup], false, false)).toBe("accept");
  expect(decideWalls([oldEngine], false, false)).toBe("refuse");
  expect(decideWalls([noCgroup, oldEngine], false, false)).toBe("refuse");
});

it("decideWalls: a weak sandbox protection is refused without a question if the operator accepts none", () => {
  expect([decideWalls([noCgroup], true, true), decideWalls([noCgroup], false, true)]).toEqual(["refuse", "refuse"]);
});
