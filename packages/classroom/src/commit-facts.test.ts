import { describe, expect, it } from "vitest";
import { commitFacts, readLog, tellCommit } from "./commit-facts.ts";

const hash = "a".repeat(40);
const seconds = (day: string) => Date.parse(`${day}T12:00:00Z`) / 1000;
const now = Date.parse("2026-11-20T12:00:00Z");
const facts = (committed: number, { authored = committed, parent }: { authored?: number; parent?: number } = {}) =>
  commitFacts(
    { hash, committed, authored },
    parent === undefined ? null : { hash, committed: parent, authored: parent },
    now,
  );

describe("the date of a commit", () => {
  it("is the committer date", () => {
    const found = facts(seconds("2026-11-10"), { authored: seconds("2026-11-01"), parent: seconds("2026-11-09") });
    expect(found).toEqual({ hash, at: "2026-11-10T12:00:00.000Z", doubts: [] });
    expect(tellCommit(found)).toBe(`commit ${hash} of 2026-11-10T12:00:00.000Z`);
  });

  it.each([
    [seconds("2026-11-21"), {}, null, "after it was fetched"],
    [8.64e15, {}, null, "after it was fetched"],
    [0, {}, null, "before git existed"],
    [-1, {}, null, "before git existed"],
    [seconds("2026-11-10"), { authored: seconds("2026-11-15") }, "2026-11-10T12:00:00.000Z", "author's date"],
    [seconds("2026-11-10"), { parent: seconds("2026-11-15") }, "2026-11-10T12:00:00.000Z", "builds on"],
  ])("is in doubt: %s with %j", (committed, others, at, doubt) => {
    expect(facts(committed, others)).toMatchObject({ at, doubts: [expect.stringContaining(doubt)] });
  });
});

it("the git log reader accepts hashes of both lengths and no other lines", () => {
  const long = "b".repeat(64);
  expect(readLog(`${hash} 1 2\n${long} 3 -4\n\nfatal: x\nabc 1 2\n`)).toEqual([
    { hash, committed: 1, authored: 2 },
    { hash: long, committed: 3, authored: -4 },
  ]);
});
