import { ThreadCallFailed } from "@markmill/base";
import { defaultBounds } from "@markmill/engine";
import { StoreError } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { done, failed } from "../performed.ts";
import { afterFailedPerformance, afterPerforming, mayAct, refuseToPerform } from "./after-performing.ts";

const at = { kind: "prompt", bounds: defaultBounds, draining: false, acted: false } as const;

describe("before an activity is performed", () => {
  it("one that killed five workers is not given to a sixth", () => {
    expect(refuseToPerform({ takeovers: 4 })).toBeNull();
    expect(refuseToPerform({ takeovers: 5 })).toMatchObject({ failure: { code: "WORKER_CRASHED" }, next: "fail" });
  });

  it("only commands may not be repeated by themselves: of a tool its own row says it", () => {
    const kinds = ["check", "set", "assign", "note", "prompt", "execute", "call", "ask", "tool", "memory"] as const;
    expect(kinds.filter(mayAct)).toEqual(["execute"]);
  });
});

describe("after an activity was performed", () => {
  it("a success and a failure are committed as they are", () => {
    const reply = done({ kind: "replied", text: "yes" });
    expect(afterPerforming(reply, at)).toEqual({ do: "commit", done: reply });
    const failure = failed("MODEL_REFUSED", "no", "fail");
    expect(afterPerforming(failure, at)).toEqual({ do: "commit", done: failure });
  });

  it("a success that is too long for its run is committed as a failure, with what it cost", () => {
    const usage = { calls: 1, promptTokens: 1, completionTokens: 2, characters: 3, nanodollars: 4 };
    const long = done({ kind: "replied", text: "x".repeat(11) }, usage);
    const decided = afterPerforming(long, { ...at, bounds: { ...defaultBounds, valueCharacters: 10 } });
    expect(decided).toMatchObject({ do: "commit", done: { did: "fail", failure: { code: "VALUE_TOO_LONG" }, usage } });
  });

  it("what could not begin is given back untouched, whatever may have begun before", () => {
    const decided = afterPerforming({ did: "postpone", ms: 500 }, { ...at, kind: "execute", acted: true });
    expect(decided).toEqual({ do: "give back", ms: 500, untouched: true });
  });

  it("a CALL waits for the run it made", () => {
    const answer = { do: "answer", answer: { do: "children" } };
    expect(afterPerforming({ did: "leave" }, { ...at, kind: "call" })).toEqual(answer);
    expect(afterPerforming({ did: "leave" }, { ...at, kind: "call", draining: true })).toEqual(answer);
  });

  it("what was aborted because its run went on is let go", () => {
    expect(afterPerforming({ did: "leave" }, at)).toEqual({ do: "answer", answer: { do: "done" } });
  });

  it("what was aborted by a shut-down is given back at once, unless commands may have run", () => {
    const draining = { ...at, draining: true };
    expect(afterPerforming({ did: "leave" }, draining)).toEqual({ do: "give back", ms: 0, untouched: true });
    expect(afterPerforming({ did: "leave" }, { ...draining, kind: "execute", acted: true })).toEqual({
      ...{ do: "answer", answer: { do: "done" } },
    });
  });
});

describe("after a performance that threw", () => {
  const calm = { aborted: false, acted: false };

  it("an abort, a store that is away, and what nobody knows are given back", () => {
    expect(afterFailedPerformance(new TypeError("x"), { ...calm, aborted: true })).toBeNull();
    expect(afterFailedPerformance(new StoreError("STORE_UNREACHABLE", "away"), calm)).toBeNull();
    for (const error of [new Error("odd"), "text", null]) expect(afterFailedPerformance(error, calm)).toBeNull();
  });

  it("a store that refuses for ever fails the activity", () => {
    expect(afterFailedPerformance(new StoreError("STORE_NOT_FOUND", "gone"), calm)).toMatchObject({
      ...{ defect: false, performed: { did: "fail", failure: { code: "STORE_NOT_FOUND" }, next: "fail" } },
    });
  });

  it("a fault of the database server is given back, whatever was asked", () => {
    for (const code of ["STORE_SERVER_FAULT", "STORE_REFUSED", "STORE_SCHEMA_MISSING"] as const)
      expect(afterFailedPerformance(new StoreError(code, "odd"), calm)).toBeNull();
  });

  const limit = new ThreadCallFailed("the text takes longer than 60 s to read");
  it.each([new TypeError("t"), new RangeError("r"), new ReferenceError("f"), new SyntaxError("s"), limit])(
    "a defect (%s) is tried again; once commands may have run, what they did is unknown",
    (error) => {
      const bug = (next: string) => ({ defect: true, performed: { failure: { code: "WORKER_BUG" }, next } });
      expect(afterFailedPerformance(error, calm)).toMatchObject(bug("retry"));
      expect(afterFailedPerformance(error, { ...calm, acted: true })).toMatchObject(bug("unknown"));
    },
  );
});
