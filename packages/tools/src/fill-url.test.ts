import { describe, expect, it } from "vitest";
import { fillUrl } from "./fill-url.ts";

describe("the URL of an HTTP tool", () => {
  it("has its placeholders filled with percent-encoded values", () => {
    expect(fillUrl("https://h.example/a/{x}?q={y}", { x: "b c/d?e#f", y: "1&z=2" })).toBe(
      "https://h.example/a/b%20c%2Fd%3Fe%23f?q=1%26z%3D2",
    );
    expect(fillUrl("https://h.example/{n}/{list}", { n: 7, list: [1] })).toBe("https://h.example/7/%5B1%5D");
    expect(fillUrl("https://h.example/{absent}{__proto__}", {})).toBe("https://h.example/");
    expect(fillUrl("https://h.example/{s}", { s: "\ud800" })).toBe("https://h.example/%EF%BF%BD");
  });

  it.each(["..", ".", "%2e%2e"])("cannot be led to another path by the value %s", (x) => {
    const filled = () => fillUrl("https://h.example/users/{x}/keys", { x });
    if (x.includes("%")) expect(filled()).toContain("%252e%252e");
    else expect(filled).toThrow(/another path/);
  });

  it("may have no placeholder in its host", () => {
    expect(() => fillUrl("https://{h}.example/", { h: "evil" })).toThrow(/host/);
    expect(() => fillUrl("https://example{h}", { h: ".evil" })).toThrow(/host/);
  });
});
