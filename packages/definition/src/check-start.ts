/**
 * Checks the requirements of a run before it begins: parameters, the submission, and the files that the run reads. It is pure and applies
 * to every way of starting a run. It checks the whole definition, so the requirements of a called workflow count like those of the root.
 */
import {
  conditionOperands,
  limitSettingNames,
  type Node,
  type Operand,
  type Program,
  placesOf,
  runsCommands,
} from "@markmill/engine";
import { calleesOf } from "./callees-of.ts";
import type { StartFindingCode } from "./finding-codes.ts";
import type { Definition } from "./load-definition.ts";
import { builtInNames, inputName, modelSettings } from "./names.ts";
import { suggest } from "./suggest.ts";

export interface Start {
  readonly variables: Readonly<Record<string, string>>;
  /** Names of environment variables that the run may read. */
  readonly environment?: readonly string[];
  /** Paths of the submission's files; null if there is no submission. */
  readonly submission: Iterable<string> | null;
}

/** error: the run does not start. warning: the run starts, and its record contains the warning. */
export interface StartFinding {
  readonly severity: "error" | "warning";
  readonly code: StartFindingCode;
  readonly message: string;
  readonly fix: string;
}

export function checkStart(definition: Definition, start: Start): StartFinding[] {
  return [...checkParameters(definition, start), ...checkSubmission(definition, start)];
}

/**
 * A given value for these variables would be lost, or mistaken for a result of the run. RESULT may be given, because a run begins with it.
 */
const writtenByRun: ReadonlySet<string> = new Set(["CONTENT", "STATUS", "EXIT_CODE"]);

function checkParameters({ programs, root }: Definition, { variables, environment = [] }: Start): StartFinding[] {
  const findings: StartFinding[] = [];
  const all = Object.values(programs);
  const declared = new Set(all.flatMap(({ params }) => params.map(({ name }) => name)));
  const given = Object.keys(variables);
  for (const { name, default: otherwise } of programs[root]?.params ?? []) {
    if (otherwise !== null || Object.hasOwn(variables, name) || environment.includes(name)) continue;
    const near = suggest(
      name,
      given.filter((other) => !declared.has(other)),
    );
    findings.push({
      severity: "error",
      code: "PARAM_MISSING",
      message: `${name} has no value, and no default.`,
      fix: `${near === null ? "" : `Did you mean ${name} by ${near}? `}Pass the parameter: ${name}=VALUE.`,
    });
  }
  findings.push(...checkInput(programs[root], variables));
  if (given.length === 0) return findings;
  const used = new Set(all.flatMap(namesUsed));
  const settings = [...limitSettingNames, ...Object.keys(modelSettings)];
  const grades = all.some(({ nodes }) => Object.values(nodes).some(({ kind }) => kind === "grade"));
  for (const name of given) {
    if (grades && name === "TEST_RESULTS") {
      findings.push({
        severity: "error",
        code: "PARAM_UNKNOWN",
        message: "TEST_RESULTS contains the test results from the judge session and cannot be passed to a run.",
        fix: "Remove it. The tests of the workflow write it.",
      });
      continue;
    }
    if (writtenByRun.has(name)) {
      findings.push({
        severity: "error",
        code: "PARAM_UNKNOWN",
        message: `${name} cannot be passed, because every run writes it itself.`,
        fix:
          name === "CONTENT"
            ? "Pass RESULT instead (CONTENT is another name for it), or pass a parameter."
            : "Remove it.",
      });
      continue;
    }
    if (name === inputName && !used.has(name)) {
      // A table of inputs may be used for several workflows of tasks, and some of them need no input.
      const isTasks = programs[root]?.dialect === "tasks";
      findings.push({
        severity: isTasks ? "warning" : "error",
        code: isTasks ? "INPUT_UNUSED" : "PARAM_UNKNOWN",
        message: "The workflow has no input.",
        fix: `Remove it${declared.size === 0 ? "" : `; the workflow takes ${[...declared].slice(0, 12).join(", ")}`}.`,
      });
      continue;
    }
    if (declared.has(name) || used.has(name) || settings.includes(name) || builtInNames.has(name)) continue;
    const near = suggest(name, [...declared, ...settings]);
    findings.push({
      severity: "error",
      code: "PARAM_UNKNOWN",
      message: `The workflow has no parameter ${name}.`,
      fix:
        near === null
          ? `It takes ${declared.size === 0 ? "none" : [...declared].slice(0, 12).join(", ")}; a workflow declares what it takes.`
          : `Did you mean ${near}?`,
    });
  }
  return findings;
}

