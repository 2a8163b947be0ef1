import { writeRunOptions } from "@markmill/stack";
import { batchOf } from "@markmill/stack/testing-batch";
import type { Definition } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { answererOf, modelsOf, restartLine } from "./model-change.ts";

const definition = (model?: string) =>
  ({
    root: "a",
    programs: { a: { params: model === undefined ? [] : [{ name: "AI_MODEL_NAME", default: model }], settings: {} } },
  }) as never as Definition;
const before = (variables: Record<string, string>, defaultModel: string) =>
  batchOf({
    settings: {
      run: { variables, options: writeRunOptions({ sandbox: "auto", defaultModel, script: null }) as never },
      late: null,
      aiConsent: "any",
      language: null,
    },
  });
const now = (variables: Record<string, string>, defaultModel = "d", own?: string) => ({
  definition: definition(own),
  variables,
  defaultModel,
});

describe("the model before and now", () => {
  it("comes from the flag, the workflow and the default, in this order", () => {
    expect(modelsOf(before({}, "d"), now({ AI_MODEL_NAME: "b" }))).toEqual({ from: "d", to: "b" });
    expect(modelsOf(before({ AI_MODEL_NAME: "a" }, "d"), now({}))).toEqual({ from: "a", to: "d" });
    expect(modelsOf(before({}, "c"), now({}))).toEqual({ from: "c", to: "d" });
    expect(modelsOf(before({}, "c"), now({}, "d", "own"))).toEqual({ from: "own", to: "own" });
    expect(modelsOf(before({ AI_MODEL_NAME: "a" }, "c"), now({ AI_MODEL_NAME: "a" }))).toEqual({ from: "a", to: "a" });
  });

  it("is unknown if nothing names it", () => {
    expect(modelsOf(null, now({}))).toEqual({ from: null, to: "d" });
    expect(modelsOf(batchOf(), now({}))).toEqual({ from: null, to: "d" });
  });
});

describe("the line about submissions that start again", () => {
  it("reports the new model or script, and how many submissions keep paid replies", () => {
    const change = { from: "gpt-5", to: "gpt-5-mini" };
    expect(restartLine({ restarted: 12, kept: 3 }, change)).toBe(
      "12 submissions continue with gpt-5-mini; 3 keep replies already paid for with gpt-5",
    );
    expect(restartLine({ restarted: 1, kept: 1 }, { from: null, to: "x" })).toBe(
      "1 submission continues with x; 1 keeps replies already paid for",
    );
    expect(restartLine({ restarted: 2, kept: 0 }, change)).toBe("2 submissions continue with gpt-5-mini");
    expect(restartLine({ restarted: 0, kept: 3 }, change)).toBeNull();
  });

  it("names the script or the model", () => {
    expect([answererOf("a.yaml", "m"), answererOf(null, "m"), answererOf(null, null)]).toEqual([
      ...["the script a.yaml", "m", "the current settings"],
    ]);
  });
});
