import type { Program } from "@markmill/engine";
import type { WorkFacts } from "@markmill/grading";
import { expect, it } from "vitest";
import { scrubberOf } from "./scrub-requests.ts";

const people = [
  { key: "ada", name: "Ada Lovelace" },
  { key: "alan", name: "Alan Turing" },
];
const factsOf = (own: string, of = people): WorkFacts => ({
  ...{ people: of, pseudonyms: new Map(of.map(({ key }) => [key, `Student ${key.length}`])), own: [own] },
  ...{ language: "en", consent: "any" },
});

it("the scrubber of a work is kept, and takes a name out however often it comes", () => {
  const scrub = scrubberOf(factsOf("ada"));
  expect(scrubberOf(factsOf("ada"))).toBe(scrub);
  const long = `${"clean ".repeat(200)}Alan Turing`;
  for (let time = 0; time < 3; time += 1) {
    expect(scrub("by Ada Lovelace")).toBe("by Student 3");
    expect(scrub(long)).not.toContain("Turing");
    expect(scrub("no name")).toBe("no name");
  }
});

it("a text that is clean for one work, or one roster, is looked through for another", () => {
  const text = "Ada was here";
  expect(scrubberOf(factsOf("alan"))(text)).toBe(text);
  expect(scrubberOf(factsOf("ada"))(text)).toBe("Student 3 was here");
  const grown = [...people, { key: "grace", name: "Grace Hopper" }];
  expect(scrubberOf(factsOf("ada"))("Grace Hopper")).toBe("Grace Hopper");
  expect(scrubberOf(factsOf("ada", grown))("Grace Hopper")).toBe("Student 5");
});

it("a login that is a word of the teacher's own texts stays in the works of others", () => {
  const roster = [...people, { key: "zeb", name: "Zebulon Pike", login: "zebras" }];
  const program = { prompts: { main: "Count the zebras in the list." } } as unknown as Program;
  const code = "for (const zebra of zebras) count += 1;";
  expect(scrubberOf(factsOf("ada", roster), program)(code)).toBe(code);
  expect(scrubberOf(factsOf("ada", roster))(code)).toBe("for (const zebra of Student 3) count += 1;");
});
