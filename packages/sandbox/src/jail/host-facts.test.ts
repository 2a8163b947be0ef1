import { describe, expect, it } from "vitest";
import { countsProcessesPerNamespace, parseCores, parseHardLimits } from "./detect-host.ts";
import { coresFor } from "./launch.ts";
import { translateLaunchFailure } from "./translate-host-error.ts";

describe("facts about the host", () => {
  it("the allowed cores are read and sessions spread over them", () => {
    expect(parseCores("Name:\tx\nCpus_allowed_list:\t0-2,5\n")).toEqual([0, 1, 2, 5]);
    expect(coresFor([0, 1, 2, 5], 1, 7)).toBe("5");
    expect(coresFor([0, 1, 2, 5], 1.5, 3)).toBe("5,0");
    expect(coresFor([0, 1], 8, 0)).toBe("0,1");
  });

  it("the hard limits of this process are read", () => {
    const table =
      "Limit                     Soft Limit           Hard Limit           Units\n" +
      "Max core file size        0                    unlimited            bytes\n" +
      "Max processes             100                  4096                 processes\n";
    expect(parseHardLimits(table)).toEqual({ processes: 4096, coreBytes: Number.POSITIVE_INFINITY });
  });

  it("kernels since 5.14 count processes per namespace", () => {
    expect(["5.13.9", "5.14.0-1-amd64", "6.1", "4.19"].map(countsProcessesPerNamespace)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it.each([
    ["unshare: unshare failed: Operation not permitted", "SANDBOX_NAMESPACES_REFUSED"],
    ["unshare: write failed /proc/self/uid_map: Operation not permitted", "SANDBOX_NAMESPACES_REFUSED"],
    ["bwrap: setting up uid map: Permission denied", "SANDBOX_NAMESPACES_REFUSED"],
    ["prlimit: failed to set the NPROC resource limit: Operation not permitted", "SANDBOX_LIMIT_UNSUPPORTED"],
    ["seccomp: Invalid argument", "SANDBOX_SECCOMP_UNSUPPORTED"],
    ["mount: something new", "SANDBOX_START_FAILED"],
    ["", "SANDBOX_START_FAILED"],
  ])("the launch failure %j becomes %s with a fix", (said, code) => {
    const error = translateLaunchFailure(said);
    expect(error.code).toBe(code);
    expect(error.fix.length).toBeGreaterThan(10);
  });
});
