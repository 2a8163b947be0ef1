/** What the drawing itself tells: nodes nobody reaches, loops nobody leaves. Linear in nodes and edges. */
import type { Node, Program } from "@markmill/engine";
import type { Report } from "./report.ts";
import type { SourceMap } from "./source-map.ts";

export function checkFlow(program: Program, sources: SourceMap, report: Report): void {
  const flow = new Flow(program);
  const starts = [...program.entry, program.handlers.success, program.handlers.failed].filter((id) => id !== null);
  const reached = flow.reach(starts);
  for (const id of Object.keys(program.nodes)) {
    const at = sources.nodes[id];
    if (reached.has(id) || at === undefined) continue;
    report.warn(
      "NODE_UNREACHABLE",
      at,
      `No path leads to ${id}.`,
      "Draw an edge to it from a node that is reached, or remove it.",
    );
  }
  const leaving = flow.leaving();
  for (const loop of flow.loops(starts)) {
    const at = sources.nodes[loop[0] ?? ""];
    if (loop.some((id) => leaving.has(id)) || at === undefined) continue;
    const shown = loop.length > 8 ? [...loop.slice(0, 7), "…"] : loop;
    report.warn(
      "LOOP_WITHOUT_EXIT",
      at,
      `Only the limit on hits ends this loop: ${[...shown, loop[0]].join(" -> ")}.`,
      "Add a CHECK with an edge that leaves the loop.",
    );
  }
}

/** Can a run end successfully or not without passing one of these nodes? */
export function canEnd(program: Program, blocked: (id: string, node: Node) => boolean): boolean {
  return new Flow(program).ends(program.entry, blocked);
}

class Flow {
  readonly #program: Program;
  readonly #next = new Map<string, string[]>();
  readonly #outcomes = new Map<string, Set<string>>();

  constructor(program: Program) {
    this.#program = program;
    for (const { from, to, on } of program.edges) {
      push(this.#next, from, to);
      const outcomes = this.#outcomes.get(from) ?? new Set();
      this.#outcomes.set(from, outcomes.add(on));
    }
  }

  reach(starts: readonly string[]): Set<string> {
    const reached = new Set(starts);
    for (const id of reached) for (const next of this.#next.get(id) ?? []) reached.add(next);
    return reached;
  }

  /** A node at which the run can end: an end, no edge for success, or no edge for a failure that belongs to its work. */
  #isExit(id: string): boolean {
    const node = this.#program.nodes[id];
    if (node === undefined || node.kind === "end") return true;
    const outcomes = this.#outcomes.get(id);
    if (outcomes?.has("ok") !== true) return true;
    const canFail = node.kind === "check" || node.kind === "call" || (node.kind === "execute" && node.nonZero === "fail");
    return canFail && !outcomes.has("fail");
  }

  ends(starts: readonly string[], blocked: (id: string, node: Node) => boolean): boolean {
    const reached = new Set(starts);
    for (const id of reached) {
      const node = this.#program.nodes[id];
      if (node !== undefined && blocked(id, node)) continue;
      if (this.#isExit(id)) return true;
      for (const next of this.#next.get(id) ?? []) reached.add(next);
    }
    return false;
  }

  /** Nodes from which an exit can be reached. */
  leaving(): Set<string> {
    const previous = new Map<string, string[]>();
    for (const { from, to } of this.#program.edges) push(previous, to, from);
    const found = new Set(Object.keys(this.#program.nodes).filter((id) => this.#isExit(id)));
    for (const id of found) for (const before of previous.get(id) ?? []) found.add(before);
    return found;
  }

  /** Strongly connected nodes that form a loop (Tarjan, without recursion), each in the order of the flow. */
  loops(starts: readonly string[]): string[][] {
    const index = new Map<string, number>();
    const low = new Map<string, number>();
    const onStack = new Set<string>();
    const stack: string[] = [];
    const found: string[][] = [];
    for (const start of starts) {
      if (index.has(start)) continue;
      const work: { id: string; edge: number }[] = [{ id: start, edge: 0 }];
      while (work.length > 0) {
        const top = work[work.length - 1];
        if (top === undefined) break;
        const { id } = top;
        if (top.edge === 0) {
          index.set(id, index.size);
          low.set(id, index.size - 1);
          stack.push(id);
          onStack.add(id);
        }
        const next = this.#next.get(id)?.[top.edge];
        if (next !== undefined) {
          top.edge++;
          if (!index.has(next)) work.push({ id: next, edge: 0 });
          else if (onStack.has(next)) low.set(id, Math.min(low.get(id) ?? 0, index.get(next) ?? 0));
          continue;
        }
        work.pop();
        const parent = work[work.length - 1];
        if (parent !== undefined) low.set(parent.id, Math.min(low.get(parent.id) ?? 0, low.get(id) ?? 0));
        if (low.get(id) !== index.get(id)) continue;
        const component = stack.splice(stack.lastIndexOf(id));
        for (const member of component) onStack.delete(member);
        if (component.length > 1 || this.#next.get(id)?.includes(id) === true) found.push(component);
      }
    }
    return found;
  }
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
