import { describe, expect, it } from "vitest";
import { createModelSlots, inHand } from "./model-slots.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("the model slots of a worker", () => {
  /** Asks for a slot and notes when its request may be sent. */
  const asking =
    (slots: ReturnType<typeof createModelSlots>, began: number[], signal?: AbortSignal) => async (number: number) => {
      const slot = await slots.take(signal);
      await slot.begin(signal);
      began.push(number);
      return slot;
    };

  it("are limited in number and given in the order of asking", async () => {
    const began: number[] = [];
    const ask = asking(createModelSlots(2), began);
    const [first] = await Promise.all([ask(1), ask(2)]);
    const [third, fourth] = [ask(3), ask(4)];
    await tick();
    expect(began).toEqual([1, 2]);
    first?.over(true);
    (await third).over(true);
    expect(began).toEqual([1, 2, 3]);
    await fourth;
    expect(began).toEqual([1, 2, 3, 4]);
  });

  /** Sixteen slots, all taken. */
  const allTaken = async (answerMs: number) => {
    let now = 0;
    const slots = createModelSlots(
      16,
      () => undefined,
      () => now,
    );
    const known = await slots.take();
    await known.begin();
    now += answerMs;
    known.over(true);
    const taken = await Promise.all(Array.from({ length: 16 }, () => slots.take()));
    await Promise.all(taken.map((slot) => slot.begin()));
    return { slots, taken };
  };

  it.each([
    { answerMs: 500, line: 2 },
    { answerMs: 200, line: 5 },
    { answerMs: 1, line: 16 },
  ])(
    "if models answer in $answerMs ms, let the next $line waiting requests reserve before a slot is free, and no others",
    async ({ answerMs, line }) => {
      const { slots, taken } = await allTaken(answerMs);
      const next = await Promise.all(Array.from({ length: line }, () => slots.take()));
      let more = false;
      void slots.take().then(() => {
        more = true;
      });
      let began = false;
      void next[0]?.begin().then(() => {
        began = true;
      });
      await tick();
      expect([more, began]).toEqual([false, false]);
      taken[0]?.over(true);
      await tick();
      expect([more, began]).toEqual([true, true]);
    },
  );

  it("a slot must be free before any reservation if models are slow or unknown", async () => {
    const { slots, taken } = await allTaken(5_000);
    let next = false;
    const waiting = slots.take().then(async (slot) => {
      next = true;
      // The slot is free already.
      await slot.begin();
    });
    await tick();
    expect(next).toBe(false);
    taken[0]?.over(true);
    await waiting;
  });

  it("a slot is released once, even if release is called more often", async () => {
    const began: number[] = [];
    const ask = asking(createModelSlots(1), began);
    const slot = await ask(1);
    slot.over(true);
    slot.over(true);
    await ask(2);
    void ask(3);
    await tick();
    expect(began).toEqual([1, 2]);
  });

  it("an aborted request stops waiting for a slot, and the next request gets the slot", async () => {
    const { slots, taken } = await allTaken(500);
    await slots.take();
    const controller = new AbortController();
    const inLine = await slots.take(controller.signal);
    const begin = inLine.begin(controller.signal);
    const behind = slots.take(controller.signal);
    const began: number[] = [];
    const next = asking(slots, began)(1);
    controller.abort(new Error("drained"));
    await expect(begin).rejects.toThrow("drained");
    await expect(behind).rejects.toThrow("drained");
    await expect(slots.take(controller.signal)).rejects.toThrow("drained");
    inLine.over(true);
    taken[0]?.over(true);
    await next;
    expect(began).toEqual([1]);
  });

  it("a slot is free when a reply has arrived, and only a useful reply counts for the speed of the models", async () => {
    let now = 0;
    const told: number[] = [];
    const slots = createModelSlots(
      8,
      (prompts) => told.push(prompts),
      () => now,
    );
    for (const answered of [false, true]) {
      const taken = await Promise.all(Array.from({ length: 8 }, () => slots.take()));
      await Promise.all(taken.map((slot) => slot.begin()));
      const next = slots.take().then(async (slot) => {
        await slot.begin();
        return slot;
      });
      now += 5;
      taken[0]?.arrived();
      (await next).over(false);
      now += 60_000;
      taken[0]?.over(answered);
      expect(told).toEqual(answered ? [16] : []);
      for (const slot of taken) slot.over(false);
    }
  });

  it("a slot that is released during a reservation is free for other requests", async () => {
    const slots = createModelSlots(1);
    const first = await slots.take();
    await first.begin();
    const line = slots.take();
    first.over(true);
    const second = await line;
    const begin = second.begin();
    second.over(true);
    await begin;
    const third = await slots.take();
    await third.begin();
  });
});

describe("the number of prompts that a worker holds", () => {
  it("exceeds its slots by an eighth if models are slow, by more the faster they answer, and not at all with few slots", () => {
    expect([1, 7, 8, 20, 64].map((slots) => inHand(slots, Number.POSITIVE_INFINITY))).toEqual([1, 7, 9, 22, 72]);
    expect([60_000, 1_000, 400, 200, 1].map((ms) => inHand(32, ms))).toEqual([36, 39, 48, 64, 64]);
    expect(inHand(7, 1)).toBe(7);
  });

  it("follows the measured time of its models", async () => {
    const told: number[] = [];
    let now = 0;
    const slots = createModelSlots(
      8,
      (prompts) => told.push(prompts),
      () => now,
    );
    const ask = async (ms: number) => {
      const slot = await slots.take();
      await slot.begin();
      now += ms;
      slot.over(true);
    };
    await ask(5);
    expect(told).toEqual([16]);
    // A request that never began or was not answered does not count.
    const given = await slots.take();
    now += 60_000;
    given.over(true);
    const refused = await slots.take();
    await refused.begin();
    now += 60_000;
    refused.over(false);
    expect(told).toEqual([16]);
    for (let number = 0; number < 100; number += 1) await ask(2_000);
    expect(told.at(-1)).toBe(9);
    expect(told.length).toBeLessThan(10);
  });
});
