/** A session keeper as a worker has it, for one run that no row knows: what an EXECUTE does in the session is given as a function. */
import { randomBytes } from "node:crypto";
import type { Program } from "@markmill/engine";
import { defaultLimits } from "../../packages/sandbox/src/limits.ts";
import type { Sandbox, Session } from "../../packages/sandbox/src/port.ts";
import type { SessionUse } from "../../packages/worker/src/session-checkpoints.ts";
import { createSessionKeeper } from "../../packages/worker/src/sessions.ts";
import type { Store } from "./store.ts";

type Act<T> = (session: Session, signal: AbortSignal) => Promise<T>;

export interface TestKeeper {
  readonly id: string;
  execute<T>(activity: number, act: Act<T>, signal?: AbortSignal): Promise<T>;
  use<T>(activity: number, does: SessionUse["does"], act: Act<T>, signal?: AbortSignal): Promise<T>;
}

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

export function keeperOf(store: Store, sandbox: Sandbox, worker = "one", id = newId()): TestKeeper {
  const keeper = createSessionKeeper({
    database: store.database,
    sandbox,
    worker,
    host: "host",
    app: "markmill-test",
    images: [],
    log: quiet,
    ceiling: {
      ...defaultLimits,
      wallMs: 20_000,
      memoryBytes: 192 * 1024 * 1024,
      diskBytes: 32 * 1024 * 1024,
      pids: 64,
    },
    checkpointBytes: 1024 * 1024,
    look: { maxEntries: 1_000, maxMs: 10_000 },
  });
  const program = { sandbox: {} } as unknown as Program;
  const files = async () => ({ kind: "list", files: [] }) as const;
  const use: TestKeeper["use"] = async (activity, does, act, signal = new AbortController().signal) => {
    const of = { rootId: id, program, files, activity: { id: activity, claim: 1 }, does };
    return (await keeper.use(of, signal, (session, _, either) => act(session, either))).result;
  };
  return { id, use, execute: (activity, act, signal) => use(activity, "execute", act, signal) };
}

const newId = () => `k-${randomBytes(6).toString("hex")}`;
