/**
 * Compiles a task to a chain of nodes: searches for its inputs, the operator, insertions of its outputs, the search of its condition, and a
 * search for similar passages. All nodes except the operator are uncounted, so a task is one step of max_steps.
 */
import type { Condition, Effect, Node, Operand, PromptNode, Read, Role } from "@markmill/engine";
import { operandOf } from "./compile-source.ts";
import { fillMessage } from "./fill-message.ts";
import { type Reading, wrong } from "./json-fields.ts";
import { variableOf } from "./memory-names.ts";
import type { Expression, Source, StepCondition, Task } from "./task-file.ts";
import type { TaskTools } from "./tools-of-file.ts";

export interface Chain {
  /** In the order in which they run. */
  readonly nodes: readonly { readonly id: string; readonly node: Node }[];
  /**
   * How the flow leaves the last node. label: each way out has its own edge label. condition: `when` is the condition of the first edge.
   */
  readonly decides:
    | { readonly by: "nothing" }
    | { readonly by: "condition"; readonly when: Condition }
    | { readonly by: "label" };
}

export interface TaskContext {
  readonly reading: Reading;
  readonly keepBraces: boolean;
  readonly tools: TaskTools;
  /** Returns a name for a node that no other node has. */
  readonly nodeName: (wish: string) => string;
}

const result: Operand = { from: "name", name: "RESULT" };

export function compileTask(task: Task, condition: StepCondition | null, context: TaskContext): Chain {
  const { before, reads } = compileInputs(task, context);
  const main = { id: task.id, node: compileOperator(task, reads, context) };
  const inserts = task.operator === "check" ? [] : task.outputs.filter(({ type }) => type === "insert");
  const after = inserts.map(({ literal }, index) => {
    const text: Operand = literal === null ? result : { from: "literal", text: literal };
    const id = context.nodeName(`${task.id}/insert ${index + 1}`);
    return { id, node: { kind: "memory", op: "insert", text, uncounted: true, continues: true } as Node };
  });
  const found = condition === null ? null : compileConditionSearch(task, condition.source, context);
  const nodes = [...before, main, ...after, ...(found === null ? [] : [found.placed])];
  if (condition === null) return { nodes, decides: { by: "nothing" } };
  const left = found?.value ?? sourceOperand(condition.source);
  if (condition.expression === "HaveSimilar") {
    const similar = { id: context.nodeName(`${task.id}/similar`), node: compileSimilar(left, condition.expected) };
    return { nodes: [...nodes, similar], decides: { by: "label" } };
  }
  const read: Read = { name: conditionName, value: left, required: false };
  return {
    nodes: nodes.map((one, index) =>
      index < nodes.length - 1 ? one : { ...one, node: { ...one.node, after: [read] } as Node },
    ),
    decides: { by: "condition", when: compileCondition(condition.expression, condition.expected) },
  };
}

const conditionName = "condition";

/** Runs after the outputs and their insertions, so that it finds the task's results. RESULT stays the task's. */
function compileConditionSearch(
  task: Task,
  source: Source,
  context: TaskContext,
): { readonly placed: Placed; readonly value: Operand } | null {
  if (source.type !== "search") return null;
  const into = variableOf(`${task.id}.${conditionName}`);
  const node: Node = {
    kind: "memory",
    op: "search",
    into,
    top: 3,
    uncounted: true,
    continues: true,
    text: { from: "read", name: "query" },
    reads: [{ name: "query", value: sourceOperand(source.query), required: false }],
  };
  const placed = { id: context.nodeName(`${task.id}/search ${conditionName}`), node };
  return { placed, value: { from: "variable", name: into } };
}

function compileCondition(expression: Exclude<Expression, "HaveSimilar">, expected: string): Condition {
  const left: Operand = { from: "read", name: conditionName };
  const right: Operand = { from: "literal", text: expected };
  switch (expression) {
    case "Equal":
      return { op: "is", left, right };
    case "NotEqual":
      return { op: "isNot", left, right };
    case "Contains":
      return { op: "includes", left, right };
    case "NotContains":
      return { op: "not", of: { op: "includes", left, right } };
    case "GreaterThan":
      return { op: "above", left, right };
    case "LessThan":
      return { op: "below", left, right };
    case "GreaterThanOrEqual":
      return { op: "atLeast", left, right };
    case "LessThanOrEqual":
      return { op: "atMost", left, right };
  }
}

