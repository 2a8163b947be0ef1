import { describe, expect, it } from "vitest";
import { chooseSandbox, type SandboxChoice } from "./choose-sandbox.ts";
import type { Sandbox, SandboxKind } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

const made = (kind: SandboxKind) => () =>
  ({ kind, open: Promise.reject, list: async () => [], remove: async () => {}, close: async () => {} }) as Sandbox;
const missing = (what: string) => () => {
  throw new SandboxError("SANDBOX_TOOL_MISSING", `no ${what}.`, "Install it.");
};

describe("the choice of a sandbox", () => {
  it.each<[SandboxChoice, SandboxKind]>([
    ["auto", "docker"],
    ["docker", "docker"],
    ["jail", "jail"],
    ["none", "none"],
  ])("the choice %s selects %s if all sandboxes are available", async (choice, kind) => {
    const sandbox = await chooseSandbox(choice, { docker: made("docker"), jail: made("jail"), none: made("none") });
    expect(sandbox.kind).toBe(kind);
  });

  it("auto selects the jail where no engine answers", async () => {
    const sandbox = await chooseSandbox("auto", { docker: missing("engine"), jail: made("jail"), none: made("none") });
    expect(sandbox.kind).toBe("jail");
  });

  it("auto never selects none: the error names the missing parts and what to install", async () => {
    const chosen = chooseSandbox("auto", { docker: missing("engine"), jail: missing("perl"), none: made("none") });
    await expect(chosen).rejects.toThrow(
      /SANDBOX_UNAVAILABLE.*no engine.*no perl.*Start a Docker engine.*apt-get install bash mount perl-base tar util-linux/s,
    );
  });

  it("an impossible choice is an error and does not select another sandbox", async () => {
    const chosen = chooseSandbox("docker", { docker: missing("engine"), jail: made("jail"), none: made("none") });
    await expect(chosen).rejects.toThrow(/SANDBOX_TOOL_MISSING/);
  });

  it("a bug in a factory does not count as a missing sandbox", async () => {
    const broken = () => {
      throw new TypeError("bug");
    };
    const chosen = chooseSandbox("auto", { docker: broken, jail: made("jail"), none: made("none") });
    await expect(chosen).rejects.toThrow(TypeError);
  });
});
