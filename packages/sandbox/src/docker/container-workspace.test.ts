import { expect, it } from "vitest";
import { Look } from "../checkpoint/look.ts";
import { parseLook } from "./container-workspace.ts";

const listOf = (count: number) =>
  Buffer.from(
    ["1000", "", ...Array.from({ length: count }, (_, at) => `f 644 1 1.${at} 1.5 workspace/f${at}`), ""].join("\0"),
  );

function countedLook(maxEntries: number) {
  const seen = { paces: 0, entries: 0 };
  class Counted extends Look {
    override count(path: string, depth: number): void {
      seen.entries += 1;
      super.count(path, depth);
    }
    override async pace(): Promise<void> {
      seen.paces += 1;
      await super.pace();
    }
  }
  return { look: new Counted({ maxEntries }, () => 0), seen };
}

it("reading the list of a container's files pauses before each entry", async () => {
  const { look, seen } = countedLook(20_000);
  const looked = await parseLook(listOf(3_000), look);
  expect(looked?.manifest.entries.size).toBe(3_000);
  expect(seen.entries).toBe(3_000);
  expect(seen.paces).toBeGreaterThanOrEqual(3_000);
});

it("reading the list of a container's files stops when there are too many entries", async () => {
  const { look, seen } = countedLook(100);
  await expect(parseLook(listOf(3_000), look)).rejects.toMatchObject({ code: "SANDBOX_CHECKPOINT_TOO_LARGE" });
  expect(seen.entries).toBe(101);
});