const cosine = /^\s*-?(?:0?\.[0-9]+|[01](?:\.[0-9]+)?)\s*$/;

/**
 * Searches for passages that are similar to the condition's input. `expected` is the threshold, or the text to search for if there is no
 * input.
 */
function compileSimilar(query: Operand, expected: string): Node {
  const isThreshold = cosine.test(expected) && Math.abs(Number(expected)) <= 1;
  const otherwise: Operand = { from: "literal", text: expected };
  return {
    kind: "memory",
    op: "similar",
    text: { from: "read", name: "query" },
    reads: [
      {
        name: "query",
        value: isThreshold || expected.trim() === "" ? query : { from: "either", of: [query, otherwise] },
        required: false,
      },
    ],
    ...(isThreshold ? { threshold: Number(expected) } : {}),
    uncounted: true,
    continues: true,
  };
}

/** Compiles a source that is not a search. The reader refuses a search whose query is a search. */
function sourceOperand(source: Source): Operand {
  return source.type === "search" ? { from: "literal", text: "" } : operandOf(source);
}

type Placed = { readonly id: string; readonly node: Node };

/**
 * A search runs before the task begins. If its query pops an element, the search only reads it, and the task removes it. So the task can
 * put it back if it fails.
 */
function compileInputs(task: Task, context: TaskContext): { before: readonly Placed[]; reads: readonly Read[] } {
  const before: Placed[] = [];
  const reads: Read[] = [];
  const popped = new Map<string, number>();
  const pop = (list: string) => popped.set(list, (popped.get(list) ?? 0) + 1);
  for (const { name, source, required, at } of task.inputs) {
    const compares = task.operator === "check" && (name === "__output" || name === "__expected");
    if (source.type !== "search") {
      if (source.type === "pop") pop(source.key);
      reads.push({ name, value: operandOf(source), required: required || compares });
      continue;
    }
    const { query } = source;
    if (query.type === "search") continue;
    let looked = operandOf(query);
    if (query.type === "pop") {
      looked = { from: "peek", list: query.key, index: -1 - (popped.get(query.key) ?? 0) };
      pop(query.key);
      reads.push({ name: `query of ${name}`, value: operandOf(query), required: false });
    } else if ("key" in query && query.type !== "string" && popped.has(query.key)) {
      const message = `The search for '${name}' looks at the stack ${query.key} after another input has popped it.`;
      wrong(context.reading, "INPUT_MISPLACED", at, message, "Put the search before the pop.");
    }
    const found = variableOf(`${task.id}.${name}`);
    before.push({
      id: context.nodeName(`${task.id}/search ${name}`),
      node: {
        kind: "memory",
        op: "search",
        text: looked,
        top: 3,
        writes: [{ do: "set", name: found, value: result }],
        uncounted: true,
      },
    });
    reads.push({ name, value: { from: "variable", name: found }, required: required || compares });
  }
  return { before, reads };
}

function compileOutputs(task: Task): readonly Effect[] {
  return task.outputs.flatMap(({ type, key, literal }): Effect[] => {
    const value: Operand = literal === null ? result : { from: "literal", text: literal };
    if (type === "write") return [{ do: "set", name: variableOf(key), value }];
    return type === "push" ? [{ do: "push", list: key, value }] : [];
  });
}

