import { describe, expect, it } from "vitest";
import { type Clue, People } from "./match-people.ts";
import { commonLetters, nameSpellings, plainName } from "./person-name.ts";

const people = new People([
  { key: "a", id: "1", login: "2", name: "Ada Lovelace" },
  { key: "b", id: "2", login: "1", name: "Alan Turing" },
  { key: "c", name: "Anna Schmidt", email: "Anna@x.org" },
  { key: "d", name: "d17", login: "d17" },
]);
const clue = (name: string, keys: Partial<Record<"id" | "login" | "email", string>> = {}): Clue => ({
  name,
  keys: (["id", "login", "email"] as const).map((kind) => ({ kinds: [kind], text: keys[kind] ?? "" })),
});
const found = (...clues: Clue[]) =>
  people.findAll(clues).map((one) => {
    if (one.is === "one") return `${one.who.key} by ${one.by}`;
    return one.is === "nobody" ? one.is : `${one.why}: ${one.among.map(({ key }) => key).join(" ")}`;
  });

describe("matching a person of a class", () => {
  it.each([
    ["an id", clue("", { id: "1" }), "a by key"],
    ["a login that is another's id", clue("", { login: "1" }), "b by key"],
    ["an address in other case", clue("", { email: " anna@X.org" }), "c by key"],
    ["an id with a zero more", clue("", { id: "01" }), "nobody"],
    ["two keys of one person", clue("", { id: "1", login: "2" }), "a by key"],
    ["two keys of two people", clue("", { id: "1", login: "1" }), "keys differ: a b"],
    ["a key and another's name", clue("Turing, Alan", { id: "1" }), "name differs: a b"],
    ["a key and nobody's name", clue("Grace Hopper", { id: "1" }), "name differs: a"],
    ["a key and a shorter name", clue("A. Lovelace", { id: "1" }), "a by key"],
    ["a key of a person without a name", clue("Grace Hopper", { login: "d17" }), "d by key"],
    [
      "a key of a person without a name, and another's name",
      clue("Ada Lovelace", { login: "d17" }),
      "name differs: d a",
    ],
    ["a name", clue("lovelace ada"), "a by name"],
    ["a name, where the id differs", clue("Ada Lovelace", { id: "9" }), "another key: a"],
    ["a name, where no id is known", clue("Anna Schmidt", { id: "9" }), "c by name"],
    ["a login in place of a name", clue("d17"), "nobody"],
    ["nothing", clue(""), "nobody"],
  ])("finds the person by %s: %j", (_, said, expected) => {
    expect(found(said)).toEqual([expected]);
  });

  it("does not match a person by name a second time", () => {
    const [key, name] = [clue("", { email: "anna@x.org" }), clue("Anna Schmidt")];
    expect(found(name, key)).toEqual(["matched already: c", "c by key"]);
    expect(found(name, name)).toEqual(["matched already: c", "matched already: c"]);
    expect(found(key, key)).toEqual(["c by key", "c by key"]);
  });
});

describe("comparing names", () => {
  it("ignores accents, spelled-out umlauts and spaces", () => {
    for (const name of ["Jörg Müller", "Joerg Mueller", "jorg muller", "JÖRG-MÜLLER", "Jo\u0308rg Mu\u0308ller"]) {
      expect(plainName(name)).toBe("jorgmuller");
    }
  });

  it("accepts any word order", () => {
    expect(nameSpellings("Jan van der Berg")).toContain(plainName("van der Berg, Jan"));
    expect(nameSpellings("Jan van der Berg")).not.toContain(plainName("Jan Berg"));
  });

  it.each([
    ["Ada Lovelace", "lovelaceada", true],
    ["Ada Lovelace", "Ada", true],
    ["Ada Lovelace", "A. Lovelace", true],
    ["Ada Lovelace", "A. L.", false],
    ["Ada Lovelace", "Ada Turing", false],
    ["Ada Lovelace", "adaturing", false],
    ["Bo Li", "libo", true],
  ])("%s agrees with %s: %s", (name, said, agrees) => {
    expect((commonLetters(name, said) ?? 0) > 0).toBe(agrees);
  });

  it("gives no answer across scripts or for an empty name", () => {
    expect([commonLetters("张伟", "Wei Zhang"), commonLetters("Ada", "")]).toEqual([null, null]);
  });
});
