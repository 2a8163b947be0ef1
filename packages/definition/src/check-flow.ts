/** Checks the drawn flow: unreachable nodes, and loops without an exit. Linear in nodes and edges. */
import type { Node, Program } from "@markmill/engine";
import type { FindingReport } from "./finding-codes.ts";
import type { SourceMap } from "./source-map.ts";

export function checkFlow(program: Program, sources: SourceMap, report: FindingReport): void {
  const flow = new Flow(program);
  const starts = [...program.entry, program.handlers.success, program.handlers.failed].filter((id) => id !== null);
  const reached = flow.reach(starts);
  for (const id of flow.ids) {
    const at = sources.nodes[id];
    if (reached(id) || at === undefined || !Object.hasOwn(program.nodes, id)) continue;
    report.warn(
      "NODE_UNREACHABLE",
      at,
      `No path leads to ${id}.`,
      "Draw an edge to the node from a reachable node, or remove it.",
    );
  }
  for (const loop of flow.loopsWithoutExit(starts)) {
    const at = sources.nodes[loop[0] ?? ""];
    if (at === undefined) continue;
    const shown = loop.length > 8 ? [...loop.slice(0, 7), "…"] : loop;
    report.warn(
      "LOOP_WITHOUT_EXIT",
      at,
      `Only the limit of visits can end this loop: ${[...shown, loop[0]].join(" -> ")}.`,
      "Add a CHECK with an edge that leaves the loop.",
    );
  }
}

/** Returns whether a run can end without passing a blocked node. */
export function canEnd(program: Program, blocked: (node: Node) => boolean): boolean {
  return new Flow(program).ends(program.entry, blocked);
}

/** The flow with numbers for nodes: their positions in `ids`. */
class Flow {
  readonly ids: readonly string[];
  readonly #program: Program;
  readonly #number = new Map<string, number>();
  readonly #next: number[][] = [];
  readonly #succeeds: boolean[];
  readonly #fails: boolean[];

  constructor(program: Program) {
    this.#program = program;
    const ids = Object.keys(program.nodes);
    for (const id of ids) this.#number.set(id, this.#number.size);
    for (const { from, to } of program.edges) {
      for (const id of [from, to]) {
        if (this.#number.has(id)) continue;
        this.#number.set(id, this.#number.size);
        ids.push(id);
      }
    }
    this.ids = ids;
    this.#succeeds = new Array(ids.length).fill(false);
    this.#fails = new Array(ids.length).fill(false);
    for (let node = 0; node < ids.length; node++) this.#next.push([]);
    for (const { from, to, on } of program.edges) {
      const node = this.#of(from);
      this.#next[node]?.push(this.#of(to));
      (on === "ok" ? this.#succeeds : this.#fails)[node] = true;
    }
  }

  #of(id: string): number {
    return this.#number.get(id) ?? -1;
  }

  #visit(starts: readonly number[], next: readonly (readonly number[])[]): boolean[] {
    const seen: boolean[] = new Array(this.ids.length).fill(false);
    const queue = [...starts];
    for (const node of queue) seen[node] = true;
    for (const node of queue) {
      for (const target of next[node] ?? []) {
        if (seen[target]) continue;
        seen[target] = true;
        queue.push(target);
      }
    }
    return seen;
  }

  reach(starts: readonly string[]): (id: string) => boolean {
    const seen = this.#visit(
      starts.map((id) => this.#of(id)),
      this.#next,
    );
    return (id) => seen[this.#of(id)] === true;
  }

  /** Whether the run can end at this node: it is an end, it has no edge for success, or it can fail and has no edge for that. */
  #isExit(number: number): boolean {
    const node = this.#program.nodes[this.ids[number] ?? ""];
    if (node === undefined || node.kind === "end" || !this.#succeeds[number]) return true;
    const canFail =
      node.kind === "check" || node.kind === "call" || (node.kind === "execute" && node.nonZero === "fail");
    return canFail && !this.#fails[number];
  }

  ends(starts: readonly string[], blocked: (node: Node) => boolean): boolean {
    const passable = this.#next.map((next, number) => {
      const node = this.#program.nodes[this.ids[number] ?? ""];
      return node !== undefined && blocked(node) ? null : next;
    });
    const seen = this.#visit(
      starts.map((id) => this.#of(id)),
      passable.map((next) => next ?? []),
    );
    return seen.some((is, number) => is && passable[number] !== null && this.#isExit(number));
  }

  /** The nodes from which an exit can be reached. */
  #leaving(): boolean[] {
    const previous: number[][] = this.#next.map(() => []);
    this.#next.forEach((targets, node) => {
      for (const target of targets) previous[target]?.push(node);
    });
    const exits = this.ids.map((_, number) => number).filter((number) => this.#isExit(number));
    return this.#visit(exits, previous);
  }

  /** Finds loops of strongly connected nodes that have no way out (Tarjan's algorithm, without recursion), in the order of the flow. */
  loopsWithoutExit(starts: readonly string[]): string[][] {
    const leaving = this.#leaving();
    const index: number[] = new Array(this.ids.length).fill(-1);
    const low: number[] = new Array(this.ids.length).fill(0);
    const edge: number[] = new Array(this.ids.length).fill(0);
    const onStack: boolean[] = new Array(this.ids.length).fill(false);
    const stack: number[] = [];
    const found: string[][] = [];
    let visited = 0;
    for (const start of starts.map((id) => this.#of(id))) {
      if (index[start] !== -1) continue;
      const work = [start];
      for (let node = work.at(-1); node !== undefined; node = work.at(-1)) {
        if (index[node] === -1) {
          index[node] = low[node] = visited++;
          stack.push(node);
          onStack[node] = true;
        }
        const position = edge[node] ?? 0;
        const next = this.#next[node]?.[position];
        if (next !== undefined) {
          edge[node] = position + 1;
          if (index[next] === -1) work.push(next);
          else if (onStack[next]) low[node] = Math.min(low[node] ?? 0, index[next] ?? 0);
          continue;
        }
        work.pop();
        const parent = work.at(-1);
        if (parent !== undefined) low[parent] = Math.min(low[parent] ?? 0, low[node] ?? 0);
        if (low[node] !== index[node]) continue;
        const members = stack.splice(stack.lastIndexOf(node));
        for (const member of members) onStack[member] = false;
        const isLoop = members.length > 1 || this.#next[node]?.includes(node) === true;
        if (isLoop && !leaving[node]) found.push(members.map((member) => this.ids[member] ?? ""));
      }
    }
    return found;
  }
}
