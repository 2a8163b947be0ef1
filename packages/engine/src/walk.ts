/**
 * Moves tokens through the graph: a node begins, ends and feeds its edges. A fed node begins when one of its groups is complete.
 *
 * W1  A node has at most one visit in flight. Tokens that arrive meanwhile wait.
 * W2  A group consumes all tokens on its edges when it fires, so each lap of a loop needs new tokens.
 * W3  Every pass through a node counts a hit. All nodes except ends have a limit of hits, so no walk is endless.
 * W4  The beginning of a node and the end of an activity happen completely or not at all. If one exceeds a bound (bounds.ts), its only
 *     effect is that the node fails. If a check exceeds a bound, its run fails, because the check is neither true nor false.
 */
import { type ActivityRef, activityKey } from "./activity.ts";
import { askFor, beginWork } from "./begin-work.ts";
import { brief, isExcess } from "./bounds.ts";
import { evaluateCondition, Undecided } from "./evaluate-condition.ts";
import type { Outcome } from "./event.ts";
import { emptyEvidence, emptyReturnedEvidence } from "./evidence.ts";
import { type Failure, failure, takesNoEdge } from "./failure.ts";
import { failRun, succeedRun } from "./finish-run.ts";
import { graphOf, type PlacedEdge } from "./graph.ts";
import { exceeded, tooManyHits } from "./limits.ts";
import { reckonReturn, treeLimit } from "./nodes/call.ts";
import { beginItem, finishItems } from "./nodes/map.ts";
import { ruleOf } from "./nodes/rules.ts";
import { own } from "./own-value.ts";
import type { Edge, Join, MapNode, Node, NodeId, Read } from "./program.ts";
import { resolve } from "./resolve.ts";
import type { Active, Taken } from "./state.ts";
import {
  applyEffects,
  applyWrites,
  type Begin,
  change,
  countStep,
  type Finish,
  roomLeft,
  scopeOf,
  setVariable,
  type Turn,
} from "./turn.ts";
import { within } from "./within.ts";
import { callWorkflows, isToolTraffic, takeReturn } from "./workflow-tools.ts";

/** Continues until no node can begin. */
export function walk(turn: Turn): void {
  for (;;) {
    const fed = turn.fed.shift();
    if (fed !== undefined) {
      fire(turn, fed);
      continue;
    }
    const next = turn.ready.shift();
    if (next === undefined) break;
    if (turn.state.phase.is === "ended") return;
    beginNode(turn, next.node, next.only);
  }
  if (turn.state.phase.is === "ended" || turn.state.phase.is === "stopped") return;
  if (Object.keys(turn.state.active).length > 0 || turn.state.held.length > 0) return;
  const waiting = stalledNode(turn);
  if (waiting !== null) failRun(turn, failure("STALLED", `'${waiting}' waits for a branch that did not arrive.`));
  else succeedRun(turn);
  if (turn.ready.length > 0 || turn.fed.length > 0) walk(turn);
}

function beginNode(turn: Turn, id: NodeId, only: readonly NodeId[] | null): void {
  const node = own(turn.graph.nodes, id);
  if (node === undefined) return;
  const hits = (own(turn.state.hits, id) ?? 0) + 1;
  const passing = node.kind === "start" || node.kind === "end";
  const uncounted = passing || node.uncounted === true;
  const limit =
    (node.kind === "end" ? null : tooManyHits(turn.state, id, hits)) ??
    (passing ? null : exceeded(turn.program, turn.state, turn.event.at, { counts: !uncounted, room: roomLeft(turn) }));
  if (limit !== null) return failRun(turn, limit);
  if (!uncounted) countStep(turn);
  change(turn, { hits: { ...turn.state.hits, [id]: hits } });
  within(
    turn,
    () => visitNode(turn, node, id, only, hits),
    (why) => failWithin(turn, why, () => failNode(turn, node, id, only, why)),
  );
}

/** If the failure itself exceeds a bound (by the effects of an edge), the run fails. */
function failWithin(turn: Turn, why: Failure, fail: () => void): void {
  within(turn, fail, () => failRun(turn, why));
}

