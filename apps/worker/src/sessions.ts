/**
 * The sandbox session of a root run, whichever worker serves it. Lease, saved state (cwd, exported environment) and checkpoint are
 * rows in Postgres.
 *
 * Y1  One worker holds a session at a time, under a lease that it renews while commands run and gives back after them.
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
  SandboxError,
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

export interface SessionKeeper {
  /** Opens the session, lets it be used, saves it and gives the lease back. */
  use<Result>(
    rootId: string,
    program: Program,
    files: () => Promise<SessionFiles>,
    signal: AbortSignal,
    act: (session: Session, save: () => Promise<void>) => Promise<Result>,
  ): Promise<Result>;
  /** The run has ended. */
  end(rootId: string): Promise<void>;
}

export interface SessionKeeperParts {
  readonly database: Database;
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  readonly images: readonly string[];
  readonly host: string;
  readonly worker: string;
}

const leaseMs = 15_000;
/** A session that nobody ended goes by itself after so long. */
const longestMs = 24 * 3_600_000;

export function createSessionKeeper(parts: SessionKeeperParts): SessionKeeper {
  const { database, sandbox, host, worker } = parts;

  async function take(rootId: string) {
    const claim = await claimSession(database, { id: rootId, kind: sandbox.kind, host, worker, leaseMs });
    if (claim.kind === "held") return claim.session;
    throw new SandboxError(
      "SANDBOX_SESSION_BUSY",
      `Worker ${claim.worker} uses the session of run ${rootId}.`,
      `Its lease ends in ${Math.ceil(claim.forMs / 1000)} s; the activity is tried again.`,
    );
  }

  async function open(rootId: string, program: Program, files: () => Promise<SessionFiles>, signal: AbortSignal) {
    const known = await take(rootId);
    const now = Date.now();
    const session = await sandbox.open(
      {
        id: rootId,
        files: await files(),
        limits: clampLimits(wishesOf(program), parts.ceiling),
        environment: {},
        ...(isState(known.state) ? { state: known.state } : {}),
        labels: {
          app: "markmill",
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
      const checkpoint = await loadBlob(database, known.checkpointHash);
      if (checkpoint !== null) await session.restore(checkpoint);
    }
    return session;
  }

  return {
    async use(rootId, program, files, signal, act) {
      const session = await open(rootId, program, files, signal);
      const renewing = setInterval(() => {
        renewSessions(database, [rootId], worker, leaseMs).catch(() => undefined);
      }, leaseMs / 3);
      try {
        return await act(session, async () => {
          const checkpointHash = program.sandbox.checkpoint
            ? await saveBlob(database, Buffer.from(await session.checkpoint()))
            : null;
          await saveSession(database, rootId, worker, { state: session.state as unknown as Json, checkpointHash });
        });
      } finally {
        clearInterval(renewing);
        await releaseSession(database, rootId, worker).catch(() => undefined);
      }
    },
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
