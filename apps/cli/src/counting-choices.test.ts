import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { choicesOf, keptChoices, requireDecided, settlingCommands } from "./counting-choices.ts";

const ada = { key: "1001", id: "1001", name: "Ada Byron", login: "ada" };
const kept = { student: "ada", label: "s1", among: ["s1", "s2"], by: "prof", at: "2026-01-01T00:00:00.000Z" };
const nothing = { members: [], works: [], choices: [] };

describe("a choice of which submission counts", () => {
  it("names a student by key, id, login or whole name, also if the key contains '='", () => {
    for (const word of ["1001", "ada", "ADA BYRON"])
      expect(choicesOf([`${word}=a=b`], nothing, [ada])).toEqual(new Map([["1001", { label: "a=b", among: null }]]));
    const odd = { key: "x=y", name: "Max" };
    expect(choicesOf(["x=y=s1"], nothing, [odd]).get("x=y")).toMatchObject({ label: "s1" });
    for (const wrong of ["1001", "zoe=s1", "=s1"]) expect(() => choicesOf([wrong], nothing, [ada])).toThrow();
    const twins = [ada, { key: "1002", name: "Ada Byron" }];
    expect(() => choicesOf(["Ada Byron=s1"], nothing, twins)).toThrow("several");
  });

  it("is kept under a new key of the same student, with its author, until it is taken back", () => {
    const stored = { members: [{ key: "ada", name: "Ada Byron", login: "ada" }], works: [], choices: [kept] };
    const choices = choicesOf([], stored, [ada]);
    expect(choices).toEqual(new Map([["1001", { label: "s1", among: ["s1", "s2"] }]]));
    const now = { by: "eva", at: "2026-02-01T00:00:00.000Z" };
    const held = [{ student: "1001", label: "s1", among: ["s1"] }];
    const keys = new Map([["1001", "ada"]]);
    expect(keptChoices(held, [kept], keys, now)).toEqual([{ ...kept, among: ["s1"] }]);
    expect(keptChoices([{ ...held[0], label: "s2" } as never], [kept], keys, now)).toMatchObject([{ by: "eva" }]);
    expect(choicesOf(["1001="], stored, [ada])).toEqual(new Map());
    // `review` shows the stored key, so it is accepted too.
    expect(
      choicesOf(["x9=s2"], { ...stored, members: [{ ...stored.members[0], key: "x9" }] } as never, [ada]).get("1001"),
    ).toMatchObject({ label: "s2" });
  });

  it("is requested with complete commands, and marks of the student are refused until then", () => {
    const pair = (key: string, other: string) =>
      workOf(key, gradeOf([2, 2]), { key, by: ["1", other], label: `it's ${key}`, countsFor: [other] });
    const works = [pair("a", "2"), pair("b", "3")];
    const settings = { run: { variables: { AI_MODEL_NAME: "gpt-5" } }, late: null, aiConsent: "any", language: null };
    const batch = batchOf({ key: "class /tmp/my class", settings } as never);
    expect(settlingCommands("1", works, batch)).toEqual([
      "markmill grade '/tmp/my class' --model gpt-5 --counts '1=it'\\''s a'",
      "markmill grade '/tmp/my class' --model gpt-5 --counts '1=it'\\''s b'",
    ]);
    expect(() => requireDecided("1", works, batch)).toThrow("no one has decided");
    expect(settlingCommands("2", works, batch)).toEqual([]);
    requireDecided("2", works, batch);
    requireDecided(null, works, batch);
  });
});