/** The run's input has no default. Only some ways through the flow may need it. */
function checkInput(program: Program | undefined, variables: Start["variables"]): StartFinding[] {
  const needs = program === undefined ? undefined : inputNeeded(program);
  if (needs === undefined || Object.hasOwn(variables, inputName)) return [];
  const message = `'${needs}' needs the run's input, but the run has no input.`;
  return [{ severity: "warning", code: "INPUT_MISSING", message, fix: "Add --input TEXT." }];
}

/** Returns the first node that fails without the run's input. */
export function inputNeeded({ nodes }: Program): string | undefined {
  return Object.keys(nodes).find((id) =>
    nodes[id]?.reads?.some(({ value, required }) => required && value.from === "variable" && value.name === inputName),
  );
}

/** Lists the used names. A name that is used without a declaration counts as a parameter, too. */
export function namesUsed({ prompts, nodes, edges, result }: Program): string[] {
  const texts = Object.values(prompts).map(({ text }) => text);
  const names: string[] = [];
  const operand = (one: Operand) => {
    if (one.from === "template") texts.push(one.text);
    else if (one.from === "name") {
      names.push(one.name);
      texts.push(one.name);
    } else if (one.from === "variable") names.push(one.name);
  };
  for (const node of Object.values(nodes)) {
    if (node.kind === "execute" && node.command !== null) texts.push(node.command);
    for (const one of operandsOf(node)) operand(one);
  }
  for (const { when } of edges) if (when !== undefined) for (const one of conditionOperands(when)) operand(one);
  if (result.take === "operands") for (const one of result.of) operand(one);
  return [...names, ...texts.flatMap((text) => placesOf(text))];
}

function checkSubmission(definition: Definition, { submission }: Start): StartFinding[] {
  const all = Object.values(definition.programs);
  const own = definition.programs[definition.root]?.submission;
  const wish = own ?? (all.some((program) => program.submission === "required") ? "required" : undefined);
  const findings: StartFinding[] = [];
  const name = "--submission PATH";
  if (submission === null && wish === "required") {
    return [
      {
        severity: "error",
        code: "SUBMISSION_REQUIRED",
        message: "The workflow needs a submission, but the run has none.",
        fix: `Add ${name}.`,
      },
    ];
  }
  if (submission !== null && wish === "none") {
    findings.push({
      severity: "warning",
      code: "SUBMISSION_UNUSED",
      message: "The run has a submission, but the workflow forbids one.",
      fix: "Remove it, or correct 'submission' in the workflow.",
    });
  }
  const has = new Set(submission ?? []);
  const missing = unmetOf(definition).filter((path) => !has.has(path));
  if (missing.length > 0) {
    const paths = missing.slice(0, 6).join(", ");
    findings.push({
      severity: submission === null && wish === undefined ? "error" : "warning",
      code: "FILE_NOT_GIVEN",
      message: `The workflow reads ${paths}, which came neither with it nor with ${submission === null ? "a submission" : "the submission"}, and nothing in it writes before.`,
      fix:
        submission === null
          ? `Add ${name}, or say 'submission: optional' in the workflow if it copes without.`
          : "Check the submission. The step that reads the file will fail.",
    });
  }
  if (submission === null && wish === undefined && reachesExecute(definition)) {
    findings.push({
      severity: "warning",
      code: "NO_SUBMISSION",
      message: "The workflow runs commands without a submission. The commands see an empty folder.",
      fix: `Add ${name}; 'submission: required' (or optional, none) in the workflow settles it.`,
    });
  }
  return findings;
}

function reachesExecute({ programs }: Definition): boolean {
  return Object.values(programs).some((program) =>
    Object.values(program.nodes).some((node) => runsCommands(node, program)),
  );
}

