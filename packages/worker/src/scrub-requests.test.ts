import type { Program } from "@markmill/engine";
import type { WorkFacts } from "@markmill/grading";
import { expect, it } from "vitest";
import { scrubberOf } from "./scrub-requests.ts";

const people = [
  { key: "ada", name: "Ada Lovelace" },
  { key: "alan", name: "Alan Turing" },
];
const factsOf = (own: string, of = people): WorkFacts => ({
  people: of,
  pseudonyms: new Map(of.map(({ key }) => [key, `Student ${key.length}`])),
  own: [own],
  language: "en",
  consent: "any",
});

it("the scrubber of a submission is reused, and it removes a name at every occurrence", async () => {
  const scrub = scrubberOf(factsOf("ada"));
  expect(scrubberOf(factsOf("ada"))).toBe(scrub);
  const long = `${"clean ".repeat(200)}Alan Turing`;
  for (let time = 0; time < 3; time += 1) {
    expect(await scrub("by Ada Lovelace")).toBe("by Student 3");
    expect(await scrub(long)).not.toContain("Turing");
    expect(await scrub("no name")).toBe("no name");
  }
});

it("a text that is clean for one submission or roster is checked again for another", async () => {
  const text = "Ada was here";
  expect(await scrubberOf(factsOf("alan"))(text)).toBe(text);
  expect(await scrubberOf(factsOf("ada"))(text)).toBe("Student 3 was here");
  const grown = [...people, { key: "grace", name: "Grace Hopper" }];
  expect(await scrubberOf(factsOf("ada"))("Grace Hopper")).toBe("Grace Hopper");
  expect(await scrubberOf(factsOf("ada", grown))("Grace Hopper")).toBe("Student 5");
});

it("a long text is scrubbed in many turns of the event loop, with other work between them", async () => {
  const scrub = scrubberOf(factsOf("ada"));
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const text = await scrub("ж".repeat(390_000));
  clearImmediate(next);
  expect(text).toHaveLength(390_000);
  expect(turns).toBeGreaterThan(30);
});

it("a login that is a word of the teacher's own texts stays in submissions of other students", async () => {
  const roster = [...people, { key: "zeb", name: "Zebulon Pike", login: "zebras" }];
  const program = { prompts: { main: "Count the zebras in the list." } } as unknown as Program;
  const code = "for (const zebra of zebras) count += 1;";
  expect(await scrubberOf(factsOf("ada", roster), program)(code)).toBe(code);
  expect(await scrubberOf(factsOf("ada", roster))(code)).toBe("for (const zebra of Student 3) count += 1;");
});
