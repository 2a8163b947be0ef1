import { describe, expect, it } from "vitest";
import type { CommandOutcome, Session } from "../port.ts";
import { SandboxError, type SandboxErrorCode } from "../sandbox-error.ts";
import type { Lab } from "./probe.ts";
import { resourceProbes } from "./resource-probes.ts";

const hoard = resourceProbes.find(({ name }) => name === "hold memory in page tables");

function lab(code: SandboxErrorCode, neighbourSays: string): Lab {
  const ended = async () => Promise.reject(new SandboxError(code, "its container ended", "Open it again."));
  return {
    open: async () => ({ run: ended }) as unknown as Session,
    neighbour: { run: async () => ({ output: neighbourSays }) as CommandOutcome } as unknown as Session,
    limits: { memoryBytes: 1, diskBytes: 1, pids: 1, outputBytes: 1 },
  } as unknown as Lab;
}

describe("a probe whose session ends under a memory attack", () => {
  it("counts as refused while the neighbour answers", async () => {
    expect(await hoard?.run(lab("SANDBOX_OUTCOME_UNKNOWN", "42\n"))).toEqual({
      refused: true,
      evidence: "its session was ended, the neighbour answers",
    });
  });

  it("does not count as refused when the neighbour does not answer, or the engine failed", async () => {
    expect(await hoard?.run(lab("SANDBOX_SESSION_LOST", ""))).toMatchObject({ refused: false });
    await expect(hoard?.run(lab("SANDBOX_ENGINE_FAILED", "42\n"))).rejects.toThrow(SandboxError);
  });
});

describe("a probe that allocates memory", () => {
  const megabytes = 1 << 20;
  function labWhere(outcome: Partial<CommandOutcome>): Lab {
    const session = {
      run: async ({ text }: { readonly text: string }) =>
        text.includes("perl") ? { exitCode: 0, timedOut: false, outOfMemory: false, ...outcome } : { output: "42\n" },
    } as unknown as Session;
    return {
      open: async () => session,
      neighbour: session,
      limits: { memoryBytes: 128 * megabytes, diskBytes: 1, pids: 1, outputBytes: 1 },
    } as unknown as Lab;
  }
  const judged = async (outcome: Partial<CommandOutcome>) => (await hoard?.run(labWhere(outcome)))?.refused;

  it("counts as refused where the kernel refuses memory, or killed the program that should report it", async () => {
    expect(await judged({ output: "", outOfMemory: true, exitCode: 137 })).toBe(true);
    expect(await judged({ output: "has 1048576\n", exitCode: 137 })).toBe(true);
    expect(await judged({ output: "refused\n", exitCode: 255 })).toBe(true);
  });

  it("counts as refused where it stops at the limit until its time is over, but not where it never got that far", async () => {
    expect(await judged({ output: `has ${100 * megabytes}\n`, exitCode: null, timedOut: "wall" })).toBe(true);
    expect(await judged({ output: `has ${10 * megabytes}\n`, exitCode: null, timedOut: "wall" })).toBe(false);
    expect(await judged({ output: "", exitCode: null, timedOut: "wall" })).toBe(false);
    expect(await judged({ output: `has ${300 * megabytes}\n`, exitCode: null, timedOut: "wall" })).toBe(false);
    expect(await judged({ output: `has ${300 * megabytes}\n`, exitCode: 137 })).toBe(false);
  });

  it("does not count as refused where it got all the memory, or ended itself", async () => {
    expect(await judged({ output: `has ${384 * megabytes}\nheld\n`, exitCode: 0 })).toBe(false);
    expect(await judged({ output: `has ${384 * megabytes}\nheld\n`, exitCode: 137, outOfMemory: true })).toBe(false);
    expect(await judged({ output: "perl: not found\n", exitCode: 127 })).toBe(false);
  });
});
