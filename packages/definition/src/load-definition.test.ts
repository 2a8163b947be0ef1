import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_FILE_BYTES } from "./decode-source.ts";
import { hashDefinition } from "./hash-definition.ts";
import { loadDefinition } from "./load-definition.ts";
import type { Workspace } from "./workspace.ts";
import { formatProgram } from "./write-program.ts";

function shelf(files: Record<string, string | Uint8Array>): Workspace {
  return {
    read: (path) => {
      const content = Object.hasOwn(files, path) ? files[path] : undefined;
      return typeof content === "string" ? new TextEncoder().encode(content) : content;
    },
    list: () => Object.keys(files),
  };
}
const chart = (body: string, rest = "") => `# T\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${body}\n\`\`\`\n${rest}`;
const codes = (files: Record<string, string | Uint8Array>, path = "a.wf.md", environment: string[] = []) =>
  loadDefinition(shelf(files), path, { environment }).findings.map(({ code }) => code);

describe("a definition that is too large", () => {
  it("is a finding if many workflows each contain the same long file", () => {
    const long = "x".repeat(4 * 1024 * 1024);
    const reads = (to: string) => chart(`START --> PROMPT_C["Prompt: file:c.txt"] --> ${to}`);
    const many = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [
        index === 0 ? "a.wf.md" : `w${index}.wf.md`,
        reads(index === 11 ? "SUCCESS" : `CALL_N[[w${index + 1}.wf.md]]`),
      ]),
    );
    expect(codes({ ...many, "c.txt": long })).toEqual(["DEFINITION_TOO_LARGE"]);
    expect(codes({ ...many, "c.txt": "short" })).toEqual([]);
  });
});