function visitNode(turn: Turn, node: Node, id: NodeId, only: readonly NodeId[] | null, hits: number): void {
  const taken: Taken[] = [...(turn.carried.get(id) ?? [])];
  turn.carried.delete(id);
  let reads: Readonly<Record<string, string>> = {};
  for (const read of node.reads ?? []) {
    const drawing = `${turn.state.run}/${id}.${hits}/${read.name}`;
    const value = resolve(read.value, { ...scopeOf(turn, reads), drawing });
    if (value.lists !== null) change(turn, { lists: value.lists });
    if (value.taken !== null) taken.push(value.taken);
    if (value.text === null && read.required) {
      putBack(turn, taken);
      const missing = failure("READ_MISSING", `'${id}' needs '${read.name}', which has no value.`);
      return failNode(turn, node, id, only, missing);
    }
    reads = { ...reads, [read.name]: value.text ?? "" };
  }
  const begin = ruleOf(node).begin(turn, node, { id, generation: hits, reads });
  emptyEvidence(turn, node);
  const active: Active = {
    ref: { node: id, generation: hits, item: null, attempt: 1 },
    order: turn.state.order,
    notBefore: null,
    reads,
    taken,
    only,
    retries: 0,
    repairs: 0,
    said: null,
  };
  carryOut(turn, node, active, begin);
}

function carryOut(turn: Turn, node: Node, active: Active, begin: Begin): void {
  switch (begin.do) {
    case "work":
      return beginWork(turn, { ...active, said: begin.said ?? null }, begin.work);
    case "items": {
      const progress = { items: begin.items, results: begin.items.map(() => null), next: 0 };
      change(turn, { maps: { ...turn.state.maps, [activityKey(active.ref)]: progress } });
      return beginItems(turn, node as MapNode, active);
    }
    case "pass":
      return finishNode(turn, node, active, begin.finish);
    case "end":
      return begin.outcome === "success"
        ? succeedRun(turn, begin.word)
        : failRun(turn, failure("FAILED_REACHED", `The flow reached '${active.ref.node}'.`), begin.word);
    case "fail":
      return failNode(turn, node, active.ref.node, active.only, begin.failure);
    case "limit":
      return failRun(turn, begin.failure);
  }
}

/** Handles the outcome of an activity in flight (W4). */
export function takeOutcome(turn: Turn, active: Active, outcome: Outcome): void {
  within(
    turn,
    () => finishActivity(turn, active, outcome),
    (why) => takeFailure(turn, active, why),
  );
}

function finishActivity(turn: Turn, active: Active, outcome: Outcome): void {
  drop(turn, active.ref);
  const node = own(turn.graph.nodes, active.ref.node);
  if (node === undefined) return;
  if (node.kind === "map" && active.ref.item !== null) {
    const text = "text" in outcome ? outcome.text : outcome.kind === "returned" ? outcome.result : "";
    if (outcome.kind === "returned") {
      reckonReturn(turn, outcome);
      emptyReturnedEvidence(turn, outcome.variables);
    }
    const limit = outcome.kind === "returned" ? treeLimit(outcome) : null;
    if (limit !== null) return failRun(turn, limit);
    const failed = outcome.kind === "returned" && outcome.status !== "success";
    return takeItem(turn, node, active, failed ? { error: outcome.reason?.message ?? text } : { ok: text });
  }
  if (isToolTraffic(node, active.ref, outcome)) {
    const stopped =
      outcome.kind === "called" ? callWorkflows(turn, active, outcome.calls) : takeReturn(turn, active, outcome);
    return stopped === null ? undefined : finishNode(turn, node, active, stopped);
  }
  const finish = ruleOf(node).finish(turn, node, active, outcome);
  finishNode(turn, node, active, finish);
}

/** Handles the final failure of an activity in flight. */
export function takeFailure(turn: Turn, active: Active, given: Failure): void {
  const why = brief(given);
  within(
    turn,
    () => failActivity(turn, active, why),
    () => {
      drop(turn, active.ref);
      failRun(turn, why);
    },
  );
}

