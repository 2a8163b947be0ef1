import { describe, expect, it } from "vitest";
import { createLoginLimit } from "./login-limit.ts";

describe("the limit of failed logins", () => {
  it("refuses an account after its failures from any network, until the minute is over", () => {
    let now = 1_000;
    const limit = createLoginLimit(3, () => now);
    for (const network of ["a", "b", "c"]) expect(limit("ada", network).kind).toBe("begun");
    now += 10_000;
    expect(limit("ada", "d")).toEqual({ kind: "refused", waitMs: 50_000 });
    expect(limit("grace", "d").kind).toBe("begun");
    now += 50_000;
    expect(limit("ada", "d").kind).toBe("begun");
  });

  it("does not count successful logins", () => {
    const limit = createLoginLimit(1, () => 0);
    for (let i = 0; i < 5; i += 1) {
      const one = limit("ada", `network ${i}`);
      if (one.kind === "begun") one.succeeded();
      expect(one.kind).toBe("begun");
    }
  });

  it("admits a network that logged in before, while strangers fail from other networks", () => {
    const limit = createLoginLimit(2, () => 0);
    const own = limit("ada", "home");
    if (own.kind === "begun") own.succeeded();
    for (const network of ["x", "y"]) limit("ada", network);
    expect([limit("ada", "z").kind, limit("ada", "home").kind]).toEqual(["refused", "begun"]);
  });
});
