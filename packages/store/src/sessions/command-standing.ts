/**
 * Reports whether the workers of a deployment can run commands, from the data in each worker's row (`workers.info.commands`).
 *
 * C1  Only a living worker counts: its row has a recent heartbeat, and its connection holds the lock that ends with its process
 *     (presence.ts). So a killed worker stops counting at once, and a paused one counts no longer than its heartbeat.
 * C2  A worker's report has a code, its meaning and a fix, which may be shown to all users. It also has a message that may name addresses:
 *     for operators only.
 */
import { isRecord } from "@markmill/base/json";
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { isPresent } from "../leases/presence.ts";
import { silentWorkerMs } from "../leases/workers.ts";

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

/** One entry per living worker. */
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

/** A worker of an older version reports only its sandbox. */
function readCommandStanding(info: Json): CommandStanding {
  if (!isRecord(info)) return { can: "not yet" };
  const { commands, sandbox } = info as { readonly [name: string]: Json };
  if (!isRecord(commands)) {
    return typeof sandbox === "string" ? { can: "execute" } : sandboxNotConfigured;
  }
  const { can, code, means, fix, message } = commands as { readonly [name: string]: Json };
  if (can === "execute" || can === "not yet") return { can };
  const texts = [code, means, fix, message].map((text) => (typeof text === "string" ? text : ""));
  const [known = "", what = "", how = "", why = ""] = texts;
  return known === "" ? sandboxNotConfigured : { can: "nothing", code: known, means: what, fix: how, message: why };
}

const means = "The worker has no sandbox, so it cannot run commands.";
/** Uses the words of the failure code that its commands get (worker/src/worker-failure-codes.ts). */
export const sandboxNotConfigured: CannotExecute = {
  can: "nothing",
  code: "SANDBOX_NOT_CONFIGURED",
  means,
  fix: "Install Docker or the tools of the jail, or set SANDBOX and SANDBOX_HOSTS. Restart the workers, then run `markmill resume RUN`.",
  message: means,
};
