/**
 * Judge sessions: each EXECUTE that needs one gets a new session. It is created from data, used for that command, and ended. It has no row
 * in Postgres, no lease and no saved state, so nothing carries over from one to the next.
 *
 * kill -9 at any point: the sessions of the judge and its guests remain. Every worker's clean-up knows them by their ids and removes them
 * once their worker is gone (reap-sessions.ts), and each also ends at its deadline. The activity is delivered again and judged anew, from
 * the same data.
 */
import type { Program } from "@markmill/engine";
import {
  clampLimits,
  type JudgeSession,
  type Limits,
  openJudge,
  type Sandbox,
  type SessionFile,
  type SessionFiles,
} from "@markmill/sandbox";
import { wishesOf } from "./sandbox-wishes.ts";
import { unpackAutograder } from "./unpack-autograder.ts";

export interface JudgeKeeper {
  /** Opens a judge session, runs the callback with it, and ends it in every case. */
  use<Result>(
    rootId: string,
    program: Program,
    submission: SessionFiles,
    signal: AbortSignal,
    act: (judge: JudgeSession) => Promise<Result>,
  ): Promise<Result>;
}

export interface JudgeKeeperParts {
  readonly sandbox: Sandbox;
  readonly ceiling: Limits;
  readonly images: readonly string[];
  readonly app: string;
  readonly worker: string;
}

export function createJudgeKeeper({ sandbox, ceiling, images, app, worker }: JudgeKeeperParts): JudgeKeeper {
  return {
    async use(rootId, program, submission, signal, act) {
      const image = program.judge?.image ?? program.sandbox.image ?? images[0];
      const judge = await openJudge(
        sandbox,
        {
          run: rootId,
          submission,
          files: await filesOf(program),
          ...(program.judge?.autograder === undefined ? {} : { autograder: program.judge.autograder }),
          limits: clampLimits(wishesOf(program.judge ?? {}), ceiling),
          // A guest is a student's program: it gets the limits of the student's session.
          guests: clampLimits(wishesOf(program.sandbox), ceiling),
          labels: { app, worker },
          ...(image === undefined ? {} : { image }),
        },
        { signal },
      );
      try {
        return await act(judge);
      } finally {
        await judge.end();
      }
    },
  };
}

/** All files may be executed, because the definition stores no permission bits. */
async function filesOf({ judge }: Program): Promise<SessionFile[]> {
  const files = Object.entries(judge?.files ?? {}).map(([path, base64]) => ({
    path,
    mode: 0o755,
    bytes: Buffer.from(base64, "base64"),
  }));
  return judge?.autograder === undefined ? files : await unpackAutograder(files);
}
