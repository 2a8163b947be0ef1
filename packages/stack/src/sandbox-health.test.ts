import type { CommandStanding } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { sandboxTrouble, tellSandboxTrouble } from "./sandbox-health.ts";

const lacks = (code: string): CommandStanding => ({
  can: "nothing",
  code,
  means: `This is ${code}.`,
  fix: `Mend ${code}.`,
  message: "tcp://10.1.2.3:2376 is away",
});

describe("the component `sandbox` of a readiness answer", () => {
  it("is healthy as soon as one worker can execute commands", () => {
    expect(sandboxTrouble([lacks("SANDBOX_UNSAFE"), { can: "execute" }, { can: "not yet" }])).toBeNull();
  });

  it("reports that no worker is alive", () => {
    expect(sandboxTrouble([])).toMatchObject({ code: "WORKERS_NONE" });
  });

  it("waits for a worker that still tests its sandbox", () => {
    expect(sandboxTrouble([lacks("SANDBOX_UNSAFE"), { can: "not yet" }])).toMatchObject({ code: "SANDBOX_TESTING" });
  });

  it("names the most frequent problem of the workers, with its fix and without addresses", () => {
    const [rare, often] = [lacks("SANDBOX_UNSAFE"), lacks("SANDBOX_NOT_CONFIGURED")];
    const trouble = sandboxTrouble([rare, often, often]);
    if (trouble === null) throw new Error("there is trouble");
    expect(trouble).toEqual({
      code: "SANDBOX_NOT_CONFIGURED",
      means: "This is SANDBOX_NOT_CONFIGURED.",
      fix: "Mend SANDBOX_NOT_CONFIGURED.",
    });
    expect(tellSandboxTrouble(trouble)).toBe(
      "no worker can execute commands (SANDBOX_NOT_CONFIGURED): This is SANDBOX_NOT_CONFIGURED.",
    );
  });
});
