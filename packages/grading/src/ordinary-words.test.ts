import { describe, expect, it } from "vitest";
import { gradeMessages } from "./grade-prompt.ts";
import { isOrdinaryIdentifier, isOrdinaryWord } from "./ordinary-words.ts";
import { authoredWords, Scrubber, unscrubbed } from "./scrub.ts";
import { showWork } from "./show-work.ts";
import { sampleRubric } from "./testing-rubric.ts";
import { repairMessage } from "./verdict.ts";

const awkward = [
  ...[
    "criteria",
    "evidence",
    "clear",
    "function",
    "points",
    "confidence",
    "quote",
    "comment",
    "nextSteps",
    "submission",
  ],
  ...["return", "import", "public", "static", "string", "print", "println", "Integer", "override", "student", "author"],
  ...["hello-world", "get_max", "node2", "tests", "sorting", "10000", "65536", "12345", "median"],
];
const names = [
  ...["Max", "Grant", "None", "True", "def", "class", "may", "X", "Li", "Bo", "X Y", "A B", "I J", "Max Points"],
  ...["Clear Function", "Hello World", "Full Marks", "Con Sole", "Ma Trix", "In Dex", "Test Student", "函数", "Object"],
];
const people = [
  { key: "me", name: "Ada Lovelace", login: "ada" },
  ...awkward.map((login, index) => ({ key: `l${index}`, name: `Zofia Nowak${index}`, login, handle: login })),
  ...names.map((name, index) => ({ key: `n${index}`, name })),
];
const aliases = new Map(people.map(({ key }) => [key, `Student-${key}`]));
const authored = authoredWords(["Compute the median of a list."]);
const scrubber = new Scrubber(people, aliases, ["me"], authored);

const program = `#!/usr/bin/env python3
# Hello world: the median of a list, with full marks for clear function names. May return None.
from typing import List
class Matrix:
    def get_max(self, x, y, a, b, i, j):
        return None if x > 10000 else True  # X, Y are points; evidence: see tests
console.log(Math.max(a, b), maxPoints, helloWorld, node2, Object.keys(o), 65536, 12345);
public static void main(String[] args) { System.out.println("hello, world"); Integer n = Math.Max(1, 2); }
// 函数 returns the median; Max Points, Clear function; print, import, override, student, nextSteps
<li>Li</li> <LI>x</LI> index name matrix`;

describe("a roster of ordinary words", () => {
  it("changes nothing in the work of another student", () => {
    expect(scrubber.scrub(program).text).toBe(program);
  });

  it("changes nothing in our form, our instructions and what we ask to be set right", () => {
    const nonce = "0123456789abcdef";
    const work = showWork(new Map([["main.py", program]]), { nonce });
    const question = { rubric: sampleRubric, task: "", given: new Map(), work, nonce, tests: [], language: "en" };
    const ours = [
      ...gradeMessages({ ...question, bare: true }).map(({ content }) => content),
      repairMessage([{ criterion: "names", problem: "is missing" }]),
    ];
    for (const text of ours) expect(scrubber.scrub(text).text).toBe(text);
    const words = ours
      .join(" ")
      .replaceAll(program, "")
      .match(/\p{L}{3,}/gu);
    const rubric = JSON.stringify(sampleRubric);
    const unknown = [...new Set(words)].filter(
      (one) => !isOrdinaryIdentifier(one.toLowerCase()) && !rubric.includes(one) && !program.includes(one),
    );
    expect(unknown.filter((one) => one !== "abcdef")).toEqual([]);
  });

  it("is told to the teacher, entry by entry, and names of people are not", () => {
    const told = people.filter((one) => unscrubbed(one, authored).length > 0).map(({ key }) => key);
    expect(told).not.toContain("me");
    expect(told).toHaveLength(awkward.length + names.length - 3);
    expect(unscrubbed({ name: "Ada Lovelace", login: "criteria" })).toEqual([{ field: "login", value: "criteria" }]);
    expect(unscrubbed({ name: "Mark Grant", login: "mgrant", id: "00128" })).toEqual([]);
  });
});

