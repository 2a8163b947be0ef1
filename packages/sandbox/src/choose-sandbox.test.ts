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
  ])("%s with everything there is %s", async (choice, kind) => {
    const sandbox = await chooseSandbox(choice, { docker: made("docker"), jail: made("jail"), none: made("none") });
    expect(sandbox.kind).toBe(kind);
  });

  it("auto is the jail where no engine answers", async () => {
    const sandbox = await chooseSandbox("auto", { docker: missing("engine"), jail: made("jail"), none: made("none") });
    expect(sandbox.kind).toBe("jail");
  });

  it("auto is never none: it says what is missing and what to install", async () => {
    const chosen = chooseSandbox("auto", { docker: missing("engine"), jail: missing("perl"), none: made("none") });
    await expect(chosen).rejects.toThrow(
      /SANDBOX_UNAVAILABLE.*no engine.*no perl.*Start a Docker engine.*apt-get install bash mount perl-base tar util-linux/s,
    );
  });

  it("a choice that cannot be met does not become another", async () => {
    const chosen = chooseSandbox("docker", { docker: missing("engine"), jail: made("jail"), none: made("none") });
    await expect(chosen).rejects.toThrow(/SANDBOX_TOOL_MISSING/);
  });

  it("a bug in a factory is not taken for a missing sandbox", async () => {
    const broken = () => {
      throw new TypeError("bug");
    };
    const chosen = chooseSandbox("auto", { docker: broken, jail: made("jail"), none: made("none") });
    await expect(chosen).rejects.toThrow(TypeError);
  });
});
