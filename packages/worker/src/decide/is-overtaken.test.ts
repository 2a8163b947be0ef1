import { expect, it } from "vitest";
import { isOvertaken } from "./is-overtaken.ts";

it("only what is held of an older epoch of that very run is worth nothing any more", () => {
  const held = { runId: "r", epoch: 2 };
  expect(isOvertaken(held, { runId: "r", epoch: 3 })).toBe(true);
  expect(isOvertaken(held, { runId: "r", epoch: 2 })).toBe(false);
  expect(isOvertaken(held, { runId: "r", epoch: 1 })).toBe(false);
  expect(isOvertaken(held, { runId: "other", epoch: 3 })).toBe(false);
});
