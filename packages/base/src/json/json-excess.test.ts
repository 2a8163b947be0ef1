import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonExcess } from "./json-excess.ts";

it("jsonExcess counts depth and values outside of strings, and returns the first exceeded bound", () => {
  const text = '{"a": [1, 2, "[[[,,,\\"[["]}';
  expect(jsonExcess(text, { depth: 2, values: 5 })).toBe(null);
  expect(jsonExcess(text, { depth: 1, values: 5 })).toBe("depth");
  expect(jsonExcess(text, { depth: 2, values: 4 })).toBe("values");
  expect(jsonExcess("[".repeat(2_000_000), { depth: 500 })).toBe("depth");
  expect(jsonExcess("[".repeat(500), { depth: 500 })).toBe(null);
});

it("jsonExcess accepts every JSON value within the depth, and a text that is not JSON", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 8 }), (text) => jsonExcess(text, { depth: 100 }) === null));
  for (const text of ["", "{", "]", '"', '"\\', '"[[[[', `"${'\\"['.repeat(500)}"`])
    expect(jsonExcess(text, { depth: 3 }), text.slice(0, 20)).toBe(null);
});
