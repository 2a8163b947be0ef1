import { expect, it } from "vitest";
import type { Work } from "./activity.ts";
import { inlineKindOf, inlineWork, isLeased, isSafeToRepeat, kindsWhere, workKinds } from "./work-kinds.ts";

const note = (read: string | null): Work => ({ kind: "note", thread: "t", role: "system", text: "", read });

it("work that reads or writes files of a session is never inline", () => {
  expect(inlineKindOf({ kind: "check", read: [] })).toBe("check");
  expect(inlineKindOf({ kind: "check", read: ["a.txt"] })).toBeNull();
  expect(inlineKindOf({ kind: "set", read: null, write: null })).toBe("set");
  expect(inlineKindOf({ kind: "set", read: null, write: { path: "a", text: "" } })).toBeNull();
  expect(inlineKindOf({ kind: "assign", read: "a.txt" })).toBeNull();
  expect(inlineKindOf(note(null))).toBeNull();
});

it("the work of an inline activity is inline, and of its kind", () => {
  for (const kind of kindsWhere(({ inline }) => inline !== null)) {
    expect(inlineKindOf(inlineWork(kind as "check"))).toBe(kind);
  }
});

it("a note needs a lease only if it reads a file", () => {
  expect(isLeased(note(null))).toBe(false);
  expect(isLeased(note("a.txt"))).toBe(true);
  expect(isLeased({ kind: "ask", question: "", text: "", expiresAt: null })).toBe(false);
});

it("work that acts outside is not repeated automatically, unless its node allows it", () => {
  for (const kind of kindsWhere(({ actsOutside }) => actsOutside)) expect(workKinds[kind].safeToRepeat).not.toBe(true);
  const command = { kind: "execute", command: null, nonZero: "ok" } as const;
  expect(isSafeToRepeat({ ...command, repeat: "never" })).toBe(false);
  expect(isSafeToRepeat({ ...command, repeat: "safe" })).toBe(true);
});
