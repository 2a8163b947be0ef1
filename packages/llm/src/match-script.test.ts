import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatFinding } from "./finding.ts";
import { matchScript, type RuleCounts, type ScriptedMessage } from "./match-script.ts";
import { parseScript, type Script } from "./script.ts";

function read(text: string): Script {
  const reading = parseScript(text, "talk.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  return reading.script;
}

/** Plays prompts in order and returns the replies. A fault or a missing match is shown in angle brackets. */
function play(script: Script, prompts: (string | ScriptedMessage[])[], model = "scripted"): string[] {
  let counts: RuleCounts = new Map();
  return prompts.map((prompt) => {
    const messages = typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt;
    const decided = matchScript(script, counts, { model, messages });
    counts = decided.counts;
    if (decided.match.kind === "unmatched") return "<unmatched>";
    return decided.match.answer.fault === undefined ? decided.match.text : `<${decided.match.answer.fault.kind}>`;
  });
}

describe("a scripted conversation", () => {
  it("is answered by the first rule that matches", () => {
    const script = read(`
rules:
  - { when: { text: [red, blue] }, reply: both }
  - { when: { text: red }, reply: red }
  - { when: { model: other }, reply: another model }
  - { when: { role: assistant }, reply: go on }
default: { reply: nothing }
`);
    const assistant = [{ role: "assistant", content: "?" }];
    expect(play(script, ["blue and red", "red", "green", assistant])).toEqual(["both", "red", "nothing", "go on"]);
    expect(play(script, ["green"], "other")).toEqual(["another model"]);
  });

  it("fills a reply from the groups of its pattern, once, without expanding the inserted text", () => {
    const script = read(`
rules:
  - when: { pattern: 'grade (?<who>\\w+) (\\d+)?', flags: i }
    reply: "{{who}}/{{ 2 }}/{{n}}/{{model}}/{{0}}"
default: { reply: "You said {{prompt}}" }
`);
    expect(play(script, ["GRADE Ada 7", "grade Bob ", "{{n}} {{model}}"])).toEqual([
      "Ada/7/1/scripted/GRADE Ada 7",
      "Bob//2/scripted/grade Bob ",
      "You said {{n}} {{model}}",
    ]);
  });

  it("sends a verbatim reply unchanged", () => {
    expect(play(read("default: { verbatim: true, reply: 'use {{n}} and {{anything}}' }"), ["x"])).toEqual([
      "use {{n}} and {{anything}}",
    ]);
  });

  it("counts matches per rule for nth and times, and tries the next rule for other requests", () => {
    const script = read(`
rules:
  - { when: { text: a, nth: [1, 3] }, fault: 500 }
  - { when: { text: a }, times: 1, reply: once }
  - { when: { text: a }, reply: [first, second, rest] }
`);
    expect(play(script, ["a", "a", "b", "a", "a", "a", "a", "a"])).toEqual([
      "<status>",
      "once",
      "<unmatched>",
      "<status>",
      "first",
      "second",
      "rest",
      "rest",
    ]);
  });

  it("counts for nth all requests that meet the other conditions, even those that an earlier rule answered", () => {
    const script = read(`
rules:
  - { when: { text: a, nth: 1 }, reply: one }
  - { when: { text: a, nth: 2 }, reply: two }
  - { when: { text: ab, nth: 2 }, reply: "second ab, time {{n}}" }
  - { when: { nth: [4, 6] }, reply: fourth or sixth }
  - { when: { text: a }, reply: other }
`);
    expect(play(script, ["a", "ab", "ab", "a", "b", "a"])).toEqual([
      "one",
      "two",
      "second ab, time 2",
      "fourth or sixth",
      "<unmatched>",
      "fourth or sixth",
    ]);
  });

  it("counts turns by the assistant messages in the request, so a repeated request is the same turn", () => {
    const script = read("rules: [{ when: { turn: 1 }, reply: one }, { when: { turn: 2, system: kind }, reply: two }]");
    const second = [
      { role: "system", content: "be kind" },
      { role: "user", content: "q" },
      { role: "assistant", content: "one" },
      { role: "user", content: "q2" },
    ];
    expect(play(script, ["q", "q", second, second, second.slice(1)])).toEqual([
      "one",
      "one",
      "two",
      "two",
      "<unmatched>",
    ]);
  });

  it("returns the reason of each rule for an unmatched request", () => {
    const script = read("rules: [{ name: greet, when: { text: hello }, reply: hi }, { when: { nth: 2 }, reply: x }]");
    const { match } = matchScript(script, new Map(), { model: "m", messages: [{ role: "user", content: "bye" }] });
    expect(match).toEqual({
      kind: "unmatched",
      reasons: ['"greet": the last message does not contain "hello"', '"rule 2": this is time 1, it answers 2'],
    });
  });

  it("behaves as the README's example describes", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const script = read(/```yaml script\n([\s\S]*?)```/.exec(readme)?.[1] ?? "");
    const essay = [
      { role: "system", content: "You mark essays." },
      { role: "user", content: "The essay of Mira, 310 words" },
    ];
    const again = [...essay, { role: "assistant", content: "7" }, { role: "user", content: "Sure?" }];
    expect(play(script, [essay, essay, again, again, "Hm"])).toEqual([
      "<status>",
      "Mira wrote 310 words. Points: 7",
      "I looked again.",
      "I have nothing to add.",
      "I did not understand: Hm",
    ]);
  });
});