function failActivity(turn: Turn, active: Active, why: Failure): void {
  drop(turn, active.ref);
  const node = own(turn.graph.nodes, active.ref.node);
  if (node === undefined) return;
  if (takesNoEdge(why)) {
    turn.failed.push({ node: active.ref.node, failure: why });
    return failRun(turn, why);
  }
  // The model receives the failure.
  if (isToolTraffic(node, active.ref, null)) return void takeReturn(turn, active, null);
  if (node.kind === "map" && active.ref.item !== null && node.itemError === "collect") {
    return takeItem(turn, node, active, { error: why.message });
  }
  putBack(turn, active.taken);
  if (node.kind === "map") dropItems(turn, active.ref);
  failNode(turn, node, active.ref.node, active.only, why);
}

/** Puts elements back at the end of the list that they came from, before or after elements that were added since. */
function putBack(turn: Turn, taken: readonly Taken[]): void {
  for (const { list, end, items } of taken.toReversed()) {
    const now = own(turn.state.lists, list) ?? [];
    const restored = end === "head" ? [...items, ...now] : [...now, ...items];
    change(turn, { lists: { ...turn.state.lists, [list]: restored } });
  }
}

function failNode(turn: Turn, node: Node, id: NodeId, only: readonly NodeId[] | null, why: Failure): void {
  if (node.kind === "check" && isExcess(why.code)) return failRun(turn, why);
  failOnEdge(turn, node, id, only, why);
}

function failOnEdge(turn: Turn, node: Node, id: NodeId, only: readonly NodeId[] | null, why: Failure): void {
  emptyEvidence(turn, node);
  setVariable(turn, "RESULT", `FAILED  \n${why.message}`);
  route(turn, node, id, "fail", only, {}, why);
}

function finishNode(turn: Turn, node: Node, active: Active, finish: Finish): void {
  const { node: id } = active.ref;
  // A node that fails puts back the elements that it removed.
  if (finish.go === "fail" || (finish.go === "on" && finish.on === "fail")) putBack(turn, active.taken);
  if (finish.go === "fail") return failNode(turn, node, id, active.only, finish.failure);
  if (finish.go === "limit") {
    applyWrites(turn, active.ref, finish.writes);
    turn.failed.push({ node: id, failure: finish.failure });
    return failRun(turn, finish.failure);
  }
  if (finish.go === "again") {
    const ref = { ...active.ref, attempt: active.ref.attempt + 1 };
    const again = { ...active, ref, repairs: active.repairs + 1, said: finish.said ?? active.said };
    return askFor(turn, again, finish.work);
  }
  if (finish.on !== "fail") carryOn(turn, active);
  applyWrites(turn, active.ref, finish.writes);
  if (finish.on === "ok") applyEffects(turn, node.writes ?? [], active.reads);
  const graphed = finish.writes.find((write) => write.to === "graph");
  if (graphed?.to === "graph") {
    turn.graph = graphOf(turn.program, turn.state);
    for (const head of graphed.heads) turn.ready.push({ node: head, only: null });
    return;
  }
  if (finish.on === "ok" && node.after !== undefined) return routeAfter(turn, node, node.after, active);
  route(turn, node, id, finish.on, active.only, active.reads, finish.failure ?? null);
}

/** Prepares nodes that continue this node's work and begin in the same step. */
function carryOn(turn: Turn, { ref, taken }: Active): void {
  if (taken.length === 0) return;
  for (const { edge } of turn.graph.out.get(ref.node) ?? []) {
    if (own(turn.graph.nodes, edge.to)?.continues === true) turn.carried.set(edge.to, taken);
  }
}

/** Follows the edges whose conditions read the lists as the node left them. */
function routeAfter(turn: Turn, node: Node, after: readonly Read[], { ref, only, reads, taken }: Active): void {
  const before = turn.state;
  let found = reads;
  for (const { name, value } of after) {
    const { text, lists } = resolve(value, scopeOf(turn, found));
    if (lists !== null) change(turn, { lists });
    found = { ...found, [name]: text ?? "" };
  }
  try {
    route(turn, node, ref.node, "ok", only, found, null);
  } catch (error) {
    if (!(error instanceof Undecided)) throw error;
    turn.state = before;
    putBack(turn, taken);
    // The node itself has a result; only the next edge is undecided.
    failOnEdge(turn, node, ref.node, only, error.failure);
  }
}

