/**
 * The sandbox session of a root run, whichever worker serves it. Lease, saved state (cwd, exported environment), marks and checkpoints
 * are rows in Postgres.
 *
 * Y1  One worker holds a session at a time, under a lease that it renews while commands run and gives back after them; within a
 *     worker its users take turns. A lease that was lost aborts the command, and no command begins once it is over by this worker's
 *     own clock: one that was stopped and wakes up late does nothing more in it.
 * Y2  Before the commands of an EXECUTE there is a checkpoint, and the mark `begun` names it with the activity. Whoever performs that
 *     activity again finds the mark, ends what the interrupted try left running, and puts files, directory, environment and functions
 *     back: the EXECUTE is repeated as a whole, and what it does to the workspace is done once.
 * Y3  After the commands, before their outcome is committed, what they changed is checkpointed (mark `latest`). So a session that is
 *     lost, or that is wanted on another host, is rebuilt as the last committed activity left it, or not at all.
 * Y4  Where there is no checkpoint (turned off, too large, too slow to look through, unreadable) that is told once, with its code, and an
 *     interrupted EXECUTE, or a lost session, ends with SANDBOX_WORKSPACE_LOST: nothing is run on files that may be wrong. A look has
 *     bounds of its own, so that no workspace holds a worker for longer.
 *
 * kill -9 of the holder. Before `begun` is written: nothing ran; the next one starts anew. After it, before or in a command, or before
 * `latest` is written: repeated from `begun`. After `latest`, before the commit: repeated from `begun`, which needs nothing of `latest`.
 * After the commit: `latest` is what the next activity finds. In the middle of a checkpoint: the statement did not happen. In the middle
 * of going back: gone back again. The lease ends by itself; who claims the same activity later need not even wait for that. What has
 * ended is taken away by the reaper (reap-sessions.ts).
 */
import type { Json, Program } from "@markmill/engine";
import {
  type Changes,
  type CheckpointPart,
  clampLimits,
  isUnfit,
  type Limits,
  type LookBounds,
  partOfFiles,
  type Sandbox,
  SandboxError,
  type Session,
  type SessionFiles,
  type SessionState,
  type Snapshot,
} from "@markmill/sandbox";
import {
  beginExecute,
  type Chain,
  chainOf,
  claimSession,
  type Database,
  deleteEndedCheckpoints,
  loadCheckpoints,
  loadManifest,
  type Mark,
  type Marks,
  releaseSession,
  renewSessions,
  saveMark,
  saveRewound,
  saveSession,
  settleMark,
  waitsForExecute,
} from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";
import { wishesOf } from "./sandbox-wishes.ts";
import { createTurns } from "./take-turns.ts";
import type { Log } from "./worker.ts";

export interface SessionUse {
  readonly rootId: string;
  readonly program: Program;
  readonly files: () => Promise<SessionFiles>;
  readonly activity: { readonly id: number; readonly claim: number };
  /** write: what it changes is the same when it is done twice. execute: anything, and it must not be done twice. */
  readonly does: "read" | "write" | "execute";
}

export interface Used<Result> {
  readonly result: Result;
  /** What the record of the run should say. */
  readonly warning: string | null;
}

export interface SessionKeeper {
  /** Opens the session, lets it be used and gives the lease back. `signal` aborts also when the lease was lost. */
  use<Result>(
    use: SessionUse,
    signal: AbortSignal,
    act: (session: Session, save: () => Promise<void>, signal: AbortSignal) => Promise<Result>,
  ): Promise<Used<Result>>;
  /** The run has ended. */
  end(rootId: string): Promise<void>;
}

export interface SessionKeeperParts {
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  /** The most a checkpoint of one run may have; 0: none are made. */
  readonly checkpointBytes: number;
  /** Where a look at a session for a checkpoint ends; beyond it there is none (Y4). */
  readonly look: LookBounds;
  readonly images: readonly string[];
  /** Names this installation among others that share the host's engine. */
  readonly app: string;
  readonly host: string;
  readonly worker: string;
  readonly log: Log;
  /** Named points where a test kills the process. */
  readonly failPoint?: (point: CheckpointPoint) => void | Promise<void>;
}

