/**
 * The sandbox session of a root run, whichever worker serves it. Lease, saved state (cwd, exported environment), marks and checkpoints
 * are rows in Postgres.
 *
 * Y1  One worker holds a session at a time, under a lease that it renews while commands run and gives back after them; within a
 *     worker its users come one after the other. A lease that was lost aborts the command, and no command begins once it is over by this worker's
 *     own clock: one that was stopped and wakes up late does nothing more in it.
 * Y2  Before the commands of an EXECUTE there is a checkpoint, and the mark `begun` names it with the activity. Whoever performs that
 *     activity again finds the mark, ends what the interrupted try left running, and puts files, directory, environment and functions
 *     back: the EXECUTE is repeated as a whole, and what it does to the workspace is done once. So it is with each tool call that acts in
 *     the session: its mark names the call, too.
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
  /** What a session of such a run may use. */
  limitsOf(program: Program): Limits;
  /** The run has ended. */
  end(rootId: string): Promise<void>;
}

export interface SessionKeeperParts extends SessionCheckpointParts {
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  readonly images: readonly string[];
  /** Names this installation among others that share the host's engine. */
  readonly app: string;
  readonly host: string;
}

const endedByLeftovers =
  "Background processes of the commands stopped Markmill's programs, so the session was ended. File changes of these commands are lost. The next step starts with the files from before these commands.";

/** A session that nobody ended goes by itself after so long. */
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

  /** What ran in a session and used its memory up, between two commands, is not missed. */
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
        let session: Session | null = null;
        try {
          const opened = await open(use, claim.session.state, either);
          session = opened;
          const { previous } = claim;
          const from = previous === null || previous.worker === worker ? null : previous;
          const known = await withoutWhatEndedIt(opened, rootId, claim.marks);
          const repeated = isRepeated(use, known);
          let mark = await marks.prepare(use, opened, claim.session.state, known, from, lost);
          if (does !== "read") mark = await marks.begin(use, opened, mark, claim.session.state, repeated, lost);
          const guarded = guard(opened, (name) => {
            lease.check();
            // Who was told to stop must still end what it started.
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
          if (mark === null || does === "read" || either.aborted) return { result, warning: null };
          const endedBefore = opened.endedByCommand === true;
          const problem = await marks.finish(use, opened, mark, lost);
          const endedNow = opened.endedByCommand === true && !endedBefore;
          return { result, warning: endedNow ? endedByLeftovers : marks.warningOf(use, claim.marks.latest, problem) };
        } finally {
          if (session?.endedByCommand === true)
            await marks.forgetProcesses(rootId).catch((error: unknown) => {
              log.warn({ err: error, run: rootId }, "the processes of a session that ended could not be forgotten");
            });
          await lease.giveBack();
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

/** The same session; before each act in it it is looked whether that may begin. */
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
