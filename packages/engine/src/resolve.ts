/**
 * The one place where an operand becomes a value. Order for a name: RESULT, CONTENT and STATUS, variables, prompts, allowed
 * environment; then, for lack of a value, the name as literal text. Only what the author wrote is rendered: prompts, templates
 * and literals. The content of variables, files and lists is taken as it is (I7).
 */

import { allow } from "./bounds.ts";
import { drawIndex } from "./draw.ts";
import type { Operand } from "./operand.ts";
import { own } from "./own-value.ts";
import type { Effort } from "./pattern/search-within.ts";
import type { Program, Role } from "./program.ts";
import { type Rendered, render } from "./render.ts";
import type { RunState, Taken } from "./state.ts";

/** What an operand is resolved against. `reads` are a node's named inputs, `files` what the edge read for this activity. */
export interface Scope {
  readonly program: Program;
  readonly state: RunState;
  readonly reads: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Who draws, for chance: the run, the visit and the read. */
  readonly drawing?: string;
  /** What this step may still spend on searching. */
  readonly effort?: Effort;
}

export interface Resolved {
  /** null: nothing there. */
  readonly text: string | null;
  readonly origin: "variable" | "prompt" | "environment" | "literal" | "file" | "list" | "none";
  /** Of a prompt. */
  readonly role: Role | null;
  /** Names in the text that have no value. */
  readonly unknown: readonly string[];
  /** Lists as they are after the value was taken, and what was taken. */
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

/** Each is looked up in what those before it left. */
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

/** A variable's value by the name an author may write, or null. */
function variableValue(name: string, scope: Scope): string | null {
  return own(scope.reads, name) ?? own(scope.state.variables, variableName(name)) ?? null;
}

/** A name's value without prompts: a variable's, or the environment's. */
export function namedValue(name: string, scope: Scope): string | null {
  return variableValue(name, scope) ?? own(scope.state.environment, name) ?? null;
}

/** CONTENT is another word for RESULT. */
export function variableName(written: string): string {
  return written === "CONTENT" ? "RESULT" : written;
}

/** A template with its places filled. Throws an Excess where the text would be too long. */
function fill(template: string, scope: Scope): Rendered {
  const fits = (length: number) => allow(length, scope.state.bounds, "The text with its places filled");
  return render(template, (name) => placeValue(name, scope), fits);
}

/** What stands for `{{NAME}}`, or null. */
export function placeValue(name: string, scope: Scope): string | null {
  const value = variableValue(name, scope);
  if (value !== null) return value;
  return own(scope.program.prompts, name)?.text ?? own(scope.state.environment, name) ?? null;
}

/** Each followed by the same text. */
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
