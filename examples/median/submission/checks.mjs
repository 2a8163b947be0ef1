// Handed out with the exercise, to try your work with: node checks.mjs. Your teacher has checks of their own.
import { median } from "./median.js";

const cases = [
  { name: "three numbers", values: [3, 1, 2], wants: 2 },
  { name: "numbers of different length", values: [10, 9, 100], wants: 10 },
  { name: "an even number of values", values: [4, 1, 3, 2], wants: 2.5 },
  { name: "the list is left as it was", values: [2, 1], wants: 1.5 },
];
let passed = 0;
for (const { name, values, wants } of cases) {
  const before = JSON.stringify(values);
  const got = median(values);
  const ok = got === wants && JSON.stringify(values) === before;
  if (ok) passed += 1;
  console.log(`${ok ? "pass" : "FAIL"}  ${name}: median(${before}) = ${got}, expected ${wants}`);
}
console.log(`${passed} of ${cases.length} checks passed`);
