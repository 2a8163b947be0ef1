import { describe, expect, it } from "vitest";
import { recordPatiently } from "./record-patiently.ts";

/** A record that is refused `times` times, for a temporary or a permanent reason. */
function refusing(times: number, transient: boolean) {
  const tries = { count: 0 };
  const record = async () => {
    tries.count += 1;
    if (tries.count <= times) throw Object.assign(new Error(`refusal ${tries.count}`), { transient });
  };
  return { tries, record };
}

const pausesMs = [1, 1, 1];

describe("a paid reply that cannot be recorded", () => {
  it("is retried without limit for a temporary reason, and reported once", async () => {
    const { tries, record } = refusing(50, true);
    const told: unknown[] = [];
    await recordPatiently(record, { pausesMs, tell: (error) => told.push((error as Error).message) });
    expect([tries.count, told]).toEqual([51, ["refusal 1"]]);
  });

  it("is given up after some retries for a permanent reason", async () => {
    const { tries, record } = refusing(50, false);
    await expect(recordPatiently(record, { pausesMs })).rejects.toThrow("refusal 4");
    expect(tries.count).toBe(4);
  });

  it("gets one more attempt at once when its call is aborted", async () => {
    const stop = new AbortController();
    const { tries, record } = refusing(1, true);
    setTimeout(() => stop.abort(), 20);
    await recordPatiently(record, { pausesMs: [60_000], signal: stop.signal });
    expect(tries.count).toBe(2);
    const again = refusing(50, true);
    await expect(recordPatiently(again.record, { pausesMs, signal: stop.signal })).rejects.toThrow("refusal 1");
  });
});