/** Feeds the edges that match an outcome. */
function route(
  turn: Turn,
  node: Node,
  id: NodeId,
  on: string,
  only: readonly NodeId[] | null,
  reads: Active["reads"],
  why: Failure | null,
): void {
  if (why !== null) {
    turn.failed.push({ node: id, failure: why });
    setVariable(turn, "ERROR", `${why.code}: ${why.message}`);
  }
  const fitting: PlacedEdge[] = [];
  for (const placed of turn.graph.out.get(id) ?? []) {
    if (!fits(turn, placed, on, only, reads)) continue;
    fitting.push(placed);
    if (node.select !== "all") break;
  }
  for (const { edge, index } of fitting) {
    applyEffects(turn, edge.effects ?? [], reads);
    if (edge.max !== undefined) {
      change(turn, { taken: { ...turn.state.taken, [index]: (turn.state.taken[index] ?? 0) + 1 } });
    }
    if (edge.rerun) rerun(turn, edge);
    else {
      change(turn, { tokens: { ...turn.state.tokens, [index]: (turn.state.tokens[index] ?? 0) + 1 } });
      turn.fed.push(edge.to);
    }
  }
  // Tokens may have arrived for this same node while it was busy.
  turn.fed.push(id);
  if (fitting.length > 0 || on === "ok") return;
  const unconnected =
    on === "fail"
      ? failure("CHECK_FALSE", `'${id}' was false, but it has no FALSE edge.`)
      : failure("NOT_CONNECTED", `'${id}' ended with '${on}', but it has no edge for this outcome.`);
  if (why === null) turn.failed.push({ node: id, failure: unconnected });
  failRun(turn, on === "fail" ? (why ?? unconnected) : unconnected);
}

function fits(
  turn: Turn,
  placed: PlacedEdge,
  on: string,
  only: readonly NodeId[] | null,
  reads: Active["reads"],
): boolean {
  const { edge, index } = placed;
  if (edge.on !== on) return false;
  if (only !== null && on === "ok" && !only.includes(edge.to)) return false;
  if (edge.max !== undefined && (turn.state.taken[index] ?? 0) >= edge.max) return false;
  return edge.when === undefined || evaluateCondition(edge.when, scopeOf(turn, reads)).holds;
}

/**
 * The target runs again for the requesting node. If a rerun is already in flight, it serves both nodes. A first run in flight feeds all
 * successors anyway.
 */
function rerun(turn: Turn, edge: Edge): void {
  const also = (only: readonly NodeId[]) => (only.includes(edge.from) ? only : [...only, edge.from]);
  for (const [key, active] of Object.entries(turn.state.active)) {
    if (active.ref.node !== edge.to) continue;
    if (active.only === null) return;
    change(turn, { active: { ...turn.state.active, [key]: { ...active, only: also(active.only) } } });
    return;
  }
  const at = turn.ready.findIndex((ready) => ready.node === edge.to);
  const ready = turn.ready[at];
  if (ready === undefined) turn.ready.push({ node: edge.to, only: [edge.from] });
  else if (ready.only !== null) turn.ready[at] = { ...ready, only: also(ready.only) };
}

const oneToken: Readonly<Record<string, Join>> = { "": { mode: "any" } };

/** Begins a node whose group is complete (W1, W2). If the node is already about to begin, its other complete groups are consumed, too. */
function fire(turn: Turn, id: NodeId): void {
  const node = own(turn.graph.nodes, id);
  if (node === undefined) return;
  if (Object.values(turn.state.active).some((active) => active.ref.node === id)) return;
  for (const [group, join] of Object.entries(node.groups ?? oneToken)) {
    const edges = groupEdges(turn, id, group);
    const has = ({ index }: PlacedEdge) => (turn.state.tokens[index] ?? 0) > 0;
    if (edges.filter(has).length < needed(join, edges.length)) continue;
    const tokens = { ...turn.state.tokens };
    for (const placed of edges) {
      // A quorum does not wait for its last edges. Each edge still owes one token in this lap; that token is dropped when it arrives.
      if (join.mode === "quorum" && !has(placed)) tokens[placed.index] = (tokens[placed.index] ?? 0) - 1;
      else delete tokens[placed.index];
    }
    change(turn, { tokens });
    if (!turn.ready.some((ready) => ready.node === id)) turn.ready.push({ node: id, only: null });
  }
}

