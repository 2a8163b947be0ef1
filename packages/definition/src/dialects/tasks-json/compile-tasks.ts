/** Compiles a parsed file of tasks to a program. */
import { type Edge, initialState, type MemoryNeeds, type Node, type Program, type ResultRule } from "@markmill/engine";
import { checkFlow } from "../../check-flow.ts";
import type { Place } from "../../finding.ts";
import type { FindingReport } from "../../finding-codes.ts";
import { Report } from "../../report.ts";
import type { SourceMap } from "../../source-map.ts";
import { operandOf } from "./compile-source.ts";
import { type Chain, compileTask } from "./compile-task.ts";
import { type Destination, endId, type Flow, flowOf } from "./flow-of-tasks.ts";
import type { Reading } from "./json-fields.ts";
import { variableOf } from "./memory-names.ts";
import type { MemoryWishes, StepCondition, TaskFile } from "./task-file.ts";
import { toolsOf } from "./tools-of-file.ts";

export interface Compiled {
  readonly program: Program;
  readonly sources: SourceMap;
}

/** null: the flow has no beginning. */
export function compileTasks(file: TaskFile, reading: Reading): Compiled | null {
  const flow = flowOf(file, reading);
  if (flow === null) return null;
  const tools = toolsOf(file, reading);
  const ids = new Set([...file.tasks.map(({ id }) => id), endId]);
  const nodeName = (wish: string): string => {
    let name = wish;
    while (ids.has(name)) name += "'";
    ids.add(name);
    return name;
  };
  const context = { reading, keepBraces: file.keepBraces, tools, nodeName };
  const chains = new Map<string, Chain>();
  for (const { task, step } of flow.running) {
    if (step.condition !== null) checkExpected(step.condition, reading);
    chains.set(task.id, compileTask(task, step.condition, context));
  }
  const graph = connect(flow, chains, reading);
  const known = tools.all();
  const program: Program = {
    form: 1,
    dialect: "tasks",
    revision: file.revision,
    name: file.name,
    description: file.description,
    params: file.cache.map(({ key, text }) => ({ name: variableOf(key), default: text })),
    prompts: {},
    nodes: graph.nodes,
    edges: graph.edges,
    entry: [graph.entry],
    handlers: { success: null, failed: null },
    agents: {},
    settings: {
      ...(file.model === null ? {} : { model: file.model }),
      ...(file.maxTokens === null ? {} : { maxOutputTokens: file.maxTokens }),
    },
    sandbox: {},
    // One hit more than steps, so that max_steps ends a loop and is the reported reason.
    limits: {
      ...initialState.limits,
      hits: file.maxSteps + 1,
      steps: file.maxSteps,
      timeMs: file.maxSeconds * 1000,
    },
    submission: "none",
    // A fallback is the author's choice for a model that is unavailable. Without any fallback, the run waits for the model.
    ...(file.steps.some(({ fallback }) => fallback !== null) ? { trouble: "edge" as const } : {}),
    scheduling: "eager",
    lists: Object.fromEntries(file.stacks.map(({ key, items }) => [key, items])),
    result: resultOf(file),
    ...(known === null ? {} : { tools: known }),
    ...memoryOf(file.memory),
    files: {},
  };
  const params = Object.fromEntries(file.cache.map(({ key, at }) => [variableOf(key), reading.placeOf(at)]));
  const sources: SourceMap = { ...graph.places, prompts: {}, params };
  tellFlow(program, sources, reading);
  return { program, sources };
}

const numeric = /^\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$/;

function checkExpected({ expression, expected, at }: StepCondition, reading: Reading): void {
  if (!/^(?:Greater|Less)/.test(expression) || numeric.test(expected)) return;
  const message = `${expression} compares numbers, but '${expected.slice(0, 60)}' is not a number, so the condition always fails.`;
  reading.report.warn("CONDITION_NEVER_DECIDED", reading.placeOf(at), message, 'Write a number in quotes, as "19".');
}

function connect(flow: Flow, chains: ReadonlyMap<string, Chain>, reading: Reading) {
  const nodes: [string, Node][] = [];
  const places: [string, Place][] = [];
  const edges: Edge[] = [];
  const edgePlaces: Place[] = [];
  const ends = new Set<string>();
  const reach = (destination: Destination): string => {
    if (destination.to === "task") return chains.get(destination.id)?.nodes[0]?.id ?? destination.id;
    ends.add(destination.id);
    return destination.id;
  };
  const entry = reach(flow.entry);
  for (const { task, step } of flow.running) {
    const chain = chains.get(task.id);
    if (chain === undefined) continue;
    const at = reading.placeOf(step.at);
    const join = (edge: Edge) => {
      edges.push(edge);
      edgePlaces.push(at);
    };
    const to = reach(flow.destination(step.target));
    const otherwise = step.condition === null ? null : reach(flow.destination(step.condition.targetIfNot));
    const fallback = step.fallback === null ? null : reach(flow.destination(step.fallback));
    chain.nodes.forEach(({ id, node }, index) => {
      nodes.push([id, node]);
      places.push([id, reading.placeOf(task.at)]);
      const next = chain.nodes[index + 1];
      if (next !== undefined) join({ from: id, to: next.id, on: "ok" });
      else if (otherwise === null) join({ from: id, to, on: "ok" });
      else if (chain.decides.by === "label") {
        join({ from: id, to, on: "true" });
        join({ from: id, to: otherwise, on: "false" });
      } else {
        join({ from: id, to, on: "ok", ...(chain.decides.by === "condition" ? { when: chain.decides.when } : {}) });
        join({ from: id, to: otherwise, on: "ok" });
      }
      if (fallback !== null) join({ from: id, to: fallback, on: "fail" });
    });
  }
  for (const id of ends) nodes.push([id, { kind: "end", outcome: "success" }]);
  return {
    nodes: Object.fromEntries(nodes),
    edges,
    entry,
    places: { nodes: Object.fromEntries(places), edges: edgePlaces },
  };
}

function resultOf({ returns }: TaskFile): ResultRule {
  if (returns === null) return { take: "RESULT" };
  return {
    take: "operands",
    of: returns.sources.flatMap((source) => (source.type === "search" ? [] : [operandOf(source)])),
    ...(returns.each ? { each: true } : {}),
    json: returns.toJson,
    post: returns.post,
    ...(returns.postAfterJson ? { postJson: true } : {}),
  };
}

function memoryOf({ scope, embedder }: MemoryWishes): { memory?: MemoryNeeds } {
  if (scope === null && embedder === null) return {};
  return {
    memory: {
      ...(scope === null ? {} : { scope }),
      embedder: embedder === null ? { kind: "hash" } : { kind: "model", ...embedder },
    },
  };
}

/** Reports the same findings about the flow as other dialects, in the words of this dialect. */
function tellFlow(program: Program, sources: SourceMap, reading: Reading): void {
  const flow: FindingReport = new Report();
  checkFlow(program, sources, flow);
  const fixes: Readonly<Record<string, string>> = {
    NODE_UNREACHABLE: "Name it as a target, or remove the task and its step.",
    LOOP_WITHOUT_EXIT: "Give one of its steps a condition that leads out; only max_steps ends it now.",
  };
  for (const finding of flow.findings) {
    const message = finding.message.replace("the limit on hits", "max_steps");
    reading.report.add([{ ...finding, message, fix: fixes[finding.code] ?? finding.fix }]);
  }
}
