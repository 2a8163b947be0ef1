/**
 * The activity that whoever commits goes on with (queue, hand-over.ts). The statement that asks for it claims it too: a claim of its own would
 * be a further statement for every prompt.
 *
 * Only what may simply be begun again is claimed ahead. kill -9 between the commit and the hand-over: its lease runs out, and the supervisor
 * rings it. Who is refused the hand-over releases the claim before it rings.
 */
import { type Command, type WorkQueue, workKinds } from "@markmill/engine";
import type { Advance } from "./advance.ts";
import type { Claimed } from "./claim.ts";

/** Who goes on, in which queue, and for how long it holds what it claims before it renews. */
export interface Following {
  readonly queue: WorkQueue;
  readonly worker: string;
  readonly leaseMs: number;
}

export interface Followed {
  readonly claimed: Claimed;
  /** performance.now() before the statement that claimed it: its lease is no older. */
  readonly asked: number;
}

type Perform = Extract<Command, { do: "perform" }>;

/** null: nothing that could be gone on with. A called run's jobs have a parent, and no job with a parent is handed over. */
export function followedBy({ run, birth, commands }: Advance, queue: WorkQueue | null): Perform | null {
  if (queue === null || birth !== null || (run.parent?.job ?? null) !== null) return null;
  for (const command of commands) {
    if (command.do !== "perform" || command.notBefore !== null) continue;
    const kind = workKinds[command.work.kind];
    if (kind.queue === queue && kind.leased === "always" && !kind.actsOutside && kind.light === null) return command;
  }
  return null;
}
