import type { Event } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { textWidth } from "./fit-width.ts";
import { describeHappening, layOut } from "./tell-event.ts";

const at = new Date("2026-01-02T03:04:05.678Z");
const happened = { at: at.getTime(), seed: 1, epoch: 1 };
const usage = { calls: 1, promptTokens: 1_200, completionTokens: 34, characters: 0, nanodollars: 46_000 };
const visit = (node: string, generation = 1) => ({ node, generation, item: null, attempt: 1 });

function lineOf(event: Event, checked: Parameters<typeof describeHappening>[0]["checked"], columns = 80, depth = 0) {
  return layOut(describeHappening({ entry: { kind: "event", seq: 2, at, event }, checked }), depth, columns);
}

const checkDone = (node: string, generation = 1): Event => ({
  ...happened,
  type: "activity.succeeded",
  activity: visit(node, generation),
  outcome: { kind: "done" },
  usage: null,
});

describe("a line about an event", () => {
  it("says whether a check came out true or false", () => {
    const [first, second] = [visit("CHECK_PASS"), visit("CHECK_PASS", 2)];
    expect(lineOf(checkDone("CHECK_PASS"), [{ activity: first, holds: false }])).toBe("✓ CHECK_PASS  false");
    expect(lineOf(checkDone("CHECK_PASS", 2), [{ activity: second, holds: true }])).toBe("✓ CHECK_PASS  (hit 2)  true");
  });

  it("says nothing of a check that is not decided yet, and names those that another node's event decides", () => {
    expect(lineOf(checkDone("CHECK_A"), [])).toBe("✓ CHECK_A");
    const replied: Event = {
      ...happened,
      type: "activity.succeeded",
      activity: visit("PROMPT_B"),
      outcome: { kind: "replied", text: "fine" },
      usage,
    };
    expect(lineOf(replied, [{ activity: visit("CHECK_A"), holds: false }])).toBe(
      "✓ PROMPT_B  fine  CHECK_A false  [1,234 tokens, $0.000046]",
    );
  });

  it("keeps verdict and cost in 80 columns, however long the rest", () => {
    const long = "CHECK_".padEnd(120, "X");
    const verdict = lineOf(checkDone(long), [{ activity: visit(long), holds: false }], 80, 8);
    expect(verdict).toMatch(/^ {16}✓ CHECK_X+… {2}false$/);
    expect(textWidth(verdict)).toBe(80);
    const replied: Event = {
      ...happened,
      type: "activity.succeeded",
      activity: visit("PROMPT_LOOK"),
      outcome: { kind: "replied", text: "漢字ばかりの長い行です。".repeat(20) },
      usage,
    };
    const line = lineOf(replied, []);
    expect(line).toMatch(/^✓ PROMPT_LOOK {2}漢字.*… {2}\[1,234 tokens, \$0\.000046\]$/);
    expect(textWidth(line)).toBeLessThanOrEqual(80);
    expect(textWidth(line)).toBeGreaterThan(76);
  });
});
