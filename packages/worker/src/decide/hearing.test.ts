import { describe, expect, it } from "vitest";
import { afterListening, healthOf, isDeaf } from "./hearing.ts";

const deaf = { dueMs: 10_001, heardMsAgo: 10_001, active: 0 };
const fine = { dueMs: 0, heardMsAgo: 5, active: 1 };

describe("whether a worker hears", () => {
  it("it is deaf only where work is due, nothing came, and it holds nothing", () => {
    expect(isDeaf(deaf)).toBe(true);
    for (const better of [{ dueMs: 10_000 }, { heardMsAgo: 10_000 }, { active: 1 }]) {
      expect(isDeaf({ ...deaf, ...better })).toBe(false);
    }
  });

  it("a deaf queue is reconnected once; one that stays deaf is given up", () => {
    expect(afterListening(fine, false)).toBe("hears");
    expect(afterListening(deaf, false)).toBe("reconnect");
    expect(afterListening(deaf, true)).toBe("give up");
    expect(afterListening(fine, true)).toBe("hears");
  });

  it("is healthy while no queue is deaf and leases are renewed", () => {
    const both = new Map([
      ["control", fine],
      ["prompt", deaf],
    ]);
    expect(healthOf(both, 0)).toEqual({
      ...{ ok: false, active: 1, heardMsAgo: 5, dueMs: 10_001, deaf: ["prompt"], renewedMsAgo: 0 },
    });
    expect(healthOf(new Map([["control", fine]]), 29_999).ok).toBe(true);
    expect(healthOf(new Map([["control", fine]]), 30_000).ok).toBe(false);
  });
});
