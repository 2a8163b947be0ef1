import { describe, expect, it } from "vitest";
import { readDecisions, type StoredClass, withStoredKeys } from "./stored-keys.ts";

const at = { file: "class", line: 1, column: 1 };
const content = (hash: string) => ({ is: "taken" as const, hash, files: 1, bytes: 1, paths: [], notes: [] });
const submission = (key: string, by: readonly string[], hash: string, attempt = 1) => ({
  key,
  by,
  countsFor: by,
  group: null,
  attempt,
  counts: true,
  label: key,
  sources: [key],
  submittedAt: null,
  lateness: { is: "unknown" as const },
  content: content(hash),
});
const stored: StoredClass = {
  members: [
    { key: "ada@x.org", name: "Ada Lovelace", email: "ada@x.org" },
    { key: "alan@x.org", name: "Alan Turing", email: "alan@x.org" },
  ],
  works: [
    submission("Team Blue#1", ["ada@x.org", "alan@x.org"], "pair"),
    submission("alan@x.org#1", ["alan@x.org"], "alone"),
  ],
};
const members = [
  { key: "1", id: "1", name: "Ada Lovelace", email: "ada@x.org" },
  { key: "2", id: "2", name: "Alan Turing", email: "alan@x.org" },
];
const none = new Map<string, string | null>();

describe("a class under its stored keys", () => {
  it("contains the stored people and submissions, and gives new submissions keys of the stored people", () => {
    const kept = withStoredKeys(
      {
        members,
        submissions: [submission("1+2#1", ["1", "2"], "pair"), submission("1#1", ["1"], "new")],
        unfetched: [{ key: "2#1", by: ["2"], message: "no network" }],
      },
      stored,
      none,
      at,
    );
    expect(kept).toMatchObject({
      is: "known",
      members: [
        { key: "ada@x.org", id: "1", was: "ada@x.org" },
        { key: "alan@x.org", id: "2", was: "alan@x.org" },
      ],
      submissions: [
        { key: "Team Blue#1", by: ["ada@x.org", "alan@x.org"], countsFor: ["ada@x.org", "alan@x.org"] },
        { key: "ada@x.org#1", by: ["ada@x.org"] },
      ],
      unfetched: [{ key: "alan@x.org#1", by: ["alan@x.org"] }],
      renamed: ["Ada Lovelace", "Alan Turing"],
    });
  });

  it("asks about an unsure identity, with both names, the place in the roster and both answers", () => {
    const place = { file: "roster.csv", line: 3, column: 1 };
    const intake = {
      members: [{ key: "ada@x.org", name: "Grace Hopper", email: "ada@x.org", at: place }],
      submissions: [],
      unfetched: [],
    };
    const asked = withStoredKeys(intake, stored, none, at);
    expect(asked).toMatchObject({ is: "unsure", findings: [{ code: "CLASS_IDENTITY", severity: "error", at: place }] });
    for (const words of ["Grace Hopper", "Ada Lovelace", "--same 'ada@x.org=ada@x.org'", "--new 'ada@x.org'"])
      expect(JSON.stringify(asked)).toContain(words);
    const same = withStoredKeys(intake, stored, new Map([["ada@x.org", "ada@x.org"]]), at);
    expect(same).toMatchObject({ is: "known", members: [{ key: "ada@x.org", was: "ada@x.org" }] });
    const fresh = withStoredKeys(intake, stored, new Map([["ada@x.org", null]]), at);
    expect(fresh).toMatchObject({ is: "known", members: [{ key: "ada@x.org (2)", was: null }] });
  });

  it("names a student with a new key once, until the roster changes again", () => {
    const [ada] = members;
    const before = { ...ada, key: "ada@x.org" };
    const intake = { members: [{ ...ada, key: "1", id: "1" }], submissions: [], unfetched: [] } as never;
    const renamed = (one: object) => {
      const found = withStoredKeys(intake, { members: [one], works: [] } as never, new Map(), at);
      return found.is === "known" ? found.renamed.length : null;
    };
    const { id: _, ...unnumbered } = before as { id?: string };
    expect([renamed(unnumbered), renamed({ ...before, id: "1" })]).toEqual([1, 0]);
  });

  it("refuses a decision about a person who does not exist", () => {
    const intake = { members, submissions: [], unfetched: [] };
    expect(withStoredKeys(intake, stored, new Map([["9", null]]), at).is).toBe("unsure");
    expect(withStoredKeys(intake, stored, new Map([["1", "nobody"]]), at).is).toBe("unsure");
  });
});

it("readDecisions reads --same and --new from the command line", () => {
  expect(readDecisions(["a@x.org=1"], ["2"])).toEqual(
    new Map<string, string | null>([
      ["2", null],
      ["1", "a@x.org"],
    ]),
  );
  expect(readDecisions(["a"], [])).toBeNull();
  expect(readDecisions(["a=1", "b=1"], [])).toBeNull();
});
