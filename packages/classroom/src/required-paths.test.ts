import { describe, expect, it } from "vitest";
import { keepsFolder, missingPaths, requiredPathProblem, spellAsRequired } from "./required-paths.ts";

const nfc = "Übung.java".normalize("NFC");
const nfd = "Übung.java".normalize("NFD");

describe("a required path", () => {
  it.each([
    ["*.java", ["Main.java"], true],
    ["*.java", ["src/Main.java"], false],
    ["*.java", ["Main.javac"], false],
    ["**/*.java", ["Main.java"], true],
    ["**/Stack.java", ["Stack.java"], true],
    ["**/Stack.java", ["src/de/uni/Stack.java"], true],
    ["**/Stack.java", ["src/MyStack.java"], false],
    ["src/**/Stack.java", ["src/Stack.java"], true],
    ["src/**/Stack.java", ["src/a/b/Stack.java"], true],
    ["src/**/Stack.java", ["a/src/Stack.java"], false],
    ["src/", ["src/a/b.txt"], true],
    ["src/", ["src"], false],
    ["report.???", ["report.pdf"], true],
    ["report.???", ["report.md"], false],
    ["*Test*.java", ["MyTestOfIt.java"], true],
    ["*a*b*c", ["xxaxxbxxd"], false],
    ["main.py", ["Main.py"], false],
    ["a*b.txt", ["a*b.txt"], true],
    ["**", ["x"], true],
    ["*", [".gitignore"], true],
    [nfc, [nfd], true],
    [nfd, [nfc], true],
    ["Ü*.java".normalize("NFD"), [nfc], true],
    ["?bung.java", [nfd], true],
  ])("%s is matched by one of %j: %s", (wanted, paths, found) => {
    expect(missingPaths([wanted], paths)).toEqual(found ? [] : [wanted]);
  });

  it("with many stars is decided quickly", () => {
    expect(missingPaths(["*a".repeat(60)], ["a".repeat(3_000).concat("b")])).toHaveLength(1);
    expect(missingPaths([`${"**/".repeat(60)}x`], [`${"a/".repeat(500)}y`])).toHaveLength(1);
  });

  it.each(["/Main.java", "src\\Main.java", "../x", "./x", "a//b", "src/**.java"])("%s is refused", (path) => {
    expect(requiredPathProblem(path)).not.toBeNull();
  });

  it.each(["Main.java", "src/", "**/Stack.java", "src/**/*.java"])("%s is accepted", (path) => {
    expect(requiredPathProblem(path)).toBeNull();
  });
});

describe("the folder around a submission", () => {
  it.each([
    [["src/Main.java"], "src", ["Main.java"], true],
    [["src/Main.java"], "src", ["main.java"], true],
    [["src/Main.java"], "ada", ["src/Main.java"], false],
    [["Main.java"], "src", ["Main.java"], false],
    [["src/"], "src", ["a/b.java"], true],
    [["**/Main.java"], "src", ["Main.java"], false],
    [["*.java"], "hw1", ["Main.java"], false],
    [["*/Main.java"], "src", ["Main.java"], true],
    [[], "src", ["Main.java"], false],
    [["Übung/a.c".normalize("NFC")], "Übung".normalize("NFD"), ["a.c"], true],
  ])("with required paths %j, the folder %s around the files %j is kept: %s", (requires, folder, inside, kept) => {
    expect(keepsFolder(requires, folder, inside)).toBe(kept);
  });
});

describe("file names in another Unicode form", () => {
  it("get the spelling of the required path, also in folders", () => {
    const notes: string[] = [];
    const paths = (entries: readonly string[], ...requires: string[]) =>
      spellAsRequired(
        entries.map((path) => ({ path })),
        requires,
        notes,
      ).map(({ path }) => path);
    expect(paths([nfd, "other"], nfc)).toEqual([nfc, "other"]);
    const folder = "Übung".normalize("NFD");
    expect(paths([folder, `${folder}/a.c`, `${folder}/b.c`], `${folder.normalize("NFC")}/*.c`)).toEqual(
      [folder, `${folder}/a.c`, `${folder}/b.c`].map((path) => path.normalize("NFC")),
    );
    expect(notes).toHaveLength(4);
    expect(paths([nfd], "Main.java")).toEqual([nfd]);
  });
});
