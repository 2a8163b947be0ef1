import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "./port.ts";
import { proveSandbox } from "./prove-sandbox.ts";

/** A sandbox in which nothing can be opened: no self-test can pass in it. */
function broken(): Sandbox & { opened: number } {
  return {
    kind: "jail",
    opened: 0,
    async open() {
      this.opened += 1;
      throw new Error("cannot be opened");
    },
    list: async () => [],
    remove: async () => undefined,
    close: async () => undefined,
  };
}
const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
const memory = () => join(mkdtempSync(join(tmpdir(), "markmill-proof-")), "proof.json");
const spec = {} as Parameters<Sandbox["open"]>[0];

describe("a sandbox that has to prove itself", () => {
  it("opens no session when its self-test cannot be passed, and tests once", async () => {
    const sandbox = broken();
    let started = 0;
    const proven = proveSandbox(sandbox, { onStart: () => started++ });
    await expect(proven.open(spec)).rejects.toThrow();
    const tries = sandbox.opened;
    await expect(proven.open(spec)).rejects.toThrow();
    expect(sandbox.opened).toBe(tries);
    expect(started).toBe(1);
  });

  it("takes a remembered pass of this kernel and boot, for a day; of another, or an older one, it does not", async () => {
    const remembered = async (kept: object) => {
      const file = memory();
      writeFileSync(file, JSON.stringify(kept));
      return proveSandbox(broken(), { memory: file })
        .proven()
        .then(({ safe }) => safe)
        .catch(() => false);
    };
    const key = ["jail", "", release(), boot].join(" ");
    expect(await remembered({ [key]: Date.now() - 1_000 })).toBe(true);
    expect(await remembered({ [key]: Date.now() - 25 * 3_600_000 })).toBe(false);
    expect(await remembered({ [key]: Date.now() + 3_600_000 })).toBe(false);
    expect(await remembered({ [`${key}x`]: Date.now() })).toBe(false);
  });
});
