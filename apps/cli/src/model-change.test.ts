import { writeRunOptions } from "@markmill/stack";
import { batchOf } from "@markmill/stack/testing-batch";
import type { Definition } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { modelChange } from "./model-change.ts";

const definition = (model?: string) =>
  ({
    root: "a",
    programs: { a: { params: model === undefined ? {} : { AI_MODEL_NAME: model } } },
  }) as never as Definition;
const before = (variables: Record<string, string>, defaultModel: string) =>
  batchOf({
    settings: {
      run: { variables, options: writeRunOptions({ sandbox: "auto", defaultModel, script: null }) as never },
      ...{ late: null, aiConsent: "any", language: null },
    },
  });
const now = (variables: Record<string, string>, defaultModel = "d", own?: string) => ({
  ...{ definition: definition(own), variables, defaultModel },
});

describe("another model than before", () => {
  it("is found by the flag, the workflow and the default, in this order", () => {
    expect(modelChange(before({}, "d"), now({ AI_MODEL_NAME: "b" }))).toEqual({ from: "d", to: "b" });
    expect(modelChange(before({ AI_MODEL_NAME: "a" }, "d"), now({}))).toEqual({ from: "a", to: "d" });
    expect(modelChange(before({}, "c"), now({}))).toEqual({ from: "c", to: "d" });
    expect(modelChange(before({}, "c"), now({}, "d", "own"))).toBeNull();
    expect(modelChange(before({ AI_MODEL_NAME: "a" }, "c"), now({ AI_MODEL_NAME: "a" }))).toBeNull();
  });

  it("is not guessed where nothing is known", () => {
    expect(modelChange(null, now({}))).toBeNull();
    expect(modelChange(batchOf(), now({}))).toBeNull();
  });
});