function groupEdges(turn: Turn, id: NodeId, group: string): readonly PlacedEdge[] {
  return (turn.graph.into.get(id) ?? []).filter(({ edge }) => (edge.group ?? "") === group && edge.rerun !== true);
}

function needed(join: Join, edges: number): number {
  if (join.mode === "any") return 1;
  return join.mode === "all" ? Math.max(1, edges) : join.of;
}

/** Finds a node that has some tokens of a group, but not enough. */
function stalledNode(turn: Turn): NodeId | null {
  for (const [index, count] of Object.entries(turn.state.tokens)) {
    const target = count > 0 ? turn.graph.edges[Number(index)]?.to : undefined;
    if (target !== undefined && !turn.state.spliced.gone.includes(target)) return target;
  }
  return null;
}

/** The highest number of map items in flight. Each item that begins or ends copies the list of the active ones. */
const mostTogether = 200;

function beginItems(turn: Turn, node: MapNode, visit: Active): void {
  const key = activityKey({ ...visit.ref, item: null });
  for (;;) {
    const progress = turn.state.maps[key];
    if (progress === undefined) return;
    const inFlight = Object.values(turn.state.active).filter((active) => sameVisit(active.ref, visit.ref)).length;
    const item = progress.items[progress.next];
    if (item === undefined && inFlight === 0 && progress.results.every((result) => result !== null)) {
      forgetMap(turn, key);
      const finish = finishItems(node, progress, turn.state.bounds);
      return finishNode(turn, node, { ...visit, ref: { ...visit.ref, item: null } }, finish);
    }
    if (item === undefined || inFlight >= Math.min(Math.max(1, node.concurrency), mostTogether)) return;
    // Each item of a map may contain all variables. If this is too much for one step, the rest begins when other items have ended.
    if (inFlight > 0 && 2 * turn.asked > turn.state.bounds.stateCharacters) return;
    const limit = exceeded(turn.program, turn.state, turn.event.at, { counts: true, room: roomLeft(turn) });
    if (limit !== null) return failRun(turn, limit);
    countStep(turn);
    change(turn, { maps: { ...turn.state.maps, [key]: { ...progress, next: progress.next + 1 } } });
    const ref = { ...visit.ref, item: progress.next, attempt: 1 };
    carryOut(turn, node, { ...visit, ref, retries: 0, repairs: 0 }, beginItem(turn, node, item, progress.next));
    if (turn.state.phase.is === "ended") return;
  }
}

function takeItem(turn: Turn, node: MapNode, active: Active, result: { ok: string } | { error: string }): void {
  const key = activityKey({ ...active.ref, item: null });
  const progress = turn.state.maps[key];
  if (progress === undefined) return;
  if ("error" in result && node.itemError === "fail") {
    dropItems(turn, active.ref);
    return failNode(turn, node, active.ref.node, active.only, failure("ITEMS_FAILED", result.error));
  }
  const results = progress.results.with(active.ref.item ?? 0, result);
  change(turn, { maps: { ...turn.state.maps, [key]: { ...progress, results } } });
  beginItems(turn, node, active);
}

/** Items of the map that are still in flight become void. */
function dropItems(turn: Turn, ref: ActivityRef): void {
  forgetMap(turn, activityKey({ ...ref, item: null }));
  const entries = Object.entries(turn.state.active);
  const dropped = entries.map(([, active]) => active.ref).filter((other) => sameVisit(other, ref));
  if (dropped.length === 0) return;
  change(turn, { active: Object.fromEntries(entries.filter(([, active]) => !sameVisit(active.ref, ref))) });
  turn.commands.push({ do: "void", activities: dropped });
}

function forgetMap(turn: Turn, key: string): void {
  const { [key]: _done, ...maps } = turn.state.maps;
  change(turn, { maps });
}

function sameVisit(one: ActivityRef, other: ActivityRef): boolean {
  return one.node === other.node && one.generation === other.generation;
}

export function drop(turn: Turn, ref: ActivityRef): void {
  const { [activityKey(ref)]: _done, ...active } = turn.state.active;
  change(turn, { active });
}
