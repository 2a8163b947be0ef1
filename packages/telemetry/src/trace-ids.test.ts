import { describe, expect, it } from "vitest";
import { activitySpanId, earlierSpanId, runSpanId, traceIdOf } from "./trace-ids.ts";

describe("the ids of a trace", () => {
  it("a trace has its root run's id", () => {
    expect(traceIdOf("019A8F00-1111-7222-8333-444455556666")).toBe("019a8f0011117222833344445555" + "6666");
  });

  it("a run id that is no UUID, or only zeros, still has a valid trace id", () => {
    for (const id of ["run 7", "", "00000000-0000-0000-0000-000000000000"]) {
      expect(traceIdOf(id)).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      expect(traceIdOf(id)).toBe(traceIdOf(id));
    }
  });

  it("ids are the same in every process, and differ for every run and attempt", () => {
    const tries = [
      { id: 1, claim: 0, attempt: 1 },
      { id: 1, claim: 0, attempt: 2 },
      { id: 1, claim: 1, attempt: 1 },
      { id: 1, claim: 2, attempt: 1 },
      { id: 11, claim: 0, attempt: 1 },
    ];
    const ids = [...tries.map(activitySpanId), runSpanId("1"), runSpanId("2")];
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(tries.map(activitySpanId)).toEqual(ids.slice(0, tries.length));
  });

  it("a later attempt names the previous one: by claims if it is claimed, else by attempts", () => {
    expect(earlierSpanId({ id: 5, claim: 1, attempt: 1 })).toBeNull();
    expect(earlierSpanId({ id: 5, claim: 3, attempt: 2 })).toBe(activitySpanId({ id: 5, claim: 2, attempt: 1 }));
    expect(earlierSpanId({ id: 5, claim: 0, attempt: 1 })).toBeNull();
    expect(earlierSpanId({ id: 5, claim: 0, attempt: 2 })).toBe(activitySpanId({ id: 5, claim: 0, attempt: 1 }));
  });
});
