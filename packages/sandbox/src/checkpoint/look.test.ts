import { expect, it } from "vitest";
import { Look } from "./look.ts";

it("a scan yields to the rest of the process once ten milliseconds have passed, and not earlier", async () => {
  let ms = 0;
  const look = new Look({ maxMs: 1_000 }, () => ms);
  let turns = 0;
  let next = setImmediate(function beat() {
    turns += 1;
    next = setImmediate(beat);
  });
  for (; ms < 9; ms += 1) await look.pace();
  expect(turns).toBe(0);
  for (; ms < 1_000; ms += 1) await look.pace();
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(90);
  expect(turns).toBeLessThanOrEqual(100);
});

it("a scan ends when its time is over", async () => {
  let ms = 0;
  const look = new Look({ maxMs: 1_000 }, () => ms);
  ms = 1_000;
  await look.pace();
  expect(look.leftMs).toBe(0);
  ms = 1_001;
  await expect(look.pace()).rejects.toMatchObject({ code: "SANDBOX_CHECKPOINT_TOO_SLOW" });
});
