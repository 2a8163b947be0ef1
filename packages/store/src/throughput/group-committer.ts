/**
 * Group commit: events that arrive together are decided on the runs as last known and written by one statement.
 *
 * Gains: a statement for eight events costs Postgres little more than one for two, and one fsync serves them all. Not measured alone; see
 * gather.ts. Without it (plain-committer.ts): every event is a statement and an fsync of its own.
 *
 * The rules are those of commit/committer.ts. For groups, these are added:
 * - G1 over groups: if an event of the run is in flight, its next event waits for the next group.
 * - G4 over groups: a group that fails is repeated row by row. Events that would make one statement too large are written in several.
 * - G5 and G6: an event that needs locks waits in a line beside the groups, so that other runs do not wait for its locks. While an event of
 *   a run waits there, the next events of that run join the line at once.
 */

import { patiently } from "@markmill/base";
import { weighState } from "@markmill/engine";
import { commitLocked } from "../commit/commit-locked.ts";
import {
  type Committed,
  type Committer,
  type CommitterParts,
  mostMisses,
  type Request,
  toRequest,
} from "../commit/committer.ts";
import { type Decided, decideRequest } from "../commit/decide.ts";
import { dropped, readAgain } from "../commit/read-again.ts";
import { whileAway } from "../commit/retry-policy.ts";
import { settle } from "../commit/settle.ts";
import { usesPools } from "../commit/step-pools.ts";
import { numbered, writeDecided } from "../commit/write-decided.ts";
import { isContention, type StoreError, translate } from "../database/store-error.ts";
import { createGather } from "./gather.ts";
import { promptLingerMs } from "./gathered.ts";

interface Pending {
  /** With the run as it is known now. */
  request: Request;
  /** The run was read for this event. */
  fresh: boolean;
  misses: number;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}
interface DecidedPending {
  readonly pending: Pending;
  readonly decided: Decided;
}

/**
 * Maximum number of statements in flight. With a third one there were more statements with fewer events each, and the cost was higher than
 * the gain.
 */
const atOnce = 2;
/** Maximum number of transactions in line: most of the time they wait for locks. */
const inLineAtOnce = 4;
/** Approximate limit of characters in one statement: a group of large runs is written in several statements. */
const heaviestGroup = 16_000_000;

