import { expect, it } from "vitest";
import { decideWalls } from "./accept-walls.ts";

const [noCgroup, oldEngine] = [{ name: "no-cgroup" } as const, { name: "old-engine" } as const];

it("speaks of no wall where all are accepted", () => {
  expect(decideWalls([], true, true)).toBe("nothing");
});

it("asks on a terminal, whatever the wall is", () => {
  expect([decideWalls([noCgroup], true, false), decideWalls([oldEngine], true, false)]).toEqual(["ask", "ask"]);
});

it("goes on without a terminal only where the wall bounds resources alone", () => {
  expect(decideWalls([noCgroup], false, false)).toBe("accept");
  expect(decideWalls([oldEngine], false, false)).toBe("refuse");
  expect(decideWalls([noCgroup, oldEngine], false, false)).toBe("refuse");
});

it("accepts and asks nothing where the operator said so", () => {
  expect([decideWalls([noCgroup], true, true), decideWalls([noCgroup], false, true)]).toEqual(["refuse", "refuse"]);
});
