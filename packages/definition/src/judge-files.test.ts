import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseWorkflow } from "./dialects/codementor/parse-workflow.ts";
import { loadDefinition } from "./load-definition.ts";
import { openWorkspace } from "./open-workspace.ts";
import type { Workspace } from "./workspace.ts";
import { formatProgram } from "./write-program.ts";

const chart =
  '# T\n\n# Workflow\n\n```mermaid\nflowchart TD\nSTART --> EXECUTE_TESTS["Execute: bash /judge/check.sh"]\nEXECUTE_TESTS@{ session: judge }\n```\n';
const workflow = (judge: string, body = chart) => `---\njudge: ${judge}\n---\n${body}`;

function shelf(files: Record<string, string>): Workspace {
  return {
    read: (path) => (Object.hasOwn(files, path) ? new TextEncoder().encode(files[path]) : undefined),
    list: () => Object.keys(files),
  };
}
const load = (files: Record<string, string>, path = "a.wf.md") => {
  const { definition, findings } = loadDefinition(shelf(files), path);
  const judge = definition?.programs[path]?.judge;
  const texts = Object.fromEntries(
    Object.entries(judge?.files ?? {}).map(([name, base64]) => [name, Buffer.from(base64, "base64").toString()]),
  );
  return { definition, judge, texts, codes: findings.map(({ code, severity }) => `${severity} ${code}`), findings };
};

