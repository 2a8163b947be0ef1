import { describe, expect, it } from "vitest";
import { type KeyedWork, sameWorks } from "./same-works.ts";

const work = (key: string, by: readonly string[], hash: string | null, attempt = 1): KeyedWork => ({
  key,
  by,
  hash,
  attempt,
});
const known = (stored: readonly KeyedWork[], incoming: readonly KeyedWork[]) =>
  Object.fromEntries(sameWorks(stored, incoming));

describe("matching the same submissions", () => {
  it("succeeds by their people when the group is renamed, with equal or different content", () => {
    const before = [work("Team Blue#1", ["1", "2"], "h")];
    expect(known(before, [work("1+2#1", ["2", "1"], "h")])).toEqual({ "1+2#1": "Team Blue#1" });
    expect(known(before, [work("1+2#1", ["1", "2"], "other")])).toEqual({ "1+2#1": "Team Blue#1" });
  });

  it("succeeds by the content when attempts are renumbered", () => {
    const before = [work("ada#1", ["ada"], "h2")];
    const now = [work("ada#1", ["ada"], "h1", 1), work("ada#2", ["ada"], "h2", 2)];
    expect(known(before, now)).toEqual({ "ada#2": "ada#1" });
  });

  it("succeeds by key and attempt when two submissions have the same content", () => {
    const two = [work("ada#1", ["ada"], "h", 1), work("ada#2", ["ada"], "h", 2)];
    expect(known(two, two)).toEqual({ "ada#1": "ada#1", "ada#2": "ada#2" });
  });

  it("succeeds by the content when a student joins or leaves a group", () => {
    const before = [work("x", ["1", "2"], "h")];
    expect(known(before, [work("1+2+3#1", ["1", "2", "3"], "h")])).toEqual({ "1+2+3#1": "x" });
    expect(known(before, [work("1#1", ["1"], "h")])).toEqual({ "1#1": "x" });
    expect(known(before, [work("1#1", ["1"], "other")])).toEqual({});
    expect(known(before, [work("3#1", ["3"], "h")])).toEqual({});
    expect(known(before, [work("1#1", ["1"], "h"), work("2#1", ["2"], "h")])).toEqual({});
  });

  it("keeps submissions of different people apart, even with an equal group or key", () => {
    expect(known([work("T1#1", ["1", "2"], "a")], [work("T1#1", ["3", "4"], "b")])).toEqual({});
  });
});
