import { expect, it } from "vitest";
import { finishAndLeave } from "./finish-and-leave.ts";

it("a worker that gives up takes nothing new, and leaves only after it has finished what it holds", async () => {
  const held = { control: 0, prompt: 2 };
  const closed: string[] = [];
  let hasLeft = false;
  const serving = (name: keyof typeof held) => ({
    active: () => held[name],
    close: () => {
      closed.push(name);
      // A queue that is away never says that it is closed.
      return new Promise<void>(() => undefined);
    },
  });
  const leaving = finishAndLeave([serving("control"), serving("prompt")], () => {
    hasLeft = true;
  });
  expect(closed).toEqual(["control", "prompt"]);
  for (const left of [1, 0]) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(hasLeft).toBe(false);
    held.prompt = left;
  }
  await leaving;
  expect(hasLeft).toBe(true);
});

it("a worker that holds nothing leaves at once", async () => {
  let hasLeft = false;
  await finishAndLeave([{ active: () => 0, close: async () => undefined }], () => {
    hasLeft = true;
  });
  expect(hasLeft).toBe(true);
});
