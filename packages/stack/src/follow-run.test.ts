import type { HistoryEntry } from "@markmill/store";
import { expect, it } from "vitest";
import { inOrder } from "./follow-run.ts";

const happening = (runId: string, depth: number, seq: number, at: number) => ({
  ...{ runId, depth },
  entry: { kind: "warning", seq, at: new Date(at), warning: { code: "X", message: "", node: null } } as HistoryEntry,
});
const told = (happened: readonly ReturnType<typeof happening>[]) =>
  inOrder(happened).map(({ runId, entry }) => `${runId}${entry.seq}`);

it("a cancellation from a process whose clock is behind comes after the steps it followed", () => {
  const run = [happening("a", 0, 1, 100), happening("a", 0, 2, 130), happening("a", 0, 3, 103)];
  expect(told(run)).toEqual(["a1", "a2", "a3"]);
});

it("what a called run did stands where it happened, before what its caller did at the same moment", () => {
  const caller = [happening("a", 0, 1, 100), happening("a", 0, 2, 120)];
  const called = [happening("b", 1, 1, 110), happening("b", 1, 2, 120)];
  expect(told([...caller, ...called])).toEqual(["a1", "b1", "b2", "a2"]);
});
