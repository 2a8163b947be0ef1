import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Sandbox } from "./port.ts";
import { proofKey, proveSandbox } from "./prove-sandbox.ts";
import { noCgroup } from "./thin-walls.ts";

/** A sandbox in which no session can be opened, so no self-test can pass. */
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
const memory = () => join(mkdtempSync(join(tmpdir(), "markmill-proof-")), "proof.json");
const spec = {} as Parameters<Sandbox["open"]>[0];

describe("a sandbox with a self-test", () => {
  it("opens no session when its self-test cannot run, and runs one test for sessions opened at the same time", async () => {
    const sandbox = broken();
    let started = 0;
    const proven = proveSandbox(sandbox, { onStart: () => started++ });
    const both = await Promise.allSettled([proven.open(spec), proven.open(spec)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(started).toBe(1);
  });

  it("tests again at the next session when the test could not run, without a call for the verdict", async () => {
    let there = false;
    const session = {} as Awaited<ReturnType<Sandbox["open"]>>;
    const late: Sandbox = {
      ...broken(),
      open: async () => session,
      answers: async () => {
        if (!there) throw new Error("the image is missing");
      },
    };
    const file = memory();
    writeFileSync(file, JSON.stringify({ [await proofKey(late, { version: "1" })]: Date.now() }));
    const proven = proveSandbox(late, { memory: file, version: "1" });
    await expect(proven.open(spec)).rejects.toThrow("the image is missing");
    there = true;
    expect(await proven.open(spec)).toBe(session);
  });

  it("keeps its verdict: a sandbox that was found unsafe is not tested again", async () => {
    let asked = 0;
    const unsafe = proveSandbox({
      ...broken(),
      async thinWalls() {
        asked += 1;
        return [noCgroup];
      },
    });
    for (const _ of [1, 2]) await expect(unsafe.open(spec)).rejects.toThrow(/SANDBOX_THIN/);
    expect(await unsafe.proven()).toMatchObject({ safe: false });
    expect(asked).toBe(1);
  });

  it("accepts a remembered pass of this kernel and boot for a day, and no other or older one", async () => {
    const remembered = async (kept: object) => {
      const file = memory();
      writeFileSync(file, JSON.stringify(kept));
      return proveSandbox(broken(), { memory: file, version: "1" })
        .proven()
        .then(({ safe }) => safe)
        .catch(() => false);
    };
    const key = await proofKey(broken(), { version: "1" });
    expect(await remembered({ [key]: Date.now() - 1_000 })).toBe(true);
    expect(await remembered({ [key]: Date.now() - 25 * 3_600_000 })).toBe(false);
    expect(await remembered({ [key]: Date.now() + 3_600_000 })).toBe(false);
    expect(await remembered({ [`${key}x`]: Date.now() })).toBe(false);
  });

  it("does not accept a pass of another product version, image, engine, runtime or image digest", async () => {
    const made = (of: string): Sandbox => ({ ...broken(), identity: async () => of });
    const key = await proofKey(made("a"), { version: "1", image: "x" });
    expect(await proofKey(made("a"), { version: "1", image: "x" })).toBe(key);
    expect(await proofKey(made("b"), { version: "1", image: "x" })).not.toBe(key);
    expect(await proofKey(made("a"), { version: "2", image: "x" })).not.toBe(key);
    expect(await proofKey(made("a"), { version: "1", image: "y" })).not.toBe(key);
  });

  it("opens no session behind weak isolation that was not accepted by name, and reports it", async () => {
    const thin = (): Sandbox => ({ ...broken(), thinWalls: async () => [noCgroup] });
    const told: string[][] = [];
    const refused = proveSandbox(thin(), {
      accept: ["old-engine"],
      onThin: (...walls) => told.push(walls.map((list) => list.map(({ name }) => name).join())),
    });
    await expect(refused.open(spec)).rejects.toThrow(/SANDBOX_THIN.*SANDBOX_ACCEPT=no-cgroup/s);
    expect(told).toEqual([["no-cgroup", "no-cgroup"]]);
    expect(await refused.proven()).toMatchObject({ safe: false, failures: [expect.stringContaining("no-cgroup")] });
    // After acceptance the self-test runs, and this sandbox does not pass it.
    await expect(proveSandbox(thin(), { accept: ["no-cgroup"] }).open(spec)).rejects.toThrow("cannot be opened");
  });
});
