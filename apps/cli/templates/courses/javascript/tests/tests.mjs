// The teacher's tests. The student's module runs as a guest: elsewhere, told the questions and not the answers.
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";

const { MARKMILL_NONCE: nonce, MARKMILL_RESULTS: results } = process.env;
delete process.env.MARKMILL_NONCE;

const cases = [
  ["years/an ordinary one", 2023, false],
  ["years/every fourth", 2024, true],
  ["years/a century", 1900, false],
  ["years/every fourth century", 2000, true],
  ["years/long ago", 4, true],
  ["errors/zero", 0, "RangeError"],
  ["errors/half a year", 1999.5, "RangeError"],
  ["errors/a word", "2024", "RangeError"],
  ["errors/nothing", null, "RangeError"],
];

// Answers stand on lines that begin with a mark drawn for this guest; whatever else the module prints is nothing.
const driver = `
  import { readFileSync } from "node:fs";
  const { mark, years } = JSON.parse(readFileSync(0, "utf8"));
  const { isLeap } = await import(process.cwd() + "/leap.js");
  for (const year of years) {
    let said;
    try { said = isLeap(year); } catch (error) { said = error instanceof RangeError ? "RangeError" : "another error"; }
    process.stdout.write("\\n" + mark + JSON.stringify(said) + "\\n");
  }
`;
const mark = `answer ${randomUUID()} `;
const guest = spawnSync("guest", ["--time", "5", "--", "node", "--input-type=module", "-e", driver], {
  input: JSON.stringify({ mark, years: cases.map(([, year]) => year) }),
  encoding: "utf8",
});
const answers = guest.stdout
  .split("\n")
  .filter((line) => line.startsWith(mark))
  .map((line) => line.slice(mark.length));

const tests = cases.map(([name, , wanted], index) => {
  const said = answers[index] ?? "no answer";
  const passed = said === JSON.stringify(wanted);
  return { name, status: passed ? "passed" : "failed", message: passed ? "" : `said ${said.slice(0, 80)}` };
});
writeFileSync(results, JSON.stringify({ nonce, tests }));
for (const { name, status } of tests) console.log(`${status}  ${name}`);