function compileOperator(task: Task, inputs: readonly Read[], context: TaskContext): Node {
  const { reading } = context;
  const names = new Set(task.inputs.map(({ name }) => name));
  const undeclared = new Set<string>();
  const messages = task.messages.map(({ role, text, at }) => {
    const filled = fillMessage(text, names, context.keepBraces);
    for (const name of filled.undeclared) {
      if (undeclared.has(name)) continue;
      undeclared.add(name);
      const near = reading.report.didYouMean(name, names);
      const message = `{${name}} in the task ${task.id} has no input; it is sent as it is written.`;
      const fix = `${near}Add an input named ${name}, or correct the place.`;
      reading.report.warn("PLACEHOLDER_UNDECLARED", reading.placeOf(at), message, fix);
    }
    return { role, text: filled.operand };
  });
  const last = messages.at(-1)?.text ?? ({ from: "literal", text: "" } as const);
  const writes = compileOutputs(task);
  const base = {
    ...(task.name === "" ? {} : { label: task.name }),
    ...(inputs.length === 0 ? {} : { reads: inputs }),
    ...(writes.length === 0 || task.operator === "check" ? {} : { writes }),
  };
  switch (task.operator) {
    case "generation":
      return { kind: "prompt", ...base, ...asked(task, messages), fresh: true };
    case "function_calling":
    case "function_calling_raw": {
      const tools = context.tools.namesFor(task.operator);
      if (tools.length === 0) {
        const message = `The task ${task.id} calls functions, but no function is available.`;
        const fix =
          "Name tools in config.tools or config.custom_tools; those of mode custom are for function_calling_raw.";
        wrong(reading, "TOOLS_MISSING", task.at, message, fix);
      }
      const toolUse = task.operator === "function_calling" ? "outputs" : "raw";
      return { kind: "prompt", ...base, ...settingsOf(task), text: last, fresh: true, tools, toolUse };
    }
    case "check": {
      if (!names.has("__output") || !names.has("__expected")) {
        const message = `The check ${task.id} needs inputs named __output and __expected.`;
        wrong(reading, "CHECK_INPUTS", task.at, message, "Add both; they are compared.");
      }
      const side = (name: string): Operand => ({ from: "read", name });
      return { kind: "check", ...base, condition: { op: "alike", left: side("__output"), right: side("__expected") } };
    }
    case "search":
      return {
        kind: "memory",
        op: "search",
        ...base,
        text: last,
        top: 3,
        ...(task.search === "files" ? {} : { web: context.tools.webSearch() }),
        ...(task.search === "web" ? { where: "web" as const } : {}),
      };
    case "sample": {
      const drawn = task.inputs.map(({ name }) => `an element of the stack that '${name}' names`);
      const picks: Read[] = task.inputs.map(({ name }, index) => ({
        name: drawn[index] ?? "",
        value: { from: "sample", list: { from: "read", name } },
        required: true,
      }));
      const elements = drawn.flatMap((name): Operand[] => [
        { from: "literal", text: ": " },
        { from: "read", name },
      ]);
      return {
        kind: "assign",
        ...base,
        reads: [...inputs, ...picks],
        value: { from: "joined", of: [last, ...elements] },
      };
    }
    case "end":
      return { kind: "end", outcome: "success" };
  }
}

function settingsOf({ model }: Task): Pick<PromptNode, "settings"> {
  return model === null ? {} : { settings: { model } };
}

/**
 * Compiles the messages of a task to a request. The last message is the prompt if it has the role user. The messages before it begin the
 * conversation.
 */
function asked(
  task: Task,
  messages: readonly { readonly role: Role; readonly text: Operand }[],
): Pick<PromptNode, "text" | "opening" | "schema" | "settings"> {
  const said =
    task.form?.is === "instruction"
      ? [
          { role: "system" as const, text: { from: "literal", text: formWords(task.form.text) } as Operand },
          ...messages,
        ]
      : messages;
  const last = said.at(-1);
  const asks = last?.role === "user";
  const opening = asks ? said.slice(0, -1) : said;
  return {
    text: asks ? last.text : { from: "literal", text: "" },
    ...(opening.length === 0 ? {} : { opening }),
    ...(task.form?.is === "schema" ? { schema: task.form.schema } : {}),
    ...settingsOf(task),
  };
}

function formWords(form: string): string {
  return `Answer with nothing but text of this form:\n${form}`;
}
