import { describe, expect, it } from "vitest";
import { judgeSelfTest, MIN_PROBES } from "./self-test.ts";

const controls = [{ name: "works", held: true, evidence: "" }];
const probes = Array.from({ length: MIN_PROBES }, (_, index) => ({
  name: `p${index}`,
  refused: true,
  evidence: "EPERM",
}));

describe("the verdict of a self-test", () => {
  it("is safe when every control held and every probe was refused", () => {
    expect(judgeSelfTest({ controls, probes })).toEqual({ safe: true, failures: [] });
  });

  it("is unsafe if one probe was not refused, and names the probe with its evidence", () => {
    const bad = [...probes.slice(1), { name: "mount", refused: false, evidence: "ok" }];
    expect(judgeSelfTest({ controls, probes: bad })).toEqual({
      safe: false,
      failures: ['Probe "mount" was not refused: ok.'],
    });
  });

  it("is unsafe without controls, with a failed control, or with too few probes", () => {
    expect(judgeSelfTest({ controls: [], probes }).safe).toBe(false);
    expect(judgeSelfTest({ controls: [{ name: "c", held: false, evidence: "x" }], probes }).safe).toBe(false);
    expect(judgeSelfTest({ controls, probes: probes.slice(1) }).safe).toBe(false);
  });
});
