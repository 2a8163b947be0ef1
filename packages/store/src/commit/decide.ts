/**
 * An event, decided. A decision that throws is a defect of ours, and would come back with every delivery: it ends its own run, by an event
 * that depends on nothing (`run.broken`), and no other run of the group notices.
 */
import type { Event } from "@markmill/engine";
import { toJson } from "../database/neutral.ts";
import { type Advance, advance, type EventSource } from "./advance.ts";
import type { LoadedRun } from "./run-row.ts";

export interface Decision {
  readonly advance: Advance;
  /** The event that was folded, as JSON. */
  readonly body: string;
}

/** null: the event changes nothing. `body`: the event as JSON, where it is known. */
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
