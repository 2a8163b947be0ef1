// The teacher's checks. They run in the judge session; the student's module runs as a guest: a process elsewhere that is told the
// lists, not the answers, and can say nothing but what it prints.
import { spawnSync } from "node:child_process";

const cases = [
  { name: "three numbers", values: [3, 1, 2], wants: 2 },
  { name: "numbers of different length", values: [10, 9, 100], wants: 10 },
  { name: "an even number of values", values: [4, 1, 3, 2], wants: 2.5 },
  { name: "two values", values: [2, 1], wants: 1.5 },
];

const driver = `
  import { readFileSync } from "node:fs";
  import { median } from "./median.js";
  for (const values of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(median(values)));
`;
const guest = spawnSync("guest", ["--time", "5", "--", "node", "--input-type=module", "-e", driver], {
  input: JSON.stringify(cases.map(({ values }) => values)),
  encoding: "utf8",
});
// One answer per list and nothing else: whoever prints more, or ends early, has answered nothing.
const lines = guest.stdout.split("\n").slice(0, -1);
const answered = guest.status === 0 && lines.length === cases.length;

let passed = 0;
for (const [index, { name, values, wants }] of cases.entries()) {
  const got = answered ? lines[index].slice(0, 40) : "no answer";
  const ok = answered && lines[index] === JSON.stringify(wants);
  if (ok) passed += 1;
  console.log(`${ok ? "pass" : "FAIL"}  ${name}: median(${JSON.stringify(values)}) = ${got}, expected ${wants}`);
}
if (!answered) console.log(`The program ended with ${guest.status} after ${lines.length} of ${cases.length} answers.`);
console.log(`${passed} of ${cases.length} checks passed`);
process.exitCode = passed === cases.length ? 0 : 1;
