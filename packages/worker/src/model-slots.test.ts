import { describe, expect, it } from "vitest";
import { createModelSlots, inHand } from "./model-slots.ts";

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("the slots of a worker at its models", () => {
  it("are as many as there are, given in the order of asking", async () => {
    const slots = createModelSlots(2);
    const first = await slots.take();
    await slots.take();
    const order: number[] = [];
    const asking = async (number: number) => {
      const back = await slots.take();
      order.push(number);
      return back;
    };
    const third = asking(3);
    const fourth = asking(4);
    await tick();
    expect(order).toEqual([]);
    first();
    const back = await third;
    expect(order).toEqual([3]);
    back();
    await fourth;
    expect(order).toEqual([3, 4]);
  });

  it("are given back once, however often it is said", async () => {
    const slots = createModelSlots(1);
    const back = await slots.take();
    back();
    back();
    await slots.take();
    let second = false;
    void slots.take().then(() => {
      second = true;
    });
    await tick();
    expect(second).toBe(false);
  });

  it("are not waited for by who was aborted, and go to the next", async () => {
    const slots = createModelSlots(1);
    const back = await slots.take();
    const controller = new AbortController();
    const aborted = slots.take(controller.signal);
    const next = slots.take();
    controller.abort(new Error("drained"));
    await expect(aborted).rejects.toThrow("drained");
    await expect(slots.take(controller.signal)).rejects.toThrow("drained");
    back();
    (await next)();
    await slots.take();
  });

  it("have an eighth more activities in hand, and none more where they are few", () => {
    expect([1, 7, 8, 20, 64].map(inHand)).toEqual([1, 7, 9, 22, 72]);
  });
});
