/** Runs one body per item. The visit stays active as long as its items are active. The result of each body is stored at its position. */
import type { Work } from "../activity.ts";
import { allow, type Bounds, jsonLength } from "../bounds.ts";
import { failure } from "../failure.ts";
import { parseShallow } from "../parse-shallow.ts";
import type { MapNode } from "../program.ts";
import { resolve } from "../resolve.ts";
import type { MapProgress } from "../state.ts";
import { type Begin, type Finish, type NodeRule, nextThread, scopeOf, type Turn } from "../turn.ts";
import { beginCall } from "./call.ts";
import { passed } from "./passed.ts";
import { promptWork } from "./prompt.ts";

export const map: NodeRule<MapNode> = {
  begin(turn, node, visit) {
    const items = itemsOf(resolve(node.over, scopeOf(turn, visit.reads)).text ?? "");
    if (items.length > 0) return { do: "items", items };
    return { do: "pass", finish: { go: "on", on: "ok", writes: [{ to: "variable", name: "RESULT", text: "[]" }] } };
  },
  finish: () => passed,
};

/** Reads a JSON list (texts unchanged, other values as JSON), or otherwise one item per non-blank line. */
function itemsOf(text: string): readonly string[] {
  try {
    const value: unknown = parseShallow(text);
    if (Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  } catch {
    // The text is not JSON, so each line is an item.
  }
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function beginItem(turn: Turn, node: MapNode, item: string, index: number): Begin {
  const { each } = node;
  const reads = { item, index: String(index) };
  switch (each.kind) {
    case "prompt": {
      const text = resolve(each.text, scopeOf(turn, reads)).text ?? "";
      const thread = nextThread(turn, "item");
      const work: Work = promptWork(turn, { thread, text, read: null, agent: "", settings: each.settings ?? {} });
      return { do: "work", work, said: { thread, role: "user", agent: "", text: null } };
    }
    case "call":
      return beginCall(turn, each.program, { ITEM: item, INDEX: String(index), RESULT: item });
    case "tool":
      return { do: "work", work: { kind: "tool", tool: each.tool, arguments: item } };
  }
}

/** The length of `{"index":,"item":,"status":"error","output":},` plus the digits of the index. */
const reportFrame = 70;

export function finishItems(node: MapNode, progress: MapProgress, bounds: Bounds): Finish {
  let length = 2;
  for (const [index, result] of progress.results.entries()) {
    const output = result === null ? "" : "ok" in result ? result.ok : result.error;
    length += reportFrame + jsonLength(progress.items[index] ?? "") + jsonLength(output);
    allow(length, bounds, "The report of the items");
  }
  const report = progress.results.map((result, index) => {
    const item = progress.items[index] ?? "";
    return result !== null && "ok" in result
      ? { index, item, status: "ok", output: result.ok }
      : { index, item, status: "error", error: result?.error ?? "" };
  });
  const done = report.filter((entry) => entry.status === "ok").length;
  const writes = [{ to: "variable", name: "RESULT", text: JSON.stringify(report) }] as const;
  if (done < node.minSuccess * report.length) {
    const why = failure("ITEMS_FAILED", `${report.length - done} of ${report.length} items failed.`);
    return { go: "on", on: "fail", writes, failure: why };
  }
  return { go: "on", on: "ok", writes };
}