describe("judge in the front matter", () => {
  it("puts a folder's files at the top of /judge, and single files under their own names", () => {
    const { judge, texts, codes } = load(
      {
        "units/a.wf.md": workflow("{ files: [tests, ../shared/lib.py], memory: 64m, wall: 10s, of: workspace }"),
        "units/tests/check.sh": "one",
        "units/tests/data/in.txt": "two",
        "shared/lib.py": "three",
        "shared/other.py": "no",
      },
      "units/a.wf.md",
    );
    expect(codes).toEqual([]);
    expect(texts).toEqual({ "check.sh": "one", "data/in.txt": "two", "lib.py": "three" });
    expect(judge).toMatchObject({
      from: ["units/tests", "shared/lib.py"],
      of: "workspace",
      memoryBytes: 64 * 1024 * 1024,
      wallMs: 10_000,
    });
  });

  it("accepts an autograder, as a folder or a zip, beside other files, and formats it unchanged", () => {
    const folder = {
      "a.wf.md": workflow("{ files: tests, autograder: { from: hw, setup: skip } }"),
      "tests/check.sh": "one",
      "hw/run_autograder": "two",
      "hw/lib/setup.sh": "three",
    };
    const { judge, texts, codes, definition } = load(folder);
    expect(codes).toEqual([]);
    expect(texts).toEqual({
      "check.sh": "one",
      "autograder/run_autograder": "two",
      "autograder/lib/setup.sh": "three",
    });
    expect(judge).toMatchObject({ from: ["tests"], autograder: { from: "hw", setup: "skip" } });
    expect(definition?.files.map(({ path }) => path)).toContain("hw/run_autograder");
    const program = definition?.programs["a.wf.md"];
    if (program === undefined) throw new Error("no program");
    const again = load({ ...folder, "a.wf.md": formatProgram(program, { file: "a.wf.md" }) });
    expect(again.judge).toEqual(judge);

    const zip = `run_autograder PK\u0005\u0006${"\0".repeat(18)}`;
    const zipped = load({ "a.wf.md": workflow("{ autograder: hw.zip }"), "hw.zip": zip });
    expect(zipped.judge).toMatchObject({ from: [], autograder: { from: "hw.zip", setup: "run" } });
    expect(zipped.texts).toEqual({ "autograder.zip": zip });
  });

  it.each([
    ["{ autograder: hw }", { "hw/setup.sh": "x" }, "error JUDGE_AUTOGRADER"],
    ["{ autograder: hw.zip }", { "hw.zip": "run_autograder, and no zip" }, "error JUDGE_AUTOGRADER"],
    ["{ autograder: hw.zip }", { "hw.zip": `autograder PK\u0005\u0006${"\0".repeat(18)}` }, "error JUDGE_AUTOGRADER"],
    ["{ autograder: hw.tar }", { "hw.tar": "x" }, "error JUDGE_AUTOGRADER"],
    ["{ autograder: gone }", {}, "error JUDGE_FILE_MISSING"],
  ])("refuses as an autograder: %s", (judge, files, code) => {
    expect(load({ "a.wf.md": workflow(judge), ...files }).codes).toEqual([code]);
  });

  it("is part of the definition's hash, and does not change the rest of the program", () => {
    const files = { "a.wf.md": workflow("{ files: tests }"), "tests/check.sh": "one" };
    const first = load(files);
    expect(first.definition?.files.map(({ path }) => path)).toEqual(["a.wf.md", "tests/check.sh"]);
    expect(load({ ...files, "tests/check.sh": "two" }).definition?.hash).not.toBe(first.definition?.hash);
    expect(first.definition?.programs["a.wf.md"]?.files).toEqual({});
  });

  it.each([
    ["missing", "{ files: test }", "error JUDGE_FILE_MISSING"],
    ["outside", "{ files: ../../x }", "error JUDGE_FILE_OUTSIDE"],
    ["hidden", "{ files: .env }", "error JUDGE_FILE_HIDDEN"],
    ["in a hidden folder", "{ files: .git/config }", "error JUDGE_FILE_HIDDEN"],
    ["a key", "{ files: server.key }", "error JUDGE_FILE_HIDDEN"],
    ["two of one name", "{ files: [tests, more] }", "error JUDGE_FILE_TWICE"],
    ["a folder with a hidden file", "{ files: partly }", "warning JUDGE_FILE_HIDDEN"],
    ["an unknown setting", "{ file: tests }", "error FRONT_MATTER_KEY"],
  ])("reports files that are %s", (_, judge, code) => {
    const { codes } = load({
      "a.wf.md": workflow(judge),
      "tests/check.sh": "one",
      "more/check.sh": "two",
      "partly/check.sh": "three",
      "partly/.env": "KEY=1",
      ".env": "KEY=1",
      ".git/config": "x",
      "server.key": "x",
    });
    expect(codes).toEqual([code]);
  });

  it("refuses too many or too large files", () => {
    const many = Object.fromEntries(Array.from({ length: 2001 }, (_, index) => [`tests/${index}`, "x"]));
    expect(load({ "a.wf.md": workflow("{ files: tests }"), ...many }).codes).toEqual(["error JUDGE_FILES_TOO_MANY"]);
    const large = { "tests/large": "x".repeat(4 * 1024 * 1024 + 1) };
    expect(load({ "a.wf.md": workflow("{ files: tests }"), ...large }).codes).toEqual(["error JUDGE_FILES_TOO_MANY"]);
  });

  it("causes a warning if no node uses it, and is not needed for a judge session", () => {
    const plain = chart.replace("EXECUTE_TESTS@{ session: judge }\n", "");
    expect(load({ "a.wf.md": workflow("{}", plain) }).codes).toEqual(["warning JUDGE_UNUSED"]);
    const { definition, codes } = load({ "a.wf.md": chart });
    expect(codes).toEqual([]);
    expect(definition?.programs["a.wf.md"]?.nodes.EXECUTE_TESTS).toMatchObject({ session: "judge" });
    expect(definition?.programs["a.wf.md"]?.judge).toBeUndefined();
  });

  it("never runs commands of a reply", () => {
    const { codes } = load({ "a.wf.md": chart.replace("Execute: bash /judge/check.sh", "Execute:") });
    expect(codes).toEqual(["error JUDGE_FROM_REPLY"]);
  });

  it("is the same after it is formatted and read again", () => {
    const files = shelf({ "tests/check.sh": "one", "units/lib.py": "two" });
    for (const judge of [
      "{}",
      "{ files: [/tests, lib.py], cpus: 0.5, image: x }",
      "{ files: /tests, of: workspace }",
    ]) {
      const { program } = parseWorkflow(workflow(judge), "units/a.wf.md", files);
      if (program === null) throw new Error(judge);
      expect(parseWorkflow(formatProgram(program, { file: "units/a.wf.md" }), "units/a.wf.md", files).program).toEqual(
        program,
      );
    }
  });
});

describe("judge files on disk", () => {
  const root = mkdtempSync(join(tmpdir(), "markmill-judge-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("links are not followed, and bytes that are not text are kept", () => {
    mkdirSync(join(root, "tests/data"), { recursive: true });
    writeFileSync(join(root, "a.wf.md"), workflow("{ files: tests }"));
    writeFileSync(join(root, "secret.txt"), "secret");
    writeFileSync(join(root, "tests/data/image.bin"), Buffer.from([0, 255, 128]));
    writeFileSync(join(root, "tests/.hidden"), "hidden");
    symlinkSync(join(root, "secret.txt"), join(root, "tests/link.txt"));
    symlinkSync("/etc", join(root, "tests/etc"));
    const { definition, findings } = loadDefinition(openWorkspace(root), "a.wf.md");
    expect(findings.map(({ code }) => code)).toEqual(["JUDGE_FILE_HIDDEN"]);
    expect(definition?.programs["a.wf.md"]?.judge?.files).toEqual({
      "data/image.bin": Buffer.from([0, 255, 128]).toString("base64"),
    });
  });
});
