import { type ProvenSandbox, SandboxError } from "@markmill/sandbox";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type CommandWatch, watchCommands } from "./watch-commands.ts";
import { workerFailureCodes } from "./worker-failure-codes.ts";

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const safe = { safe: true, failures: [], thin: [] };
const away = new SandboxError("SANDBOX_ENGINE_UNREACHABLE", "tcp://10.1.2.3:2376 is away.", "Start it.");

let watch: CommandWatch | null = null;
afterEach(() => watch?.stop());

function watched(sandbox: Partial<ProvenSandbox> | null, unsafe: "abstain" | "refuse" = "abstain") {
  const seen: string[] = [];
  const onChange = () => {
    const standing = watch?.standing();
    seen.push(standing?.can === "nothing" ? standing.code : (standing?.can ?? ""));
  };
  const whole = sandbox === null ? null : ({ kind: "docker", ...sandbox } as ProvenSandbox);
  watch = watchCommands({ sandbox: whole, unsafe, log: quiet, onChange, everyMs: 1 });
  return { watch, seen };
}

describe("whether a worker can run commands", () => {
  it("a worker without a sandbox accepts commands and refuses them with a code", async () => {
    const { watch: none } = watched(null);
    const { means, fix } = workerFailureCodes.SANDBOX_NOT_CONFIGURED;
    expect(none.standing()).toMatchObject({ can: "nothing", code: "SANDBOX_NOT_CONFIGURED", means, fix });
    expect(await none.takes).toBe(true);
  });

  it("a sandbox that cannot be tested yet is retried, and the worker takes no commands before it passes", async () => {
    const proven = vi.fn().mockRejectedValueOnce(away).mockRejectedValueOnce(away).mockResolvedValue(safe);
    const { watch: late, seen } = watched({ proven });
    expect(late.standing()).toEqual({ can: "not yet" });
    expect(await late.takes).toBe(true);
    expect(late.standing()).toEqual({ can: "execute" });
    expect(proven).toHaveBeenCalledTimes(3);
    expect(seen).toEqual([away.code, "execute"]);
  });

  it("a sandbox that failed its self-test stays refused", async () => {
    const proven = vi.fn().mockResolvedValue({ safe: false, failures: ["a probe was not refused"], thin: [] });
    const { watch: unsafe } = watched({ proven });
    expect(await unsafe.takes).toBe(false);
    expect(unsafe.standing()).toMatchObject({ code: "SANDBOX_UNSAFE", message: "a probe was not refused" });
    expect(proven).toHaveBeenCalledTimes(1);
  });

  it("the worker reports when the sandbox stops answering, and when it answers again", async () => {
    let there = true;
    const answers = async () => {
      if (!there) throw away;
    };
    const { watch: live } = watched({ proven: async () => safe, answers });
    expect(await live.takes).toBe(true);
    there = false;
    await vi.waitFor(() => expect(live.standing()).toMatchObject({ can: "nothing", code: away.code }));
    expect(live.standing()).toMatchObject({ message: expect.stringContaining("10.1.2.3") });
    there = true;
    await vi.waitFor(() => expect(live.standing()).toEqual({ can: "execute" }));
  });
});
