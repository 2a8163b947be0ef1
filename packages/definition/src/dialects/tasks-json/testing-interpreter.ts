/**
 * A second implementation of the rules for workflows of tasks, for tests: one loop over the JSON in memory, without the engine. It supports
 * generation, check, sample and end. Tests provide the functions that reach outside.
 */

export interface WorkflowJson {
  readonly config: { readonly max_steps: number; readonly max_time: number };
  readonly external_memory?: Readonly<Record<string, string | readonly string[]>>;
  readonly tasks: readonly TaskJson[];
  readonly steps: readonly StepJson[];
  readonly return_value?: {
    readonly input: ValueJson | readonly ValueJson[];
    readonly to_json?: boolean;
    readonly post_process?: readonly { readonly process_type: string; readonly lhs?: string; readonly rhs?: string }[];
  };
}
export interface ValueJson {
  readonly type: "input" | "read" | "pop" | "peek" | "get_all" | "size" | "string";
  readonly key: string;
  readonly index?: number;
}
export interface TaskJson {
  readonly id: string;
  readonly operator: "generation" | "check" | "sample" | "end";
  readonly prompt?: string;
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly inputs: readonly { readonly name: string; readonly value: ValueJson; readonly required: boolean }[];
  readonly outputs: readonly { readonly type: "write" | "push"; readonly key: string; readonly value: string }[];
}
interface StepJson {
  readonly source: string;
  readonly target: string;
  readonly fallback?: string;
  readonly condition?: {
    readonly input: ValueJson;
    readonly expected: string;
    readonly expression: string;
    readonly target_if_not: string;
  };
}

export interface Outside {
  /** The model's reply to these messages, or null for a failure. */
  readonly ask: (task: string, messages: readonly { role: string; content: string }[]) => string | null;
  /** The elements that were drawn, one per input. The interpreter checks that they come from their stacks. */
  readonly drawn: (task: string) => readonly string[];
}

export interface Interpreted {
  readonly status: "success" | "failed";
  readonly code: string | null;
  readonly result: string;
  readonly cache: Readonly<Record<string, string>>;
  readonly stacks: Readonly<Record<string, readonly string[]>>;
  /** All activations, including failed ones. */
  readonly path: readonly string[];
}

class TaskFailure extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

interface Popped {
  readonly key: string;
  readonly item: string;
}

