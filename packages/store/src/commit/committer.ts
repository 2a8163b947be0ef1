/**
 * Group commit: the events of activities that end together are decided on the runs as last known and written by one statement.
 *
 * G1  At most one event of a run is in flight; later ones are decided on the state the earlier ones leave.
 * G2  A run that somebody else moved (gate miss) is read again and the event is decided again. If it then changes nothing, it is a
 *     duplicate, late or stale, and is dropped: I2.
 * G3  An event that raises the epoch is committed in a transaction of its own, which also cancels the called runs, each by its own
 *     event, and tells the workers (NOTIFY): I6.
 *     So is one that takes back single activities, whose called runs go with them.
 * G4  One bad row fails only its own event: a group that fails is repeated row by row. A decision that throws ends its own run
 *     (decide.ts). What would make a statement too large goes out in several.
 * G5  Every event gets its turn: one that missed the gate `mostMisses` times waits in line for its run's row and is decided and written
 *     under that lock. While one of a run waits there, the run's next events go there at once.
 * G6  An event whose steps are counted in pools (step-pools.ts) goes there too: it is decided and written under the locks of the pools.
 *
 * kill -9 before the statement: nothing happened, the activity is delivered again. While it runs: Postgres commits all or nothing.
 * After it, before the doorbells are rung: what is asked stands in its row or on its run's, and the same or another delivery, or the
 * supervisor, rings it; what was claimed with it (followed.ts) only the supervisor, when its lease is over. A reply that is lost on the way: the statement is sent again, misses the gate, and G2 finds the event already folded.
 */