/** `most`: events in one statement. */
export function createGroupCommitter(parts: CommitterParts, most: number): Committer {
  const { cache } = parts;
  const patience = whileAway(parts.patienceMs);
  const gather = createGather<Pending>({
    most,
    atOnce,
    pick: pickOnePerRun,
    perform,
    lingerMs: promptLingerMs,
    isUrgent: ({ request }) => !isReply(request),
  });
  /** Runs with an event in a group that is in flight (G1). */
  const moving = new Set<string>();
  const line = createGather<Pending>({ most: 1, atOnce: inLineAtOnce, pick: pickNextInLine, perform: performLocked });
  /** Runs whose event is being written in line. */
  const locked = new Set<string>();
  /** Number of events in line per run. */
  const inLine = new Map<string, number>();

  async function perform(group: Pending[]): Promise<void> {
    try {
      await performGroup(group);
    } catch (error) {
      for (const pending of group) pending.reject(translate(error, "Committing"));
    } finally {
      for (const { request } of group) moving.delete(request.run.id);
    }
  }

  /** See G1. */
  function pickOnePerRun(waiting: Pending[], count: number): Pending[] {
    const group: Pending[] = [];
    const left: Pending[] = [];
    for (const pending of waiting) {
      if (group.length < count && !moving.has(pending.request.run.id)) {
        moving.add(pending.request.run.id);
        group.push(pending);
      } else left.push(pending);
    }
    waiting.splice(0, waiting.length, ...left);
    return group;
  }

  async function performGroup(group: readonly Pending[]): Promise<void> {
    const again: Pending[] = [];
    const plain: DecidedPending[] = [];
    const withdrawing: DecidedPending[] = [];
    const dropping: Promise<void>[] = [];
    for (const pending of group) {
      if (inLine.has(pending.request.run.id)) {
        queueUp(pending);
        continue;
      }
      let decided: Decided | null;
      try {
        decided = decide(pending);
      } catch (error) {
        pending.reject(translate(error, "Deciding"));
        continue;
      }
      if (decided !== null && usesPools(decided.advance)) queueUp(pending);
      else if (decided !== null) (decided.advance.withdraws ? withdrawing : plain).push({ pending, decided });
      else if (pending.fresh || pending.request.creation !== null) dropping.push(drop(pending));
      else again.push(pending);
    }
    for (const inline of byWeight(plain)) again.push(...(await writeGroup(inline)));
    for (const one of withdrawing) again.push(...(await writeGroup([one])));
    await Promise.all([decideAgain(again), ...dropping]);
  }

  async function drop({ request, resolve, reject }: Pending): Promise<void> {
    await dropped(parts, request).then(resolve, reject);
  }

  function decide(pending: Pending): Decided | null {
    const known = cache.get(pending.request.run.id);
    if (known !== undefined && known.rev > pending.request.run.rev) {
      pending.request = { ...pending.request, run: known };
      pending.fresh = false;
    }
    return decideRequest(pending.request);
  }

  /** See G4. Returns the events whose run had changed. */
  async function writeGroup(group: readonly DecidedPending[]): Promise<Pending[]> {
    if (group.length === 0) return [];
    try {
      return await patiently(
        () => write(group),
        (error, soFar) => (group.length > 1 && isContention(error) ? null : patience(error, soFar)),
      );
    } catch (error) {
      const known = translate(error, "Committing");
      if (group.length === 1 || (known.transient && !isContention(error))) return refuse(group, known);
      const again: Pending[] = [];
      for (const one of group) again.push(...(await writeGroup([one])));
      return again;
    }
  }

  async function write(group: readonly DecidedPending[]): Promise<Pending[]> {
    const whole = await numbered(
      parts,
      group.map(({ decided }) => decided),
    );
    const asked = performance.now();
    const settled = settle(parts, whole, await writeDecided(parts, whole), asked);
    return group.flatMap(({ pending }, index) => {
      const committed = settled[index] ?? null;
      if (committed !== null) pending.resolve(committed);
      return committed === null ? [pending] : [];
    });
  }

  /** See G2. */
  async function decideAgain(missed: readonly Pending[]): Promise<void> {
    if (missed.length === 0) return;
    try {
      const runs = await readAgain(
        parts,
        missed.map(({ request }) => request),
      );
      for (const [index, pending] of missed.entries()) {
        const run = runs[index] ?? null;
        if (run === null) {
          await drop(pending);
          continue;
        }
        pending.request = { ...pending.request, run };
        pending.fresh = true;
        pending.misses += 1;
        if (pending.misses >= mostMisses) queueUp(pending);
        else gather.addFirst([pending]);
      }
    } catch (error) {
      const known = translate(error, "Reading a run again");
      // A run that cannot be read fails alone (G4).
      if (missed.length > 1 && !known.transient) for (const pending of missed) await decideAgain([pending]);
      else for (const pending of missed) pending.reject(known);
    }
  }

  function queueUp(pending: Pending): void {
    const { id } = pending.request.run;
    inLine.set(id, (inLine.get(id) ?? 0) + 1);
    line.add(pending);
  }

  /** See G1. */
  function pickNextInLine(waiting: Pending[]): Pending[] {
    const at = waiting.findIndex(({ request }) => !locked.has(request.run.id));
    const picked = at < 0 ? [] : waiting.splice(at, 1);
    for (const { request } of picked) locked.add(request.run.id);
    return picked;
  }

  async function performLocked([pending]: Pending[]): Promise<void> {
    if (pending === undefined) return;
    const { id } = pending.request.run;
    try {
      pending.resolve(await patiently(() => commitLocked(parts, pending.request), patience));
    } catch (error) {
      pending.reject(translate(error, "Committing"));
    }
    locked.delete(id);
    const left = (inLine.get(id) ?? 1) - 1;
    if (left > 0) inLine.set(id, left);
    else inLine.delete(id);
  }

  return {
    commit: (item) =>
      new Promise((resolve, reject) => {
        gather.add({ request: toRequest(item), fresh: false, misses: 0, resolve, reject });
      }),
    async idle() {
      await gather.idle();
      await line.idle();
    },
  };
}

const isReply = ({ event }: Request) => event.type === "activity.succeeded" && event.outcome.kind === "replied";

function byWeight(group: readonly DecidedPending[]): DecidedPending[][] {
  const groups: DecidedPending[][] = [];
  let room = 0;
  for (const one of group) {
    const weight = one.decided.body.length + weighState(one.decided.advance.state);
    if (groups.length === 0 || weight > room) {
      groups.push([]);
      room = heaviestGroup;
    }
    groups.at(-1)?.push(one);
    room -= weight;
  }
  return groups;
}

function refuse(group: readonly DecidedPending[], error: StoreError): Pending[] {
  for (const { pending } of group) pending.reject(error);
  return [];
}