export function interpret(workflow: WorkflowJson, input: string | null, outside: Outside): Interpreted {
  const cache = new Map<string, string>();
  const stacks = new Map<string, string[]>();
  for (const [key, value] of Object.entries(workflow.external_memory ?? {})) {
    if (typeof value === "string") cache.set(key, value);
    else stacks.set(key, [...value]);
  }
  if (input !== null) cache.set("__input", input);
  let last = "";
  const path: string[] = [];
  let failure: string | null = null;
  const stepOf = (id: string) => workflow.steps.find(({ source }) => source === id);
  const taskOf = (id: string) => workflow.tasks.find((task) => task.id === id);
  const ends = (id: string) =>
    id === "__end" || taskOf(id)?.operator === "end" || ((id === "_end" || id === "end") && stepOf(id) === undefined);

  const read = (value: ValueJson): string | null => {
    const stack = stacks.get(value.key);
    switch (value.type) {
      case "input":
        return cache.get("__input") ?? null;
      case "read":
        return cache.get(value.key) ?? null;
      case "string":
        return value.key;
      case "size":
        return String(stack?.length ?? 0);
      case "peek":
        return stack?.[value.index ?? 0] ?? null;
      case "get_all":
        return stack === undefined ? null : stack.map((item) => `${item} \n`).join("");
      case "pop":
        return stack?.pop() ?? null;
    }
  };

  const perform = (task: TaskJson): readonly Popped[] => {
    const popped: Popped[] = [];
    const values = new Map<string, string>();
    try {
      for (const { name, value, required } of task.inputs) {
        const text = read(value);
        if (value.type === "pop" && text !== null) popped.push({ key: value.key, item: text });
        const needed = required || (task.operator === "check" && (name === "__output" || name === "__expected"));
        if (text === null && needed) throw new TaskFailure("READ_MISSING");
        values.set(name, text ?? "");
      }
      const messages = (task.messages ?? [{ role: "user", content: task.prompt ?? "" }]).map(({ role, content }) => ({
        role,
        content: fill(content, values),
      }));
      switch (task.operator) {
        case "generation": {
          const reply = outside.ask(task.id, messages);
          if (reply === null) throw new TaskFailure("SCRIPTED");
          last = reply;
          break;
        }
        case "check": {
          const plain = (name: string) =>
            (values.get(name) ?? "")
              .trim()
              .replace(/[\r\n]/g, "")
              .toLowerCase();
          if (plain("__output") !== plain("__expected")) throw new TaskFailure("CHECK_FALSE");
          return popped;
        }
        case "sample": {
          const wanted = task.inputs.map(({ name }) => stacks.get(values.get(name) ?? "") ?? []);
          if (wanted.some((stack) => stack.length === 0)) throw new TaskFailure("READ_MISSING");
          const drawn = outside.drawn(task.id);
          wanted.forEach((stack, index) => {
            if (!stack.includes(drawn[index] ?? "")) throw new Error(`'${drawn[index]}' is in none of the stacks`);
          });
          last = [messages.at(-1)?.content ?? "", ...drawn].join(": ");
          break;
        }
        case "end":
          break;
      }
      for (const { type, key, value } of task.outputs) {
        const text = value === "__result" ? last : value;
        if (type === "write") cache.set(key, text);
        else stacks.set(key, [...(stacks.get(key) ?? []), text]);
      }
    } catch (error) {
      // Our own rule: a task that fails puts back the elements that it popped, in their original order.
      for (const { key, item } of popped.toReversed()) stacks.get(key)?.push(item);
      throw error;
    }
    return popped;
  };

  let current = workflow.steps[0]?.source ?? "__end";
  for (;;) {
    if (ends(current)) break;
    const step = stepOf(current);
    const task = taskOf(current);
    if (step === undefined || task === undefined) break;
    // Our own rule: max_steps activations are allowed, and the next one is refused.
    if (path.length >= workflow.config.max_steps) {
      failure = "LIMIT_STEPS";
      break;
    }
    path.push(current);
    try {
      const popped = perform(task);
      current = decide(step, popped);
    } catch (error) {
      if (!(error instanceof TaskFailure)) throw error;
      last = "FAILED";
      if (step.fallback === undefined) {
        failure = error.code;
        break;
      }
      current = step.fallback;
    }
  }

  function decide({ target, condition }: StepJson, popped: readonly Popped[]): string {
    if (condition === undefined) return target;
    const { input: value, expression, expected } = condition;
    const found = read(value);
    const left = found ?? "";
    const number = (text: string) => {
      if (/^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/.test(text)) return Number(text);
      if (value.type === "pop" && found !== null) stacks.get(value.key)?.push(found);
      for (const { key, item } of popped.toReversed()) stacks.get(key)?.push(item);
      throw new TaskFailure("CONDITION_NOT_NUMERIC");
    };
    const holds = {
      Equal: () => left === expected,
      NotEqual: () => left !== expected,
      Contains: () => left.includes(expected),
      NotContains: () => !left.includes(expected),
      GreaterThan: () => number(left) > number(expected),
      LessThan: () => number(left) < number(expected),
      GreaterThanOrEqual: () => number(left) >= number(expected),
      LessThanOrEqual: () => number(left) <= number(expected),
    }[expression];
    return holds?.() === true ? target : condition.target_if_not;
  }

  return {
    status: failure === null ? "success" : "failed",
    code: failure,
    result: returned(),
    cache: Object.fromEntries(cache),
    stacks: Object.fromEntries([...stacks].map(([key, items]) => [key, [...items]])),
    path,
  };

  function returned(): string {
    const rule = workflow.return_value;
    if (rule === undefined) return last;
    const kept = new Map([...stacks].map(([key, items]) => [key, [...items]]));
    const values: readonly ValueJson[] = Array.isArray(rule.input) ? rule.input : [rule.input as ValueJson];
    const found = values.map((value) => ({ value, items: [...(stacks.get(value.key) ?? [])], text: read(value) }));
    stacks.clear();
    for (const [key, items] of kept) stacks.set(key, items);
    const json = (text: string) => {
      try {
        JSON.parse(text);
        return text.trim();
      } catch {
        return JSON.stringify(text);
      }
    };
    const oneAsJson = ({ value, items, text }: (typeof found)[number]) =>
      text === null ? "null" : value.type === "get_all" ? `[${items.map(json).join(",")}]` : json(text);
    const [only] = found;
    if (!Array.isArray(rule.input) && only !== undefined) {
      if (rule.to_json === true && only.value.type === "get_all") return oneAsJson(only);
      return post(only.text ?? "");
    }
    if (rule.to_json === true) return `[${found.map(oneAsJson).join(",")}]`;
    return post(found.map(({ text }) => `${text ?? ""} \n`).join(""));
  }

  function post(text: string): string {
    let now = text;
    for (const { process_type: type, lhs, rhs } of workflow.return_value?.post_process ?? []) {
      if (type === "replace" && lhs !== undefined && rhs !== undefined) now = now.split(lhs).join(rhs);
      if (type === "append" && rhs !== undefined) now += rhs;
      if (type === "prepend" && lhs !== undefined) now = lhs + now;
      if (type === "trim") now = now.trim();
      if (type === "trim_start") now = now.trimStart();
      if (type === "trim_end") now = now.trimEnd();
      if (type === "to_lower") now = now.toLowerCase();
      if (type === "to_upper") now = now.toUpperCase();
    }
    return now;
  }
}

/** Fills placeholders in one pass. Inserted values are not expanded again. */
function fill(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(/\{\{(\w+)\}\}|\{(\w+)\}/g, (written, doubled?: string, single?: string) => {
    return values.get(doubled ?? single ?? "") ?? written;
  });
}