import {
  type ActivityRef,
  activityKey,
  type Doorbell,
  type Event,
  type WorkQueue,
  weighState,
  workKinds,
} from "@markmill/engine";
import { doubling, type Patience, patiently } from "@markmill/patience";
import type { Pool, PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutral, neutralJson, toJson } from "../database/neutral.ts";
import { isContention, type StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import type { Definitions } from "../definitions/definitions.ts";
import type { ActivityIds } from "../throughput/activity-ids.ts";
import { type Followed, followedBy } from "../throughput/followed.ts";
import { createGather } from "../throughput/gather.ts";
import { promptLingerMs } from "../throughput/gathered.ts";
import type { RunCache } from "../throughput/run-cache.ts";
import { addRows } from "./add-rows.ts";
import { type Advance, advance, type EventSource, withIds } from "./advance.ts";
import type { CommitAnswer, NextAnswer, ReturnedAnswer } from "./commit-answer.ts";
import { commitStatement, type Statement } from "./commit-statement.ts";
import { type Decision, decideEvent } from "./decide.ts";
import { toLightRing } from "./light-activity.ts";
import { loadRuns, lockOrphans, lockRun, lockTree } from "./load-runs.ts";
import { readyRings } from "./ready-rings.ts";
import type { Birth } from "./rows.ts";
import { noRows } from "./rows.ts";
import { type Activity, columnToItem, itemToColumn, type LoadedRun } from "./run-row.ts";
import { countingOf, countSteps, fitsRoom, lockPools, roomFor, usesPools } from "./step-pools.ts";

export interface Commit {
  readonly run: LoadedRun;
  readonly event: Event;
  /** null: an event from outside (started, cancelled, limited …). */
  readonly source: EventSource | null;
  readonly birth?: Birth;
  /** Who answered an ask. */
  readonly by?: string;
  /** Of a birth whose steps are counted in pools: asked under their locks; false: nothing is made. */
  readonly allows?: ((on: PoolClient) => Promise<boolean>) | null;
  /** Whoever commits goes on with an activity of this queue: the first that can be claimed ahead is (followed.ts). */
  readonly follows?: WorkQueue | null;
}

export type Committed =
  /** `run` is the run after the event. `rings` are to be rung before the job is acknowledged. */
  | {
      readonly kind: "committed";
      readonly run: LoadedRun;
      readonly rings: readonly Doorbell[];
      /** What was claimed with it; its bell is among the rings. */
      readonly followed: Followed | null;
    }
  /** Nothing changed; `rings` are what the run has ready, should an earlier delivery have died before it rang. */
  | { readonly kind: "dropped"; readonly rings: readonly Doorbell[] };

export interface Committer {
  commit(item: Commit): Promise<Committed>;
  idle(): Promise<void>;
}

export interface CommitterParts {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly cache: RunCache;
  readonly clock: DatabaseClock;
  readonly ids: ActivityIds;
  /** Who claims what it follows, and for how long. */
  readonly worker: string;
  readonly leaseMs: number;
  /** Events in one statement, at most. */
  readonly most: number;
  /** How long an unreachable database is waited for before a commit fails. */
  readonly patienceMs: number;
  readonly onMoved: (runIds: Iterable<string>) => void;
  /** Told of every event of this process once it is committed, with the run after it; for whoever watches. */
  readonly onCommitted?: OnCommitted | undefined;
  /** A root run that pays from a batch's budget has ended. */
  readonly onBatchRunEnded: () => void;
}

export type OnCommitted = (run: LoadedRun, event: Event, source: EventSource | null) => void;

interface Pending extends Required<Omit<Commit, "run" | "birth">> {
  readonly birth: Birth | null;
  /** The event as JSON. */
  readonly body: string;
  run: LoadedRun;
  /** `run` was read for this event. */
  fresh: boolean;
  misses: number;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}
interface Decided extends Writing {
  readonly pending: Pending;
}
interface Writing extends Decision {
  readonly follows?: WorkQueue | null;
}
interface Written {
  readonly answers: readonly CommitAnswer[];
  /** What was decided for called runs on the way (G3). */
  readonly callees: readonly Decision[];
}

const mostMisses = 3;
/** Statements in flight at once. A third one made more of them, with fewer events each, and cost more than it gave. */
const atOnce = 2;
/** Transactions in line at once: most of their time they wait for locks. */
const inLineAtOnce = 4;
/** Characters of one statement, about: a group of large runs is written in several. */
const heaviestGroup = 16_000_000;

const pause = doubling(50, 1_000);

export function createCommitter(parts: CommitterParts): Committer {
  const { database, definitions, cache, clock, ids, worker, leaseMs } = parts;
  const gather = createGather<Pending>({
    ...{ most: parts.most, atOnce, pick: pickOnePerRun, perform },
    ...{ lingerMs: promptLingerMs, isUrgent: ({ event }) => !isReply(event) },
  });
  /** Runs whose event is in a group that is in flight (G1). */
  const moving = new Set<string>();
  /** G5. Beside the groups, so that other runs do not wait for the lock. */
  const line = createGather<Pending>({ most: 1, atOnce: inLineAtOnce, pick: pickNextInLine, perform: performLocked });
  /** Runs whose event is being written in line. */
  const locked = new Set<string>();
  /** How many of a run are in line. */
  const inLine = new Map<string, number>();

  async function perform(group: Pending[]): Promise<void> {
    try {
      await performGroup(group);
    } catch (error) {
      for (const pending of group) pending.reject(translate(error, "Committing"));
    } finally {
      for (const { run } of group) moving.delete(run.id);
    }
  }

  /** G1. */
  function pickOnePerRun(waiting: Pending[], most: number): Pending[] {
    const group: Pending[] = [];
    const left: Pending[] = [];
    for (const pending of waiting) {
      if (group.length < most && !moving.has(pending.run.id)) {
        moving.add(pending.run.id);
        group.push(pending);
      } else left.push(pending);
    }
    waiting.splice(0, waiting.length, ...left);
    return group;
  }

  async function performGroup(group: readonly Pending[]): Promise<void> {
    const again: Pending[] = [];
    const plain: Decided[] = [];
    const withdrawing: Decided[] = [];
    const dropping: Promise<void>[] = [];
    for (const pending of group) {
      if (inLine.has(pending.run.id)) {
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
      else if (decided !== null) (decided.advance.withdraws ? withdrawing : plain).push(decided);
      else if (pending.fresh || pending.birth !== null) dropping.push(drop(pending));
      else again.push(pending);
    }
    for (const light of byWeight(plain)) again.push(...(await writeGroup(light)));
    for (const decided of withdrawing) again.push(...(await writeGroup([decided])));
    await Promise.all([readAgain(again), ...dropping]);
  }

  function decide(pending: Pending): Decided | null {
    const known = cache.get(pending.run.id);
    if (known !== undefined && known.rev > pending.run.rev) {
      pending.run = known;
      pending.fresh = false;
    }
    if (pending.birth !== null) {
      const born = advance(pending.run, pending.event, pending.source, pending.birth, pending.by || null);
      return born === null ? null : { pending, advance: born, body: pending.body };
    }
    return decideOn(pending.run, pending);
  }

  function decideOn(run: LoadedRun, pending: Pending): Decided | null {
    const { event, source, body, by } = pending;
    const decided = decideEvent(run, event, source, { body, by: by || null });
    return decided === null ? null : { pending, follows: pending.follows, ...decided };
  }

  function byWeight(group: readonly Decided[]): Decided[][] {
    const groups: Decided[][] = [];
    let room = 0;
    for (const decided of group) {
      const weight = decided.body.length + weighState(decided.advance.state);
      if (groups.length === 0 || weight > room) {
        groups.push([]);
        room = heaviestGroup;
      }
      groups.at(-1)?.push(decided);
      room -= weight;
    }
    return groups;
  }

  async function numbered(group: readonly Decided[]): Promise<readonly Decided[]> {
    const wanted = group.reduce((sum, { advance }) => sum + advance.opened.length, 0);
    if (wanted === 0) return group;
    const drawn = await ids.draw(wanted);
    let used = 0;
    return group.map((decided) => {
      const from = used;
      used += decided.advance.opened.length;
      return { ...decided, advance: withIds(decided.advance, drawn.slice(from, used)) };
    });
  }

  /** Who lost a race tries again soon, and not in step with the winner; a database that is away is asked ever less often. */
  const whileAway: Patience = (error, soFar) => {
    if (!translate(error, "Committing").transient || soFar.ms > parts.patienceMs) return null;
    return isContention(error) ? Math.random() * 20 : pause(soFar);
  };

  /** Returns those whose run had moved on. */
  async function writeGroup(group: readonly Decided[]): Promise<Pending[]> {
    if (group.length === 0) return [];
    try {
      return await patiently(
        async () => {
          const whole = await numbered(group);
          const asked = performance.now();
          return await settle(whole, await write(whole), asked);
        },
        (error, soFar) => (group.length > 1 && isContention(error) ? null : whileAway(error, soFar)),
      );
    } catch (error) {
      const known = translate(error, "Committing");
      if (group.length === 1 || (known.transient && !isContention(error))) return refuse(group, known);
      const again: Pending[] = [];
      for (const decided of group) again.push(...(await writeGroup([decided])));
      return again;
    }
  }

  async function write(writings: readonly Writing[]): Promise<Written> {
    if (writings.some(({ advance }) => advance.withdraws)) {
      return inTransaction(database.hot, (client) => writeWithCallees(client, writings));
    }
    return { answers: await writeOn(database.hot, writings), callees: [] };
  }

  async function writeOn(on: Pool | PoolClient, writings: readonly Writing[]): Promise<readonly CommitAnswer[]> {
    const rows = noRows();
    for (const { advance, body, follows: queue = null } of writings.toSorted(byRun)) {
      addRows(rows, toJson, advance, body, queue === null ? null : { queue, worker, leaseMs });
    }
    return (await on.query<CommitAnswer>(mutable(commitStatement(rows, toJson)))).rows;
  }

  /** G3. A run called in the meantime is either seen here, or its birth finds the calling activity void (load-runs.ts, births). */
  async function writeWithCallees(client: PoolClient, first: readonly Writing[]): Promise<Written> {
    const answers: CommitAnswer[] = [];
    const callees: Decision[] = [];
    await lockTree(
      client,
      first.map(({ advance }) => advance.run.id),
    );
    for (let wave = first; wave.length > 0; ) {
      const written = await writeOn(client, wave);
      answers.push(...written);
      const moved = new Set(written.flatMap((row) => (row.what === "moved" ? [row.run_id] : [])));
      for (const { advance } of wave) {
        const { run, state } = advance;
        if (!moved.has(run.id)) continue;
        cache.delete(run.id);
        const over = state.phase.is === "ended" || state.phase.is === "handling";
        const announced = JSON.stringify({ runId: run.id, epoch: state.epoch, over });
        await client.query("select pg_notify('markmill_control', $1)", [announced]);
      }
      const orphans = await lockOrphans(client, definitions, [...moved]);
      wave = [...orphans.values()].flatMap((child) => {
        const message = "The run that called this one went on without it.";
        const event: Event = { type: "run.cancelled", at: clock.now(), seed: 0, message };
        return decideEvent(child, event, null) ?? [];
      });
      callees.push(...wave);
    }
    return { answers, callees };
  }

  /** `asked`: performance.now() before the statement. */
  async function settle(group: readonly Decided[], { answers, callees }: Written, asked: number): Promise<Pending[]> {
    const byRun = Map.groupBy(answers, (answer) => answer.run_id);
    const returned = new Map(answers.flatMap((row) => (row.what === "returned" ? [[row.id, row] as const] : [])));
    const missed: Pending[] = [];
    const moved = new Set<string>();
    for (const answer of answers) {
      if (answer.what !== "moved") continue;
      if (moved.size === 0) clock.observe(answer.now);
      moved.add(answer.run_id);
    }
    for (const { pending, advance: decided, follows = null } of group) {
      if (!moved.has(pending.run.id)) {
        if (pending.birth === null) missed.push(pending);
        else pending.resolve({ kind: "dropped", rings: [] });
        continue;
      }
      const light = [...decided.stillOpen, ...decided.opened];
      const pools = decided.opensPool ? [...decided.run.pools, decided.run.id] : decided.run.pools;
      const run: LoadedRun = { ...decided.run, rev: decided.run.rev + 1, state: decided.state, light, pools };
      const rings = ringsOf(run, decided, byRun.get(run.id) ?? []);
      const caller = run.parent === null ? undefined : returned.get(run.parent.activityId);
      if (caller !== undefined) rings.push(toReturnedRing(caller));
      if (run.state.phase.is === "ended") {
        cache.delete(run.id);
        if (run.parent === null && run.budgets.some((budget) => budget !== run.id)) parts.onBatchRunEnded();
      } else if (pending.birth === null || run.parent !== null) cache.set(run);
      const claimed = claimedWith(run, decided, follows, byRun.get(run.id) ?? []);
      pending.resolve({ kind: "committed", run, rings, followed: claimed === null ? null : { claimed, asked } });
      parts.onCommitted?.(run, pending.event, pending.source);
    }
    for (const { advance: decided } of callees) {
      const { run, state, event } = decided;
      if (moved.has(run.id)) parts.onCommitted?.({ ...run, rev: run.rev + 1, state }, event, null);
    }
    parts.onMoved(moved);
    return missed;
  }

  function ringsOf(run: LoadedRun, { commands, opened }: Advance, answers: readonly CommitAnswer[]): Doorbell[] {
    const times = new Map<string, number>();
    for (const command of commands) {
      if ((command.do === "perform" || command.do === "retry") && command.notBefore !== null) {
        times.set(activityKey(command.activity), command.notBefore);
      }
    }
    const delayOf = (activity: Omit<ActivityRef, "attempt">) =>
      times.size === 0 ? 0 : Math.max(0, (times.get(activityKey(activity)) ?? 0) - clock.now());
    const rings = opened.map((light) => toLightRing(run, light, delayOf(light.ref)));
    for (const row of answers) {
      if ((row.what === "next" || row.what === "again") && workKinds[row.kind].waitsFor !== "answer") {
        rings.push(toNextRing(row, delayOf({ ...row, item: columnToItem(row.item) }), run.parent?.job ?? null));
      }
    }
    return rings;
  }

  function claimedWith(
    run: LoadedRun,
    decided: Advance,
    queue: WorkQueue | null,
    answers: readonly CommitAnswer[],
  ): Followed["claimed"] | null {
    const command = followedBy(decided, queue);
    if (command === null) return null;
    const { node, generation, item } = command.activity;
    const row = answers.find(
      (answer) =>
        answer.what === "next" &&
        answer.node === node &&
        answer.generation === generation &&
        answer.item === itemToColumn(item),
    );
    if (row?.what !== "next") return null;
    const activity: Activity = {
      ...{ id: row.id, runId: run.id, ref: command.activity, kind: row.kind, epoch: row.epoch },
      ...{ claim: row.claim, rings: row.rings, outcome: null, usage: null, leased: true },
      // As its row has it: whoever repeats it reads it there, and has to ask the same.
      work: neutral(command.work),
      askedAt: row.asked_at,
      // Only a row that was just made has neither been claimed nor rung before.
      ...(row.claim === 1 && row.rings === 1 ? { unasked: true } : {}),
    };
    return { kind: "claimed", run, activity, interrupted: false, takeovers: 0 };
  }

  /** G2. */
  async function readAgain(missed: readonly Pending[]): Promise<void> {
    if (missed.length === 0) return;
    try {
      const runs = await loadRuns(
        database.hot,
        definitions,
        missed.map(({ run }) => run.id),
      );
      const sources = await database.hot.query<SourceRow>({
        name: "sources",
        text: "select id, claim, state from activities where id = any($1)",
        values: [missed.flatMap(({ source }) => source?.id ?? [])],
      });
      const live = new Map(sources.rows.map((row) => [row.id, row]));
      for (const pending of missed) {
        cache.delete(pending.run.id);
        const run = runs.get(pending.run.id);
        if (run === undefined || isFenced(run, pending.source, live)) {
          await drop(pending);
          continue;
        }
        pending.run = run;
        pending.fresh = true;
        pending.misses += 1;
        if (pending.misses >= mostMisses) queueUp(pending);
        else gather.addFirst([pending]);
      }
    } catch (error) {
      const known = translate(error, "Reading a run again");
      // One that cannot be read fails alone (G4).
      if (missed.length > 1 && !known.transient) for (const pending of missed) await readAgain([pending]);
      else for (const pending of missed) pending.reject(known);
    }
  }

  function queueUp(pending: Pending): void {
    inLine.set(pending.run.id, (inLine.get(pending.run.id) ?? 0) + 1);
    line.add(pending);
  }

  /** G1. */
  function pickNextInLine(waiting: Pending[]): Pending[] {
    const at = waiting.findIndex(({ run }) => !locked.has(run.id));
    const picked = at < 0 ? [] : waiting.splice(at, 1);
    for (const { run } of picked) locked.add(run.id);
    return picked;
  }

  async function performLocked([pending]: Pending[]): Promise<void> {
    if (pending === undefined) return;
    try {
      await patiently(() => commitLocked(pending), whileAway);
    } catch (error) {
      pending.reject(translate(error, "Committing"));
    }
    locked.delete(pending.run.id);
    const left = (inLine.get(pending.run.id) ?? 1) - 1;
    if (left > 0) inLine.set(pending.run.id, left);
    else inLine.delete(pending.run.id);
  }

  /** G5, G6. Under the lock the gate lets the event pass, unless its activity has another claim or is over. */
  async function commitLocked(pending: Pending): Promise<void> {
    const asked = performance.now();
    const written = await inTransaction(database.hot, async (client) => {
      const pools = await lockPools(client, pending.run);
      if (pending.allows !== null && !(await pending.allows(client))) return null;
      const run = pending.birth === null ? await lockRun(client, definitions, pending.run.id) : pending.run;
      if (run === undefined) return null;
      const decided = decideWithin(run, pending, roomFor(run, pools));
      if (decided === null) return null;
      const group = await numbered([decided]);
      const { withdraws } = decided.advance;
      const whole = withdraws
        ? await writeWithCallees(client, group)
        : { answers: await writeOn(client, group), callees: [] };
      const moved = whole.answers.some(({ what, run_id }) => what === "moved" && run_id === run.id);
      if (moved && usesPools(decided.advance)) await countSteps(client, run.id, countingOf(decided.advance));
      return { group, whole };
    });
    const missed = written === null ? [pending] : await settle(written.group, written.whole, asked);
    if (missed.length === 0) return;
    cache.delete(pending.run.id);
    await drop(pending);
  }

  /** An event that would begin more steps than there is room for is decided again, told how many may begin. */
  function decideWithin(run: LoadedRun, pending: Pending, room: number | null): Decided | null {
    const decide = (event: Event, body: string): Decided | null => {
      if (pending.birth === null) {
        const found = decideOn(run, { ...pending, event, body });
        return found === null ? null : { ...found, pending };
      }
      const born = advance(run, event, pending.source, pending.birth, pending.by || null);
      return born === null ? null : { pending, advance: born, body };
    };
    const decided = decide(pending.event, pending.body);
    if (decided === null || room === null || fitsRoom(decided.advance, room)) return decided;
    const told: Event = { ...pending.event, room };
    return decide(told, toJson(told));
  }

  async function drop(pending: Pending): Promise<void> {
    try {
      const rings = pending.birth === null ? await readyRings(database.hot, [pending.run.id]) : [];
      pending.resolve({ kind: "dropped", rings });
    } catch (error) {
      pending.reject(translate(error, "Reading what a run has ready"));
    }
  }

  return {
    commit: (item) =>
      new Promise((resolve, reject) => {
        const { run, source, birth = null, by = "", follows = null, allows = null } = item;
        const { value: event, json: body } = neutralJson(item.event);
        gather.add({ run, event, body, source, birth, by, follows, allows, fresh: false, misses: 0, resolve, reject });
      }),
    async idle() {
      await gather.idle();
      await line.idle();
    },
  };
}

const isReply = (event: Event) => event.type === "activity.succeeded" && event.outcome.kind === "replied";

const byRun = (a: Decision, b: Decision): number => (a.advance.run.id < b.advance.run.id ? -1 : 1);

interface SourceRow {
  readonly id: number;
  readonly claim: number;
  readonly state: string;
}

/** The activity that brought the event is over, or somebody else's. A light one is what its run says it is. */
function isFenced(run: LoadedRun, source: EventSource | null, rows: ReadonlyMap<number, SourceRow>): boolean {
  if (source === null || run.light.some(({ id }) => id === source.id)) return false;
  const row = rows.get(source.id);
  return row === undefined || row.claim !== source.claim || row.state === "done" || row.state === "void";
}

function refuse(group: readonly Decided[], error: StoreError): Pending[] {
  for (const { pending } of group) pending.reject(error);
  return [];
}

function toReturnedRing(row: ReturnedAnswer): Doorbell {
  const { run_id: runId, id: activityId, epoch, attempt, rings, parent_job: parentJob } = row;
  return { queue: workKinds.call.queue, runId, activityId, epoch, attempt, rings, delayMs: 0, parentJob };
}

function toNextRing(row: NextAnswer, delayMs: number, parentJob: string | null): Doorbell {
  const { run_id: runId, id: activityId, epoch, attempt, rings } = row;
  return { queue: workKinds[row.kind].queue, runId, activityId, epoch, attempt, rings, delayMs, parentJob };
}

/** pg's types want mutable values. */
function mutable(statement: Statement) {
  return { ...statement, values: [...statement.values] };
}
