import { describe, expect, it } from "vitest";
import { likelyTokens, promptTokensAtMost } from "./estimate-tokens.ts";
import { builtInCatalogue, findModel } from "./model-catalogue.ts";
import type { ModelRequest } from "./model-request.ts";
import { worstCaseOf } from "./worst-case.ts";

const request: ModelRequest = {
  model: "scripted",
  messages: [{ role: "user", content: "Ärger" }],
  settings: { maxOutputTokens: 100 },
};

describe("token estimates", () => {
  it("for money are at least one token per byte", () => {
    expect(promptTokensAtMost(request)).toBeGreaterThanOrEqual(Buffer.byteLength("Ärger"));
    const schema = { name: "grade", schema: { type: "object", description: "x".repeat(500) } };
    expect(promptTokensAtMost({ ...request, schema }) - promptTokensAtMost(request)).toBeGreaterThan(500);
  });

  it("for the window are close for prose and high for other scripts", () => {
    const prose = "The quick brown fox jumps over the lazy dog and then walks home again. ".repeat(10);
    expect(likelyTokens(prose)).toBeGreaterThan(150);
    expect(likelyTokens(prose)).toBeLessThan(prose.length / 2);
    expect(likelyTokens("漢字仮名")).toBeGreaterThanOrEqual(4);
    expect(likelyTokens("")).toBe(0);
  });

  it("of the worst case are the upper bound of the prompt and the output limit, with their price", () => {
    const lookup = findModel(builtInCatalogue, "scripted");
    if (!lookup.ok) throw new Error(lookup.message);
    const worst = worstCaseOf(lookup.model, request);
    expect(worst).toEqual({
      promptTokens: promptTokensAtMost(request),
      completionTokens: 100,
      nanodollars: promptTokensAtMost(request) * 1000 + 100 * 2000,
    });
  });
});
