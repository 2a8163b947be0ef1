import { expect, it } from "vitest";
import { inParts } from "./parts.ts";

async function lengths(pieces: readonly string[], length: number): Promise<readonly string[]> {
  const parts: string[] = [];
  for await (const part of inParts(
    pieces.map((piece) => Buffer.from(piece)),
    length,
  ))
    parts.push(part.toString());
  return parts;
}

it("pieces are cut and joined into parts of the same length", async () => {
  expect(await lengths(["abcdefg"], 3)).toEqual(["abc", "def", "g"]);
  expect(await lengths(["a", "", "bc", "d", "ef"], 3)).toEqual(["abc", "def"]);
  expect(await lengths(["abc"], 3)).toEqual(["abc"]);
});

it("empty content becomes one empty part, so that at least one part exists", async () => {
  expect(await lengths([], 3)).toEqual([""]);
  expect(await lengths([""], 3)).toEqual([""]);
});
