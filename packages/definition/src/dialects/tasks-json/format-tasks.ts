/**
 * Writes a program of tasks as a file that loads as the same program. Text that only people read and no run needs (descriptions of tasks)
 * is lost.
 */
import type { Comparison, Condition, MemoryNode, Node, Operand, Program, Tool } from "@markmill/engine";
import { inputName } from "../../names.ts";
import { NotExpressible } from "../../not-expressible.ts";
import { keyOf } from "./memory-names.ts";
import { operatorOf } from "./operator-of.ts";

type Json = Record<string, unknown>;

const noWords = (what: string) => new NotExpressible("tasks", what);

export function formatTasks(program: Program): string {
  const chains = chainsOf(program);
  const tasks = chains.map((chain) => formatTask(chain, program));
  const ends = Object.entries(program.nodes).flatMap(([id, node]) => (node.kind === "end" ? [id] : []));
  const steps = chains.map((chain) => ({
    starts: startOf(chain) === program.entry[0],
    step: formatStep(chain, program, chains),
  }));
  const entry = steps.find(({ starts }) => starts)?.step ?? { source: "__end", target: "__end" };
  const others = steps.flatMap(({ starts, step }) => (starts ? [] : [step]));
  const memory = formatMemory(program);
  const file = {
    name: program.name,
    description: program.description,
    config: formatConfig(program),
    ...(Object.keys(memory).length === 0 ? {} : { external_memory: memory }),
    tasks: [...tasks, ...formatEnds(ends, program)],
    steps: [entry, ...others],
    ...formatResult(program),
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

/** The text of an end task is never sent. Its field (`messages` or `prompt`) shows the revision if no other task does. */
function formatEnds(ends: readonly string[], { revision, nodes }: Program): readonly Json[] {
  const ids = [...new Set([...ends, "__end"])];
  const told = ids.map((id) => ({ id, operator: "end", ...(revision === "H" ? { messages: [] } : { prompt: "" }) }));
  if (revision !== "mixed") return told;
  let id = "no end";
  while (Object.hasOwn(nodes, id)) id += "'";
  return [...told, { id, operator: "end", messages: [] }];
}

interface Chain {
  readonly before: readonly [string, MemoryNode][];
  readonly main: readonly [string, Node];
  readonly inserts: readonly [string, MemoryNode][];
  /** The search of the task's condition. */
  readonly found: readonly [string, MemoryNode] | null;
  readonly similar: readonly [string, MemoryNode] | null;
}

/** Groups the nodes by task. The nodes of a task are adjacent. */
function chainsOf({ nodes }: Program): readonly Chain[] {
  const chains: Chain[] = [];
  let before: [string, MemoryNode][] = [];
  for (const [id, node] of Object.entries(nodes)) {
    const last = chains.at(-1);
    if (node.kind === "end") continue;
    if (node.uncounted !== true || node.kind !== "memory") {
      chains.push({ before, main: [id, node], inserts: [], found: null, similar: null });
      before = [];
    } else if (node.op === "search" && node.into === undefined) before.push([id, node]);
    else if (last === undefined) throw noWords(`the node ${id}`);
    else if (node.op === "insert") chains[chains.length - 1] = { ...last, inserts: [...last.inserts, [id, node]] };
    else if (node.op === "search") chains[chains.length - 1] = { ...last, found: [id, node] };
    else chains[chains.length - 1] = { ...last, similar: [id, node] };
  }
  return chains;
}

function startOf({ before, main }: Chain): string {
  return (before[0] ?? main)[0];
}

function lastOf({ main, inserts, found, similar }: Chain): readonly [string, Node] {
  return similar ?? found ?? inserts.at(-1) ?? main;
}

function formatConfig(program: Program): Json {
  const { limits, settings, tools = {}, memory } = program;
  const prompts = Object.values(program.nodes).filter((node) => node.kind === "prompt");
  const offered = new Set(prompts.flatMap((node) => node.tools ?? []));
  const named = Object.entries(tools).filter(([name]) => offered.size === 0 || offered.has(name));
  const builtins = named.flatMap(([, tool]) => (tool.kind === "builtin" ? [tool] : []));
  const custom = named.flatMap(([name, tool]) => (tool.kind === "builtin" ? [] : [formatTool(name, tool, program)]));
  const [first] = custom;
  return {
    max_steps: limits.steps,
    max_time: (limits.timeMs ?? 0) / 1000,
    ...(settings.maxOutputTokens === undefined ? {} : { max_tokens: settings.maxOutputTokens }),
    ...(settings.model === undefined ? {} : { model: settings.model }),
    // With keep_braces, a placeholder can be written directly between any other text, even between braces.
    keep_braces: true,
    ...(builtins.length === 0
      ? {}
      : { tools: builtins.some(({ optional }) => optional) ? ["ALL"] : builtins.map(({ builtin }) => builtin) }),
    ...(first === undefined ? {} : program.revision === "S" ? { custom_tool: first } : { custom_tools: custom }),
    ...(memory === undefined
      ? {}
      : {
          memory: {
            ...(memory.scope === undefined ? {} : { scope: memory.scope }),
            ...(memory.embedder.kind === "hash"
              ? {}
              : {
                  embedder: {
                    model: memory.embedder.model,
                    ...(memory.embedder.dimensions === undefined ? {} : { dimensions: memory.embedder.dimensions }),
                    ...(memory.embedder.queryPrefix === undefined ? {} : { query_prefix: memory.embedder.queryPrefix }),
                  },
                }),
          },
        }),
  };
}

function formatTool(name: string, tool: Exclude<Tool, { kind: "builtin" }>, { revision }: Program): Json {
  const { description } = tool;
  if (tool.kind === "declared") return { name, description, mode: "custom", parameters: tool.schema };
  if (tool.kind !== "http") throw noWords(`a tool of the kind ${tool.kind}`);
  const { required } = tool.schema as { required: readonly string[] };
  return {
    name,
    description,
    ...(revision === "S" ? {} : { mode: "http_request" }),
    url: tool.url,
    method: tool.method,
    headers: tool.headers ?? {},
    body: Object.fromEntries(required.map((argument) => [argument, ""])),
  };
}

function formatMemory({ params, lists }: Program): Json {
  return Object.fromEntries([
    ...params.map(({ name, default: text }) => {
      if (text === null) throw noWords(`the parameter ${name}, which has no value of its own`);
      return [keyOf(name), text] as const;
    }),
    ...Object.entries(lists),
  ]);
}

function formatTask({ before, main: [id, node], inserts }: Chain, { revision }: Program): Json {
  const operator = operatorOf(node);
  const reads = (node.reads ?? []).filter(({ value }) => value.from !== "sample");
  const inputs = reads.flatMap(({ name, value, required }, index) => {
    const search =
      value.from === "variable" ? before.find(([, { writes }]) => writesTo(writes, value.name)) : undefined;
    // The query of a search comes before the input itself.
    if (name.startsWith("query of ") && reads[index + 1]?.name === name.slice("query of ".length)) return [];
    if (search === undefined) return [{ name, value: formatSource(value), required }];
    const taken = reads[index - 1];
    const query = taken?.name === `query of ${name}` ? taken.value : search[1].text;
    return [{ name, value: { type: "search", key: "", search_query: formatSource(query) }, required }];
  });
  const outputs = [
    ...(node.writes ?? []).map((effect) => {
      if (effect.do === "clear") throw noWords("the emptying of a stack");
      const value = formatValue(effect.value);
      return effect.do === "set"
        ? { type: "write", key: keyOf(effect.name), value }
        : { type: "push", key: effect.list, value };
    }),
    ...inserts.map(([, { text }]) => ({ type: "insert", key: "", value: formatValue(text) })),
  ];
  const messages = messagesOf(node);
  const [only] = messages;
  const single = messages.length === 1 && only?.role === "user";
  const asked = revision === "S" || (revision === "mixed" && single) ? { prompt: only?.content ?? "" } : { messages };
  return {
    id,
    ...(node.label === undefined ? {} : { name: node.label }),
    operator,
    ...(node.kind === "check" ? {} : asked),
    inputs,
    outputs,
    ...(node.kind === "prompt" && node.schema !== undefined ? { schema: node.schema } : {}),
    ...(node.kind === "prompt" && node.settings?.model !== undefined ? { model: node.settings.model } : {}),
    ...(node.kind === "memory" ? searchPlace(node) : {}),
  };
}

function searchPlace({ web, where }: MemoryNode): Json {
  return web === undefined ? { search: "files" } : where === "web" ? { search: "web" } : {};
}

function writesTo(writes: MemoryNode["writes"], name: string): boolean {
  return (writes ?? []).some((effect) => effect.do === "set" && effect.name === name);
}

function messagesOf(node: Node): readonly { readonly role: string; readonly content: string }[] {
  switch (node.kind) {
    case "prompt": {
      const opening = (node.opening ?? []).map(({ role, text }) => ({ role, content: formatText(text) }));
      const silent = opening.length > 0 && node.text.from === "literal" && node.text.text === "";
      return silent ? opening : [...opening, { role: "user", content: formatText(node.text) }];
    }
    case "memory":
      return [{ role: "user", content: formatText(node.text) }];
    case "assign": {
      const [text] = node.value.from === "joined" ? node.value.of : [node.value];
      return [{ role: "user", content: text === undefined ? "" : formatText(text) }];
    }
    default:
      return [];
  }
}

function formatText(operand: Operand): string {
  switch (operand.from) {
    case "literal":
      return operand.text;
    case "read":
      return `{${operand.name}}`;
    case "joined":
      return operand.of.map(formatText).join("");
    default:
      throw noWords(`a ${operand.from} in a prompt`);
  }
}

function formatValue(operand: Operand): string {
  if (operand.from === "name" && operand.name === "RESULT") return "__result";
  if (operand.from === "literal") return operand.text;
  throw noWords(`a ${operand.from} as an output`);
}

function formatSource(operand: Operand): Json {
  switch (operand.from) {
    case "variable":
      return operand.name === inputName ? { type: "input", key: "" } : { type: "read", key: keyOf(operand.name) };
    case "literal":
      return { type: "string", key: operand.text };
    case "all":
      return { type: "get_all", key: operand.list };
    case "pop":
    case "size":
      return { type: operand.from, key: operand.list };
    case "peek":
      return { type: "peek", key: operand.list, index: operand.index };
    default:
      throw noWords(`a ${operand.from} as an input`);
  }
}

const expressionOf: Partial<Record<Comparison, string>> = {
  is: "Equal",
  isNot: "NotEqual",
  includes: "Contains",
  above: "GreaterThan",
  below: "LessThan",
  atLeast: "GreaterThanOrEqual",
  atMost: "LessThanOrEqual",
};

function formatStep(chain: Chain, { edges }: Program, chains: readonly Chain[]): Json {
  const [id, node] = lastOf(chain);
  const out = edges.filter(({ from }) => from === id);
  const taskAt = (to: string) => chains.find((other) => startOf(other) === to)?.main[0] ?? to;
  const on = (label: string) => out.filter((edge) => edge.on === label).map(({ to }) => taskAt(to));
  const [fallback] = on("fail");
  const rest = { ...(fallback === undefined ? {} : { fallback }) };
  const source = chain.main[0];
  if (chain.similar !== null) {
    const { reads = [], threshold } = chain.similar[1];
    const query = reads[0]?.value;
    const [input, expected] = query?.from === "either" ? query.of : [query, undefined];
    if (input === undefined) throw noWords("a look for similar passages without a query");
    const wanted = threshold === undefined ? (expected?.from === "literal" ? expected.text : "") : String(threshold);
    const condition = {
      input: formatConditionInput(chain, input),
      expected: wanted,
      expression: "HaveSimilar",
      target_if_not: on("false")[0],
    };
    return { source, target: on("true")[0], condition, ...rest };
  }
  const [target, otherwise] = on("ok");
  const when = out.find((edge) => edge.when !== undefined)?.when;
  const read = node.after?.[0];
  if (when === undefined || read === undefined) return { source, target, ...rest };
  const condition = {
    input: formatConditionInput(chain, read.value),
    ...formatComparison(when),
    target_if_not: otherwise,
  };
  return { source, target, condition, ...rest };
}

function formatConditionInput({ found }: Chain, value: Operand): Json {
  const query = found?.[1].reads?.[0];
  if (query === undefined || value.from !== "variable" || value.name !== found?.[1].into) return formatSource(value);
  return { type: "search", key: "", search_query: formatSource(query.value) };
}

function formatComparison(condition: Condition): Json {
  const inner = condition.op === "not" ? condition.of : condition;
  if (!("right" in inner) || inner.right.from !== "literal") throw noWords("such a condition");
  const expression = expressionOf[inner.op];
  const name = condition.op === "not" ? (inner.op === "includes" ? "NotContains" : undefined) : expression;
  if (name === undefined) throw noWords(`a condition with ${inner.op}`);
  return { expected: inner.right.text, expression: name };
}

function formatResult({ result }: Program): Json {
  if (result.take === "RESULT") return {};
  const sources = result.of.map(formatSource);
  const post = result.post.map((rule) => {
    switch (rule.do) {
      case "replace":
        return { process_type: "replace", lhs: rule.what, rhs: rule.by };
      case "append":
        return { process_type: "append", rhs: rule.text };
      case "prepend":
        return { process_type: "prepend", lhs: rule.text };
      default:
        return { process_type: rule.do.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`) };
    }
  });
  return {
    return_value: {
      input: result.each === true ? sources : sources[0],
      to_json: result.json,
      post_process: post,
      ...(result.postJson === true ? { post_process_json: true } : {}),
    },
  };
}
