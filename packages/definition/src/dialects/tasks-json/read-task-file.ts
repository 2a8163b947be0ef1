/**
 * Reads both revisions of the JSON into one form. All mistakes are reported at once: a part that cannot be read is left out, and its
 * finding is an error.
 */
import { type BuiltinName, builtinNames, type PostRule } from "@markmill/engine";
import { compactJson, type JsonValue } from "../../parse-json.ts";
import { brief, doubt, Fields, type Placed, type Reading, wrong } from "./json-fields.ts";
import { readCustomTools } from "./read-custom-tools.ts";
import { readReplyForm } from "./reply-form.ts";
import {
  expressions,
  type Input,
  type MemoryWishes,
  type Operator,
  type Output,
  operators,
  type ReturnValue,
  type Source,
  type StepCondition,
  type Target,
  type Task,
  type TaskFile,
  type TaskMessage,
  type TaskStep,
  valueTypes,
} from "./task-file.ts";

/** The original uses a u32. */
const mostSteps = 4_294_967_295;
/** Ten years. */
const mostSeconds = 10 * 365 * 86_400;
const mostTokens = 2_147_483_647;
const mostNameCharacters = 200;

/** Marks of the two revisions in the file. */
interface Marks {
  s: boolean;
  h: boolean;
}

export function readTaskFile(value: JsonValue, path: string, reading: Reading): TaskFile | null {
  if (value.is !== "object") {
    const message = "A workflow of tasks is a JSON object with config, tasks and steps.";
    wrong(reading, "FIELD_TYPE", value.at, message, 'Start with { "config": …, "tasks": …, "steps": … }.');
    return null;
  }
  checkTexts(value, reading);
  const top = new Fields(value, "the workflow", reading);
  const config = top.object("config", "config");
  if (!top.has("config")) top.missing("config", 'Add "config": { "max_steps": 10, "max_time": 60 }.');
  const strict = config?.flag("strict");
  if (strict !== undefined) reading.strict ||= strict.value;
  const marks: Marks = { s: false, h: false };
  const limits = config === undefined ? anyLimits : readLimits(config);
  const custom = config === undefined ? [] : readCustomTools(config, reading, marks);
  const builtins = config === undefined ? [] : readBuiltins(config, reading);
  const model = config?.text("model");
  const keepBraces = config?.flag("keep_braces")?.value === true;
  const memory = config === undefined ? noWishes : readMemoryWishes(config, reading);
  config?.done();
  const { cache, stacks } = readExternalMemory(top, reading);
  if (!top.has("tasks")) top.missing("tasks", 'Add "tasks": [ … ].');
  if (!top.has("steps")) top.missing("steps", 'Add "steps": [ { "source": "A", "target": "__end" } ].');
  if (top.list("steps")?.length === 0) {
    const message = "The workflow has no steps, so a run cannot start.";
    wrong(reading, "FIELD_VALUE", top.placeOf("steps"), message, 'Add { "source": "A", "target": "__end" }.');
  }
  const tasks = top
    .objects("tasks", (index) => `task ${index + 1}`)
    .map((fields, index) => readTask(fields, index, reading, marks));
  const steps = top.objects("steps", (index) => `step ${index + 1}`).map((fields) => readStep(fields, reading));
  const returns = readReturnValue(top, reading, marks);
  const name = top.text("name")?.value.trim() ?? "";
  const description = top.text("description")?.value ?? "";
  top.done();
  return {
    revision: marks.h ? (marks.s ? "mixed" : "H") : "S",
    name: name === "" ? path.replace(/^.*\//, "").replace(/\.json$/i, "") : name,
    description,
    ...limits,
    model: model?.value ?? null,
    keepBraces,
    builtins,
    customTools: custom,
    cache,
    stacks,
    memory,
    tasks: tasks.filter((task) => task !== null),
    steps: steps.filter((step) => step !== null),
    returns,
  };
}

/** Reports texts that no database can store, and duplicate fields. Nesting is bounded, so recursion is safe. */
function checkTexts(value: JsonValue, reading: Reading): void {
  const check = (text: string, at: number) => {
    if (text.isWellFormed() && !text.includes("\0")) return;
    const what = text.includes("\0") ? "a NUL character" : "half of a surrogate pair";
    const fix = "Remove the escape, \\u0000 or one of \\ud800 to \\udfff.";
    wrong(reading, "TEXT_UNSTORABLE", at, `The text contains ${what}, which cannot be stored.`, fix);
  };
  if (value.is === "string") check(value.text, value.at);
  else if (value.is === "array") for (const item of value.items) checkTexts(item, reading);
  else if (value.is === "object") {
    const keys = new Set<string>();
    for (const { key, keyAt, value: inner } of value.members) {
      check(key, keyAt);
      if (keys.has(key)) {
        wrong(reading, "JSON_KEY_TWICE", keyAt, `The object has the field ${brief(key)} twice.`, "Remove one of them.");
      }
      keys.add(key);
      checkTexts(inner, reading);
    }
  }
}

type FileLimits = Pick<TaskFile, "maxSteps" | "maxSeconds" | "maxTokens">;

/** Placeholder limits, used if the file's own limits have an error, so that the rest of the file is checked, too. */
const anyLimits: FileLimits = { maxSteps: 1, maxSeconds: 1, maxTokens: null };

function readLimits(config: Fields): FileLimits {
  if (!config.has("max_steps")) config.missing("max_steps", 'Add "max_steps": 10, how many tasks a run may do.');
  if (!config.has("max_time")) config.missing("max_time", 'Add "max_time": 60, the seconds a run may take.');
  const steps = config.count("max_steps", 1, mostSteps);
  const seconds = config.count("max_time", 1, mostSeconds);
  const tokens = config.count("max_tokens", 1, mostTokens);
  if (steps === undefined || seconds === undefined) return anyLimits;
  return { maxSteps: steps.value, maxSeconds: seconds.value, maxTokens: tokens?.value ?? null };
}

function readBuiltins(config: Fields, reading: Reading): readonly BuiltinName[] | "ALL" {
  const names: BuiltinName[] = [];
  const list = config.list("tools") ?? [];
  for (const item of list) {
    if (item.is !== "string") {
      wrong(reading, "FIELD_TYPE", item.at, "A tool is named by text.", 'Write "tools": ["serper"].');
      continue;
    }
    if (item.text === "ALL" && list.length === 1) return "ALL";
    const name = builtinNames.find((known) => known === item.text);
    if (name !== undefined) {
      if (!names.includes(name)) names.push(name);
      continue;
    }
    const near = reading.report.didYouMean(item.text, builtinNames);
    const alone = item.text === "ALL" ? "ALL cannot be combined with other names. " : "";
    const message = `There is no tool '${item.text.slice(0, 80)}'.`;
    const fix = `${near}${alone}There are ${builtinNames.join(", ")}, or ALL alone.`;
    wrong(reading, "TOOL_NAME_UNKNOWN", item.at, message, fix);
  }
  return names;
}

const noWishes: MemoryWishes = { scope: null, embedder: null };

function readMemoryWishes(config: Fields, reading: Reading): MemoryWishes {
  const fields = config.object("memory", "config.memory");
  if (fields === undefined) return noWishes;
  const scope = fields.text("scope");
  if (scope !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(scope.value)) {
    const message = "A scope is named by up to 100 letters, digits, dots, hyphens and underscores.";
    wrong(reading, "FIELD_VALUE", scope.at, message, 'Write a name such as "course-2026".');
  }
  const embedder = fields.object("embedder", "config.memory.embedder");
  const model = embedder?.needText("model", 'Add "model": the name of a model that embeds.');
  const dimensions = embedder?.count("dimensions", 1, 16_000);
  const prefix = embedder?.text("query_prefix");
  embedder?.done();
  fields.done();
  return {
    scope: scope?.value ?? null,
    embedder:
      model === undefined
        ? null
        : {
            model: model.value,
            ...(dimensions === undefined ? {} : { dimensions: dimensions.value }),
            ...(prefix === undefined ? {} : { queryPrefix: prefix.value }),
          },
  };
}

function readExternalMemory(top: Fields, reading: Reading): Pick<TaskFile, "cache" | "stacks"> {
  const cache: { key: string; text: string; at: number }[] = [];
  const stacks: { key: string; items: string[]; at: number }[] = [];
  const memory = top.object("external_memory", "external_memory");
  for (const { name: key, at, value } of memory?.members() ?? []) {
    if (!isName(key, at, "An entry of external_memory", reading)) continue;
    if (value.is === "array") {
      const items = value.items.flatMap((item) => entryText(item, key, reading) ?? []);
      stacks.push({ key, items, at });
    } else {
      const text = entryText(value, key, reading);
      if (text !== null) cache.push({ key, text, at });
    }
  }
  return { cache, stacks };
}

function entryText(value: JsonValue, key: string, reading: Reading): string | null {
  if (value.is === "string") return value.text;
  if (value.is === "object") return compactJson(value);
  const written = value.is === "number" || value.is === "boolean" ? ` Write "${compactJson(value)}" in quotes.` : "";
  const message = `'${key}' in external_memory holds ${value.is === "array" ? "a list in a list" : value.is === "null" ? "null" : `a ${value.is}`}; it holds texts, objects, or a list of these.`;
  wrong(reading, "FIELD_TYPE", value.at, message, written === "" ? "Write it as text." : written.trim());
  return null;
}

/** Checks that a name can be a key everywhere. */
function isName(name: string, at: number, what: string, reading: Reading): boolean {
  const problem =
    name.trim() === ""
      ? "has no name"
      : name.length > mostNameCharacters
        ? `has a name of ${name.length} characters; at most ${mostNameCharacters} are allowed`
        : name === "__proto__"
          ? "is named __proto__"
          : /\p{Cc}/u.test(name)
            ? "has a control character in its name"
            : null;
  if (problem === null) return true;
  wrong(reading, "NAME_RESERVED", at, `${what} ${problem}.`, "Choose another name.");
  return false;
}

/** Operators that use their text as the request. */
const speaking: readonly Operator[] = ["generation", "function_calling", "function_calling_raw", "search", "sample"];

function readTask(fields: Fields, index: number, reading: Reading, marks: Marks): Task | null {
  const id = fields.needText("id", 'Add "id": a text that steps can name.');
  const named = id !== undefined && isName(id.value, id.at, "A task", reading);
  const what = id === undefined ? `task ${index + 1}` : `the task '${id.value.slice(0, 60)}'`;
  if (!fields.has("operator")) fields.missing("operator", `Add "operator": one of ${operators.join(", ")}.`);
  const operator = fields.oneOf("operator", operators);
  if (operator?.value === "check") marks.s = true;
  if (operator?.value === "function_calling_raw") marks.h = true;
  const name = fields.text("name")?.value ?? "";
  const description = fields.text("description")?.value ?? "";
  const messages = readMessages(fields, what, operator?.value, reading, marks);
  const inputs = readInputs(fields, what, reading);
  const outputs = readOutputs(fields, what, reading);
  const form = readReplyForm(fields, what, reading);
  if (form !== null) marks.h = true;
  const model = fields.text("model")?.value ?? null;
  const search = fields.oneOf("search", ["files", "web"] as const)?.value ?? null;
  fields.done();
  if (!named || id === undefined) return null;
  // If the operator is unknown, the task is kept, because steps that name the task are correct.
  const read = {
    id: id.value,
    name,
    description,
    operator: operator?.value ?? "generation",
    messages,
    inputs,
    outputs,
    form,
  };
  return { ...read, model, search, at: fields.at };
}

function readMessages(
  fields: Fields,
  what: string,
  operator: Operator | undefined,
  reading: Reading,
  marks: Marks,
): readonly TaskMessage[] {
  const prompt = fields.text("prompt");
  const list = fields.list("messages");
  const needed = operator !== undefined && speaking.includes(operator);
  if (prompt !== undefined && list !== undefined) {
    const message = `${what} has both prompt and messages.`;
    wrong(reading, "FIELD_TWICE", fields.placeOf("messages"), message, "Remove one of them.");
  }
  if (prompt !== undefined) {
    marks.s = true;
    return [{ role: "user", text: prompt.value, at: prompt.at }];
  }
  if (list === undefined) {
    if (needed && !fields.has("prompt") && !fields.has("messages"))
      fields.missing("prompt", 'Add "prompt": "…", or "messages": [{ "role": "user", "content": "…" }].');
    return [];
  }
  marks.h = true;
  if (list.length === 0 && needed) {
    const message = `messages of ${what} is empty, and the task needs a text.`;
    wrong(reading, "FIELD_VALUE", fields.placeOf("messages"), message, "Add a message of the role user.");
  }
  return fields
    .objects("messages", (index) => `message ${index + 1} of ${what}`)
    .flatMap((message) => {
      if (!message.has("role")) message.missing("role", 'Add "role": "user".');
      const role = message.oneOf("role", ["user", "assistant", "system"] as const);
      const content = message.needText("content");
      message.done();
      return role === undefined || content === undefined
        ? []
        : [{ role: role.value, text: content.value, at: content.at }];
    });
}

function readInputs(fields: Fields, what: string, reading: Reading): readonly Input[] {
  const seen = new Set<string>();
  return fields
    .objects("inputs", (index) => `input ${index + 1} of ${what}`)
    .flatMap((input) => {
      const name = input.needText("name");
      const source = needSource(input, "value", reading);
      if (!input.has("required")) input.missing("required", 'Add "required": true or false.');
      const required = input.flag("required");
      input.done();
      if (name === undefined || source === null || required === undefined) return [];
      if (!isName(name.value, name.at, "An input", reading)) return [];
      if (seen.has(name.value)) {
        const message = `${what} has two inputs named ${name.value}.`;
        wrong(reading, "INPUT_TWICE", name.at, message, "Rename one of them.");
        return [];
      }
      seen.add(name.value);
      return [{ name: name.value, source, required: required.value, at: name.at }];
    });
}

function readOutputs(fields: Fields, what: string, reading: Reading): readonly Output[] {
  return fields
    .objects("outputs", (index) => `output ${index + 1} of ${what}`)
    .flatMap((output) => {
      if (!output.has("type")) output.missing("type", 'Add "type": write, push or insert.');
      const type = output.oneOf("type", ["write", "push", "insert"] as const);
      const key = type?.value === "insert" ? output.text("key") : output.needText("key");
      const value = output.needText("value", 'Add "value": "__result", or a text.');
      output.done();
      if (type === undefined || value === undefined || (key === undefined && type.value !== "insert")) return [];
      if (type.value !== "insert" && !isName(key?.value ?? "", key?.at ?? output.at, "An output's key", reading))
        return [];
      const literal = value.value === "__result" ? null : value.value;
      return [{ type: type.value, key: key?.value ?? "", literal }];
    });
}

function needSource(fields: Fields, name: string, reading: Reading): Source | null {
  if (!fields.has(name)) fields.missing(name, `Add "${name}": { "type": "read", "key": "…" }.`);
  const value = fields.object(name, `${name} of ${fields.what}`);
  return value === undefined ? null : readSource(value, reading);
}

function readSource(fields: Fields, reading: Reading): Source | null {
  if (!fields.has("type")) fields.missing("type", `Add "type": one of ${valueTypes.join(", ")}.`);
  const type = fields.oneOf("type", valueTypes);
  const query = fields.object("search_query", `search_query of ${fields.what}`);
  const index = fields.count("index", 0, 1_000_000_000);
  const wantsKey = type !== undefined && type.value !== "input" && !(type.value === "search" && query !== undefined);
  const key = wantsKey ? fields.needText("key") : fields.text("key");
  const asked = query === undefined ? null : readSource(query, reading);
  fields.done();
  if (type === undefined) return null;
  const { at } = fields;
  const is = type.value;
  if (is === "input") return { type: "input", at };
  if (is === "search") {
    const given: Source | null = asked ?? (key === undefined ? null : { type: "string", key: key.value, at: key.at });
    if (given?.type === "search") {
      const message = "A search cannot search for what another search finds.";
      wrong(reading, "INPUT_MISPLACED", given.at, message, "Search in a task of its own, and read its result.");
      return null;
    }
    return given === null ? null : { type: "search", query: given, at };
  }
  if (key === undefined) return null;
  if (is !== "string" && !isName(key.value, key.at, "A key", reading)) return null;
  if (is === "peek") return { type: "peek", key: key.value, index: index?.value ?? 0, at };
  return { type: is, key: key.value, at };
}

function target(found: Placed<string> | undefined): Target | null {
  return found === undefined ? null : { id: found.value, at: found.at };
}

function readStep(fields: Fields, reading: Reading): TaskStep | null {
  const source = target(fields.needText("source", 'Add "source": the id of a task.'));
  const to = target(fields.needText("target", 'Add "target": the id of the next task, or "__end".'));
  const fallback = target(fields.text("fallback"));
  const written = fields.object("condition", `condition of ${fields.what}`);
  const condition = written === undefined ? null : readCondition(written, reading);
  fields.done();
  return source === null || to === null ? null : { source, target: to, condition, fallback, at: fields.at };
}

function readCondition(fields: Fields, reading: Reading): StepCondition | null {
  const source = needSource(fields, "input", reading);
  const expected = fields.needText("expected");
  if (!fields.has("expression")) fields.missing("expression", `Add "expression": one of ${expressions.join(", ")}.`);
  const expression = fields.oneOf("expression", expressions);
  const otherwise = target(fields.needText("target_if_not", 'Add "target_if_not": the id of a task, or "__end".'));
  fields.done();
  if (source === null || expected === undefined || expression === undefined || otherwise === null) return null;
  return { source, expected: expected.value, expression: expression.value, targetIfNot: otherwise, at: expected.at };
}

function readReturnValue(top: Fields, reading: Reading, marks: Marks): ReturnValue | null {
  const fields = top.object("return_value", "return_value");
  if (fields === undefined) return null;
  const given = fields.get("input");
  const sources: Source[] = [];
  if (given?.is === "array") {
    marks.h = true;
    for (const inner of fields.objects("input", (index) => `input ${index + 1} of return_value`)) {
      const source = readSource(inner, reading);
      if (source !== null) sources.push(source);
    }
    if (given.items.length === 0) {
      wrong(reading, "FIELD_VALUE", given.at, "input of return_value is empty.", "Name at least one value.");
    }
  } else {
    const source = needSource(fields, "input", reading);
    if (source !== null) sources.push(source);
  }
  for (const source of sources) {
    if (source.type !== "search") continue;
    const message = "A return value cannot search; it reads memory as the run left it.";
    wrong(reading, "INPUT_MISPLACED", source.at, message, "Search in a task, write its result, and return that.");
  }
  const toJson = fields.flag("to_json")?.value === true;
  const postAfterJson = fields.flag("post_process_json")?.value === true;
  const post = fields
    .objects("post_process", (index) => `rule ${index + 1} of post_process`)
    .flatMap((rule) => readPostRule(rule, reading) ?? []);
  fields.done();
  return { sources, each: given?.is === "array", toJson, post, postAfterJson };
}

const processTypes = [
  "replace",
  "append",
  "prepend",
  "trim",
  "trim_start",
  "trim_end",
  "to_lower",
  "to_upper",
] as const;

function readPostRule(fields: Fields, reading: Reading): PostRule | null {
  if (!fields.has("process_type"))
    fields.missing("process_type", `Add "process_type": one of ${processTypes.join(", ")}.`);
  const type = fields.oneOf("process_type", processTypes);
  const lhs = fields.text("lhs")?.value;
  const rhs = fields.text("rhs")?.value;
  fields.done();
  const skipped = (needs: string): null => {
    const message = `${type?.value ?? "The rule"} lacks ${needs}; it is skipped.`;
    doubt(reading, "POST_PROCESS_INCOMPLETE", fields.at, message, `Add ${needs}, or remove the rule.`);
    return null;
  };
  switch (type?.value) {
    case undefined:
      return null;
    case "replace":
      return lhs === undefined || rhs === undefined ? skipped("lhs and rhs") : { do: "replace", what: lhs, by: rhs };
    case "append":
      return rhs === undefined ? skipped("rhs") : { do: "append", text: rhs };
    case "prepend":
      return lhs === undefined ? skipped("lhs") : { do: "prepend", text: lhs };
    case "trim":
      return { do: "trim" };
    case "trim_start":
      return { do: "trimStart" };
    case "trim_end":
      return { do: "trimEnd" };
    case "to_lower":
      return { do: "toLower" };
    case "to_upper":
      return { do: "toUpper" };
  }
}
