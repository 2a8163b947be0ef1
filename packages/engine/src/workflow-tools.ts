/**
 * Workflows that models call as tools. The prompt's activity ends its performance with the calls; each becomes a call, an item of the
 * prompt's visit, and so a child run like that of any CALL. The prompt waits without a worker, and is asked for again when all have
 * returned: its replies and tool calls so far are remembered, so it goes on where it was.
 *
 * M1  A prompt in flight that has items in flight waits for them; nobody performs it meanwhile.
 * M2  Items of one visit are numbered through all its rounds: each call is a visit of its own.
 * M3  A callee of a model is given its arguments, and nothing else of its caller: no variables and no conversation. Of what it came to only
 *     its result goes back, to the model.
 * M4  A failed callee is told to the model. A limit that is the tree's ends the caller, as below a CALL.
 * M5  None of this ends a step of the flow: it takes effect at once, also in a superstep.
 */
import { type ActivityRef, activityKey } from "./activity.ts";
import { beginWork } from "./begin-work.ts";
import type { Outcome, WorkflowCall } from "./event.ts";
import { exceeded, tooDeep } from "./limits.ts";
import { reckonReturn, startOf, treeLimit } from "./nodes/call.ts";
import { unfit } from "./nodes/passed.ts";
import { own } from "./own-value.ts";
import type { Node } from "./program.ts";
import type { Active, RunState } from "./state.ts";
import { change, countStep, type Finish, roomLeft, type Turn } from "./turn.ts";

/** A prompt's call of workflows, or the end of one of those calls; `outcome` null: it failed. */
export function isToolTraffic(node: Node | undefined, ref: ActivityRef, outcome: Outcome | null): boolean {
  return node?.kind === "prompt" && (ref.item !== null || outcome?.kind === "called");
}

/** M1. */
export function awaitsCalls({ active }: Pick<RunState, "active">, { ref }: Pick<Active, "ref">): boolean {
  if (ref.item !== null || own(active, activityKey(ref))?.called === undefined) return false;
  return Object.values(active).some(
    ({ ref: { node, generation, item } }) => item !== null && node === ref.node && generation === ref.generation,
  );
}

/** null: they are under way. */
export function callWorkflows(turn: Turn, active: Active, calls: readonly WorkflowCall[]): Finish | null {
  const { parked: _answered, called = 0, ...prompt } = active;
  const asked = calls.flatMap((call) => {
    const tool = own(turn.program.tools ?? {}, call.tool);
    return tool?.kind === "workflow" ? [{ ...call, program: tool.program }] : [];
  });
  if (asked.length === 0 || asked.length < calls.length) return unfit;
  waitForCalls(turn, { ...prompt, retries: 0, called: called + asked.length });
  for (const [index, { tool: name, program, place, variables }] of asked.entries()) {
    const room = roomLeft(turn);
    const limit = exceeded(turn.program, turn.state, turn.event.at, { counts: true, room }) ?? tooDeep(turn.state);
    if (limit !== null) return { go: "limit", writes: [], failure: limit };
    countStep(turn);
    const ref = { ...active.ref, item: called + index, attempt: 1 };
    const start = startOf(turn, { variables, agent: "", threads: {} });
    beginWork(turn, itemAt(ref), { kind: "call", program, start, tool: { ...place, name } });
  }
  return null;
}

/** A call is over; null: nothing stands in the way of the others, and with the last one the prompt goes on. */
export function takeReturn(turn: Turn, { ref }: Active, outcome: Outcome | null): Finish | null {
  if (outcome?.kind === "returned") {
    reckonReturn(turn, outcome);
    const limit = treeLimit(outcome);
    if (limit !== null) return { go: "limit", writes: [], failure: limit };
  }
  const prompt = own(turn.state.active, activityKey({ ...ref, item: null }));
  if (prompt === undefined || awaitsCalls(turn.state, prompt)) return null;
  turn.commands.push({ do: "retry", activity: prompt.ref, notBefore: null });
  return null;
}

/** No job is left of the attempts before: what comes late from one of them changes nothing. */
export function waitForCalls(turn: Turn, active: Active): void {
  const ref = { ...active.ref, attempt: active.ref.attempt + 1 };
  change(turn, { active: { ...turn.state.active, [activityKey(ref)]: { ...active, ref, notBefore: null } } });
  turn.commands.push({ do: "await", activity: ref });
}

function itemAt(ref: ActivityRef): Active {
  return { ref, order: 0, notBefore: null, reads: {}, taken: [], only: null, retries: 0, repairs: 0, said: null };
}
