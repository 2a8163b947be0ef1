import type { Active, Event } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { textWidth } from "./fit-width.ts";
import { describeAftermath, describeHappening, layOut, type Told } from "./tell-event.ts";

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
  it("shows whether a check was true or false", () => {
    const [first, second] = [visit("CHECK_PASS"), visit("CHECK_PASS", 2)];
    expect(lineOf(checkDone("CHECK_PASS"), [{ activity: first, holds: false }])).toBe("✓ CHECK_PASS  false");
    expect(lineOf(checkDone("CHECK_PASS", 2), [{ activity: second, holds: true }])).toBe("✓ CHECK_PASS  (hit 2)  true");
  });

  it("shows no result for an undecided check, and names the checks that another node's event decides", () => {
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

  it("keeps verdict and cost within 80 columns, however long the other text is", () => {
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

describe("a failed step", () => {
  const linesOf = (event: Event, came: Partial<Told> = {}) => {
    const told: Told = { entry: { kind: "event", seq: 2, at, event }, checked: [], ...came };
    return [describeHappening(told), ...describeAftermath(told)].map((line) => layOut(line, 0, 120));
  };
  const executed = (exitCode: number): Event => ({
    ...happened,
    type: "activity.succeeded",
    activity: visit("EXECUTE_TESTS"),
    outcome: { kind: "executed", text: "", exitCode, commands: 1 },
    usage: null,
  });
  const broke = (next: "retry" | "park" | "fail" | "unknown"): Event => ({
    ...happened,
    type: "activity.failed",
    activity: visit("PROMPT_A"),
    failure: { code: "MODEL_BUSY", message: "429" },
    next,
    retryAfterMs: null,
    usage: null,
  });
  const again = (part: Partial<Active>): Active => ({
    ref: { ...visit("PROMPT_A"), attempt: 2 },
    order: 1,
    notBefore: null,
    reads: {},
    taken: [],
    only: null,
    retries: 1,
    repairs: 0,
    said: null,
    ...part,
  });
  const falseCheck = { code: "CHECK_FALSE", message: "'CHECK_PASS' was false, but it has no FALSE edge." };

  it("never shows ✓ for a check without an edge, and reports its reason", () => {
    const [line, ...more] = linesOf(checkDone("CHECK_PASS"), {
      checked: [{ activity: visit("CHECK_PASS"), holds: false }],
      failed: [{ node: "CHECK_PASS", failure: falseCheck }],
      phase: { is: "ended", status: "failed", reason: falseCheck },
    });
    expect(line).toBe("✗ CHECK_PASS  CHECK_FALSE: 'CHECK_PASS' was false, but it has no FALSE edge.  false");
    expect(more).toEqual(["✗ ended: failed: CHECK_FALSE: 'CHECK_PASS' was false, but it has no FALSE edge."]);
  });

  it("never shows ✓ for a failed command, whether the workflow continues or not", () => {
    expect(linesOf(executed(0))).toEqual(["✓ EXECUTE_TESTS  1 command, exit 0"]);
    expect(linesOf(executed(3))).toEqual(["! EXECUTE_TESTS  1 command, exit 3"]);
    const failure = { code: "NON_ZERO_EXIT", message: "A command ended with exit code 3." };
    expect(linesOf(executed(3), { failed: [{ node: "EXECUTE_TESTS", failure }] })).toEqual([
      "✗ EXECUTE_TESTS  1 command, exit 3: NON_ZERO_EXIT: A command ended with exit code 3.",
    ]);
  });

  it("never shows ✓ for a called workflow that failed, and reports its reason", () => {
    const event: Event = {
      ...happened,
      type: "activity.succeeded",
      activity: visit("CALL_B"),
      outcome: {
        kind: "returned",
        status: "failed",
        word: null,
        result: "",
        variables: {},
        reason: { code: "FILE_MISSING", message: "no essay.md" },
      },
      usage: null,
    };
    expect(linesOf(event)).toEqual(["✗ CALL_B  returned failed (FILE_MISSING: no essay.md)"]);
  });

  it("announces a retry only if there will be one", () => {
    expect(linesOf(broke("retry"))).toEqual(["✗ PROMPT_A  MODEL_BUSY: 429"]);
    expect(linesOf(broke("retry"), { again: again({ notBefore: at.getTime() + 3_000 }) })).toEqual([
      "↻ PROMPT_A  MODEL_BUSY, retried in 3.0 s: 429",
    ]);
    expect(linesOf(broke("unknown"), { again: again({}) })[0]).toContain("retried at once");
    expect(linesOf(broke("unknown"))[0]).toBe("✗ PROMPT_A  MODEL_BUSY: 429");
  });

  it("that waits for its model shows which model, why and until when", () => {
    const parked = {
      since: at.getTime(),
      tries: 1,
      failure: { code: "MODEL_BUSY", message: "429" },
      held: false,
      trouble: { model: "gpt-5-mini", endpoint: "https://models.example/v1", reason: "busy" },
    };
    expect(linesOf(broke("park"), { again: again({ parked, notBefore: at.getTime() + 60_000 }) })[0]).toMatch(
      /^↻ PROMPT_A {2}waits for gpt-5-mini \(MODEL_BUSY: 429\), next attempt in 1/,
    );
    expect(linesOf(broke("park"), { again: again({ parked: { ...parked, held: true } }) })[0]).toContain("resume");
  });

  it("of a superstep is reported with the event that completes it, and ON_FAILED with its reason", () => {
    const reason = { code: "FILE_MISSING", message: "no essay.md" };
    const from = { steps: 1, calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };
    const ended = { result: "", word: null, RESULT: "", ERROR: null };
    expect(
      linesOf(checkDone("CHECK_A"), {
        failed: [{ node: "ASSIGN_B", failure: reason }],
        phase: { is: "handling", of: "failed", reason, from, until: null, ended },
      }),
    ).toEqual(["✓ CHECK_A", "✗ ASSIGN_B  FILE_MISSING: no essay.md", "✗ ON_FAILED starts: FILE_MISSING: no essay.md"]);
  });

  it("reports a limit and the end of a run", () => {
    const reason = { code: "LIMIT_TIME", message: "10 s are over" };
    const event: Event = { ...happened, type: "run.limited", code: "LIMIT_TIME", message: reason.message };
    expect(linesOf(event, { phase: { is: "ended", status: "failed", reason } })).toEqual([
      "✗ LIMIT_TIME: 10 s are over",
      "✗ ended: failed: LIMIT_TIME: 10 s are over",
    ]);
    expect(linesOf(checkDone("CHECK_A"), { phase: { is: "ended", status: "success", reason: null } })).toEqual([
      "✓ CHECK_A",
      "✓ ended: success",
    ]);
  });

  it("reports a truncated reply, even if its text is too long for the line", () => {
    const event: Event = {
      ...happened,
      type: "activity.succeeded",
      activity: visit("PROMPT_A"),
      outcome: { kind: "replied", text: "It goes on ".repeat(40), cut: "length" },
      usage: null,
    };
    expect(linesOf(event)[0]).toMatch(/^✓ PROMPT_A {2}It goes on .*… {2}cut at the output limit$/);
  });
});
