import type { HistoryEntry } from "@markmill/store";
import { expect, it } from "vitest";
import { inOrder } from "./follow-run.ts";

const happening = (runId: string, depth: number, seq: number, at: number) => ({
  runId,
  depth,
  entry: { kind: "warning", seq, at: new Date(at), warning: { code: "X", message: "", node: null } } as HistoryEntry,
});
const told = (happened: readonly ReturnType<typeof happening>[]) =>
  inOrder(happened).map(({ runId, entry }) => `${runId}${entry.seq}`);

it("followRun shows a cancellation from a process with a slow clock after the steps that it came after", () => {
  const run = [happening("a", 0, 1, 100), happening("a", 0, 2, 130), happening("a", 0, 3, 103)];
  expect(told(run)).toEqual(["a1", "a2", "a3"]);
});

it("followRun shows the events of a called run before simultaneous events of its caller", () => {
  const caller = [happening("a", 0, 1, 100), happening("a", 0, 2, 120)];
  const called = [happening("b", 1, 1, 110), happening("b", 1, 2, 120)];
  expect(told([...caller, ...called])).toEqual(["a1", "b1", "b2", "a2"]);
});
