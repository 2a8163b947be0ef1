import { describe, expect, it } from "vitest";
import { defaultLimits } from "../limits.ts";
import { guestDefaults, guestLimits, MAX_GUEST_OUTPUT, readGuestRequest } from "./guest-request.ts";

const ask = (...fields: readonly string[]) => readGuestRequest(Buffer.from(fields.join("\0")), defaultLimits);

describe("a request for a guest", () => {
  it("without limits gets the default limits and its arguments unchanged", () => {
    expect(ask("", "", "", "", "0", "0", "./a.out", "", "x y")).toEqual({
      argv: ["./a.out", "", "x y"],
      ...guestDefaults,
      sendsFiles: false,
      wantsFiles: false,
    });
  });

  it("gets its named limits, but never more than the judge's ceiling", () => {
    expect(ask("0.5", "64", "100", "8", "1", "1", "a")).toMatchObject({
      timeMs: 500,
      memoryBytes: 64 * 1024 * 1024,
      outputBytes: 100,
      pids: 8,
      sendsFiles: true,
      wantsFiles: true,
    });
    expect(ask("9999999", "9999999", "999999999999", "9999999", "0", "0", "a")).toMatchObject({
      timeMs: defaultLimits.wallMs,
      memoryBytes: defaultLimits.memoryBytes,
      outputBytes: MAX_GUEST_OUTPUT,
      pids: defaultLimits.pids,
    });
  });

  it("is refused without a program, or with invalid numbers", () => {
    expect(ask("", "", "", "", "0", "0")).toBeUndefined();
    expect(ask("", "", "", "", "0", "0", "")).toBeUndefined();
    expect(ask("x", "", "", "", "0", "0", "a")).toBeUndefined();
    expect(ask("", "-1", "", "", "0", "0", "a")).toBeUndefined();
    expect(ask("")).toBeUndefined();
  });

  it("has a complete set of limits, with the judge's disk and cores", () => {
    const request = ask("1", "", "", "", "0", "0", "a");
    if (request === undefined) throw new Error("refused");
    expect(guestLimits(request, defaultLimits)).toMatchObject({
      wallMs: 1000,
      diskBytes: defaultLimits.diskBytes,
      cpus: defaultLimits.cpus,
    });
  });
});
