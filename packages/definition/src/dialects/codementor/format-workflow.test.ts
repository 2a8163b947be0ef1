import {
  type Condition,
  type Edge,
  initialState,
  type JudgeNeeds,
  type ModelSettings,
  type Node,
  type Operand,
  type Param,
  type Program,
  type Prompt,
} from "@markmill/engine";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { NotExpressible } from "../../not-expressible.ts";
import type { Workspace } from "../../workspace.ts";
import { formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";
import { roleOf } from "./read-document.ts";

/** Random text of all characters that have a meaning in Markdown, mermaid, YAML, entities or our own syntax. */
const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "a",
      "B",
      "1",
      " ",
      "\n",
      "\t",
      "'",
      '"',
      "`",
      "#",
      "&",
      "<",
      ">",
      "\\",
      "\\n",
      "{",
      "}",
      "{{A}}",
      "[",
      "]",
      "(",
      ")",
    ),
    fc.constantFrom(
      "|",
      ";",
      ":",
      ",",
      "=",
      "-->",
      "%%",
      "@{",
      "~~~",
      "```",
      "\n# ",
      "\n## User X",
      "\n!INCLUDE x",
      "\n- ",
      "\n> ",
      "---",
    ),
    fc.constantFrom(
      "#quot;",
      "&amp;",
      "#35;",
      "<br>",
      "Prompt:",
      "file:",
      "and ",
      "ü",
      "😀",
      "\u00a0",
      "\u0085",
      "\u2028",
      "$0",
      "<!--",
    ),
  ),
  maxLength: 12,
});
const trimmed = nasty.map((text) => text.trim());
const filled = trimmed.filter((text) => text !== "");
const path = fc.constantFrom("a.txt", "x/b.md", "deep/er/c.txt", "ü ber.md");
const name = fc.constantFrom("A", "SCORE", "RESULT", "x_1", "ünï", "a-b");

