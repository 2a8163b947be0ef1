import { expect, it } from "vitest";
import { finishAndLeave, type Leaving } from "./finish-and-leave.ts";

const hour = 3_600_000;

/** A worker with these numbers of deliveries in its queues. Records what happens to it. */
function worker(held: Record<string, number>, giveUpAfterMs = hour) {
  const happened: string[] = [];
  const stop = new AbortController();
  const parts: Leaving = {
    servings: Object.keys(held).map((name) => ({
      active: () => held[name] ?? 0,
      close: () => {
        happened.push(`close ${name}`);
        // An unreachable queue never reports that it is closed.
        return new Promise<void>(() => undefined);
      },
    })),
    giveUpAfterMs,
    giveUp: () => {
      happened.push("give up");
      for (const name of Object.keys(held)) held[name] = 0;
    },
    stopped: stop.signal,
    leave: () => happened.push("leave"),
  };
  return { happened, stop, leaving: finishAndLeave(parts) };
}

it("a worker that gives up accepts no new jobs and leaves only after it has finished its activities", async () => {
  const held = { control: 0, prompt: 2 };
  const { happened, leaving } = worker(held);
  const closed = ["close control", "close prompt"];
  expect(happened).toEqual(closed);
  for (const left of [1, 0]) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(happened).toEqual(closed);
    held.prompt = left;
  }
  await leaving;
  expect(happened).toEqual([...closed, "leave"]);
});

it("a worker that holds no activity leaves at once", async () => {
  const { happened, leaving } = worker({ control: 0 });
  await leaving;
  expect(happened).toEqual(["close control", "leave"]);
});

it("a worker gives up a command that takes too long before it leaves", async () => {
  const { happened, leaving } = worker({ execute: 1 }, 10);
  await leaving;
  expect(happened).toEqual(["close execute", "give up", "leave"]);
});

it("a second stop request during shutdown does not make the worker exit the process", async () => {
  const { happened, stop, leaving } = worker({ prompt: 1 });
  stop.abort();
  await leaving;
  expect(happened).toEqual(["close prompt"]);
});
