import { expect, it } from "vitest";
import { JsonWeight } from "./json-weight.ts";

const weigh = (...pieces: readonly string[]) => {
  const weight = new JsonWeight();
  return pieces.map((piece) => weight.add(Buffer.from(piece))).find((why) => why !== null) ?? null;
};

it("passes ordinary messages, whatever stands in their strings", () => {
  expect(weigh('{"a": [1, {"b": "[[[{{{"}]}\n', 'data: {"c": "\\"[[["}\n\n')).toBe(null);
  expect(weigh(`{"a": "${"[".repeat(10_000)}"}`, `${'{"a": 1}\n'.repeat(15_000)}`)).toBe(null);
});

it("names what is nested deeply, also in pieces, and behind what looks like the begin or the end of a string", () => {
  const told = expect.stringContaining("nested more than 500 deep");
  expect(weigh("[".repeat(501))).toEqual(told);
  expect(weigh(...Array.from({ length: 501 }, () => '{"a":'))).toEqual(told);
  expect(weigh(': "\ndata: ', "[".repeat(501))).toEqual(told);
  expect(weigh(": ]]]]\ndata: ", "[".repeat(501))).toEqual(told);
});

it("names what has too many objects", () => {
  expect(weigh("[", "{},".repeat(20_001))).toEqual(expect.stringContaining("more than 20000 objects"));
});
