/**
 * The sandbox session of a root run, on whichever worker serves it. Lease, saved state (cwd, exported environment), marks and checkpoints
 * are rows in Postgres.
 *
 * Y1  One worker holds a session at a time, under a lease. It renews the lease while commands run and releases it after them. Within a
 *     worker, users of a session come one after the other. A lost lease aborts the command, and no command begins once the lease is over by
 *     this worker's own clock. A worker that was frozen and wakes up late does nothing more in the session.
 * Y2  Before the commands of an EXECUTE a checkpoint is saved, and the mark `begun` names it with the activity. When that activity is
 *     performed again, the worker finds the mark and ends the processes of the interrupted attempt. It restores files, directory,
 *     environment and functions. So the EXECUTE is repeated as a whole, and its effect on the workspace happens once. The same holds for
 *     each tool call that acts in the session: its mark names the call, too.
 * Y3  After the commands, before their outcome is committed, their changes are saved as a checkpoint (mark `latest`). So a session that is
 *     lost, or needed on another host, is rebuilt as the last committed activity left it, or not at all.
 * Y4  A checkpoint can be impossible (turned off, too large, too slow to read, unreadable). That is reported once, with its code. An
 *     interrupted EXECUTE or a lost session then ends with SANDBOX_WORKSPACE_LOST: no command runs on files that may be wrong. Reading a
 *     workspace has its own bounds, so that no workspace blocks a worker.
 *
 * kill -9 of the worker. Before `begun` is written: no command ran, and the next worker starts anew. After it, before or in a command, or
 * before `latest` is written: the work is repeated from `begun`. After `latest`, before the commit: it is repeated from `begun`, which
 * needs nothing of `latest`. After the commit: the next activity starts from `latest`. In the middle of a checkpoint: the statement did not
 * happen. In the middle of restoring: the session is restored again. The lease expires without help, and a later claim of the same activity
 * need not even wait for that. The clean-up removes ended sessions (reap-sessions.ts).
 */
import type { Json, Program } from "@markmill/engine";
import { clampLimits, type Limits, type Sandbox, type Session } from "@markmill/sandbox";
import { deleteEndedCheckpoints, type Marks, saveSession } from "@markmill/store/machine";
import { awaitStore } from "./await-store.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { wishesOf } from "./sandbox-wishes.ts";
import {
  createSessionCheckpoints,
  isRepeated,
  type SessionCheckpointParts,
  type SessionUse,
} from "./session-checkpoints.ts";
import { takeSessionLease } from "./session-lease.ts";
import { isState, json } from "./session-state.ts";

interface Used<Result> {
  readonly result: Result;
  /** The warning for the record of the run. */
  readonly warning: string | null;
}

export interface SessionKeeper {
  /** Opens the session, runs the callback with it, and releases the lease. `signal` also aborts when the lease is lost. */
  use<Result>(
    use: SessionUse,
    signal: AbortSignal,
    act: (session: Session, save: () => Promise<void>, signal: AbortSignal) => Promise<Result>,
  ): Promise<Used<Result>>;
  /** The limits of a session of this program. */
  limitsOf(program: Program): Limits;
  /** Called when the run has ended. */
  end(rootId: string): Promise<void>;
}

export interface SessionKeeperParts extends SessionCheckpointParts {
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  readonly images: readonly string[];
  /** Identifies this installation among others that share the host's engine. */
  readonly app: string;
  readonly host: string;
}

const endedByLeftovers =
  "Background processes of the commands stopped Markmill's programs, so the session was ended. File changes of these commands are lost. The next step starts with the files from before these commands.";

/** A session that was never ended disappears after this time. */
const longestMs = 24 * 3_600_000;

