import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readClassHead } from "./read-class-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "markmill-class-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a .cfg.json in place of a class", () => {
  it.each([
    ["good.cfg.json", '{"workflow_files": ["a.wf.md", "b.wf.md"], "repeats": 3}', ["CFG_NOT_A_CLASS"], "of 6 runs"],
    ["BAD.CFG.JSON", '{"workflow_files": ["a.wf.md"], "repeats": "x"}', ["CFG_VALUE", "CFG_NOT_A_CLASS"], "is a batch"],
  ])("is refused by name, with the errors in it (%s)", async (name, text, codes, says) => {
    const file = join(folder, name);
    await writeFile(file, text);
    const read = await readClassHead(file);
    expect(read.ok).toBe(false);
    expect(read.findings.map(({ code }) => code)).toEqual(codes);
    expect(read.findings.at(-1)?.message).toContain(`${name} is a batch`);
    expect(read.findings.at(-1)?.message).toContain(says);
  });
});

describe("errors in a class are reported at their place", () => {
  const told = async (name: string, text: string | null) => {
    const at = join(folder, name);
    if (text !== null) {
      await mkdir(at, { recursive: true });
      await writeFile(join(at, "class.yaml"), text);
    }
    const read = await readClassHead(at);
    return read.findings.map(({ code, at: { line, column }, message }) => `${code}:${line}:${column} ${message}`);
  };

  it("missing files, at the key that names them", async () => {
    expect(await told("missing", "submissions: s\nworkflow: nope.wf.md\nroster: no.csv\n")).toEqual([
      "CLASS_FILE_MISSING:2:11 workflow: file nope.wf.md not found.",
      "CLASS_FILE_MISSING:3:9 roster: file no.csv not found.",
    ]);
  });

  it("values of the wrong kind, with the expected kind", async () => {
    const [budget] = await told("budget", "submissions: s\nbudget: lots\n");
    expect(budget).toBe(
      "CLASS_VALUE:2:9 budget: expected an amount such as $5, or class: $5 and student: $0.20 below it.",
    );
    expect(await told("list", "- a\n- b\n")).toEqual([expect.stringMatching(/^CLASS_VALUE:1:1 the file: /)]);
  });

  it("a path that does not exist, before any other check", async () => {
    expect(await told("nowhere", null)).toEqual([expect.stringMatching(/^CLASS_PATH_MISSING:1:1 .* does not exist\./)]);
  });

  it("treats only a file named class.yaml as a class file, because trust is granted for that name", async () => {
    const at = join(folder, "named");
    await mkdir(at, { recursive: true });
    for (const name of ["class.yaml", "other-class.yaml"])
      await writeFile(join(at, name), "submissions: .\nname: Own\n");
    const described = async (name: string) => {
      const read = await readClassHead(join(at, name));
      return read.ok && read.head.described;
    };
    expect(await described("class.yaml")).toBe(true);
    expect(await described("other-class.yaml")).toBe(false);
  });
});
