import { expect, it } from "vitest";
import { growthOfWork } from "../../../../tests/support/count-work.ts";
import { readTable, writeTable } from "./index.ts";

it.each(['"x\ny",z\n', '"x",', '"', ",", '""', "a\n", "a;b\n", "\t"])("readTable reads %j in linear work", (unit) => {
  const read = (count: number) => () => readTable(`a,b\n${unit.repeat(count)}`);
  expect(growthOfWork(read(1_000), read(10_000))).toBeLessThan(20);
});

it("writeTable writes a table in linear work", () => {
  const write = (count: number) => () => writeTable(Array.from({ length: count }, () => ['="x"', 'a"b\nc', "-1"]));
  expect(growthOfWork(write(500), write(5_000))).toBeLessThan(20);
});
