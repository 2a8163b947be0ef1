import { QueueError } from "@markmill/queue";
import { describe, expect, it } from "vitest";
import { afterListening, afterProbe, type Hearing, healthOf, isStalled } from "./hearing.ts";

const stalled = { dueMs: 10_001, heardMsAgo: 10_001, active: 0, queue: "open" } as const;
const fine = { dueMs: 0, heardMsAgo: 5, active: 1, queue: "open" } as const;

describe("detecting a stalled worker", () => {
  it("a worker is stalled only if work is due, no job arrived, and it holds no activity", () => {
    expect(isStalled(stalled)).toBe(true);
    for (const better of [{ dueMs: 10_000 }, { heardMsAgo: 10_000 }, { active: 1 }]) {
      expect(isStalled({ ...stalled, ...better })).toBe(false);
    }
  });

  it("a stalled queue is reconnected once, and the worker gives up if it stays stalled", () => {
    expect(afterListening(fine, null)).toBe("hears");
    expect(afterListening(stalled, null)).toBe("reconnect");
    expect(afterListening(stalled, 5_000)).toBe("wait");
    expect(afterListening(stalled, 10_001)).toBe("give up");
    expect(afterListening(fine, 10_001)).toBe("hears");
  });

  it("a paused queue never counts as stalled", () => {
    const paused = { ...stalled, queue: "paused" } as const;
    expect(isStalled(paused)).toBe(false);
    expect(afterListening(paused, null)).toBe("hears");
    expect(healthOf(new Map([["prompt", paused]]), 0)).toMatchObject({ ok: true, stalled: [] });
  });

  it("a queue that answers but refuses jobs is reported as trouble of the queue, and no worker gives up because of it", () => {
    for (const code of [
      "QUEUE_FULL",
      "QUEUE_READ_ONLY",
      "QUEUE_REFUSED",
      "QUEUE_BUSY",
      "QUEUE_SERVER_FAULT",
    ] as const) {
      const refusing = { ...stalled, queue: afterProbe(new QueueError(code, "no")) };
      expect(afterListening(refusing, null)).toBe("hears");
      expect(afterListening(refusing, 3_600_000)).toBe("hears");
      expect(healthOf(new Map([["prompt", refusing]]), 0)).toMatchObject({ ok: true, stalled: [] });
    }
    expect(afterProbe(new QueueError("QUEUE_UNREACHABLE", "no"))).toBe("away");
    expect(afterProbe(new Error("odd"))).toBe("away");
  });

  it("a queue that does not answer gets more time before the worker gives up", () => {
    const away = { ...stalled, queue: "away" } as const;
    expect(afterListening(away, null)).toBe("reconnect");
    expect(afterListening(away, 20_000)).toBe("wait");
    expect(afterListening(away, 30_001)).toBe("give up");
  });

  it("a worker is healthy while no queue is stalled and its leases are renewed", () => {
    const both = new Map<string, Hearing>([
      ["control", fine],
      ["prompt", stalled],
    ]);
    expect(healthOf(both, 0)).toEqual({
      ok: false,
      active: 1,
      heardMsAgo: 5,
      dueMs: 10_001,
      stalled: ["prompt"],
      renewedMsAgo: 0,
      leasesOld: false,
    });
    expect(healthOf(new Map([["control", fine]]), 29_999).ok).toBe(true);
    expect(healthOf(new Map([["control", fine]]), 30_000).ok).toBe(false);
  });
});
