import { describe, expect, it } from "vitest";
import type { ModelRequest } from "./model-request.ts";
import { requestHash } from "./request-hash.ts";

const request: ModelRequest = {
  model: "scripted",
  messages: [{ role: "user", content: "Ärger" }],
  settings: { maxOutputTokens: 100 },
};

describe("the request hash", () => {
  it("does not depend on the order of keys or on undefined ones", () => {
    const other = {
      settings: { maxOutputTokens: 100, stop: undefined },
      messages: [{ content: "Ärger", role: "user" }],
      model: "scripted",
    };
    expect(requestHash(other as unknown as ModelRequest)).toBe(requestHash(request));
  });

  it("changes with any part of the request", () => {
    const variants: ModelRequest[] = [
      request,
      { ...request, model: "gpt-5" },
      { ...request, settings: {} },
      { ...request, messages: [{ role: "system", content: "Ärger" }] },
      { ...request, messages: [...request.messages, ...request.messages] },
      { ...request, schema: { name: "s", schema: { type: "object" } } },
    ];
    expect(new Set(variants.map(requestHash)).size).toBe(variants.length);
  });

  it("is fixed, because recorded replies must be found by it after an upgrade", () => {
    expect(requestHash(request)).toBe("887d3a92cc8b98ea1f5d9a32a6825a70512b91c9485480aca6ddc5b54506b910");
  });
});
