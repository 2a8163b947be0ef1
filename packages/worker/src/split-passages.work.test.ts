import { expect, it } from "vitest";
import { growthOfWork } from "../../../tests/support/count-work.ts";
import { splitPassages } from "./split-passages.ts";

it.each([".", " ", "\n", "a ", "\n ", "😀", '!?"', "a", ". ", "。", "`", "("])(
  "splits a text of %j into passages in linear work",
  (unit) => {
    const split = (count: number) => () => splitPassages(unit.repeat(count));
    expect(growthOfWork(split(2_000), split(20_000))).toBeLessThan(20);
  },
);
