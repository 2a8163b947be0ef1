import { describe, expect, it } from "vitest";
import { tellError } from "./tell-error.ts";

describe("tellError", () => {
  it("prints code, message and fix once each, without a stack", () => {
    const error = Object.assign(new Error("SOME_CODE: it broke. Mend it."), { code: "SOME_CODE", fix: "Mend it." });
    expect(tellError(error, false)).toBe("markmill: SOME_CODE: it broke.\nfix: Mend it.");
  });

  it("explains errors of the operating system", () => {
    const error = Object.assign(new Error("listen EADDRINUSE: address already in use :::8080"), { code: "EADDRINUSE" });
    expect(tellError(error, false)).toMatch(/^markmill: PORT_IN_USE: .*8080\nfix: .*HEALTH_PORT/);
  });

  it("shows the origin of an unknown error only on request", () => {
    const error = new Error("odd", { cause: new Error("deeper") });
    expect(tellError(error, false)).toBe("markmill: odd\nRun the command with '--debug' to see the stack trace.");
    expect(tellError(error, true)).toMatch(/tell-error\.test\.ts[\s\S]*deeper/);
  });
});
