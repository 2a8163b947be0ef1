/**
 * Workflows that models call as tools. The prompt's activity ends its attempt with the calls. Each call becomes an item of the prompt's
 * visit and a child run, as with any CALL. The prompt then waits without a worker. It is requested again when all calls have returned. Its
 * earlier replies and tool calls are stored, so it continues where it stopped.
 *
 * M1  A prompt in flight that has items in flight waits for them. No worker performs it meanwhile.
 * M2  Items of one visit are numbered through all its rounds, so each call is a visit of its own.
 * M3  A callee of a model receives its arguments and nothing else of its caller: no variables and no conversation. Only its result returns,
 *     to the model.
 * M4  The model receives the failure of a callee. A limit of the whole tree ends the caller, as below a CALL.
 * M5  None of this ends a step of the flow. It takes effect at once, also in a superstep.
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

/** Returns whether the result is a prompt's call of workflows, or the end of such a call. `outcome` is null if the call failed. */
export function isToolTraffic(node: Node | undefined, ref: ActivityRef, outcome: Outcome | null): boolean {
  return node?.kind === "prompt" && (ref.item !== null || outcome?.kind === "called");
}

/** Checks M1. */
export function awaitsCalls({ active }: Pick<RunState, "active">, { ref }: Pick<Active, "ref">): boolean {
  if (ref.item !== null || own(active, activityKey(ref))?.called === undefined) return false;
  return Object.values(active).some(
    ({ ref: { node, generation, item } }) => item !== null && node === ref.node && generation === ref.generation,
  );
}

/** Returns null if the calls have begun. */
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

/** Handles the end of a call. Returns null if no limit stops the other calls. With the last call, the prompt continues. */
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

/** Raises the attempt, so that late results of earlier attempts change nothing. */
export function waitForCalls(turn: Turn, active: Active): void {
  const ref = { ...active.ref, attempt: active.ref.attempt + 1 };
  change(turn, { active: { ...turn.state.active, [activityKey(ref)]: { ...active, ref, notBefore: null } } });
  turn.commands.push({ do: "await", activity: ref });
}

function itemAt(ref: ActivityRef): Active {
  return { ref, order: 0, notBefore: null, reads: {}, taken: [], only: null, retries: 0, repairs: 0, said: null };
}