export function createSessionKeeper(parts: SessionKeeperParts): SessionKeeper {
  const { database, sandbox, host, worker, log } = parts;
  const alone = oneAtATime();
  const marks = createSessionCheckpoints(parts);

  const limitsOf = (program: Program) => clampLimits(wishesOf(program.sandbox), parts.ceiling);

  async function open(use: SessionUse, state: Json, signal: AbortSignal): Promise<Session> {
    const now = Date.now();
    return await sandbox.open(
      {
        id: use.rootId,
        files: await use.files(),
        limits: limitsOf(use.program),
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

  /** Processes in a session used up its memory between two commands. No later step needs them. */
  async function withoutWhatEndedIt(session: Session, rootId: string, known: Marks): Promise<Marks> {
    const { latest, begun } = known;
    if (latest === null || latest.instance === session.instance || latest.processes.length === 0) return known;
    if ((await sandbox.endedByMemory?.(latest.instance)) !== true) return known;
    await marks.forgetProcesses(rootId);
    return { latest: { ...latest, processes: [] }, begun: begun === null ? null : { ...begun, processes: [] } };
  }

  return {
    use: (use, signal, act) =>
      alone(use.rootId, async () => {
        const { rootId, activity, does } = use;
        const lease = await takeSessionLease({ database, kind: sandbox.kind, host, worker }, rootId, activity);
        const { claim, lost } = lease;
        const either = AbortSignal.any([signal, lost.signal]);
        const { previous } = claim;
        const from = previous === null || (previous.worker === worker && previous.gaveBack) ? null : previous;
        let clean = from === null || (from.gaveBack && claim.marks.latest?.settled !== false);
        let session: Session | null = null;
        try {
          const opened = await open(use, claim.session.state, either);
          session = opened;
          const known = await withoutWhatEndedIt(opened, rootId, claim.marks);
          const repeated = isRepeated(use, known);
          let mark = await marks.prepare(use, opened, claim.session.state, known, from, lost);
          clean = true;
          if (does !== "read") mark = await marks.begin(use, opened, mark, claim.session.state, repeated, lost);
          const guarded = guard(opened, (name) => {
            lease.check();
            // After an abort, the processes that were started must still be ended.
            (name === "endAllBut" ? lost.signal : either).throwIfAborted();
          });
          const save = async () => {
            try {
              if (await awaitStore(() => saveSession(database, rootId, worker, json(opened.state)))) return;
              lost.abort(new Error("Another worker has taken the session."));
            } catch (error) {
              log.warn({ err: error, run: rootId }, "the session's state could not be saved");
            }
          };
          const result = await act(guarded, save, either);
          if (mark === null || does === "read" || either.aborted || opened.leftRunning === true)
            return { result, warning: null };
          const endedBefore = opened.endedByCommand === true;
          const problem = await marks.finish(use, opened, mark, lost);
          const endedNow = opened.endedByCommand === true && !endedBefore;
          return { result, warning: endedNow ? endedByLeftovers : marks.warningOf(use, claim.marks.latest, problem) };
        } finally {
          if (session?.endedByCommand === true)
            await marks.forgetProcesses(rootId).catch((error: unknown) => {
              log.warn({ err: error, run: rootId }, "the processes of a session that ended could not be forgotten");
            });
          // Who lost the lease did not end the servers that it had started.
          const mayRun = session?.leftRunning === true || (does !== "read" && lost.signal.aborted);
          await lease.giveBack(clean && !mayRun);
        }
      }),
    limitsOf,
    async end(rootId) {
      marks.forget(rootId);
      await sandbox.remove(rootId);
      await deleteEndedCheckpoints(database, rootId);
    },
  };
}

const acts: readonly (string | symbol)[] = ["run", "start", "writeFile", "endAllBut"] satisfies (keyof Session)[];

/** Wraps the session: before each call, `check` decides whether it may begin. */
function guard(session: Session, check: (name: string | symbol) => void): Session {
  return new Proxy(session, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (acts.includes(name)) check(name);
        return value.apply(target, args);
      };
    },
  });
}

function imageOf(program: Program, images: readonly string[]): { image?: string } {
  const image = program.sandbox.image ?? images[0];
  return image === undefined ? {} : { image };
}
