import { describe, expect, it } from "vitest";
import { createGather, settleInTurns } from "./gather.ts";

/** Each group begins in a turn of the event loop of its own. */
async function turn(): Promise<void> {
  for (let count = 0; count < 10; count += 1) await new Promise((resolve) => setImmediate(resolve));
}

function recorder(most = 10, atOnce = 1) {
  const groups: number[][] = [];
  let release = () => {};
  const gather = createGather<number>({
    most,
    atOnce,
    perform: (group) => {
      groups.push(group);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  });
  return { gather, groups, turn, release: () => release() };
}

it("requests of one turn go out together, and requests that arrive meanwhile go out together next", async () => {
  const { gather, groups, turn, release } = recorder();
  gather.add(1);
  gather.add(2);
  await turn();
  expect(groups).toEqual([[1, 2]]);
  gather.add(3);
  await turn();
  gather.add(4);
  expect(groups).toEqual([[1, 2]]);
  release();
  await turn();
  expect(groups).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

it("no group exceeds the maximum, and repeated requests go first", async () => {
  const { gather, groups, turn, release } = recorder(2);
  for (const item of [1, 2, 3, 4]) gather.add(item);
  await turn();
  gather.addFirst([9]);
  release();
  await turn();
  release();
  await turn();
  expect(groups).toEqual([[1, 2], [9, 3], [4]]);
});

it("a gatherer is idle when no request waits and no group is in flight", async () => {
  const { gather, turn, release } = recorder();
  await gather.idle();
  gather.add(1);
  await turn();
  let idle = false;
  const waiting = gather.idle().then(() => {
    idle = true;
  });
  await turn();
  expect(idle).toBe(false);
  release();
  await waiting;
  expect(idle).toBe(true);
});

it("waiting requests are divided evenly, and a few requests wait while other groups are in flight", async () => {
  const { gather, groups, turn, release } = recorder(100, 3);
  for (let item = 0; item < 60; item += 1) gather.add(item);
  await turn();
  expect(groups.map((group) => group.length)).toEqual([20, 20, 20]);
  release();
  await turn();
  const few = [60, 61, 62, 63, 64, 65, 66];
  for (const item of few) gather.add(item);
  await turn();
  expect(groups).toHaveLength(3);
  gather.add(67);
  await turn();
  expect(groups.slice(3)).toEqual([[...few, 67]]);
});

it("requests that may not go out beside a group in flight go out after it", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const groups: string[][] = [];
  const busy = new Set<string>();
  const gather = createGather<string>({
    most: 10,
    atOnce: 2,
    pick(waiting) {
      const group = waiting.filter((item) => !busy.has(item));
      for (const item of group) busy.add(item);
      waiting.splice(0, waiting.length, ...waiting.filter((item) => !group.includes(item)));
      return group;
    },
    async perform(group) {
      groups.push(group);
      await promise;
      for (const item of group) busy.delete(item);
    },
  });
  gather.add("one");
  await new Promise((turned) => setTimeout(turned, 5));
  for (let n = 0; n < 5; n += 1) gather.add("one");
  await new Promise((turned) => setTimeout(turned, 5));
  expect(groups).toEqual([["one"]]);
  resolve();
  await gather.idle();
  expect(groups.flat()).toHaveLength(6);
});

describe("a gatherer that lingers", () => {
  const lingerMs = 60_000;
  function lingering(isUrgent?: (item: number) => boolean) {
    const groups: number[][] = [];
    const gather = createGather<number>({
      most: 5,
      lingerMs,
      ...(isUrgent === undefined ? {} : { isUrgent }),
      perform: async (group) => void groups.push(group),
    });
    return { gather, groups };
  }

  it("sends a single request at once", async () => {
    const { gather, groups } = lingering();
    for (const item of [1, 2, 3]) {
      gather.add(item);
      await turn();
    }
    expect(groups).toEqual([[1], [2], [3]]);
  });

  it("waits for more requests after a group of several, until the next group is full", async () => {
    const { gather, groups } = lingering();
    gather.add(1);
    gather.add(2);
    await turn();
    for (const item of [3, 4, 5, 6]) gather.add(item);
    await turn();
    expect(groups).toEqual([[1, 2]]);
    gather.add(7);
    await turn();
    expect(groups).toEqual([
      [1, 2],
      [3, 4, 5, 6, 7],
    ]);
  });

  it("sends at once if a request is urgent or has already waited", async () => {
    const { gather, groups } = lingering((item) => item > 100);
    gather.add(1);
    gather.add(2);
    await turn();
    gather.add(3);
    await turn();
    expect(groups).toEqual([[1, 2]]);
    gather.add(101);
    await turn();
    expect(groups).toEqual([
      [1, 2],
      [3, 101],
    ]);
  });

  it("does not delay requests that were left over or are repeated", async () => {
    const { gather, groups } = lingering();
    for (const item of [1, 2, 3, 4, 5, 6, 7]) gather.add(item);
    await turn();
    expect(groups).toEqual([
      [1, 2, 3, 4, 5],
      [6, 7],
    ]);
    gather.add(8);
    await turn();
    gather.addFirst([9]);
    await turn();
    expect(groups.at(-1)).toEqual([9, 8]);
  });

  it("waits at most lingerMs, and becomes idle only after that", async () => {
    const groups: number[][] = [];
    const gather = createGather<number>({ most: 5, lingerMs: 40, perform: async (group) => void groups.push(group) });
    gather.add(1);
    gather.add(2);
    await turn();
    gather.add(3);
    await gather.idle();
    expect(groups).toEqual([[1, 2], [3]]);
  });
});

it("settling in turns lets other callbacks run in between and keeps the order", async () => {
  const seen: string[] = [];
  const settling = settleInTurns([1, 2, 3, 4, 5, 6, 7], (item) => {
    seen.push(`settled ${item}`);
    setImmediate(() => seen.push(`another after ${item}`));
  });
  await settling;
  const settled = seen.flatMap((what) => (what.startsWith("settled") ? [what.at(-1)] : []));
  expect(settled.join("")).toBe("1234567");
  expect(seen.indexOf("another after 1")).toBeLessThan(seen.indexOf("settled 4"));
  expect(seen.indexOf("another after 4")).toBeLessThan(seen.indexOf("settled 7"));
});
