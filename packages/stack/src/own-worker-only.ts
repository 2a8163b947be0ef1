/**
 * Refuses --script and --sandbox if another process works for the run. A client must not choose the endpoint that a server's worker calls,
 * because that is an address on the worker's machine. It must not choose the sandbox for a student's program either. The operator of that
 * machine decides both.
 */
import type { Config } from "@markmill/config";
import { WrongInput } from "./wrong-input.ts";

/** Throws if another process works for the run. */
export function requireOwnWorker(config: Config, flags: readonly string[]): void {
  const [first] = flags;
  if (first === undefined) return;
  if (config.server !== null) {
    throw new WrongInput(
      `${flags.join(" and ")} cannot be used with the server at MARKMILL_URL: its operator chooses the models and the sandbox. ` +
        "To run on this machine, unset MARKMILL_URL. To let the server use a script, run 'markmill mock-model FILE' and set the server's OPENAI_BASE_URL to its address.",
    );
  }
  throw new WrongInput(
    `${flags.join(" and ")} apply only to a worker in this process, but the database at DATABASE_URL has its own workers. To run on this machine, unset DATABASE_URL.`,
  );
}