export type CheckpointPoint =
  | "before-checkpoint"
  | "before-begin"
  | "after-begin"
  | "after-commands"
  | "in-checkpoint"
  | "after-checkpoint"
  | "in-rewind"
  | "after-rewind";

/** Another worker uses the session, or another activity must be committed first; it may be asked for again after so long. */
export class SessionBusy extends Error {
  override readonly name = "SessionBusy";
  readonly forMs: number;

  constructor(rootId: string, worker: string, forMs: number) {
    super(`Worker ${worker} uses the session of run ${rootId}.`);
    this.forMs = forMs;
  }
}

const leaseMs = 15_000;
/** A session that nobody ended goes by itself after so long. */
const longestMs = 24 * 3_600_000;
/** After so many pieces, or once they are this much larger than the workspace, a checkpoint of the whole takes their place. */
const mostPieces = 16;
const slackBytes = 1024 * 1024;
/** Snapshots remembered, so that they need not be read again; each is checked by its seal. */
const mostKept = 200;

interface Kept {
  readonly seal: string;
  readonly snapshot: Snapshot;
  readonly chain: Chain;
}

type Standing = Pick<Mark, "position" | "problem" | "settled" | "instance" | "processes" | "seal">;

export function createSessionKeeper(parts: SessionKeeperParts): SessionKeeper {
  const { database, sandbox, host, worker, log } = parts;
  const bounds = { maxBytes: parts.checkpointBytes, ...parts.look };
  const inTurn = createTurns();
  const failPoint = parts.failPoint ?? (() => undefined);
  const kept = new Map<string, Kept>();

  function keep(rootId: string, entry: Kept): void {
    kept.delete(rootId);
    kept.set(rootId, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) break;
      kept.delete(oldest);
    }
  }

  async function take({ rootId, activity }: SessionUse) {
    const claim = await awaitStore(() =>
      claimSession(database, { id: rootId, kind: sandbox.kind, host, worker, leaseMs, activity }),
    );
    if (claim.kind === "held") return claim;
    throw new SessionBusy(rootId, claim.worker, Math.max(200, claim.forMs));
  }

  async function open(use: SessionUse, state: Json, signal: AbortSignal): Promise<Session> {
    const now = Date.now();
    return await sandbox.open(
      {
        id: use.rootId,
        files: await use.files(),
        limits: clampLimits(wishesOf(use.program.sandbox), parts.ceiling),
        environment: {},
        ...(isState(state) ? { state } : {}),
        labels: {
          app: parts.app,
          run: use.rootId,
          worker,
          created: new Date(now).toISOString(),
          deadline: new Date(now + longestMs).toISOString(),
        },
        ...imageOf(use.program, parts.images),
        network: "none",
      },
      { signal },
    );
  }

  /** Makes the session what its marks say, and gives the mark that holds from here on; null: nothing is known of it yet. */
  async function prepare(
    use: SessionUse,
    session: Session,
    known: Json,
    marks: Marks,
    taken: boolean,
    lost: AbortController,
  ): Promise<Standing | null> {
    const { rootId, activity, does } = use;
    const { latest, begun } = marks;
    const repeated = does === "execute" && begun?.activityId === activity.id;
    if (repeated) return await goBack(use, session, "begun", begun, lost);
    if (latest === null) {
      if (!session.attached && isState(known)) throw workspaceLost("latest", "an older version had begun it");
      return null;
    }
    if (!latest.settled && (await awaitStore(() => waitsForExecute(database, rootId, activity.id))))
      throw new SessionBusy(rootId, worker, 300);
    if (latest.instance !== session.instance) return await goBack(use, session, "latest", latest, lost);
    // Somebody's EXECUTE was given up in the act: nothing of it may go on beside the next one.
    if (taken && !latest.settled) await session.endAllBut(begun?.instance === session.instance ? begun.processes : []);
    return latest;
  }

  async function goBack(
    use: SessionUse,
    session: Session,
    name: "latest" | "begun",
    mark: Mark,
    lost: AbortController,
  ): Promise<Standing> {
    const { rootId } = use;
    if (mark.problem !== null || !mark.settled)
      throw workspaceLost(name, mark.problem ?? "an EXECUTE was interrupted and not repeated");
    const manifest = await awaitStore(() => loadManifest(database, rootId, name, mark.seal));
    if (manifest === null) throw leaseLost(rootId, lost);
    const checkpoints = await awaitStore(() => loadCheckpoints(database, rootId, mark.position));
    const pieces: CheckpointPart[] = checkpoints[0]?.whole === true ? [] : [await partOfFiles(await use.files())];
    pieces.push(...checkpoints);
    await failPoint("in-rewind");
    const snapshot = await session.rewind({
      snapshot: { instance: mark.instance, processes: mark.processes, manifest },
      parts: pieces,
      ...(isState(mark.state) ? { state: mark.state } : {}),
    });
    const standing = standingOf(session, snapshot);
    const seal = await awaitStore(() => saveRewound(database, rootId, worker, name, standing));
    if (seal === null) throw leaseLost(rootId, lost);
    keep(rootId, { seal, snapshot, chain: await awaitStore(() => chainOf(database, rootId, mark.position)) });
    await failPoint("after-rewind");
    log.info({ run: rootId, activity: use.activity.id, to: name }, "put the session back");
    const { instance, processes } = snapshot;
    return { position: mark.position, problem: null, settled: name === "latest", instance, processes, seal };
  }

  /** The first mark of a session: the submission is its first checkpoint. */
  async function first(use: SessionUse, session: Session, known: Json, lost: AbortController): Promise<Standing> {
    const { rootId } = use;
    const off = offReason(use.program);
    const nothing: Snapshot = { instance: session.instance, processes: [], manifest: new Uint8Array() };
    let snapshot = nothing;
    let whole: Changes | null = null;
    let problem = off;
    if (off === null) {
      try {
        // Commands of a version that kept no marks have run in it.
        if (session.attached && isState(known)) whole = await session.changes(null, bounds);
        snapshot = whole?.snapshot ?? (await session.snapshot(bounds));
      } catch (error) {
        problem = problemOf(error);
      }
    }
    const position = whole === null ? 0 : 1;
    const checkpoint = whole === null || whole.kind === "same" ? null : { ...whole, whole: true };
    const seal = await awaitStore(() =>
      saveMark(database, rootId, worker, standingOf(session, snapshot), position, checkpoint, problem),
    );
    if (seal === null) throw leaseLost(rootId, lost);
    if (problem === null) {
      const size = checkpoint?.tar.length ?? 0;
      keep(rootId, { seal, snapshot, chain: { count: checkpoint === null ? 0 : 1, bytes: size } });
    }
    const { instance, processes } = snapshot;
    return { position, problem, settled: true, instance, processes, seal };
  }

  /** Saves what changed since the mark; gives the new one. */
  async function checkpoint(
    use: SessionUse,
    session: Session,
    mark: Standing,
    lost: AbortController,
  ): Promise<Standing> {
    const { rootId } = use;
    const settle = async (problem: string | null): Promise<Standing> => {
      if (!(await awaitStore(() => settleMark(database, rootId, worker, json(session.state), problem))))
        throw leaseLost(rootId, lost);
      return { ...mark, problem, settled: true };
    };
    const off = offReason(use.program);
    if (off !== null) return await settle(off);
    const before = await recall(rootId, mark);
    let changes: Changes;
    try {
      changes = await session.changes(before?.snapshot ?? null, bounds);
      if (before !== null && changes.kind === "delta" && isOverlong(before.chain, changes))
        changes = await session.changes(null, bounds);
    } catch (error) {
      return await settle(problemOf(error));
    }
    const { snapshot } = changes;
    const { instance, processes } = snapshot;
    if (changes.kind === "same" && before !== null && String(processes) === String(mark.processes)) {
      keep(rootId, { ...before, snapshot });
      return await settle(null);
    }
    await failPoint("in-checkpoint");
    const piece = changes.kind === "same" ? null : { ...changes, whole: changes.kind === "whole" };
    const position = piece === null ? mark.position : mark.position + 1;
    const seal = await awaitStore(() =>
      saveMark(database, rootId, worker, standingOf(session, snapshot), position, piece),
    );
    if (seal === null) throw leaseLost(rootId, lost);
    const chain = before === null || piece?.whole === true ? { count: 0, bytes: 0 } : before.chain;
    const size = piece?.tar.length ?? 0;
    const longer = piece === null ? chain : { count: chain.count + 1, bytes: chain.bytes + size };
    keep(rootId, { seal, snapshot, chain: longer });
    return { position, problem: null, settled: true, instance, processes, seal };
  }

  function isOverlong({ count, bytes }: Chain, { tar, total }: Extract<Changes, { kind: "delta" | "whole" }>): boolean {
    const sum = bytes + tar.length;
    return count >= mostPieces || sum > parts.checkpointBytes || (count > 0 && sum > 2 * total + slackBytes);
  }

  async function recall(rootId: string, mark: Standing): Promise<Kept | null> {
    const known = kept.get(rootId);
    if (known?.seal === mark.seal) return known;
    const manifest = await awaitStore(() => loadManifest(database, rootId, "latest", mark.seal));
    // One that could not be taken is empty.
    if (manifest === null || manifest.length === 0) return null;
    const chain = await awaitStore(() => chainOf(database, rootId, mark.position));
    const snapshot = { instance: mark.instance, processes: mark.processes, manifest };
    return { seal: mark.seal, snapshot, chain };
  }

  function offReason({ sandbox: { checkpoint: wanted } }: Program): string | null {
    if (wanted === false) return "the workflow has turned checkpoints off";
    return parts.checkpointBytes === 0 ? "this installation makes no checkpoints" : null;
  }

  /** What the activity finds is checkpointed, and from here on it may change. */
  async function begin(
    use: SessionUse,
    session: Session,
    mark: Standing | null,
    known: Json,
    repeated: boolean,
    lost: AbortController,
  ): Promise<Standing> {
    const { rootId, activity, does } = use;
    await failPoint("before-checkpoint");
    let standing = mark ?? (await first(use, session, known, lost));
    if (repeated) return standing;
    if (does === "write") {
      if (await awaitStore(() => waitsForExecute(database, rootId, activity.id)))
        throw new SessionBusy(rootId, worker, 300);
      return standing;
    }
    // Only what runs in the background can have changed anything since.
    if (!standing.settled || standing.processes.length > 0) standing = await checkpoint(use, session, standing, lost);
    await failPoint("before-begin");
    const begun = await awaitStore(() => beginExecute(database, rootId, worker, activity.id));
    if (begun.kind === "lost") throw leaseLost(rootId, lost);
    if (begun.kind === "waits") throw new SessionBusy(rootId, worker, 300);
    await failPoint("after-begin");
    return standing;
  }

  /** Commands that ran stay told even if their session could not be saved: the mark stays unsettled, and the next one looks again. */
  async function finish(
    use: SessionUse,
    session: Session,
    mark: Standing,
    lost: AbortController,
  ): Promise<string | null> {
    try {
      await failPoint("after-commands");
      const { problem } = await checkpoint(use, session, mark, lost);
      await failPoint("after-checkpoint");
      return problem;
    } catch (error) {
      if (!lost.signal.aborted) log.warn({ err: error, run: use.rootId }, "the session could not be saved");
      return null;
    }
  }

  function warningOf(use: SessionUse, before: Mark | null, problem: string | null): string | null {
    const isNew = problem !== null && (before?.problem ?? null) === null && offReason(use.program) === null;
    if (!isNew) return null;
    return `There is no checkpoint of the workspace: ${problem} A command that is interrupted from here on cannot be repeated.`;
  }

  return {
    use: (use, signal, act) =>
      inTurn(use.rootId, async () => {
        const { rootId, activity, does } = use;
        let heldUntil = performance.now() + leaseMs;
        const claim = await take(use);
        const lost = new AbortController();
        const either = AbortSignal.any([signal, lost.signal]);
        const renewing = setInterval(() => {
          const askedAt = performance.now();
          renewSessions(database, [rootId], worker, leaseMs).then(
            (held) => {
              if (held.has(rootId)) heldUntil = askedAt + leaseMs;
              else lost.abort(new Error("The lease of the session was lost."));
            },
            () => undefined,
          );
        }, leaseMs / 3);
        try {
          const session = await open(use, claim.session.state, either);
          const taken = claim.previous !== null && claim.previous.worker !== worker;
          const repeated = does === "execute" && claim.marks.begun?.activityId === activity.id;
          let mark = await prepare(use, session, claim.session.state, claim.marks, taken, lost);
          if (does !== "read") mark = await begin(use, session, mark, claim.session.state, repeated, lost);
          const guarded = guard(session, () => {
            if (performance.now() > heldUntil) lost.abort(new Error("The lease of the session is over."));
            either.throwIfAborted();
          });
          const save = async () => {
            try {
              if (await awaitStore(() => saveSession(database, rootId, worker, json(session.state)))) return;
              lost.abort(new Error("Another worker has taken the session."));
            } catch (error) {
              log.warn({ err: error, run: rootId }, "the session's state could not be saved");
            }
          };
          const result = await act(guarded, save, either);
          if (mark === null || does === "read" || either.aborted) return { result, warning: null };
          const problem = await finish(use, session, mark, lost);
          return { result, warning: warningOf(use, claim.marks.latest, problem) };
        } finally {
          clearInterval(renewing);
          await releaseSession(database, rootId, worker).catch(() => undefined);
        }
      }),
    async end(rootId) {
      kept.delete(rootId);
      await sandbox.remove(rootId);
      await deleteEndedCheckpoints(database, rootId);
    },
  };
}

