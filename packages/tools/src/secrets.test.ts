import { describe, expect, it } from "vitest";
import { hideSecrets } from "./secrets.ts";

describe("a secret of a tool", () => {
  it("that is short is hidden as a word, but not inside other words", () => {
    expect(hideSecrets(["test"])("latest tests, key test")).toBe("latest tests, key ***");
    expect(hideSecrets(["a+b(c"])("x a+b(c y")).toBe("x *** y");
  });

  it("that is long is hidden at every position", () => {
    expect(hideSecrets(["0123456789abcdef"])("xx0123456789abcdefyy")).toBe("xx***yy");
  });
});
