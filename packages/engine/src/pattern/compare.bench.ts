/**
 * Compares this engine with re2js, in milliseconds: a pattern that must be parsed and has a new text, and a pattern that was used before.
 */
import { RE2JS } from "re2js";
import { effortOf, searchWithin } from "./search-within.ts";

/** The same allowance as in a step of the engine. */
const effort = 13_000_000;
const reply = "The median of an even number of values is the mean of the two in the middle. Grade: 7 of 10. ".repeat(
  220,
);
const log = Array.from({ length: 400 }, (_, i) => `test_${i} ... ${i % 37 === 0 ? "FAIL" : "ok"} (${i}.25 ms)`).join(
  "\n",
);
const letters = Array.from({ length: 200_000 }, (_, i) => ((i * i * 48_271) % 10_007 < 5_000 ? "a" : "b")).join("");

/**
 * Some texts begin with a literal of the pattern that leads to no match, so that neither engine can decide by searching for that literal
 * alone.
 */
const cases: readonly (readonly [string, string, string])[] = [
  ["a verdict", "^(PASS|FAIL)\\b", "PASS\nBecause it is so."],
  ["a grade in 20 kB", "Grade: (\\d+) of 10", reply],
  ["a line of a log", "(?m)^test_\\d+ \\.\\.\\. FAIL", log],
  ["no such line", "(?m)^test_\\d+ \\.\\.\\. ERROR", `ERROR\n${log}`],
  ["no mail address in 20 kB", "[\\w.+-]+@[\\w-]+\\.[\\w.]+", `@. ${reply}`],
  ["(a+)+$ on 20 kB", "(a+)+$", `${"a".repeat(20_000)}b`],
  ["[ab]*a[ab]{300}z on 200 kB", "[ab]*a[ab]{300}z", `z${letters}`],
  ["a.{900}z on 200 kB", "(?s)a.{900}z", `z${letters}`],
  ["(?:(?:a?){30}){30}z on 20 kB", "(?:(?:a?){30}){30}z$", `z${letters.slice(0, 20_000)}`],
];

function search(source: string, text: string): boolean | null {
  const searched = searchWithin(source, text, effortOf(effort));
  if (searched !== null && "refused" in searched) throw new Error(searched.refused);
  return searched === null ? null : searched.found;
}

/** The mean over the rounds that fit into half a second, at least one. */
function time(act: (round: number) => unknown): string {
  const start = performance.now();
  let round = 0;
  do act(round++);
  while (performance.now() - start < 500);
  return ((performance.now() - start) / round).toFixed(3).padStart(12);
}

console.log(
  `${"".padEnd(30)}${["ours, anew", "re2js, anew", "ours, again", "re2js, again"].map((head) => head.padStart(13)).join("")}  answers`,
);
for (const [name, source, text] of cases) {
  // More variants than `parsePattern` remembers.
  const anew = (round: number) => source + "(?:)".repeat(round % 40);
  const known = RE2JS.compile(source);
  const times = [
    time((round) => search(anew(round), text)),
    time((round) => RE2JS.compile(anew(round)).matcher(text).find()),
    time(() => search(source, text)),
    time(() => known.matcher(text).find()),
  ];
  console.log(
    name.padEnd(30),
    times.join(" "),
    ` ${search(source, text) ?? "too costly"}, ${known.matcher(text).find()}`,
  );
}