describe("a name that is an ordinary word", () => {
  const known = [
    { key: "1", name: "Max Müller", handle: "clear" },
    { key: "2", name: "Mark Grant", email: "grant@x.org" },
    { key: "3", name: "Li Bo" },
    { key: "4", name: "May Young", login: "mmeier" },
    { key: "5", name: "Will Power" },
    { key: "6", name: "Gift Sunday" },
    { key: "7", name: "Max Points" },
    { key: "8", name: "Hello World" },
  ];
  const scrub = (text: string, own: string) =>
    new Scrubber(known, new Map(known.map(({ key }) => [key, `S${key}`])), [own]).scrub(text).text;

  it.each([
    ["// with Max Müller and Mark Grant", "// with S1 and S2"],
    ["by Grant, Mark; Li Bo's idea", "by S2; S3's idea"],
    ["@author Max", "@author [author]"],
    ["grant@x.org", "[e-mail]"],
    ["git clone https://github.com/clear/sheet1.git", "git clone https://github.com/S1/sheet1.git"],
    ["MaxMueller maxMüller max_müller", "MaxMueller S1 S1"],
    ["mmeierSort(), mmeier_sort()", "S4Sort(), S4_sort()"],
    ["// Will Power helped me; so did Power, Will", "// S5 helped me; so did S5"],
    ["Will Power helped me", "S5 helped me"],
    ['print("by Gift Sunday")', 'print("by S6")'],
  ])("is taken out where it clearly is one: %s", (text, shown) => expect(scrub(text, "0")).toBe(shown));

  it.each([
    "will power the motor; willPower, WillPower, Will.Power(), WILL POWER",
    "const x: Will Power = new Will(Power);",
    "# a gift on sunday, Gift on Sunday, gift sunday",
    "maxPoints = MAX_POINTS; Max.Points",
    'print("Hello World") // Hello World',
    "// Max Points",
  ])("is left in the work of another student where it is not a name: %s", (text) =>
    expect(scrub(text, "0")).toBe(text),
  );

  it("that stands side by side in the teacher's own texts is left in the work of another student", () => {
    const task = authoredWords(["Print Mark Grant, then the name."]);
    const scrubber = new Scrubber(known, new Map(known.map(({ key }) => [key, `S${key}`])), ["0"], task);
    expect(scrubber.scrub('print("Mark Grant") // by Will Power').text).toBe('print("Mark Grant") // by S5');
    expect(unscrubbed({ name: "Mark Grant" }, task)).toEqual([{ field: "name", value: "Mark Grant" }]);
    expect(unscrubbed({ name: "Will Power" }, task)).toEqual([]);
    expect(unscrubbed({ name: "Hello World" })).toEqual([{ field: "name", value: "Hello World" }]);
  });

  it.each([
    ["// Max wrote this", "1", "// S1 wrote this"],
    ["Max wrote this with Müller", "1", "S1 wrote this with S1"],
    ["/* May was here */ May();", "4", "/* S4 was here */ May();"],
    ["int n = Math.Max(a, Max);", "1", "int n = Math.Max(a, Max);"],
    ["<LI>one</LI> Li(2)", "3", "<LI>one</LI> Li(2)"],
    ["class Grant extends Mark {", "2", "class Grant extends Mark {"],
  ])("in the student's own work is taken out of words and left in code: %s", (text, own, shown) =>
    expect(scrub(text, own)).toBe(shown),
  );
});

it("numbers that programs hold are ordinary, numbers of students are not", () => {
  for (const number of ["10000", "65535", "65536", "131071", "12345", "11111", "1000000007", "2024", "86400"])
    expect(isOrdinaryWord(number)).toBe(true);
  for (const number of ["40171", "00128", "7654329", "4102", "20231"]) expect(isOrdinaryWord(number)).toBe(false);
});
