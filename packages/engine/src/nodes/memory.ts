import { isRecord } from "@markmill/base/json";
import type { Work } from "../activity.ts";
import { own } from "../own-value.ts";
import { parseShallow } from "../parse-shallow.ts";
import type { Json, MemoryNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import { type NodeRule, scopeOf, type Turn } from "../turn.ts";
import { unfit } from "./passed.ts";
import { produced } from "./produced.ts";
import { aside } from "./prompt.ts";

/** Inserts passages, finds the nearest ones, or decides whether a passage is near enough. A search may also be a web search. */
export const memory: NodeRule<MemoryNode> = {
  begin(turn, node, visit) {
    const text = resolve(node.text, scopeOf(turn, visit.reads)).text ?? "";
    const web = node.op === "search" ? webSearch(turn, node, text) : null;
    if (web !== null) return { do: "work", work: web };
    const threshold = node.op === "similar" ? { threshold: node.threshold ?? 0.95 } : {};
    return {
      do: "work",
      work: { kind: "memory", op: node.op, text, top: node.top ?? 3, ...threshold, ...aside(turn) },
    };
  },
  finish(_turn, node, _active, outcome) {
    if (node.op === "search") return produced(outcome, node.into);
    if (outcome.kind !== "produced") return unfit;
    // A memory node that is part of another node's work does not change that node's RESULT.
    return { go: "on", on: node.op === "similar" ? outcome.text : "ok", writes: [] };
  },
};

const mostResults = 10;

/** Builds the arguments from the fields of the query that the tool knows. */
function webSearch(turn: Turn, { web, where }: MemoryNode, text: string): Work | null {
  if (web === undefined) return null;
  const query = queryIn(text) ?? (where === "web" ? { query: text } : null);
  if (query === null) return null;
  const { lang = "en", n_results: wished = 5, ...others } = query;
  const results = Math.min(mostResults, Math.max(1, Math.floor(Number(wished)) || 1));
  const given = { ...others, lang, n_results: results };
  const taken = Object.entries(given).filter(([name]) => knows(turn, web, name));
  return { kind: "tool", tool: web, arguments: JSON.stringify(Object.fromEntries(taken)) };
}

function knows(turn: Turn, tool: string, name: string): boolean {
  const schema = own(turn.program.tools ?? {}, tool)?.schema;
  const properties = isRecord(schema) ? schema.properties : undefined;
  return isRecord(properties) && Object.hasOwn(properties, name);
}

function queryIn(text: string): { readonly [key: string]: Json } | null {
  try {
    const value = parseShallow(text) as Json;
    return isRecord(value) && typeof value.query === "string" ? value : null;
  } catch {
    return null;
  }
}
