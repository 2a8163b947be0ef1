import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inState, type Variables, variableWrites } from "./kept-variables.ts";

const long = "x".repeat(200);
const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`V${index}`, "1"]));

describe("storage of variables", () => {
  it("a short variable is kept in the state and gets no row", () => {
    expect(inState({ N: "1", TEXT: long })).toEqual({ N: "1" });
    expect(variableWrites({ N: "0" }, { N: "1" }, false)).toEqual([]);
  });

  it("a long variable gets a row, which is written only when the variable changes", () => {
    expect(variableWrites({}, { TEXT: long }, false)).toEqual([{ name: "TEXT", value: long }]);
    expect(variableWrites({ TEXT: long }, { TEXT: long, N: "1" }, false)).toEqual([]);
  });

  it("a short variable gets a row when it grows long", () => {
    expect(variableWrites({ TEXT: "x" }, { TEXT: long }, false)).toEqual([{ name: "TEXT", value: long }]);
  });

  it("all variables get rows when there are too many for the state", () => {
    const twenty = Object.fromEntries(Object.entries(many).slice(0, 20));
    expect(inState(many)).toEqual({});
    expect(variableWrites(twenty, many, false)).toHaveLength(21);
    expect(variableWrites(many, twenty, false)).toEqual([{ name: "V20", value: null }]);
  });

  it("every variable that is no longer set is reported as unset", () => {
    expect(variableWrites({ N: "1", TEXT: long }, {}, false)).toEqual([
      { name: "N", value: null },
      { name: "TEXT", value: null },
    ]);
  });

  it("short variables get their rows when the run ends", () => {
    expect(variableWrites({ N: "1", TEXT: long }, { N: "1", TEXT: long }, true)).toEqual([{ name: "N", value: "1" }]);
    expect(variableWrites(null, { N: "1" }, true)).toEqual([{ name: "N", value: "1" }]);
  });

  it("a variable may have any name", () => {
    const odd: Variables = JSON.parse('{"__proto__":"1","constructor":"2"}');
    expect(Object.entries(inState(odd))).toEqual([
      ["__proto__", "1"],
      ["constructor", "2"],
    ]);
    expect(variableWrites({}, odd, true)).toHaveLength(2);
  });

  it("a variable reads back as written after any history", () => {
    const name = fc.constantFrom(...Array.from({ length: 24 }, (_, index) => `V${index}`), "__proto__");
    const value = fc.oneof(fc.constant(""), fc.string({ maxLength: 8 }), fc.constantFrom(long, `${long}y`));
    const variables = fc.dictionary(name, value, { maxKeys: 25 });
    fc.assert(
      fc.property(fc.array(variables, { minLength: 1, maxLength: 8 }), fc.boolean(), (history, ends) => {
        const rows = new Map<string, string | null>();
        let before: Variables | null = null;
        let state: Variables = {};
        history.forEach((after, index) => {
          const ended = ends && index === history.length - 1;
          for (const write of variableWrites(before, after, ended)) rows.set(write.name, write.value);
          state = ended ? {} : inState(after);
          before = after;
        });
        const kept = [...rows].filter(([, kept]) => kept !== null);
        const read = { ...Object.fromEntries(kept), ...state };
        expect(new Map(Object.entries(read))).toEqual(new Map(Object.entries(history.at(-1) ?? {})));
        if (ends) expect(state).toEqual({});
      }),
      { numRuns: 500 },
    );
  });
});
