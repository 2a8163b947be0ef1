import { expect, it } from "vitest";
import { writeJson } from "./write-json.ts";

const page = (count: number, text: string) => ({
  items: Array.from({ length: count }, (_, at) => ({ at, text, none: undefined })),
  next: null,
});

it.each([
  ["a page", page(3, 'a"\n')],
  ["an empty page", page(0, "")],
  ["items alone", { items: [undefined, 1] }],
  ["a long page", page(300, "\u0001é".repeat(5_000))],
  ["an object", { id: 1 }],
  ["a list", [{ items: [1] }]],
  ["items that are no list", { items: "a" }],
])("%s is the same JSON, its members in whatever order", async (_, body) => {
  expect(JSON.parse((await writeJson(body)).join(""))).toEqual(JSON.parse(JSON.stringify(body)));
});

it("a class of 300 with long texts is written in slices, with other work between them", async () => {
  let turns = 0;
  let over = false;
  const other = () => {
    turns += 1;
    if (!over) setImmediate(other);
  };
  setImmediate(other);
  const pieces = await writeJson(page(300, "x".repeat(50_000)));
  over = true;
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(400_000);
  expect(pieces.length).toBeGreaterThan(40);
  expect(turns).toBeGreaterThanOrEqual(pieces.length - 1);
});

it("a short page is one piece", async () => {
  expect(await writeJson(page(200, "a comment of a line"))).toHaveLength(1);
});
