/**
 * Whether the workers of a deployment can run commands, by what each says of itself in its row (`workers.info.commands`).
 *
 * C1  Only a worker that lives counts: its row beats, and its connection holds the lock that ends with its process (presence.ts). So a worker
 *     that was killed stops counting at once, and one that is paused counts for no longer than its heartbeat.
 * C2  What a worker says has a code, its meaning and a fix that may be shown to anybody, and a message that may name addresses: for operators.
 */
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { isPresent } from "../leases/presence.ts";

export type CommandStanding =
  /** Its sandbox has passed the self-test and answers. */
  | { readonly can: "execute" }
  /** The sandbox is being opened or tested. */
  | { readonly can: "not yet" }
  | CannotExecute;

export interface CannotExecute {
  readonly can: "nothing";
  readonly code: string;
  readonly means: string;
  readonly fix: string;
  readonly message: string;
}

/** Three heartbeats. */
const silentWorkerMs = 10_000;

/** Of each living worker. */
export async function listCommandStandings(database: Database): Promise<readonly CommandStanding[]> {
  const rows = await queryDatabase<{ info: Json }>(
    database,
    "Asking who can run commands",
    `select w.info from workers w
     where w.heartbeat_at > clock_timestamp() - $1::integer * interval '1 millisecond' and ${isPresent("w.id")}`,
    [silentWorkerMs],
  );
  return rows.map(({ info }) => readCommandStanding(info));
}

/** A worker of an older version names its sandbox alone. */
function readCommandStanding(info: Json): CommandStanding {
  if (typeof info !== "object" || info === null || Array.isArray(info)) return { can: "not yet" };
  const { commands, sandbox } = info as { readonly [name: string]: Json };
  if (typeof commands !== "object" || commands === null || Array.isArray(commands)) {
    return typeof sandbox === "string" ? { can: "execute" } : sandboxNotConfigured;
  }
  const { can, code, means, fix, message } = commands as { readonly [name: string]: Json };
  if (can === "execute" || can === "not yet") return { can };
  const texts = [code, means, fix, message].map((text) => (typeof text === "string" ? text : ""));
  const [known = "", what = "", how = "", why = ""] = texts;
  return known === "" ? sandboxNotConfigured : { can: "nothing", code: known, means: what, fix: how, message: why };
}

const means = "The worker has no sandbox, so it cannot run commands.";
/** In the words of the failure code that its commands get (worker/src/worker-failure-codes.ts). */
export const sandboxNotConfigured: CannotExecute = {
  can: "nothing",
  code: "SANDBOX_NOT_CONFIGURED",
  means,
  fix: "Install Docker or the tools of the jail, or set SANDBOX and SANDBOX_HOSTS. Restart the workers, then run `markmill resume RUN`.",
  message: means,
};
