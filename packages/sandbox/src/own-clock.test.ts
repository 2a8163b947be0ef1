import { expect, it } from "vitest";
import { startOwnClock } from "./own-clock.ts";

it("the own clock counts all time of a command that waits for no other program", () => {
  let now = 1_000;
  const clock = startOwnClock(undefined, () => now);
  now += 70;
  clock.heard();
  now += 30;
  expect([clock.ownMs(), clock.silentMs()]).toEqual([100, 30]);
});

it("the own clock stands still while guests run, for eight guests of ten seconds as for one", () => {
  let [now, others] = [5_000, 3];
  const clock = startOwnClock(
    () => others,
    () => now,
  );
  for (let guest = 0; guest < 8; guest += 1) {
    now += 10_000;
    others += 10_000;
    now += 5;
  }
  expect([clock.ownMs(), clock.silentMs()]).toEqual([40, 40]);
});

it("the own clock never runs backwards, even if the guests report more time than has passed", () => {
  let [now, others] = [0, 0];
  const clock = startOwnClock(
    () => others,
    () => now,
  );
  now = 10;
  expect(clock.ownMs()).toBe(10);
  others = 8;
  expect(clock.ownMs()).toBe(10);
});