describe("the hash of a definition", () => {
  const files = {
    "a.wf.md": chart('START --> CALL_B[[b.wf.md]] --> PROMPT_C["Prompt: file:c.txt"]', "\n!INCLUDE d.md\n"),
    "b.wf.md": chart("START --> SUCCESS"),
    "c.txt": "c",
    "d.md": "d",
    "e.txt": "not used",
  };
  const hash = (changed: Partial<typeof files> = {}) =>
    loadDefinition(shelf({ ...files, ...changed }), "a.wf.md").definition?.hash;

  it("covers all files that are included, called or read, and no other", () => {
    const first = hash();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(hash()).toBe(first);
    expect(hash({ "e.txt": "changed" })).toBe(first);
    for (const path of ["a.wf.md", "b.wf.md", "c.txt", "d.md"] as const)
      expect(hash({ [path]: `${files[path]}\n` })).not.toBe(first);
  });

  it("differs for two workflows that call each other and so consist of the same files", () => {
    const pair = {
      "a.wf.md": chart("START --> CHECK_A{RESULT == x} -->|FALSE| CALL_B[[b.wf.md]]"),
      "b.wf.md": chart("START --> CHECK_B{RESULT == x} -->|FALSE| CALL_A[[a.wf.md]]"),
    };
    const [a, b] = ["a.wf.md", "b.wf.md"].map((root) => loadDefinition(shelf(pair), root).definition);
    expect(a?.files).toEqual(b?.files);
    expect(a?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(a?.hash).not.toBe(b?.hash);
  });

  it("covers the compiled programs, so that two compilers never use one hash for different programs", () => {
    const { definition } = loadDefinition(shelf(files), "a.wf.md");
    if (definition === null) throw new Error("no definition");
    const { root, files: sources, programs } = definition;
    expect(hashDefinition(root, sources, programs)).toBe(definition.hash);
    expect(hashDefinition(root, sources.toReversed(), Object.fromEntries(Object.entries(programs).toReversed()))).toBe(
      definition.hash,
    );
    const [path = "", program] = Object.entries(programs)[1] ?? [];
    if (program === undefined) throw new Error("no program");
    const other = { ...programs, [path]: { ...program, limits: { ...program.limits, hits: program.limits.hits + 1 } } };
    expect(hashDefinition(root, sources, other)).not.toBe(definition.hash);
  });

  it("the definition lists the files with their content hashes, sorted", () => {
    const { definition } = loadDefinition(shelf(files), "a.wf.md");
    expect(definition?.files.map(({ path }) => path)).toEqual(["a.wf.md", "b.wf.md", "c.txt", "d.md"]);
    expect(definition?.files[2]).toEqual({
      path: "c.txt",
      sha256: createHash("sha256").update("c").digest("hex"),
      bytes: 1,
    });
  });

  it("each file is read once, so that an edit in between cannot separate hash and program", () => {
    const reads: string[] = [];
    const workspace = shelf(files);
    const read = (path: string) => {
      reads.push(path);
      return workspace.read(path);
    };
    loadDefinition({ read }, "a.wf.md");
    expect(reads.length).toBe(new Set(reads).size);
  });
});

describe("places in the source", () => {
  it("are known for nodes, edges, prompts and parameters", () => {
    const files = {
      "a.wf.md": chart('PARAMS["A, B=1"]\nSTART --> PROMPT_X[Prompt: User X]', "# Prompts\n## User X\n{{A}}{{B}}\n"),
    };
    expect(loadDefinition(shelf(files), "a.wf.md").definition?.sources["a.wf.md"]).toEqual({
      nodes: { START: { file: "a.wf.md", line: 8, column: 1 }, PROMPT_X: { file: "a.wf.md", line: 8, column: 11 } },
      edges: [{ file: "a.wf.md", line: 8, column: 7 }],
      prompts: { "User X": { file: "a.wf.md", line: 11, column: 1 } },
      params: { A: { file: "a.wf.md", line: 7, column: 9 }, B: { file: "a.wf.md", line: 7, column: 12 } },
    });
  });
});

describe("input that is not a workflow", () => {
  it.each([
    ["a missing file", {}, ["FILE_MISSING"]],
    ["an empty file", { "a.wf.md": "" }, ["FILE_EMPTY"]],
    ["a byte order mark alone", { "a.wf.md": "\ufeff" }, ["FILE_EMPTY"]],
    ["invalid UTF-8", { "a.wf.md": new Uint8Array([0x23, 0x20, 0xc3, 0x28]) }, ["NOT_UTF8"]],
    ["NUL", { "a.wf.md": "# T\0" }, ["NUL_CHARACTER"]],
    ["a file over the cap", { "a.wf.md": new Uint8Array(MAX_FILE_BYTES + 1).fill(0x61) }, ["FILE_TOO_LARGE"]],
    ["text without a flowchart", { "a.wf.md": "# T\n" }, ["NO_FLOWCHART"]],
    ["a flowchart without nodes", { "a.wf.md": chart("") }, ["NO_START"]],
    ["a flowchart of parameters alone", { "a.wf.md": chart('PARAMS["A"]') }, ["NO_START"]],
  ])("refuses %s", (_, files, expected) => {
    expect(codes(files)).toEqual(expected);
  });

  it("refuses a path outside the root", () => {
    expect(codes({}, "../a.wf.md")).toEqual(["FILE_MISSING"]);
  });

  it("a misspelt path gets a suggestion", () => {
    const { findings } = loadDefinition(shelf({ "essay.wf.md": "x" }), "esay.wf.md");
    expect(findings[0]?.fix).toContain("Did you mean essay.wf.md?");
  });
});

describe("unusual but valid input", () => {
  const simple = chart("START --> SUCCESS");
  it("CRLF and a byte order mark do not change the program", () => {
    const text = chart("START --> PROMPT_X[Prompt: User X]", "# Prompts\n## User X\n\none\n\ntwo\n");
    const plain = loadDefinition(shelf({ "a.wf.md": text }), "a.wf.md").definition;
    const odd = loadDefinition(shelf({ "a.wf.md": `\ufeff${text.replaceAll("\n", "\r\n")}` }), "a.wf.md").definition;
    expect(plain?.programs["a.wf.md"]?.prompts["User X"]?.text).toBe("one\n\ntwo");
    expect(odd?.programs).toEqual(plain?.programs);
    expect(odd?.sources).toEqual(plain?.sources);
  });

  it("ten thousand nodes load", () => {
    const body = Array.from({ length: 10_000 }, (_, index) => `SET_${index}["V_${index}='x'"] --> SET_${index + 1}`);
    const files = { "a.wf.md": chart(`START --> SET_0\n${body.join("\n")}\nSET_10000["V='x'"]`) };
    const { definition, findings } = loadDefinition(shelf(files), "a.wf.md");
    expect(findings).toEqual([]);
    expect(Object.keys(definition?.programs["a.wf.md"]?.nodes ?? {})).toHaveLength(10_002);
  });

  it("a prompt of 5 MB loads, with a warning", () => {
    const files = {
      "a.wf.md": chart(
        "START --> PROMPT_X[Prompt: User X]",
        `# Prompts\n## User X\n${"- long line of a list\n".repeat(240_000)}`,
      ),
    };
    const { definition, findings } = loadDefinition(shelf(files), "a.wf.md");
    expect(findings.map(({ code }) => code)).toEqual(["PROMPT_LARGE"]);
    expect(definition?.programs["a.wf.md"]?.prompts["User X"]?.text.length).toBeGreaterThan(5_000_000);
  });

  it("names from the environment, a caller or a callee are known", () => {
    const files = {
      "a.wf.md": chart("START --> SET_X[\"X='1'\"] --> CALL_B[[b.wf.md]] --> PROMPT_Y[\"Prompt: '{{Y}} {{HOME}}'\"]"),
      "b.wf.md": chart('START --> CHECK_X{X == 1} --> SET_Y["Y=X"]'),
    };
    expect(codes(files, "a.wf.md", ["HOME"])).toEqual([]);
    expect(codes(files)).toEqual(["VARIABLE_UNKNOWN"]);
  });

  it("names in prompts of the front matter are checked, too", () => {
    const matter = '---\nprompts: { "User X": "{{NOBODY}}" }\n---\n';
    expect(codes({ "a.wf.md": matter + chart("START --> PROMPT_X[Prompt: User X]") })).toEqual(["VARIABLE_UNKNOWN"]);
  });

  it("a cycle of calls with an exit is a warning, and one without an exit is an error", () => {
    const guarded = chart(
      "START --> CHECK_A{RESULT == x}\nCHECK_A -->|TRUE| CALL_B[[b.wf.md]]\nCHECK_A -->|FALSE| SUCCESS",
    );
    const plain = chart("START --> CALL_A[[a.wf.md]]");
    expect(codes({ "a.wf.md": guarded, "b.wf.md": plain })).toEqual(["CALL_CYCLE"]);
    expect(codes({ "a.wf.md": plain })).toEqual(["CALL_ENDLESS"]);
    expect(codes({ "a.wf.md": chart("START --> CALL_B[[b.wf.md]]"), "b.wf.md": plain })).toEqual(["CALL_ENDLESS"]);
    expect(codes({ "a.wf.md": simple })).toEqual([]);
  });

  it("a cycle of includes through other files is reported with its chain", () => {
    const files = {
      "a.wf.md": `${simple}\n!INCLUDE x/b.md\n`,
      "x/b.md": "!INCLUDE c.md",
      "x/c.md": "text\n!INCLUDE ../x/b.md",
    };
    const { findings } = loadDefinition(shelf(files), "a.wf.md");
    expect(findings.map(({ code, message, at }) => [code, message, at])).toEqual([
      [
        "INCLUDE_CYCLE",
        "The file includes itself: x/b.md -> x/c.md -> x/b.md.",
        { file: "x/c.md", line: 2, column: 10 },
      ],
    ]);
  });

  it("includes that multiply are stopped", () => {
    const files: Record<string, string> = { "a.wf.md": `${simple}\n!INCLUDE l0.md\n` };
    for (let level = 0; level < 19; level++) files[`l${level}.md`] = `!INCLUDE l${level + 1}.md\n`.repeat(10);
    files["l19.md"] = "x";
    expect(codes(files)).toEqual(["INCLUDE_TOO_LARGE"]);
  });

  it("includes that are nested too deep are refused", () => {
    const files: Record<string, string> = { "a.wf.md": `${simple}\n!INCLUDE l0.md\n`, "l30.md": "x" };
    for (let level = 0; level < 30; level++) files[`l${level}.md`] = `!INCLUDE l${level + 1}.md\n`;
    expect(codes(files)).toEqual(["INCLUDE_DEPTH"]);
  });

  it("an open code block in an included file ends with that file", () => {
    const files = {
      "a.wf.md": chart("START --> PROMPT_Y[Prompt: User Y]", "# Prompts\n## User X\n!INCLUDE b.md\n## User Y\ny\n"),
      "b.md": "```\nopen",
    };
    const { definition, findings } = loadDefinition(shelf(files), "a.wf.md");
    expect(findings.map(({ code }) => code)).toEqual(["INCLUDE_OPEN_FENCE"]);
    expect(definition?.programs["a.wf.md"]?.prompts["User Y"]?.text).toBe("y");
  });
});

describe("protected files", () => {
  const secret = { ".env": "OPENAI_API_KEY=hunter2", "units/.env": "hunter2", "tls.pem": "hunter2" };
  const found = (body: string, rest = "", path = "a.wf.md") =>
    loadDefinition(shelf({ ...secret, [path]: chart(body, rest) }), path);

  it.each([
    ['START --> ASSIGN_A["Assign: file:/.env"]', "", "FILE_PROTECTED"],
    ['START --> ASSIGN_A["Assign: file:.env"]', "", "FILE_PROTECTED"],
    ['START --> PROMPT_A["Prompt: file:units/../.env"]', "", "FILE_PROTECTED"],
    ['START --> SET_A["Set: X=file:units/.ENV"]', "", "FILE_PROTECTED"],
    ["START --> CHECK_A{\"Check: file:tls.pem CONTAINS 'x'\"}", "", "FILE_PROTECTED"],
    ["START --> CALL_A[[/.env]]", "", "CALL_PROTECTED"],
    ["START --> SUCCESS", "\n!INCLUDE /.env\n", "INCLUDE_PROTECTED"],
    ["START --> SUCCESS", "\n!INCLUDE ．env\n", "INCLUDE_PROTECTED"],
  ])("%s %s is an error, and no content of the file is used", (body, rest, code) => {
    const { definition, findings } = found(body, rest);
    expect(definition).toBeNull();
    expect(findings.map((finding) => finding.code)).toContain(code);
    expect(JSON.stringify(findings)).not.toContain("hunter2");
  });

  it("a workspace may refuse more files: targets of links, and Markmill's own folder", () => {
    const files = shelf({ "a.wf.md": chart('START --> ASSIGN_A["Assign: file:notes.md"]'), "notes.md": "hunter2" });
    const { findings } = loadDefinition({ ...files, refuses: (path) => path === "notes.md" }, "a.wf.md");
    expect(findings).toMatchObject([{ code: "FILE_PROTECTED", severity: "error" }]);
  });

  it("are not read as workflows", () => {
    expect(found("START --> SUCCESS", "", ".env").findings).toMatchObject([{ code: "FILE_PROTECTED" }]);
  });

  it("a command may write dot-files in its sandbox", () => {
    expect(found("START --> SET_A[\"Set: file:.pylintrc='x'\"]").findings).toEqual([]);
  });
});

describe("a workflow as a tool", () => {
  const offering = (tool: string, body = "START --> PROMPT_A[Prompt: User A]") =>
    `---\ntools: { look: ${tool} }\n---\n${chart(body, "\n# Prompts\n\n## User A\n\na\n")}`;
  const callee = (params: string, body = "START --> SUCCESS") => `${chart(`PARAMS["${params}"]\n${body}`)}`;
  const load = (files: Record<string, string>) => loadDefinition(shelf(files), "a.wf.md");
  const toolOf = (files: Record<string, string>) => load(files).definition?.programs["a.wf.md"]?.tools?.look;

  it("has the callee's parameters except settings, and the author's description or the callee's title", () => {
    const files = {
      "a.wf.md": offering("{ workflow: below/b.wf.md }"),
      "below/b.wf.md": callee("WHAT, HOW=well, MAX_COST=3, AI_MODEL, NOTE="),
    };
    expect(toolOf(files)).toEqual({
      kind: "workflow",
      program: "below/b.wf.md",
      description: "T",
      schema: {
        type: "object",
        properties: {
          WHAT: { type: "string" },
          HOW: { type: "string", description: "Without it: well" },
          NOTE: { type: "string" },
        },
        required: ["WHAT"],
        additionalProperties: false,
      },
    });
    const worded = { ...files, "a.wf.md": offering("{ workflow: below/b.wf.md, description: Looks. }") };
    expect(toolOf(worded)).toMatchObject({ description: "Looks." });
  });

  it("is part of the definition: the hash covers it, and a missing workflow is reported where it is named", () => {
    const files = { "a.wf.md": offering("{ workflow: b.wf.md }"), "b.wf.md": callee("X") };
    const { definition } = load(files);
    expect(Object.keys(definition?.programs ?? {})).toEqual(["a.wf.md", "b.wf.md"]);
    expect(load({ ...files, "b.wf.md": callee("X, Y") }).definition?.hash).not.toBe(definition?.hash);
    const { findings } = load({ "a.wf.md": files["a.wf.md"] });
    expect(findings).toMatchObject([{ code: "CALL_MISSING", at: { file: "a.wf.md", line: 2 } }]);
    expect(codes({ "a.wf.md": offering("{ workflow: ../b.wf.md }") })).toEqual(["CALL_OUTSIDE"]);
    expect(codes({ "a.wf.md": offering("{ workflow: b.wf.md, url: 'https://h/' }") })).toEqual(["FRONT_MATTER_VALUE"]);
  });

  it("may call itself, with a warning, and a model's arguments must not be inserted raw into commands", () => {
    expect(codes({ "a.wf.md": offering("{ workflow: a.wf.md }") })).toEqual(["CALL_CYCLE"]);
    const raw = callee("X", 'START --> EXECUTE_A["Execute: echo {{{X}}}"]');
    expect(codes({ "a.wf.md": offering("{ workflow: b.wf.md }"), "b.wf.md": raw })).toEqual(["COMMAND_RAW"]);
    const called = chart("START --> CALL_B[[b.wf.md]]");
    expect(codes({ "a.wf.md": called, "b.wf.md": raw })).toEqual([]);
  });

  it("is the same after it is formatted and read again", () => {
    const files = { "sub/a.wf.md": offering("{ workflow: b.wf.md }"), "sub/b.wf.md": callee("X") };
    const program = loadDefinition(shelf(files), "sub/a.wf.md").definition?.programs["sub/a.wf.md"];
    if (program === undefined) throw new Error("does not load");
    const again = { ...files, "sub/a.wf.md": formatProgram(program, { file: "sub/a.wf.md" }) };
    expect(loadDefinition(shelf(again), "sub/a.wf.md").definition?.programs["sub/a.wf.md"]).toEqual(program);
  });
});