/** The files that earlier nodes may have written: these paths, or any path after a command. */
interface Written {
  anything: boolean;
  readonly paths: Set<string>;
}

/** A definition does not change and is started many times, so the result is cached. */
const unmetByDefinition = new WeakMap<Definition, readonly string[]>();

function unmetOf(definition: Definition): readonly string[] {
  const known = unmetByDefinition.get(definition);
  if (known !== undefined) return known;
  const found = unmetReads(definition);
  unmetByDefinition.set(definition, found);
  return found;
}

/** Files that are read before any node can have created them, on at least one way through the flow. */
function unmetReads({ programs, root }: Pick<Definition, "programs" | "root">): string[] {
  const entries = new Map<string, Written>();
  const before = new Map<string, Written>();
  const at = (map: Map<string, Written>, key: string): Written => {
    const found = map.get(key) ?? { anything: false, paths: new Set<string>() };
    map.set(key, found);
    return found;
  };
  let grown = true;
  const add = (to: Written, from: Written) => {
    if (from.anything && !to.anything) {
      to.anything = true;
      grown = true;
    }
    for (const path of from.paths) if (to.paths.size < to.paths.add(path).size) grown = true;
  };
  const reached = reachable(programs, root);
  const writes = new Map<string, Written>();
  while (grown) {
    grown = false;
    for (const file of reached) {
      const program = programs[file];
      if (program === undefined) continue;
      const inside = at(writes, file);
      for (const id of program.entry) add(at(before, `${file}\0${id}`), at(entries, file));
      const pass = (id: string): Written => {
        const node = program.nodes[id];
        const so = at(before, `${file}\0${id}`);
        const after: Written = {
          anything: so.anything || (node !== undefined && runsCommands(node, program)),
          paths: new Set(so.paths),
        };
        if (node?.kind === "set" && node.target.to === "file") after.paths.add(node.target.path);
        for (const called of calleesOf(program, node)) {
          add(at(entries, called), so);
          const callee = at(writes, called);
          after.anything ||= callee.anything;
          for (const path of callee.paths) after.paths.add(path);
        }
        return after;
      };
      for (const id of Object.keys(program.nodes)) {
        const after = pass(id);
        add(inside, after);
        for (const handler of [program.handlers.success, program.handlers.failed])
          if (handler !== null) add(at(before, `${file}\0${handler}`), after);
      }
      for (const { from, to } of program.edges) add(at(before, `${file}\0${to}`), pass(from));
    }
  }
  const unmet = new Set<string>();
  for (const file of reached) {
    const program = programs[file];
    for (const [id, node] of Object.entries(program?.nodes ?? {})) {
      const so = at(before, `${file}\0${id}`);
      if (so.anything) continue;
      for (const operand of operandsOf(node)) {
        if (operand.from !== "file" || Object.hasOwn(program?.files ?? {}, operand.path)) continue;
        if (!so.paths.has(operand.path)) unmet.add(operand.path);
      }
    }
  }
  return [...unmet];
}

function reachable(programs: Definition["programs"], root: string): string[] {
  const files = [root];
  const seen = new Set(files);
  for (const file of files) {
    const program = programs[file];
    for (const node of Object.values(program?.nodes ?? {})) {
      for (const callee of calleesOf(program, node)) {
        if (seen.has(callee)) continue;
        seen.add(callee);
        files.push(callee);
      }
    }
  }
  return files;
}

/** Also lists the operands inside other operands. */
function operandsOf(node: Node): readonly Operand[] {
  const { reads = [], after = [] } = node;
  const found = [...ownOperands(node), ...[...reads, ...after].map(({ value }) => value)];
  for (const operand of found) {
    if (operand.from === "joined" || operand.from === "either") found.push(...operand.of);
    if (operand.from === "sample") found.push(operand.list);
  }
  return found;
}

function ownOperands(node: Node): readonly Operand[] {
  switch (node.kind) {
    case "prompt":
      return [node.text, ...(node.opening ?? []).map(({ text }) => text)];
    case "memory":
      return [node.text];
    case "tool":
      return [node.arguments];
    case "grade":
      return [node.task];
    case "set":
    case "assign":
      return [node.value];
    case "check":
      return conditionOperands(node.condition);
    default:
      return [];
  }
}
