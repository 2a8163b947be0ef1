import { QueueError } from "@markmill/queue";
import { describe, expect, it } from "vitest";
import { afterListening, afterProbe, type Hearing, healthOf, isStalled } from "./hearing.ts";

const stalled = { dueMs: 10_001, heardMsAgo: 10_001, active: 0, queue: "open" } as const;
const fine = { dueMs: 0, heardMsAgo: 5, active: 1, queue: "open" } as const;

describe("whether a worker hears", () => {
  it("it is stalled only where work is due, nothing came, and it holds nothing", () => {
    expect(isStalled(stalled)).toBe(true);
    for (const better of [{ dueMs: 10_000 }, { heardMsAgo: 10_000 }, { active: 1 }]) {
      expect(isStalled({ ...stalled, ...better })).toBe(false);
    }
  });

  it("a stalled queue is reconnected once; one that stays stalled is given up", () => {
    expect(afterListening(fine, null)).toBe("hears");
    expect(afterListening(stalled, null)).toBe("reconnect");
    expect(afterListening(stalled, 5_000)).toBe("wait");
    expect(afterListening(stalled, 10_001)).toBe("give up");
    expect(afterListening(fine, 10_001)).toBe("hears");
  });

  it("a paused queue is silent, and that is no deafness", () => {
    const paused = { ...stalled, queue: "paused" } as const;
    expect(isStalled(paused)).toBe(false);
    expect(afterListening(paused, null)).toBe("hears");
    expect(healthOf(new Map([["prompt", paused]]), 0)).toMatchObject({ ok: true, stalled: [] });
  });

  it("a queue that answers and refuses jobs is trouble of the queue: no worker leaves because of it", () => {
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

  it("a queue that does not answer has longer to come back before the worker gives up", () => {
    const away = { ...stalled, queue: "away" } as const;
    expect(afterListening(away, null)).toBe("reconnect");
    expect(afterListening(away, 20_000)).toBe("wait");
    expect(afterListening(away, 30_001)).toBe("give up");
  });

  it("is healthy while no queue is stalled and leases are renewed", () => {
    const both = new Map<string, Hearing>([
      ["control", fine],
      ["prompt", stalled],
    ]);
    expect(healthOf(both, 0)).toEqual({
      ...{ ok: false, active: 1, heardMsAgo: 5, dueMs: 10_001, stalled: ["prompt"], renewedMsAgo: 0, leasesOld: false },
    });
    expect(healthOf(new Map([["control", fine]]), 29_999).ok).toBe(true);
    expect(healthOf(new Map([["control", fine]]), 30_000).ok).toBe(false);
  });
});
