import { describe, expect, it } from "vitest";
import { type IncomingPerson, type StoredPerson, samePeople } from "./same-people.ts";

const stored = (...people: (Omit<StoredPerson, "hasWork"> & { hasWork?: boolean })[]): StoredPerson[] =>
  people.map((person) => ({ hasWork: true, ...person }));
const result = (before: readonly StoredPerson[], now: readonly IncomingPerson[]) => {
  const { known, questions } = samePeople(before, now);
  return {
    known: Object.fromEntries(known),
    asked: questions.map(({ incoming, stored: could }) => [incoming.key, ...could.map(({ key }) => key)]),
  };
};

describe("matching the same people under changed keys", () => {
  it("succeeds when a roster gains an id and the key was the e-mail or the name", () => {
    const before = stored(
      { key: "ada@x.org", name: "Ada Lovelace", email: "ada@x.org" },
      { key: "Alan Turing", name: "Alan Turing" },
    );
    const now = [
      { key: "1001", id: "1001", name: "Lovelace, Ada", email: "ADA@x.org" },
      { key: "1002", id: "1002", name: "Alan Turing", email: "alan@x.org" },
    ];
    expect(result(before, now)).toEqual({ known: { "1001": "ada@x.org", "1002": "Alan Turing" }, asked: [] });
  });

  it("succeeds with one equal e-mail address when a roster gains an id and the name was transcribed or a placeholder", () => {
    const before = stored(
      { key: "wei@x.org", name: "张伟", email: "wei@x.org" },
      { key: "ed@x.org", name: "ed@x.org", email: "ed@x.org" },
    );
    const now = [
      { key: "1001", id: "1001", name: "Wei Zhang", email: "wei@x.org" },
      { key: "1002", id: "1002", name: "Edsger Dijkstra", email: "ed@x.org" },
    ];
    expect(result(before, now)).toEqual({ known: { "1001": "wei@x.org", "1002": "ed@x.org" }, asked: [] });
  });

  it("succeeds by e-mail and name when all numbers are replaced", () => {
    const before = stored({ key: "101", id: "101", name: "Ada Lovelace", email: "ada@x.org" });
    expect(result(before, [{ key: "s1", id: "s1", name: "Ada Lovelace", email: "ada@x.org" }]).known).toEqual({
      s1: "101",
    });
  });

  it("succeeds after a changed address, a changed surname, a transcribed name or a placeholder", () => {
    const before = stored(
      { key: "1", id: "1", name: "Ada Byron", email: "byron@x.org" },
      { key: "2", id: "2", name: "张伟" },
      { key: "3", id: "3", name: "Participant 3" },
      { key: "4", id: "4", name: "Grace Hopper", login: "gh", email: "g@x.org" },
    );
    const now = [
      { key: "1", id: "1", name: "Ada Byron", email: "ada@y.org" },
      { key: "2", id: "2", name: "Wei Zhang" },
      { key: "3", id: "3", name: "Edsger Dijkstra" },
      { key: "4", id: "4", name: "Grace Murray", login: "gh", email: "murray@x.org" },
    ];
    expect(result(before, now)).toEqual({ known: { "1": "1", "2": "2", "3": "3", "4": "4" }, asked: [] });
  });

  it("succeeds when an earlier version stored the participant number as the id", () => {
    const before = stored({ key: "4102", id: "4102", name: "Ada Lovelace" });
    const plain = { key: "4102", participant: "4102", name: "Ada Lovelace" };
    expect(result(before, [plain])).toEqual({ known: { "4102": "4102" }, asked: [] });
    const numbered = { key: "77001", id: "77001", participant: "4102", name: "Ada Lovelace" };
    expect(result(before, [numbered])).toEqual({ known: { "77001": "4102" }, asked: [] });
  });

  it("keeps the row of the last upload if an earlier version stored a person twice", () => {
    const before = stored(
      { key: "ada@x.org", name: "Ada Lovelace", email: "ada@x.org" },
      { key: "1001", id: "1001", name: "Ada Lovelace", email: "ada@x.org" },
    );
    const now = [{ key: "1001", id: "1001", name: "Ada Lovelace", email: "ada@x.org" }];
    expect(result(before, now)).toEqual({ known: { "1001": "1001" }, asked: [] });
  });
});

