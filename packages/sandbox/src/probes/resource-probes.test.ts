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

describe("a session that ends under a memory attack", () => {
  it("is a refusal while the neighbour answers", async () => {
    expect(await hoard?.run(lab("SANDBOX_OUTCOME_UNKNOWN", "42\n"))).toEqual({
      refused: true,
      evidence: "its session was ended, the neighbour answers",
    });
  });

  it("is none when the neighbour does not answer, or the engine failed", async () => {
    expect(await hoard?.run(lab("SANDBOX_SESSION_LOST", ""))).toMatchObject({ refused: false });
    await expect(hoard?.run(lab("SANDBOX_ENGINE_FAILED", "42\n"))).rejects.toThrow(SandboxError);
  });
});
