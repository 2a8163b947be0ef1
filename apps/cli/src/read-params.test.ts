import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UsageError } from "./command.ts";
import { readFileValues, readParamFile, splitAssignments } from "./read-params.ts";

let base: string;
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "markmill-params-"));
  for (const folder of ["cwd", "root", "elsewhere"]) mkdirSync(join(base, folder));
  writeFileSync(join(base, "cwd/essay.md"), "An essay.\n");
  writeFileSync(join(base, "root/rubric.md"), "A rubric.\n");
  writeFileSync(join(base, "elsewhere/secret"), "no");
  symlinkSync(join(base, "elsewhere/secret"), join(base, "cwd/link"));
  writeFileSync(join(base, "cwd/.env"), "OPENAI_API_KEY=no");
  symlinkSync(".env", join(base, "cwd/notes"));
  writeFileSync(join(base, "cwd/large"), Buffer.alloc(1024 * 1024 + 1, "x"));
  writeFileSync(join(base, "cwd/binary"), Buffer.from([0xff, 0xfe, 0x00]));
  writeFileSync(join(base, "cwd/p.json"), '{ "A": "x=y", "N": 3, "T": true, "E": null }');
  writeFileSync(join(base, "cwd/p.yaml"), "A: |\n  two\n  lines\n");
  writeFileSync(join(base, "cwd/p.env"), '# note\nA="x y"\nB=z\n');
  writeFileSync(join(base, "cwd/bad.json"), '{ "A": [1] }');
  writeFileSync(join(base, "cwd/list.yaml"), "- A\n");
});
afterAll(() => rmSync(base, { recursive: true }));

const places = () => ({ cwd: join(base, "cwd"), root: join(base, "root") });

describe("the parameters of a run", () => {
  it("have as value all text after the first equals sign, even if it is empty", () => {
    expect(splitAssignments(["A=b=c", "EMPTY=", "S= x "])).toEqual({ A: "b=c", EMPTY: "", S: " x " });
  });

  it.each(["NAME", "=x", " =x"])("refuse '%s', which is not an assignment", (word) => {
    expect(() => splitAssignments([word])).toThrow(UsageError);
  });

  it("can be read from a file with JSON, YAML or NAME=value lines", () => {
    const { cwd } = places();
    expect(readParamFile("p.json", cwd)).toEqual({ A: "x=y", N: "3", T: "true", E: "" });
    expect(readParamFile("p.yaml", cwd)).toEqual({ A: "two\nlines\n" });
    expect(readParamFile("p.env", cwd)).toEqual({ A: "x y", B: "z" });
    expect(() => readParamFile("bad.json", cwd)).toThrow("A in bad.json is a list or an object");
    expect(() => readParamFile("list.yaml", cwd)).toThrow("must contain names with values");
    expect(() => readParamFile("none.env", cwd)).toThrow("File none.env not found");
  });

  it("can name a file below the working directory or the workflow's folder", () => {
    expect(readFileValues({ E: "file:essay.md", R: "file:rubric.md", P: "plain" }, places())).toEqual({
      E: "An essay.\n",
      R: "A rubric.\n",
      P: "plain",
    });
  });

  it.each([
    ["../elsewhere/secret", "outside"],
    ["link", "outside"],
    ["/etc/hostname", "outside"],
    ["nowhere", "file nowhere not found"],
    ["large", "1.0 MiB"],
    ["binary", "not UTF-8"],
    [".", "outside"],
    [".env", "hidden files"],
    ["notes", "hidden files"],
  ])("refuse file:%s: %s", (path, why) => {
    expect(() => readFileValues({ A: `file:${path}` }, places())).toThrow(why);
  });
});
