import { describe, expect, it } from "vitest";
import { formatFinding } from "./finding.ts";
import { parseScript, type Script } from "./script.ts";

function read(text: string): Script {
  const reading = parseScript(text, "talk.yaml");
  if (!reading.ok) throw new Error(reading.findings.map(formatFinding).join("\n"));
  return reading.script;
}

function findings(text: string): string[] {
  const reading = parseScript(text, "talk.yaml");
  return reading.ok ? [] : reading.findings.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`);
}

describe("a script of replies", () => {
  it("may contain every fault and every form of a delay", () => {
    const script = read(`
rules:
  - { fault: 503 }
  - { fault: { status: 429, retryAfter: 2 } }
  - { fault: { cut: 5 }, reply: abcdefgh, delay: 2s }
  - { fault: { huge: 1000 }, delay: 1.5ms }
  - { fault: hang, delay: 10 }
`);
    expect(script.rules.map(({ answer }) => [answer.fault?.kind, answer.delayMs])).toEqual([
      ["status", 0],
      ["status", 0],
      ["cut", 2000],
      ["huge", 1.5],
      ["hang", 10],
    ]);
  });

  it("with mistakes of form reports all of them at once, each with its position", () => {
    expect(
      findings(`rules:
  - when: { txt: hello, role: robot }
    reply: hi
    times: 0
  - reply: [1]
  - fault: { status: 200 }
  - fault: explode
    delay: soon
defaults: { reply: x }
`),
    ).toEqual([
      "talk.yaml:2:13 SCRIPT_KEY_UNKNOWN",
      "talk.yaml:2:25 SCRIPT_VALUE",
      "talk.yaml:4:5 SCRIPT_VALUE",
      "talk.yaml:5:5 SCRIPT_VALUE",
      "talk.yaml:6:14 SCRIPT_VALUE",
      "talk.yaml:7:5 SCRIPT_VALUE",
      "talk.yaml:8:5 SCRIPT_VALUE",
      "talk.yaml:9:1 SCRIPT_KEY_UNKNOWN",
    ]);
  });

  it("with mistakes of meaning reports all of them at once, each with its position", () => {
    expect(
      findings(`rules:
  - name: one
    when: { pattern: "(" }
    reply: "{{1}}"
  - name: one
    when: { flags: i, nth: 2 }
    times: 2
    reply: "{{who}}"
  - when: { text: a }
  - fault: { cut: 3 }
default:
  reply: "{{1}}"
`),
    ).toEqual([
      "talk.yaml:3:13 SCRIPT_PATTERN",
      "talk.yaml:5:5 SCRIPT_NAME_TWICE",
      "talk.yaml:6:13 SCRIPT_FLAGS",
      "talk.yaml:7:5 SCRIPT_TIMES_AND_NTH",
      "talk.yaml:8:5 SCRIPT_PLACEHOLDER_UNKNOWN",
      "talk.yaml:9:5 SCRIPT_NO_REPLY",
      "talk.yaml:10:5 SCRIPT_NO_REPLY",
      "talk.yaml:12:3 SCRIPT_PLACEHOLDER_UNKNOWN",
    ]);
  });

  it("is refused when it could answer nothing", () => {
    expect(findings("")).toEqual(["talk.yaml:1:1 SCRIPT_EMPTY"]);
    expect(findings("- a\n- b\n")).toEqual(["talk.yaml:1:1 SCRIPT_VALUE"]);
  });
});
