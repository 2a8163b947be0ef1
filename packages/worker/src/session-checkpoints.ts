/**
 * Marks and checkpoints of a session (Y2, Y3 and Y4 of sessions.ts): what is written before and after the commands of an EXECUTE, and how
 * the session is restored.
 */
import type { Json, Program } from "@markmill/engine";
import {
  type Changes,
  type CheckpointPart,
  isUnfit,
  type LookBounds,
  partOfFiles,
  type Session,
  type SessionFiles,
  type Snapshot,
} from "@markmill/sandbox";
import {
  beginExecute,
  type Chain,
  chainOf,
  type Database,
  forgetMarkedProcesses,
  loadCheckpoints,
  loadManifest,
  type Mark,
  type Marks,
  saveMark,
  saveRewound,
  settleMark,
  waitsForExecute,
} from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";
import type { Log } from "./log.ts";
import { type RememberedSnapshot, rememberSnapshots } from "./remembered-snapshots.ts";
import { leaseLost, SessionBusy, workspaceLost } from "./session-busy.ts";
import { isState, json } from "./session-state.ts";

export interface SessionUse {
  readonly rootId: string;
  readonly program: Program;
  readonly files: () => Promise<SessionFiles>;
  readonly activity: { readonly id: number; readonly claim: number };
  /** write: repeating it gives the same state. execute: any effect, so it must not be repeated. */
  readonly does: "read" | "write" | "execute";
  /** The tool call of the activity that executes. Absent: the activity itself executes. */
  readonly call?: string;
  /** The call is safe to repeat: if there is no way back to the state before it, it continues from the current state. */
  readonly safe?: boolean;
}

/** Did this same EXECUTE or tool call begin before? Then the session is restored. */
export function isRepeated({ does, activity, call, safe }: SessionUse, { begun }: Marks): boolean {
  if (does !== "execute" || begun === null || begun.activityId !== activity.id) return false;
  return begun.call === (call ?? null) && !(safe === true && begun.problem !== null);
}

export interface SessionCheckpointParts {
  readonly database: Database;
  /** The size limit for a checkpoint of one run. 0: no checkpoints. */
  readonly checkpointBytes: number;
  /** Bounds for reading a session for a checkpoint. Beyond them there is no checkpoint (Y4). */
  readonly look: LookBounds;
  readonly worker: string;
  readonly log: Log;
  /** Named points at which a test kills the process. */
  readonly failPoint?: (point: CheckpointPoint) => void | Promise<void>;
}

type CheckpointPoint =
  | "before-checkpoint"
  | "before-begin"
  | "after-begin"
  | "after-commands"
  | "in-checkpoint"
  | "after-checkpoint"
  | "in-rewind"
  | "after-rewind";

/** After this number of pieces, or once they exceed the workspace by this size, one checkpoint of the whole replaces them. */
const mostPieces = 16;
const slackBytes = 1024 * 1024;
/** The state of a session between two activities. */
type Standing = Pick<Mark, "position" | "problem" | "settled" | "instance" | "processes" | "seal">;

/** The worker that held the session before this one. */
interface Predecessor {
  readonly gaveBack: boolean;
}

export interface SessionCheckpoints {
  /**
   * Brings the session to the state of its marks, and returns the mark that is valid from here on. null: nothing is known of the session
   * yet.
   */
  prepare(
    use: SessionUse,
    session: Session,
    known: Json,
    marks: Marks,
    from: Predecessor | null,
    lost: AbortController,
  ): Promise<Standing | null>;
  /** Saves a checkpoint of the state before the activity. From here on the session may change. */
  begin(
    use: SessionUse,
    session: Session,
    mark: Standing | null,
    known: Json,
    repeated: boolean,
    lost: AbortController,
  ): Promise<Standing>;
  /**
   * The report of executed commands stays valid even if their session could not be saved. The mark then stays unsettled, and the next use
   * checks again.
   */
  finish(use: SessionUse, session: Session, mark: Standing, lost: AbortController): Promise<string | null>;
  /**
   * The session ended because of the processes in it. No later step needs those processes, so their loss does not prevent restoring the
   * session.
   */
  forgetProcesses(rootId: string): Promise<void>;
  /** The warning for the record, if the problem is new. */
  warningOf(use: SessionUse, before: Mark | null, problem: string | null): string | null;
  forget(rootId: string): void;
}

