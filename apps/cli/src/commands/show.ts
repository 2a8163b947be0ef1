import { parseArgs } from "node:util";
import { type Definition, describeCondition, drawProgram } from "@markmill/definition";
import type { Edge, JudgeNeeds, Node, Operand, Program } from "@markmill/engine";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { parametersAsJson } from "../definition-as-json.ts";
import { findWorkflow, tellFindings } from "../find-workflow.ts";
import { jsonText } from "../json-text.ts";

export const show: Command = {
  help: `Usage: markmill show FILE [--steps | --json | --mermaid] [--root DIR]

Show the steps of a workflow: its parameters, prompts, limits, the workflows it
calls, and its flow.

  --steps      print only the flow: one line per node with its outgoing edges
  --json       print the definition with all its programs, as the engine runs it
  --mermaid    print the flowchart in Mermaid
  --root DIR   the workflow folder (see 'markmill validate --help')

Examples:
  markmill show grade.wf.md
  markmill show grade.wf.md --steps
  markmill show grade.wf.md --json | jq .hash
  markmill show tides.json --mermaid`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        steps: { type: "boolean" },
        json: { type: "boolean" },
        mermaid: { type: "boolean" },
        root: { type: "string" },
      },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError("Name one workflow file.");
    if ([values.steps, values.json, values.mermaid].filter(Boolean).length > 1) {
      throw new UsageError("Use only one of --steps, --json and --mermaid.");
    }
    const found = findWorkflow(file, terminal.cwd, values.root);
    const { definition } = found;
    const program = definition?.programs[definition.root];
    if (definition === null || program === undefined) {
      for (const text of tellFindings(found)) terminal.err(`${text}\n`);
      return exitCodes.invalid;
    }
    if (values.json) terminal.out(jsonText(asJson(definition)));
    else if (values.mermaid) terminal.out(drawProgram(program)?.lines.join("\n") ?? "");
    else if (values.steps) terminal.out(stepsOf(program).join("\n"));
    else terminal.out(overviewOf(program, definition.hash, Object.keys(definition.programs)).join("\n"));
    return exitCodes.success;
  },
};

/** Shows a definition and its programs in the form of the API. */
function asJson({ hash, dialect, root, programs, files }: Definition) {
  const program = programs[root];
  return {
    hash,
    name: program?.name ?? "",
    dialect,
    root,
    description: program?.description ?? "",
    parameters: parametersAsJson(program),
    programs: Object.keys(programs),
    files: files.map(({ path, bytes }) => ({ path, bytes })),
    compiled: Object.entries(programs).map(([path, one]) => ({ path, program: one })),
  };
}

function overviewOf(program: Program, hash: string, paths: readonly string[]): string[] {
  const lines = [program.name, "=".repeat(Math.min(78, program.name.length))];
  if (program.description !== "") lines.push(program.description.trim(), "");
  lines.push(`Definition  ${hash.slice(0, 12)}`);
  if (program.revision !== undefined) lines.push(`Dialect     ${program.dialect}, revision ${program.revision}`);
  for (const { name, default: otherwise } of program.params) {
    lines.push(`Parameter   ${name}${otherwise === null ? "  (required)" : ` = ${JSON.stringify(otherwise)}`}`);
  }
  for (const [id, { role, text }] of Object.entries(program.prompts)) {
    lines.push(`Prompt      ${id}  (${role}, ${text.length} characters)`);
  }
  for (const path of paths.slice(1)) lines.push(`Calls       ${path}`);
  if (program.judge !== undefined) lines.push(`Judge       ${judgeOf(program.judge)}`);
  const { hits, steps, depth, nanodollars, tokens, timeMs } = program.limits;
  const limits = [`${hits} hits per node`, `${steps} steps`, `${depth} calls deep`];
  if (nanodollars !== null) limits.push(`$${nanodollars / 1e9}`);
  if (tokens !== null) limits.push(`${tokens} tokens`);
  if (timeMs !== null) limits.push(`${timeMs / 1000} s`);
  lines.push(`Limits      ${limits.join(", ")}`, "", ...stepsOf(program));
  return lines;
}

function judgeOf({ from, files, of, image, memoryBytes, wallMs }: JudgeNeeds): string {
  const count = Object.keys(files).length;
  const parts = [
    count === 0 ? "no files" : `${count} ${count === 1 ? "file" : "files"} of ${from.join(", ")}`,
    of === "submission" ? "tests the submission as it was handed in" : "tests the current files",
  ];
  if (image !== undefined) parts.push(`image ${image}`);
  if (memoryBytes !== undefined) parts.push(`${Math.round(memoryBytes / 1024 / 1024)} MB`);
  if (wallMs !== undefined) parts.push(`${wallMs / 1000} s`);
  return parts.join(", ");
}

function stepsOf(program: Program): string[] {
  const ids = Object.keys(program.nodes);
  const width = Math.max(...ids.map((id) => id.length));
  return Object.entries(program.nodes).flatMap(([id, node]) => {
    const out = program.edges.filter((edge) => edge.from === id);
    const arrows = out.map((edge) => `${arrowWords(edge, node)}→ ${edge.to}`).join(", ");
    const words = describe(node);
    return [`${id.padEnd(width)}  ${words}${arrows === "" ? "" : `${words === "" ? "" : "  "}${arrows}`}`.trimEnd()];
  });
}

function arrowWords({ on, when }: Edge, { after: [read] = [] }: Node): string {
  const looked = read === undefined ? null : { name: read.name, words: words(read.value) };
  if (when !== undefined) {
    const condition = describeCondition(when);
    return `if ${short(looked === null ? condition : condition.replace(looked.name, () => looked.words))} `;
  }
  return on === "ok" ? "" : `${on} `;
}

function describe(node: Node): string {
  switch (node.kind) {
    case "start":
    case "join":
      return "";
    case "end":
      return `end, ${node.outcome}`;
    case "prompt":
      return `prompt ${words(node.text)}${node.agent === undefined ? "" : ` @${node.agent}`}`;
    case "grade":
      return `grade ${words(node.task)}${node.agent === undefined ? "" : ` @${node.agent}`}`;
    case "execute": {
      const where = node.session === "judge" ? " in the judge session" : "";
      return node.command === null ? "execute the commands in RESULT" : `execute${where} ${short(node.command)}`;
    }
    case "check":
      return `check ${short(describeCondition(node.condition))}`;
    case "set":
      return `set ${node.target.to === "variable" ? node.target.name : `file:${node.target.path}`} = ${words(node.value)}`;
    case "assign":
      return `assign ${words(node.value)}`;
    case "ask":
      return `ask ${short(node.question)}`;
    case "call":
      return `call ${node.program}`;
    case "memory":
      return `${node.op} ${words(node.text)}`;
    case "tool":
      return `tool ${node.tool}`;
    default:
      return node.kind;
  }
}

function words(operand: Operand): string {
  switch (operand.from) {
    case "name":
    case "read":
      return operand.name;
    case "template":
    case "literal":
      return `'${short(operand.text)}'`;
    case "file":
      return `file:${operand.path}`;
    case "variable":
      return operand.name;
    case "joined":
      return `'${short(operand.of.map(partWords).join(""))}'`;
    case "either":
      return operand.of.map(words).join(" or ");
    case "sample":
      return `one of ${words(operand.list)}`;
    default:
      return `${operand.from} ${operand.list}`;
  }
}

function partWords(operand: Operand): string {
  return operand.from === "literal" ? operand.text : `{${"name" in operand ? operand.name : operand.from}}`;
}

function short(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 48 ? `${line.slice(0, 47)}…` : line;
}
