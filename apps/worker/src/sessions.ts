/**
 * The sandbox session of a root run, whichever worker serves it. Lease, saved state (cwd, exported environment) and checkpoint are
 * rows in Postgres.
 *
 * Y1  One worker holds a session at a time, under a lease that it renews while commands run and gives back after them; within a
 *     worker its users take turns. A lease that was lost aborts the command.
 * Y2  State is saved after every command. A session that was lost is rebuilt: from the last checkpoint if the workflow keeps
 *     them, else from the submission.
 * Y3  kill -9 of the holder: the lease ends by itself, the session lives on and the next worker on this host attaches; on another
 *     host it is rebuilt. What has ended is taken away by the reaper (reap-sessions.ts).
 */
import type { Json, Program } from "@markmill/engine";
import {
  clampLimits,
  type Limits,
  type Sandbox,
  type Session,
  type SessionFiles,
  type SessionState,
} from "@markmill/sandbox";
import {
  claimSession,
  type Database,
  loadBlob,
  releaseSession,
  renewSessions,
  saveBlob,
  saveSession,
} from "@markmill/store";
import { patiently } from "./patiently.ts";
import { createTurns } from "./take-turns.ts";
import type { Log } from "./worker.ts";

export interface SessionKeeper {
  /** Opens the session, lets it be used and gives the lease back. `signal` aborts also when the lease was lost. */
  use<Result>(
    rootId: string,
    program: Program,
    files: () => Promise<SessionFiles>,
    signal: AbortSignal,
    act: (session: Session, save: () => Promise<void>, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  /** The run has ended. */
  end(rootId: string): Promise<void>;
}

export interface SessionKeeperParts {
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  readonly images: readonly string[];
  /** Names this installation among others that share the host's engine. */
  readonly app: string;
  readonly host: string;
  readonly worker: string;
  readonly log: Log;
}

/** Another worker uses the session; it may be asked for again after so long. */
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

export function createSessionKeeper(parts: SessionKeeperParts): SessionKeeper {
  const { database, sandbox, host, worker, log } = parts;
  const inTurn = createTurns();

  async function take(rootId: string) {
    const claim = await patiently(() =>
      claimSession(database, { id: rootId, kind: sandbox.kind, host, worker, leaseMs }),
    );
    if (claim.kind === "held") return claim.session;
    throw new SessionBusy(rootId, claim.worker, Math.max(200, claim.forMs));
  }

  async function open(
    rootId: string,
    known: Awaited<ReturnType<typeof take>>,
    program: Program,
    files: () => Promise<SessionFiles>,
    signal: AbortSignal,
  ) {
    const now = Date.now();
    const session = await sandbox.open(
      {
        id: rootId,
        files: await files(),
        limits: clampLimits(wishesOf(program), parts.ceiling),
        environment: {},
        ...(isState(known.state) ? { state: known.state } : {}),
        labels: {
          app: parts.app,
          run: rootId,
          worker,
          created: new Date(now).toISOString(),
          deadline: new Date(now + longestMs).toISOString(),
        },
        ...imageOf(program, parts.images),
        network: "none",
      },
      { signal },
    );
    if (!session.attached && known.checkpointHash !== null) {
      const hash = known.checkpointHash;
      const checkpoint = await patiently(() => loadBlob(database, hash));
      if (checkpoint !== null) await session.restore(checkpoint);
    }
    return session;
  }

  /** Commands that ran stay told even if their session could not be saved: the next ones then start from an older state. */
  async function save(rootId: string, session: Session, program: Program, lost: AbortController): Promise<void> {
    try {
      const kept = await patiently(async () => {
        const checkpointHash = program.sandbox.checkpoint
          ? await saveBlob(database, Buffer.from(await session.checkpoint()))
          : null;
        return saveSession(database, rootId, worker, { state: session.state as unknown as Json, checkpointHash });
      });
      if (!kept) lost.abort(new Error("Another worker has taken the session."));
    } catch (error) {
      log.warn({ err: error, run: rootId }, "the session could not be saved");
    }
  }

  return {
    use: (rootId, program, files, signal, act) =>
      inTurn(rootId, async () => {
        const known = await take(rootId);
        const lost = new AbortController();
        const either = AbortSignal.any([signal, lost.signal]);
        const renewing = setInterval(() => {
          renewSessions(database, [rootId], worker, leaseMs).then(
            (held) => held.has(rootId) || lost.abort(new Error("The lease of the session was lost.")),
            () => undefined,
          );
        }, leaseMs / 3);
        try {
          const session = await open(rootId, known, program, files, either);
          return await act(session, () => save(rootId, session, program, lost), either);
        } finally {
          clearInterval(renewing);
          await releaseSession(database, rootId, worker).catch(() => undefined);
        }
      }),
    end: (rootId) => sandbox.remove(rootId),
  };
}

function isState(state: Json): state is Json & SessionState {
  return typeof state === "object" && state !== null && "cwd" in state;
}

function wishesOf({ sandbox }: Program): Partial<Limits> {
  const { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes } = sandbox;
  const given = { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function imageOf(program: Program, images: readonly string[]): { image?: string } {
  const image = program.sandbox.image ?? images[0];
  return image === undefined ? {} : { image };
}
