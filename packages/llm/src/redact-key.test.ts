import { describe, expect, it } from "vitest";
import { redactorOf } from "./redact-key.ts";

const key = "sk-proj/Ab+cd_0123456789==xyz";

describe("a key", () => {
  it.each([
    ["whole", key],
    ["percent-encoded", encodeURIComponent(key)],
    ["percent-encoded in lower case", encodeURIComponent(key).toLowerCase().replaceAll("ab", "Ab")],
    ["in base64", Buffer.from(key).toString("base64")],
    ["its beginning", key.slice(0, 20)],
    ["its end", key.slice(-14)],
    ["a piece", key.slice(5, 19)],
  ])("is taken out, %s", (_, spelling) => {
    for (const where of ["reply", "failure"] as const) {
      const clean = redactorOf(key, where)(`Wrong key: ${spelling}. Bye`);
      expect(clean).toMatch(/^Wrong key: \*\*\*=*\. Bye$/);
    }
  });

  it("leaves everything else alone", () => {
    const text = "sk-proj of a project, 0123456789";
    expect(redactorOf(key, "reply")(text)).toBe(text);
    expect(redactorOf(undefined, "reply")(text)).toBe(text);
  });

  it("that is a placeholder is taken out of failures only", () => {
    expect(redactorOf("test", "reply")("The test passed.")).toBe("The test passed.");
    expect(redactorOf("test", "failure")("key test refused")).toBe("key *** refused");
  });

  it("is taken out of long texts in linear time", () => {
    const began = performance.now();
    redactorOf(key, "reply")(key.slice(0, 11).repeat(100_000));
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
