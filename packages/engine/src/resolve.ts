/**
 * Turns an operand into a value. This happens only here. A name is looked up in this order: RESULT, CONTENT and STATUS, variables, prompts,
 * allowed environment. If none has a value, the name itself is the text. Only text that the author wrote is rendered: prompts, templates
 * and literals. The content of variables, files and lists is used unchanged (I7).
 */

import { allow } from "./bounds.ts";
import { drawIndex } from "./draw.ts";
import type { Operand } from "./operand.ts";
import { own } from "./own-value.ts";
import type { Effort } from "./pattern/search-within.ts";
import type { Program, Role } from "./program.ts";
import { type Rendered, render } from "./render.ts";
import type { RunState, Taken } from "./state.ts";

/** The values for resolving an operand. `reads` are a node's named inputs, and `files` are those that the worker read for this activity. */
export interface Scope {
  readonly program: Program;
  readonly state: RunState;
  readonly reads: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Identifies the random choice: the run, the visit and the read. */
  readonly drawing?: string;
  /** The search effort that is left for this step. */
  readonly effort?: Effort;
}

export interface Resolved {
  /** null if there is no value. */
  readonly text: string | null;
  readonly origin: "variable" | "prompt" | "environment" | "literal" | "file" | "list" | "none";
  /** Only for a prompt. */
  readonly role: Role | null;
  /** Names in the text that have no value. */
  readonly unknown: readonly string[];
  /** The lists after the value was removed, and the removed elements. */
  readonly lists: RunState["lists"] | null;
  readonly taken: Taken | null;
}

const nothing: Resolved = { text: null, origin: "none", role: null, unknown: [], lists: null, taken: null };

export function resolve(operand: Operand, scope: Scope): Resolved {
  switch (operand.from) {
    case "name":
      return resolveName(operand.name, scope);
    case "template":
      return { ...nothing, ...fill(operand.text, scope), origin: "literal" };
    case "literal":
      return { ...nothing, text: operand.text, origin: "literal" };
    case "file":
      return found(own(scope.files, operand.path) ?? own(scope.program.files, operand.path), "file");
    case "read":
      return found(own(scope.reads, operand.name), "variable");
    case "variable":
      return found(own(scope.state.variables, operand.name), "variable");
    case "joined":
      return join(operand.of, scope);
    case "either":
      for (const one of operand.of) {
        const value = resolve(one, scope);
        if (value.text !== null && value.text.trim() !== "") return value;
      }
      return nothing;
    case "sample":
      return draw(operand, scope);
    default:
      return resolveList(operand, scope.state);
  }
}

type ListOperand = Extract<Operand, { list: string }>;

function found(text: string | undefined, origin: Resolved["origin"]): Resolved {
  return text === undefined ? nothing : { ...nothing, text, origin };
}

/** Each part sees the lists that the parts before it left. */
function join(parts: readonly Operand[], scope: Scope): Resolved {
  const texts: string[] = [];
  const unknown: string[] = [];
  let { state } = scope;
  let length = 0;
  for (const part of parts) {
    const value = resolve(part, { ...scope, state });
    if (value.lists !== null) state = { ...state, lists: value.lists };
    length += value.text?.length ?? 0;
    allow(length, state.bounds, "The text with its places filled");
    texts.push(value.text ?? "");
    unknown.push(...value.unknown);
  }
  const lists = state === scope.state ? null : state.lists;
  return { ...nothing, text: texts.join(""), origin: "literal", unknown, lists };
}

function draw({ list }: Extract<Operand, { from: "sample" }>, scope: Scope): Resolved {
  const { text, lists } = resolve(list, scope);
  const state = lists === null ? scope.state : { ...scope.state, lists };
  const items = text === null ? undefined : own(state.lists, text);
  if (items === undefined || items.length === 0) return { ...nothing, lists };
  return { ...found(items[drawIndex(scope.drawing ?? state.run, items.length)], "list"), lists };
}

function resolveName(name: string, scope: Scope): Resolved {
  const value = variableValue(name, scope);
  if (value !== null) return { ...nothing, text: value, origin: "variable" };
  const prompt = own(scope.program.prompts, name);
  if (prompt !== undefined) {
    return { ...nothing, ...fill(prompt.text, scope), origin: "prompt", role: prompt.role };
  }
  const fromEnvironment = own(scope.state.environment, name);
  if (fromEnvironment !== undefined) return { ...nothing, text: fromEnvironment, origin: "environment" };
  return { ...nothing, ...fill(name, scope), origin: "literal" };
}

/** Looks up a variable by the name that the author wrote. Returns null if there is none. */
function variableValue(name: string, scope: Scope): string | null {
  return own(scope.reads, name) ?? own(scope.state.variables, variableName(name)) ?? null;
}

/** Looks up a name without prompts: a variable, or the environment. */
export function namedValue(name: string, scope: Scope): string | null {
  return variableValue(name, scope) ?? own(scope.state.environment, name) ?? null;
}

/** CONTENT is another name for RESULT. */
export function variableName(written: string): string {
  return written === "CONTENT" ? "RESULT" : written;
}

/** Fills the placeholders of a template. Throws an Excess if the text would be too long. */
function fill(template: string, scope: Scope): Rendered {
  const fits = (length: number) => allow(length, scope.state.bounds, "The text with its places filled");
  return render(template, (name) => placeValue(name, scope), fits);
}

/** Returns the value for `{{NAME}}`, or null. */
export function placeValue(name: string, scope: Scope): string | null {
  const value = variableValue(name, scope);
  if (value !== null) return value;
  return own(scope.program.prompts, name)?.text ?? own(scope.state.environment, name) ?? null;
}

/** Adds the same text after each item. */
function lines(items: readonly string[], { bounds }: RunState, list: string, after = "\n"): string {
  const length = items.reduce((sum, item) => sum + item.length + after.length, 0);
  allow(length, bounds, `The list ${list} as one text`);
  return items.map((item) => `${item}${after}`).join("");
}

function resolveList(operand: ListOperand, state: RunState): Resolved {
  const { lists } = state;
  const list = own(lists, operand.list);
  const items = list ?? [];
  const take = (end: Taken["end"], text: string, gone: readonly string[], rest: readonly string[]): Resolved => ({
    ...nothing,
    text,
    origin: "list",
    lists: { ...lists, [operand.list]: rest },
    taken: { list: operand.list, end, items: gone },
  });
  switch (operand.from) {
    case "size":
      return found(String(items.length), "list");
    case "all":
      return list === undefined ? nothing : found(lines(items, state, operand.list, operand.after), "list");
    case "peek":
      return found(items.at(operand.index), "list");
    case "pop": {
      const newest = items.at(-1);
      return newest === undefined ? nothing : take("tail", newest, [newest], items.slice(0, -1));
    }
    case "drain": {
      const count = operand.count ?? items.length;
      const head = items.slice(0, count);
      return take("head", lines(head, state, operand.list), head, items.slice(count));
    }
  }
}
