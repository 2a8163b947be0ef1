import { describe, expect, it } from "vitest";
import { countWork, growthOfWork } from "../../../tests/support/count-work.ts";
import { mostDepth, weighJson } from "./weigh-json.ts";

describe("the work of checking a JSON body", () => {
  it("ends at the first bracket that is nested too deeply, however long the body is", () => {
    const refused = (length: number) => () => expect(() => weighJson("[".repeat(length))).toThrow("nested");
    expect(growthOfWork(refused(mostDepth * 4), refused(4_000_000))).toBeLessThan(2);
  });

  it.each(["\\", '\\"', '"', '"a",', "{"])("grows in proportion to the length of a text of %j", (unit) => {
    const weighed = (count: number) => () => {
      try {
        weighJson(`"${unit.repeat(count)}`);
      } catch {
        // A refusal is allowed here.
      }
    };
    expect(growthOfWork(weighed(2_000), weighed(20_000))).toBeLessThan(20);
    expect(countWork(weighed(20_000)).steps).toBeLessThan(3_000_000);
  });
});
