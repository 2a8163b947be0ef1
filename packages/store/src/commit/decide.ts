/**
 * Decides an event. A decision that throws is a defect of Markmill and would return with every delivery. Therefore it ends its own run with
 * an event that depends on nothing (`run.broken`), and no other run of the group is affected.
 */
import type { Event } from "@markmill/engine";
import { toJson } from "../database/neutral.ts";
import { type Advance, advance, type EventSource } from "./advance.ts";
import type { Request } from "./committer.ts";
import type { LoadedRun } from "./run-row.ts";
import { fitsRoom } from "./step-pools.ts";

export interface Decision {
  readonly advance: Advance;
  /** The event that was folded, as JSON. */
  readonly body: string;
}

/** null: the event changes nothing. `body`: the event as JSON, if it is known. */
export function decideEvent(
  run: LoadedRun,
  event: Event,
  source: EventSource | null,
  more: { readonly body?: string; readonly by?: string | null } = {},
): Decision | null {
  try {
    const decided = advance(run, event, source, null, more.by ?? null);
    return decided === null ? null : { advance: decided, body: more.body ?? toJson(event) };
  } catch (error) {
    const told = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const message = `Deciding '${event.type}' threw ${told}`;
    const broken: Event = { type: "run.broken", at: event.at, seed: event.seed, message };
    const decided = advance(run, broken, source);
    return decided === null ? null : { advance: decided, body: toJson(broken) };
  }
}

/** The decision on a requested commit. */
export interface Decided extends Decision {
  readonly request: Request;
}

/** null: the event changes nothing. */
export function decideRequest(request: Request): Decided | null {
  const { run, event, source, creation, body, by } = request;
  if (creation === null) {
    const decided = decideEvent(run, event, source, { body, by: by || null });
    return decided === null ? null : { request, ...decided };
  }
  const created = advance(run, event, source, creation, by || null);
  return created === null ? null : { request, advance: created, body };
}

/** If an event would begin more steps than there is room for, decide it again with the number of steps that may begin. */
export function decideWithin(request: Request, room: number | null): Decided | null {
  const decided = decideRequest(request);
  if (decided === null || room === null || fitsRoom(decided.advance, room)) return decided;
  const told: Event = { ...request.event, room };
  const again = decideRequest({ ...request, event: told, body: toJson(told) });
  return again === null ? null : { ...again, request };
}