export function createSessionCheckpoints(parts: SessionCheckpointParts): SessionCheckpoints {
  const { database, worker, log } = parts;
  const bounds = { maxBytes: parts.checkpointBytes, ...parts.look };
  const failPoint = parts.failPoint ?? (() => undefined);
  const snapshots = rememberSnapshots();

  async function prepare(
    use: SessionUse,
    session: Session,
    known: Json,
    marks: Marks,
    from: Predecessor | null,
    lost: AbortController,
  ): Promise<Standing | null> {
    const { rootId, activity } = use;
    const { latest, begun } = marks;
    if (begun !== null && isRepeated(use, marks)) return await rewindTo(use, session, "begun", begun, lost);
    if (latest === null) {
      if (!session.attached && isState(known)) throw workspaceLost("latest", "an older version had begun it");
      return null;
    }
    if (!latest.settled && (await awaitStore(() => waitsForExecute(database, rootId, activity.id))))
      throw new SessionBusy(rootId, worker, 300);
    if (latest.instance !== session.instance) return await rewindTo(use, session, "latest", latest, lost);
    // An EXECUTE was given up while it ran: none of its processes may run beside the next one.
    if (from !== null && !latest.settled)
      await session.endAllBut(begun?.instance === session.instance ? begun.processes : []);
    // Uses other than EXECUTE have no mark, but may have started a server: a listing does.
    else if (from?.gaveBack === false && latest.problem === null) await session.endAllBut(latest.processes);
    return latest;
  }

  async function rewindTo(
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
    snapshots.remember(rootId, {
      seal,
      snapshot,
      chain: await awaitStore(() => chainOf(database, rootId, mark.position)),
    });
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
        // A version that kept no marks ran commands in this session.
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
      snapshots.remember(rootId, { seal, snapshot, chain: { count: checkpoint === null ? 0 : 1, bytes: size } });
    }
    const { instance, processes } = snapshot;
    return { position, problem, settled: true, instance, processes, seal };
  }

  /** Saves the changes since the mark, and returns the new mark. */
  async function checkpoint(
    use: SessionUse,
    session: Session,
    mark: Standing,
    lost: AbortController,
  ): Promise<Standing> {
    const { rootId } = use;
    const settle = async (problem: string | null): Promise<Standing> => {
      const how = { problem, ended: hasEnded(session) };
      if (!(await awaitStore(() => settleMark(database, rootId, worker, json(session.state), how))))
        throw leaseLost(rootId, lost);
      return { ...mark, problem, settled: true };
    };
    const off = offReason(use.program);
    if (off !== null) return await settle(off);
    // The command ended its own session. Its changes to the files are lost, and the next command starts from the same state as this one.
    if (hasEnded(session)) return await settle(mark.problem);
    const before = await recall(rootId, mark);
    let changes: Changes;
    try {
      changes = await session.changes(before?.snapshot ?? null, bounds);
      if (before !== null && changes.kind === "delta" && isOverlong(before.chain, changes))
        changes = await session.changes(null, bounds);
    } catch (error) {
      // Processes in the session prevented the reading, so the session was ended.
      if (hasEnded(session)) return await settle(mark.problem);
      return await settle(problemOf(error));
    }
    const { snapshot } = changes;
    const { instance, processes } = snapshot;
    if (changes.kind === "same" && before !== null && String(processes) === String(mark.processes)) {
      snapshots.remember(rootId, { ...before, snapshot });
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
    snapshots.remember(rootId, { seal, snapshot, chain: longer });
    return { position, problem: null, settled: true, instance, processes, seal };
  }

  function isOverlong({ count, bytes }: Chain, { tar, total }: Extract<Changes, { kind: "delta" | "whole" }>): boolean {
    const sum = bytes + tar.length;
    return count >= mostPieces || sum > parts.checkpointBytes || (count > 0 && sum > 2 * total + slackBytes);
  }

  async function recall(rootId: string, mark: Standing): Promise<RememberedSnapshot | null> {
    const known = snapshots.recall(rootId);
    if (known?.seal === mark.seal) return known;
    const manifest = await awaitStore(() => loadManifest(database, rootId, "latest", mark.seal));
    // An empty checkpoint means that it could not be saved.
    if (manifest === null || manifest.length === 0) return null;
    const chain = await awaitStore(() => chainOf(database, rootId, mark.position));
    const snapshot = { instance: mark.instance, processes: mark.processes, manifest };
    return { seal: mark.seal, snapshot, chain };
  }

  function offReason({ sandbox: { checkpoint: wanted } }: Program): string | null {
    if (wanted === false) return "the workflow has turned checkpoints off";
    return parts.checkpointBytes === 0 ? "this installation makes no checkpoints" : null;
  }

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
    // Only background processes can have changed files since.
    if (!standing.settled || standing.processes.length > 0) standing = await checkpoint(use, session, standing, lost);
    if (hasEnded(session)) throw new SessionBusy(rootId, worker, 300);
    await failPoint("before-begin");
    const begun = await awaitStore(() => beginExecute(database, rootId, worker, activity.id, use.call ?? null));
    if (begun.kind === "lost") throw leaseLost(rootId, lost);
    if (begun.kind === "waits") throw new SessionBusy(rootId, worker, 300);
    await failPoint("after-begin");
    return standing;
  }

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
    return `There is no checkpoint of the workspace: ${problem} Commands that are interrupted later cannot be repeated.`;
  }

  const forgetProcesses = (rootId: string) => awaitStore(() => forgetMarkedProcesses(database, rootId, worker));

  return { prepare, begin, finish, forgetProcesses, warningOf, forget: (rootId) => snapshots.forget(rootId) };
}

const standingOf = (session: Session, { instance, processes, manifest }: Snapshot) => ({
  state: json(session.state),
  instance,
  processes,
  manifest,
});

/** Ended because of the processes in it. Every use of a session may cause this. */
const hasEnded = ({ endedByCommand }: Session) => endedByCommand === true;

/** Only for errors that mean that the workspace is unreadable. Trouble of the sandbox is thrown on. */
function problemOf(error: unknown): string {
  if (isUnfit(error)) return error.message;
  throw error;
}
