import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MIN_PROBES } from "./self-test.ts";
import { probeAreas, refreshProbeList } from "./write-probe-list.ts";

const document = readFileSync(join(import.meta.dirname, "../../../docs/security.md"), "utf8");

describe("the probe list of docs/security.md", () => {
  it("matches the self-test; refresh it with `node packages/sandbox/src/write-probe-list.ts docs/security.md`", () => {
    expect(document).toBe(refreshProbeList(document));
  });

  it("names each probe once", () => {
    const all = probeAreas.flatMap(({ names }) => names);
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(MIN_PROBES);
  });
});