describe("matching people with unsure identity", () => {
  it("asks when a number now belongs to another name", () => {
    const before = stored({ key: "7", id: "7", name: "Ada Lovelace" });
    expect(result(before, [{ key: "7", id: "7", name: "Alan Turing" }]).asked).toEqual([["7", "7"]]);
    // A student without a submission has nothing to lose.
    expect(
      result(stored({ ...before[0], hasWork: false } as StoredPerson), [{ key: "7", id: "7", name: "Alan Turing" }]),
    ).toEqual({
      known: { "7": "7" },
      asked: [],
    });
  });

  it("asks when a name occurs twice, or only the name is equal and a number differs", () => {
    const anna = stored({ key: "Anna Schmidt", name: "Anna Schmidt" });
    const two = ["1", "2"].map((id) => ({ key: id, id, name: "Anna Schmidt" }));
    expect(result(anna, two)).toEqual({
      known: {},
      asked: [
        ["1", "Anna Schmidt"],
        ["2", "Anna Schmidt"],
      ],
    });
    const numbered = stored({ key: "1", id: "1", name: "Anna Schmidt" });
    expect(result(numbered, [{ key: "9", id: "9", name: "Anna Schmidt" }]).asked).toEqual([["9", "1"]]);
    // The stored person is in the upload under her own number, so the other one is new.
    expect(result(numbered, two)).toEqual({ known: { "1": "1" }, asked: [] });
  });

  it("never matches the id of one person with the login of another", () => {
    const before = stored({ key: "12", login: "12", name: "Ada Lovelace" });
    expect(result(before, [{ key: "x", id: "12", name: "Alan Turing" }])).toEqual({ known: {}, asked: [] });
    expect(result(before, [{ key: "12", id: "12", name: "Alan Turing" }]).asked).toEqual([["12", "12"]]);
  });

  it("follows the teacher's decision", () => {
    const before = stored({ key: "7", id: "7", name: "Ada Lovelace" });
    const now = { key: "7", id: "7", name: "Alan Turing" };
    expect(result(before, [{ ...now, was: "7" }])).toEqual({ known: { "7": "7" }, asked: [] });
    expect(result(before, [{ ...now, was: null }])).toEqual({ known: {}, asked: [] });
    expect(result(before, [{ ...now, was: "8" }]).asked).toEqual([["7"]]);
    // If the class is sent twice, the new person is stored once.
    const both = [...before, ...stored({ ...now, key: "7 (2)", aliases: ["7"] })];
    expect(result(both, [{ ...now, was: null }])).toEqual({ known: { "7": "7 (2)" }, asked: [] });
  });

  it("matches people with swapped numbers by name and address", () => {
    const before = stored(
      { key: "1", id: "1", name: "Ada Lovelace", email: "ada@x.org" },
      { key: "2", id: "2", name: "Alan Turing", email: "alan@x.org" },
    );
    const now = [
      { key: "1", id: "1", name: "Alan Turing", email: "alan@x.org" },
      { key: "2", id: "2", name: "Ada Lovelace", email: "ada@x.org" },
    ];
    // The name and the address identify the person; the number alone does not.
    expect(result(before, now)).toEqual({ known: { "1": "2", "2": "1" }, asked: [] });
  });
});

it("samePeople compares ten thousand people without comparing every pair", () => {
  const before = stored(
    ...Array.from({ length: 10_000 }, (_, at) => ({
      key: `m${at}@x.org`,
      email: `m${at}@x.org`,
      name: `Student Nr${at}`,
    })),
  );
  const now = before.map(({ email, name }, at) => ({
    key: `${at}`,
    id: `${at}`,
    name,
    ...(email === undefined ? {} : { email }),
  }));
  expect(samePeople(before, now).known.size).toBe(10_000);
});
