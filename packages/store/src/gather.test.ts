import { expect, it } from "vitest";
import { createGather } from "./gather.ts";

function recorder(most = 10) {
  const groups: number[][] = [];
  let release = () => {};
  const gather = createGather<number>({
    most,
    perform: (group) => {
      groups.push(group);
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    },
  });
  const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
  return { gather, groups, turn, release: () => release() };
}

it("what arrives in one turn goes out together, what arrives meanwhile goes out together next", async () => {
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

it("no group is larger than allowed, and a second chance goes first", async () => {
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

it("is idle when nothing waits and nothing is in flight", async () => {
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