const template: fc.Arbitrary<Operand> = nasty.map((text) => ({ from: "template", text }));
const named: fc.Arbitrary<Operand> = fc
  .oneof(name, filled, fc.constantFrom("User Ask", "System", "https://example.org/?a=b"))
  .filter((text) => !/^(['"]).*\1$/s.test(text) && !text.startsWith("file:"))
  .map((text) => ({ from: "name", name: text }));
const file: fc.Arbitrary<Operand> = path.map((at) => ({ from: "file", path: at }));
const operand = fc.oneof(template, named, file);

const side: fc.Arbitrary<Operand> = fc.oneof(
  name.map((of) => ({ from: "name" as const, name: of })),
  nasty.map((text) => ({ from: "literal" as const, text })),
);
function comparison(lenient: boolean): fc.Arbitrary<Condition> {
  return fc.oneof(
    fc.record({ op: fc.constantFrom("equals" as const, "differs" as const), left: side, right: side }).map((found) => ({
      ...found,
      ...(lenient ? { lenient: true as const } : {}),
    })),
    fc.record({
      op: fc.constantFrom("contains" as const, "greater" as const, "lessEqual" as const),
      left: side,
      right: side,
    }),
    fc.record({ op: fc.constant("empty" as const), left: side }),
    fc.record({ op: fc.constant("in" as const), left: side, of: fc.array(side, { minLength: 1, maxLength: 3 }) }),
  );
}
const condition: fc.Arbitrary<Condition> = fc.boolean().chain((lenient) =>
  fc.oneof(
    comparison(lenient),
    comparison(lenient).map((of) => ({ op: "not" as const, of })),
    fc.record({
      op: fc.constantFrom("and" as const, "or" as const),
      of: fc.array(comparison(lenient), { minLength: 2, maxLength: 3 }),
    }),
  ),
);

const settings: fc.Arbitrary<ModelSettings> = fc.record(
  {
    model: filled.filter((text) => !text.includes("|")),
    temperature: fc.constantFrom(0, 1e-7, 0.25, 1, 2),
    topP: fc.constantFrom(0, 0.5, 1),
    frequencyPenalty: fc.constantFrom(-2, 0.5),
    maxOutputTokens: fc.integer({ min: 1, max: 1e6 }),
    maxPromptCharacters: fc.integer({ min: 1, max: 1e6 }),
    cutReplies: fc.constantFrom("keep" as const, "fail" as const),
    stop: fc.array(fc.constantFrom("END", "a b", "#", "\n", ""), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);
const label = fc.option(filled, { nil: undefined }).map((text) => (text === undefined ? {} : { label: text }));

const nodes: { readonly [prefix: string]: fc.Arbitrary<Node> } = {
  SET: fc.record({
    kind: fc.constant("set" as const),
    target: fc.oneof(
      name.map((of) => ({ to: "variable" as const, name: of })),
      path.map((at) => ({ to: "file" as const, path: at })),
    ),
    value: operand,
  }),
  ASSIGN: fc.record({ kind: fc.constant("assign" as const), value: operand }),
  CHECK: fc.record({ kind: fc.constant("check" as const), condition }),
  PROMPT: fc
    .tuple(
      operand,
      fc.option(fc.constantFrom("Reviewer", "a b"), { nil: undefined }),
      fc.option(settings, { nil: undefined }),
    )
    .map(([text, agent, own]): Node => {
      const has = own !== undefined && Object.keys(own).length > 0;
      return { kind: "prompt", text, ...(agent === undefined ? {} : { agent }), ...(has ? { settings: own } : {}) };
    }),
  EXECUTE: fc
    .record(
      {
        kind: fc.constant("execute" as const),
        command: fc.option<string>(filled),
        nonZero: fc.constantFrom("ok" as const, "fail" as const),
        repeat: fc.constantFrom("safe" as const, "never" as const),
        clean: fc.constant(true as const),
      },
      { requiredKeys: ["kind", "command", "nonZero", "repeat"] },
    )
    .chain((made) =>
      fc.boolean().map((judged) => (judged && made.command !== null ? { ...made, session: "judge" as const } : made)),
    ),
  ASK: fc.record(
    { kind: fc.constant("ask" as const), question: trimmed, timeoutMs: fc.nat(1e9), otherwise: nasty },
    { requiredKeys: ["kind", "question"] },
  ),
  CALL: path.map((program) => ({ kind: "call" as const, program })),
  SUCCESS: label.map((words) => ({ kind: "end" as const, outcome: "success" as const, ...words })),
  FAILED: label.map((words) => ({ kind: "end" as const, outcome: "failed" as const, ...words })),
};

const node: fc.Arbitrary<[string, Node]> = fc
  .tuple(fc.constantFrom(...Object.keys(nodes)), fc.nat(9))
  .chain(([prefix, number]) =>
    (nodes[prefix] ?? fc.constant(null as never)).map((made): [string, Node] => [`${prefix}_${number}`, made]),
  );

/** The teacher's files in `workspace`, as the loader returns them. */
const judgeFiles = { tests: ["tests/check.sh", "tests/data/in.txt"], "x/lib.py": ["x/lib.py"] } as const;
const judge: fc.Arbitrary<JudgeNeeds | undefined> = fc.option(
  fc
    .record({
      from: fc.subarray(Object.keys(judgeFiles) as (keyof typeof judgeFiles)[]),
      of: fc.constantFrom("submission" as const, "workspace" as const),
      needs: fc.record(
        { image: filled, memoryBytes: fc.nat(), wallMs: fc.nat(1e9), cpus: fc.constantFrom(0.5, 2) },
        { requiredKeys: [] },
      ),
    })
    .map(({ from, of, needs }) => ({
      ...needs,
      of,
      from,
      files: Object.fromEntries(
        from
          .flatMap((one) => judgeFiles[one].map((path) => [path.replace(/^(tests|x)\//, ""), btoa(path)] as const))
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    })),
  { nil: undefined },
);

const promptText = trimmed;
const prompts: fc.Arbitrary<Record<string, Prompt>> = fc
  .dictionary(
    fc
      .tuple(
        fc.constantFrom("User", "System", "Assistant", "user"),
        fc.constantFrom("", " Ask", " A-B c", " #", " # x #", "-x"),
      )
      .map((parts) => parts.join("")),
    promptText,
    { maxKeys: 4 },
  )
  .map((texts) =>
    Object.fromEntries(Object.entries(texts).map(([id, text]) => [id, { role: roleOf(id) ?? "user", text }])),
  );

const params: fc.Arbitrary<Param[]> = fc.uniqueArray(
  fc.record({ name: name.filter((one) => one !== "RESULT"), default: fc.option(nasty) }),
  {
    selector: (param) => param.name,
    maxLength: 4,
  },
);

const whole: fc.Arbitrary<Program> = fc
  .record({
    name: fc.oneof(nasty, fc.constantFrom("Workflow", "prompts", "", "Title #", "a")),
    description: fc.oneof(nasty, trimmed),
    params,
    prompts,
    nodes: fc.uniqueArray(node, { selector: ([id]) => id, maxLength: 8 }),
    links: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { maxLength: 12 }),
    handlers: fc.tuple(fc.boolean(), fc.boolean()),
    start: label,
    agents: fc.dictionary(fc.constantFrom("Reviewer", "a b", "ü"), settings, { maxKeys: 2 }),
    settings,
    judge,
    limits: fc.record(
      {
        hits: fc.integer({ min: 1, max: 99 }),
        steps: fc.integer({ min: 1, max: 9999 }),
        depth: fc.nat(50),
        nanodollars: fc.nat(1e12),
        tokens: fc.integer({ min: 1, max: 1e9 }),
        characters: fc.integer({ min: 1, max: 1e9 }),
        timeMs: fc.nat(1e10),
      },
      { requiredKeys: [] },
    ),
    sandbox: fc.record(
      {
        image: filled,
        memoryBytes: fc.nat(),
        wallMs: fc.nat(1e9),
        cpus: fc.constantFrom(0.5, 2),
        deny: fc.array(nasty),
        checkpoint: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    waiting: fc.record({ trouble: fc.constantFrom("wait", "edge"), patienceMs: fc.nat(1e9) }, { requiredKeys: [] }),
  })
  .map(({ nodes: made, links, handlers, start, limits, waiting, judge: judged, ...rest }): Program => {
    const [success, failed] = handlers;
    const all: [string, Node][] = [["START", { kind: "start", ...start }], ...made];
    if (success) all.push(["ON_SUCCESS", { kind: "start" }]);
    if (failed) all.push(["ON_FAILED", { kind: "start" }]);
    const sources = all.filter(([, { kind }]) => kind !== "end").map(([id]) => id);
    const targets = made.map(([id]) => id);
    const edges = new Map<string, Edge>();
    for (const [from, to, ok] of targets.length === 0 ? [] : links) {
      const edge = {
        from: sources[from % sources.length] ?? "",
        to: targets[to % targets.length] ?? "",
        on: ok ? "ok" : "fail",
      };
      edges.set(`${edge.from} ${edge.on}`, edge);
    }
    return {
      form: 1,
      dialect: "codementor",
      ...rest,
      ...waiting,
      ...(judged === undefined ? {} : { judge: judged }),
      nodes: Object.fromEntries(all),
      edges: [...edges.values()],
      entry: ["START"],
      handlers: { success: success ? "ON_SUCCESS" : null, failed: failed ? "ON_FAILED" : null },
      limits: { ...initialState.limits, ...limits },
      scheduling: "eager",
      lists: {},
      result: { take: "RESULT" },
      files: {},
    };
  });

/** Files that the workflow reads come with the submission. The judge's files are here. */
const onShelf: readonly string[] = Object.values(judgeFiles).flat();
const workspace: Workspace = {
  read: (at) => (onShelf.includes(at) ? new TextEncoder().encode(at) : undefined),
  tree: (folder) => ({ files: onShelf.filter((at) => at.startsWith(`${folder}/`)), leftOut: [] }),
};

describe("formatWorkflow", () => {
  // The test runs in parts, each with its own time limit, because 5,000 programs need a minute on a busy machine.
  it.each([1, 2, 3, 4, 5])("writes a definition that is read back as the same program (part %i)", () => {
    fc.assert(
      fc.property(whole, (program) => {
        const text = formatWorkflow(program);
        const { program: again, findings } = parseWorkflow(text, "w.wf.md", workspace);
        if (again === null)
          throw new Error(`${JSON.stringify(findings.filter(({ severity }) => severity === "error"))}\n${text}`);
        expect(again).toEqual(program);
      }),
      { numRuns: inject("thorough") ? 1_000 : 100 },
    );
  });

  it("formats a formatted definition to the same text", () => {
    fc.assert(
      fc.property(whole, (program) => {
        const text = formatWorkflow(program);
        const again = parseWorkflow(text, "w.wf.md", workspace).program;
        expect(again === null ? null : formatWorkflow(again)).toBe(text);
      }),
      { numRuns: inject("thorough") ? 300 : 30 },
    );
  });

  it("keeps paths valid if the file is in a folder", () => {
    const source =
      '# T\n# Workflow\n```mermaid\nflowchart TD\nSTART --> CALL_A[[../b.wf.md]] --> PROMPT_B["Prompt: file:/c.txt"]\n```\n';
    const shelf: Workspace = {
      read: (at) => (at === "b.wf.md" || at === "c.txt" ? new Uint8Array([0x61]) : undefined),
    };
    const { program } = parseWorkflow(source, "units/a.wf.md", shelf);
    expect(program?.nodes).toMatchObject({
      CALL_A: { program: "b.wf.md" },
      PROMPT_B: { text: { from: "file", path: "c.txt" } },
    });
    if (program === null) return;
    expect(parseWorkflow(formatWorkflow(program, { file: "units/a.wf.md" }), "units/a.wf.md", shelf).program).toEqual(
      program,
    );
  });

  it("refuses parts that only other dialects have", () => {
    const { program } = parseWorkflow("# T\n# Workflow\n```mermaid\nflowchart TD\nSTART --> SUCCESS\n```\n", "w.wf.md");
    if (program === null) throw new Error("does not parse");
    const foreign: Node[] = [
      { kind: "join" },
      { kind: "tool", tool: "x", arguments: { from: "literal", text: "" } },
      { kind: "assign", value: { from: "pop", list: "x" } },
      { kind: "check", condition: { op: "hits", node: "START", is: "less", count: 3 } },
      { kind: "prompt", text: { from: "name", name: "A" }, fresh: true },
    ];
    for (const made of foreign)
      expect(() => formatWorkflow({ ...program, nodes: { ...program.nodes, CHECK_X: made } })).toThrow(NotExpressible);
  });
});
