// The teacher's tests. They run in the judge session, where students cannot read or change them. The student's module runs as a guest
// that gets the questions but not the answers. Each group of questions has its own guest, so a module that hangs in one group can still
// answer the others.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const groups = {
  to: [
    ["one", "toRoman", 1, "I"],
    ["added", "toRoman", 8, "VIII"],
    ["subtractive", "toRoman", 4, "IV"],
    ["subtractive tens", "toRoman", 49, "XLIX"],
    ["all letters", "toRoman", 1666, "MDCLXVI"],
    ["a year", "toRoman", 1994, "MCMXCIV"],
    ["round", "toRoman", 2000, "MM"],
    ["the largest", "toRoman", 3999, "MMMCMXCIX"],
  ],
  from: [
    ["one", "fromRoman", "I", 1],
    ["added", "fromRoman", "LXXIII", 73],
    ["subtractive", "fromRoman", "IX", 9],
    ["a year", "fromRoman", "MCMXCIV", 1994],
    ["round", "fromRoman", "MD", 1500],
    ["the largest", "fromRoman", "MMMCMXCIX", 3999],
  ],
  errors: [
    ["zero", "toRoman", 0, "RangeError"],
    ["too large", "toRoman", 4000, "RangeError"],
    ["no whole number", "toRoman", 1.5, "RangeError"],
    ["four times", "fromRoman", "IIII", "RangeError"],
    ["wrong order", "fromRoman", "VX", "RangeError"],
    ["small letters", "fromRoman", "xiv", "RangeError"],
    ["nothing", "fromRoman", "", "RangeError"],
    ["no numeral", "fromRoman", "ABC", "RangeError"],
  ],
};

// Each answer is on a line that starts with a random mark for this guest. Other output of the module is ignored.
const driver = `
  import { readFileSync } from "node:fs";
  const { mark, questions } = JSON.parse(readFileSync(0, "utf8"));
  const module = await import(process.cwd() + "/roman.js");
  for (const [name, given] of questions) {
    let said;
    try { said = { gave: module[name](given) }; } catch (error) { said = { threw: error instanceof RangeError ? "RangeError" : "other" }; }
    process.stdout.write("\\n" + mark + JSON.stringify(said) + "\\n");
  }
`;

function ask(questions) {
  const mark = `answer ${crypto.randomUUID()} `;
  const guest = spawnSync("guest", ["--time", "5", "--", "node", "--input-type=module", "-e", driver], {
    input: JSON.stringify({ mark, questions: questions.map(([, name, given]) => [name, given]) }),
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return (guest.stdout ?? "")
    .split("\n")
    .filter((line) => line.startsWith(mark))
    .map((line) => line.slice(mark.length));
}

for (const [group, questions] of Object.entries(groups)) {
  const answers = ask(questions);
  for (const [index, [name, , , wants]] of questions.entries()) {
    test(`${group}/${name}`, () => {
      const answer = answers[index];
      assert.notEqual(answer, undefined, "no answer");
      assert.equal(answer, JSON.stringify(group === "errors" ? { threw: wants } : { gave: wants }));
    });
  }
}
