import { ThreadCallFailed } from "@markmill/base";
import { defaultBounds } from "@markmill/engine";
import { StoreError } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { done, failed } from "../performed.ts";
import { afterFailedPerformance, afterPerforming, mayAct, refuseToPerform } from "./after-performing.ts";

const at = { kind: "prompt", bounds: defaultBounds, draining: false, acted: false } as const;

describe("decision before an activity is performed", () => {
  it("an activity that crashed five workers is not given to a sixth one", () => {
    expect(refuseToPerform({ takeovers: 4 })).toBeNull();
    expect(refuseToPerform({ takeovers: 5 })).toMatchObject({ failure: { code: "WORKER_CRASHED" }, next: "fail" });
  });

  it("only commands count as work that must not be repeated, because tool calls have rows of their own", () => {
    const kinds = ["check", "set", "assign", "note", "prompt", "execute", "call", "ask", "tool", "memory"] as const;
    expect(kinds.filter(mayAct)).toEqual(["execute"]);
  });
});

describe("decision after an activity was performed", () => {
  it("a success and a failure are committed unchanged", () => {
    const reply = done({ kind: "replied", text: "yes" });
    expect(afterPerforming(reply, at)).toEqual({ do: "commit", done: reply });
    const failure = failed("MODEL_REFUSED", "no", "fail");
    expect(afterPerforming(failure, at)).toEqual({ do: "commit", done: failure });
  });

  it("a success that is too long for its run is committed as a failure with its cost", () => {
    const usage = { calls: 1, promptTokens: 1, completionTokens: 2, characters: 3, nanodollars: 4 };
    const long = done({ kind: "replied", text: "x".repeat(11) }, usage);
    const decided = afterPerforming(long, { ...at, bounds: { ...defaultBounds, valueCharacters: 10 } });
    expect(decided).toMatchObject({ do: "commit", done: { did: "fail", failure: { code: "VALUE_TOO_LONG" }, usage } });
  });

  it("an activity that could not begin is released as untouched, even if an earlier attempt may have begun", () => {
    const decided = afterPerforming({ did: "postpone", ms: 500 }, { ...at, kind: "execute", acted: true });
    expect(decided).toEqual({ do: "give back", ms: 500, untouched: true });
  });

  it("a CALL waits for the run it created", () => {
    const answer = { do: "answer", answer: { do: "children" } };
    expect(afterPerforming({ did: "leave" }, { ...at, kind: "call" })).toEqual(answer);
    expect(afterPerforming({ did: "leave" }, { ...at, kind: "call", draining: true })).toEqual(answer);
  });

  it("if a run continues without an activity, the job of the aborted activity is completed", () => {
    expect(afterPerforming({ did: "leave" }, at)).toEqual({ do: "answer", answer: { do: "done" } });
  });

  it("an activity that a shutdown aborted is released at once, unless commands may have run", () => {
    const draining = { ...at, draining: true };
    expect(afterPerforming({ did: "leave" }, draining)).toEqual({ do: "give back", ms: 0, untouched: true });
    expect(afterPerforming({ did: "leave" }, { ...draining, kind: "execute", acted: true })).toEqual({
      do: "answer",
      answer: { do: "done" },
    });
  });
});

describe("decision after performing an activity threw", () => {
  const calm = { aborted: false, acted: false };

  it("an activity is released after an abort, an unreachable store, or an unknown error", () => {
    expect(afterFailedPerformance(new TypeError("x"), { ...calm, aborted: true })).toBeNull();
    expect(afterFailedPerformance(new StoreError("STORE_UNREACHABLE", "away"), calm)).toBeNull();
    for (const error of [new Error("odd"), "text", null]) expect(afterFailedPerformance(error, calm)).toBeNull();
  });

  it("a permanent refusal of the store fails the activity", () => {
    expect(afterFailedPerformance(new StoreError("STORE_NOT_FOUND", "gone"), calm)).toMatchObject({
      defect: false,
      performed: { did: "fail", failure: { code: "STORE_NOT_FOUND" }, next: "fail" },
    });
  });

  it("a fault of the database server releases the activity, whatever the query was", () => {
    for (const code of ["STORE_SERVER_FAULT", "STORE_REFUSED", "STORE_SCHEMA_MISSING"] as const)
      expect(afterFailedPerformance(new StoreError(code, "odd"), calm)).toBeNull();
  });

  const limit = new ThreadCallFailed("the text takes longer than 60 s to read");
  it.each([new TypeError("t"), new RangeError("r"), new ReferenceError("f"), new SyntaxError("s"), limit])(
    "a defect (%s) is retried, and reported as an unknown outcome once commands may have run",
    (error) => {
      const bug = (next: string) => ({ defect: true, performed: { failure: { code: "WORKER_BUG" }, next } });
      expect(afterFailedPerformance(error, calm)).toMatchObject(bug("retry"));
      expect(afterFailedPerformance(error, { ...calm, acted: true })).toMatchObject(bug("unknown"));
    },
  );
});
