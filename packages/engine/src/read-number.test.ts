import { describe, expect, it } from "vitest";
import type { Node } from "./program.ts";
import { looksNumeric, type NumberReading, readNumber } from "./read-number.ts";
import { edgesOf, play, programOf, started } from "./testing-programs.ts";

const read = (text: string, how: NumberReading = {}) => {
  const found = readNumber(text, how);
  return found.is === "number" ? found.value : found.is;
};

describe("reading the number in a text", () => {
  it.each([
    ["17", 17],
    [" -3.5 \n", -3.5],
    [".5", 0.5],
    ["1e3", 1000],
    ["17 points", 17],
    ["Score: 17.", 17],
    ["17, well done", 17],
    ["**12.5** of them", 12.5],
    ["Score: -3 points", -3],
    ["Score - 17", 17],
    ["- 17 points", 17],
    ["12.125 points", 12.125],
    ["Coverage: 50%", 50],
    ["17 points\n3 remarks", 17],
    ["Task No.5", 5],
    ["<b>17</b>", 17],
    ["> 17 points", 17],
    ["Score =>17", 17],
    ["Score ->17", 17],
    ["Score --> 17", 17],
    ["Terminus 3", 3],
    ["~17", 17],
  ])("reads %j as %d", (text, value) => expect(read(text)).toBe(value));

  it.each([
    "1,500",
    "2,7",
    "\u22123",
    "\u2212 3",
    "\u20133",
    "Aufgabe 3: 17 Punkte",
    "17/20",
    "17 of 20",
    "3-5",
    "1 500",
    "1\u00a0500",
    "1'500",
    "1.500.000",
    "version 1.2.3",
    "about 1e3",
    "0x1F",
    "Score .5",
    "Score ,5",
    "UTF-8",
    "\u0663",
    "2\u00bd",
    "17.5 bis 18",
    "--3",
    "+-3",
    "Score: \u2013-3",
    "minus 3",
    "Punkte: Minus 3",
    "negative 3",
    "<17",
    "< 17 points",
    ">17",
    ">=17",
    "<= 17",
    "Score >= 17",
    "\u2264 17",
    "\u00b12",
    "\u066b5",
    "1e400",
    `Score ${"9".repeat(400)}`,
  ])("finds two readings in %j", (text) => expect(read(text)).toBe("unclear"));

  it.each(["", "none at all", "\n17 points"])("finds no number in %j", (text) => expect(read(text)).toBe("none"));

  it.each([
    ["Aufgabe 3: 17 Punkte", { which: "last" }, 17],
    ["Aufgabe 3: 17 Punkte", { which: "first" }, 3],
    ["Aufgabe 3: 17 von 20 Punkten", { which: 2 }, 17],
    ["17/20", { which: "first" }, 17],
    ["2,7", { decimal: "comma" }, 2.7],
    ["1.500", { decimal: "comma" }, 1500],
    ["1.500,25 Euro", { decimal: "comma" }, 1500.25],
    ["1,500", { decimal: "point" }, 1500],
    ["1'500.5", { decimal: "point" }, 1500.5],
    ["\u22123", { decimal: "point" }, -3],
    ["\u22123", { which: "first" }, -3],
    ["UTF-8", { which: "first" }, 8],
    ["Note 3: 2,7", { which: "last", decimal: "comma" }, 2.7],
  ] as const)("reads %j with %j as %d", (text, how, value) => expect(read(text, how)).toBe(value));

  it.each([
    ["Aufgabe 3: 17 Punkte", { decimal: "comma" }],
    ["Note 3: 2,7", { which: "last" }],
    ["2,7", { decimal: "point" }],
    ["2.7", { decimal: "comma" }],
    ["1.50.000", { decimal: "comma" }],
    ["Score: <17", { which: "last" }],
    ["minus 3", { which: "first" }],
    ["--3", { decimal: "point" }],
  ] as const)("%j with %j stays unclear", (text, how) => expect(read(text, how)).toBe("unclear"));

  it("finds no number at a position that the line does not have", () =>
    expect(read("3 and 4", { which: 3 })).toBe("none"));

  it("does work that is linear in the length of the line", () => {
    expect(read("a".repeat(500_000))).toBe("none");
    expect(read("1 ".repeat(500_000), { which: "last" })).toBe(1);
    expect(looksNumeric("1".repeat(101))).toBe(false);
  });
});

describe("a CHECK of numbers", () => {
  const start = { kind: "start" } as const;
  const decided = (left: string, right: string, numbers?: NumberReading) => {
    const check: Node = {
      kind: "check",
      condition: {
        op: "greaterEqual",
        left: { from: "name", name: "RESULT" },
        right: { from: "name", name: "LEAST" },
        ...(numbers === undefined ? {} : { numbers }),
      } as never,
    };
    const ends = { YES: { kind: "end", outcome: "success" }, NO: { kind: "end", outcome: "success" } };
    const program = programOf(
      { START: start, CHECK_A: check, ...(ends as Record<string, Node>) },
      edgesOf("START CHECK_A", "CHECK_A YES", "CHECK_A -fail- NO"),
    );
    const played = play(program, () => ({ kind: "done" }), started({ variables: { RESULT: left, LEAST: right } }));
    const { phase, hits } = played.state;
    const edge = hits.YES === 1 ? "yes" : hits.NO === 1 ? "no" : "no edge";
    return phase.is === "ended" && phase.reason !== null ? [edge, phase.reason.code, phase.reason.message] : [edge];
  };

  it.each([
    ["17 points", "15", ["yes"]],
    ["1,500", "15", ["no edge", "NUMBER_UNCLEAR"]],
    ["Aufgabe 3: 17 Punkte", "15", ["no edge", "NUMBER_UNCLEAR"]],
    ["17", "1,500", ["no edge", "NUMBER_UNCLEAR"]],
    ["17", "\u22123", ["no edge", "NUMBER_UNCLEAR"]],
    ["17", "1e999", ["no edge", "NUMBER_UNCLEAR"]],
    ["1e999", "17", ["no edge", "NUMBER_UNCLEAR"]],
    ["excellent", "15", ["no edge", "CONDITION_NOT_NUMERIC"]],
    ["", "0", ["no edge", "CONDITION_NOT_NUMERIC"]],
    ["b", "a", ["yes"]],
    ["10", "ten", ["no"]],
  ])("decides %j >= %j as %j", (left, right, expected) => expect(decided(left, right).slice(0, 2)).toEqual(expected));

  it("suggests number: and decimal: only if they make the number clear", () => {
    expect(decided("17/20", "15")[2]).toContain("Set number: last");
    expect(decided("2,7", "2.5")[2]).toContain("decimal: comma");
    for (const left of ["<17 points", "minus 3", "--3", "1e999"]) {
      const message = decided(left, "15")[2];
      expect(message).toContain("No setting of the CHECK can decide this");
      expect(message).not.toContain("number: last");
    }
    expect(decided("17", "1,500")[2]).toContain("decimal: comma");
    expect(decided("17", "1 500")[2]).toContain("No setting");
  });

  it("uses the number that the workflow selects", () => {
    expect(decided("Aufgabe 3: 17 Punkte", "15", { which: "last" })).toEqual(["yes"]);
    expect(decided("2,7", "2,5", { decimal: "comma" })).toEqual(["yes"]);
    expect(decided("1.500", "2", { decimal: "comma" })).toEqual(["yes"]);
  });
});