const acts: readonly (string | symbol)[] = ["run", "start", "writeFile"] satisfies (keyof Session)[];

/** The same session; before each act in it it is looked whether that may begin. */
function guard(session: Session, check: () => void): Session {
  return new Proxy(session, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (acts.includes(name)) check();
        return value.apply(target, args);
      };
    },
  });
}

const standingOf = (session: Session, { instance, processes, manifest }: Snapshot) => ({
  state: json(session.state),
  instance,
  processes,
  manifest,
});

const json = (state: SessionState) => state as unknown as Json;

/** What only says that the workspace cannot be read as it is; trouble of the sandbox is thrown on. */
function problemOf(error: unknown): string {
  if (isUnfit(error)) return error.message;
  throw error;
}

function leaseLost(rootId: string, lost: AbortController): SessionBusy {
  const busy = new SessionBusy(rootId, "Another", 500);
  lost.abort(busy);
  return busy;
}

function workspaceLost(name: "latest" | "begun", why: string): SandboxError {
  return new SandboxError(
    "SANDBOX_WORKSPACE_LOST",
    name === "begun"
      ? `The commands were interrupted and cannot be repeated: there is no checkpoint from before them (${why}).`
      : `The session was lost, and there is no checkpoint of it (${why}).`,
    "Run the workflow again.",
  );
}

function isState(state: Json): state is Json & SessionState {
  return typeof state === "object" && state !== null && "cwd" in state;
}

function imageOf(program: Program, images: readonly string[]): { image?: string } {
  const image = program.sandbox.image ?? images[0];
  return image === undefined ? {} : { image };
}
