import { expect, it } from "vitest";
import { createLoopSilence } from "./loop-silence.ts";

it("a loop that does not turn is silent for the time that the thread has measured", () => {
  const silence = createLoopSilence(2_000);
  expect([0, 1_000, 2_000, 3_000].map((now) => silence.look(7n, now))).toEqual([0, 1_000, 2_000, 3_000]);
  expect(silence.look(8n, 4_000)).toBe(0);
});

it("a pause of the whole process does not count as silence of its loop", () => {
  const silence = createLoopSilence(2_000);
  silence.look(7n, 0);
  silence.look(7n, 1_000);
  expect(silence.look(7n, 601_000)).toBe(3_000);
});
