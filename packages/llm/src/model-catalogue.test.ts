import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatFinding } from "./finding.ts";
import { builtInCatalogue, costOf, findModel, type ModelCatalogue, parseModels } from "./model-catalogue.ts";
import { effectiveSettings } from "./model-request.ts";

function read(text: string): ModelCatalogue {
  const reading = parseModels(text, "models.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  return reading.catalogue;
}

function findings(text: string): string[] {
  const reading = parseModels(text, "models.yaml");
  return reading.ok ? [] : reading.findings.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`);
}

const one = `
models:
  tiny: { price: { prompt: 0.0375, completion: 0.15 }, contextTokens: 8000, maxOutputTokens: 1000 }
`;

describe("the catalogue of models", () => {
  it("stores prices as whole nanodollars per million tokens", () => {
    const lookup = findModel(read(one), "tiny");
    expect(lookup).toMatchObject({
      ok: true,
      model: { promptPrice: 37_500_000, completionPrice: 150_000_000, priced: true },
    });
  });

  it("resolves an alias to its model", () => {
    const catalogue = read(`aliases: { main: gpt-5-mini }${one}`);
    expect(findModel(catalogue, "main")).toMatchObject({ ok: true, model: { name: "gpt-5-mini", reasoning: true } });
  });

  it("keeps the built-in models together with those of the file, and the file can override or drop them", () => {
    expect(findModel(read(one), "scripted").ok).toBe(true);
    expect(findModel(read(`builtIn: false${one}`), "scripted").ok).toBe(false);
    const own = read(
      `${one}  scripted: { price: { prompt: 9, completion: 9 }, contextTokens: 10, maxOutputTokens: 10 }\n`,
    );
    expect(findModel(own, "scripted")).toMatchObject({ model: { promptPrice: 9_000_000_000 } });
  });

  it("refuses a model without a price and describes how to allow it", () => {
    const lookup = findModel(read(one), "unheard-of");
    expect(lookup).toMatchObject({ ok: false, code: "MODEL_NOT_IN_CATALOGUE" });
    expect(lookup.ok ? "" : lookup.message).toMatch(/"unheard-of".*allowUnpriced: true.*tiny/s);
  });

  it("uses an undescribed model at price zero only if this is allowed", () => {
    const lookup = findModel(read(`allowUnpriced: true${one}`), "unheard-of");
    expect(lookup).toMatchObject({
      ok: true,
      model: { name: "unheard-of", priced: false, promptPrice: 0, completionPrice: 0 },
    });
  });

  it("gives the scripted model a price and a window of 128k", () => {
    const lookup = findModel(builtInCatalogue, "scripted");
    expect(lookup).toMatchObject({ ok: true, model: { contextTokens: 128_000 } });
    expect(lookup.ok ? costOf(lookup.model, 1, 1) : 0).toBe(3_000);
  });

  it("reports every mistake at once, each with its line and column", () => {
    expect(
      findings(`aliases:
  a: nowhere
  b: a
  tiny: gpt-5
models:
  tiny:
    price: { prompt: 1, completion: 1 }
    contextTokens: 100
    maxOutputTokens: 200
    defaults: { maxOutputTokens: 300 }
`),
    ).toEqual([
      "models.yaml:2:3 MODELS_ALIAS_UNKNOWN_MODEL",
      "models.yaml:3:3 MODELS_ALIAS_CHAIN",
      "models.yaml:4:3 MODELS_ALIAS_HIDES_MODEL",
      "models.yaml:9:5 MODELS_OUTPUT_OVER_CONTEXT",
      "models.yaml:10:17 MODELS_DEFAULT_OVER_LIMIT",
    ]);
  });

  it("reports the position of missing keys, unknown keys and wrong values", () => {
    expect(
      findings(`models:
  tiny:
    prize: 3
    price: { prompt: -1, completion: "two" }
    contextTokens: 1.5
`),
    ).toEqual([
      "models.yaml:2:3 MODELS_KEY_MISSING",
      "models.yaml:3:5 MODELS_KEY_UNKNOWN",
      "models.yaml:4:14 MODELS_VALUE",
      "models.yaml:4:26 MODELS_VALUE",
      "models.yaml:5:5 MODELS_VALUE",
    ]);
  });

  it("reports the position of broken YAML", () => {
    expect(findings("models:\n  a: [1,\n")).toEqual([expect.stringMatching(/^models\.yaml:\d+:\d+ MODELS_YAML$/)]);
    expect(findings("just text")).toEqual(["models.yaml:1:1 MODELS_VALUE"]);
    expect(findings("a: 1\na: 2\n")).toEqual(["models.yaml:2:1 MODELS_YAML"]);
  });

  it("is the built-in catalogue if the file is empty", () => {
    expect(read("").models).toEqual(builtInCatalogue.models);
  });

  it("reads the example of the README", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const example = /```yaml models\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
    expect(findModel(read(example), "marker")).toMatchObject({
      model: { name: "house-model-2", maxOutputTokens: 8000 },
    });
  });
});

describe("the cost of a call", () => {
  it("is rounded up, never down", () => {
    const lookup = findModel(read(one), "tiny");
    if (!lookup.ok) throw new Error(lookup.message);
    expect(costOf(lookup.model, 1, 0)).toBe(38);
    expect(costOf(lookup.model, 2, 0)).toBe(75);
    expect(costOf(lookup.model, 0, 0)).toBe(0);
  });

  it("is exact where floating point is not", () => {
    const lookup = findModel(
      read("models: { m: { price: { prompt: 74.999999999, completion: 0 }, contextTokens: 10, maxOutputTokens: 1 } }"),
      "m",
    );
    if (!lookup.ok) throw new Error(lookup.message);
    expect(costOf(lookup.model, 1_000_000, 0)).toBe(74_999_999_999);
    // 74,999,924,999.000000001: a double loses this fraction, but it must round up.
    expect(costOf(lookup.model, 999_999, 0)).toBe(74_999_925_000);
  });
});

describe("the effective settings of a request", () => {
  const model = (name: string) => {
    const lookup = findModel(builtInCatalogue, name);
    if (!lookup.ok) throw new Error(lookup.message);
    return lookup.model;
  };

  it("use the request's values, then the model's; the output limit is always present and within the model's limit", () => {
    expect(effectiveSettings(model("scripted"), { temperature: 1 }).settings).toEqual({
      temperature: 1,
      maxOutputTokens: 2000,
    });
    expect(effectiveSettings(model("scripted"), { maxOutputTokens: 99_999 }).settings.maxOutputTokens).toBe(16_384);
  });

  it("leave out settings that a reasoning model refuses, and name them", () => {
    expect(effectiveSettings(model("gpt-5"), { temperature: 1, stop: ["END"], maxOutputTokens: 50 })).toEqual({
      settings: { maxOutputTokens: 50 },
      ignored: ["temperature", "stop"],
    });
  });
});
