import { describe, expect, it } from "vitest";
import { commonLetters } from "./person-name.ts";

describe("comparing two spellings of a name", () => {
  it.each([
    ["Ada Lovelace", "Lovelace, Ada"],
    ["Jörg Müller", "Mueller, Joerg"],
    ["Anna Maria Schmidt", "Schmidt, Anna"],
    ["A. Lovelace", "Ada Lovelace"],
    ["Zoë O'Neil", "ONeil, Zoe"],
    ["Strauß", "Strauss"],
  ])("%s agrees with %s", (one, other) => {
    expect(commonLetters(one, other)).toBeGreaterThan(0);
    expect(commonLetters(other, one)).toBeGreaterThan(0);
  });

  it.each([
    ["张伟", "张三"],
    ["Anna Schmidt", "Ben Schmidt"],
    ["A", "Ada Lovelace"],
  ])("%s contradicts %s", (one, other) => {
    expect(commonLetters(one, other)).toBe(0);
    expect(commonLetters(other, one)).toBe(0);
  });

  it.each([
    ["张伟", "Wei Zhang"],
    ["", "Ada"],
  ])("gives no answer for %j and %j", (one, other) => {
    expect(commonLetters(one, other)).toBeNull();
    expect(commonLetters(other, one)).toBeNull();
  });
});
