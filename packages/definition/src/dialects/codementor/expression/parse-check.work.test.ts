import { expect, it } from "vitest";
import { growthOfWork } from "../../../../../../tests/support/count-work.ts";
import { parseCheck } from "./parse-check.ts";

it.each(["a and ", "a == b and not (", "not ", "(", "'x' ", "'", "a == b or ", " ", '"', "\\"])(
  "reads a CHECK of many %j in linear work",
  (unit) => {
    const parse = (count: number) => () => parseCheck(`RESULT == ${unit.repeat(count)}`, false);
    expect(growthOfWork(parse(1_000), parse(10_000))).toBeLessThan(20);
  },
);
