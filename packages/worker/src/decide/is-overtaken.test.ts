import { expect, it } from "vitest";
import { isOvertaken } from "./is-overtaken.ts";

it("only activities of the same run with an older epoch are overtaken", () => {
  const held = { runId: "r", epoch: 2 };
  expect(isOvertaken(held, { runId: "r", epoch: 3 })).toBe(true);
  expect(isOvertaken(held, { runId: "r", epoch: 2 })).toBe(false);
  expect(isOvertaken(held, { runId: "r", epoch: 1 })).toBe(false);
  expect(isOvertaken(held, { runId: "other", epoch: 3 })).toBe(false);
});
