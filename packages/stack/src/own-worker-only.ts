/**
 * --script and --sandbox are asked of a worker of this process. A server's worker is not told by a client which endpoint to ask, which
 * is an address on the worker's own machine, nor in which sandbox a student's program is run: both are the choice of whoever answers for
 * that machine.
 */
import type { Config } from "@markmill/config";
import { WrongInput } from "./wrong-input.ts";

/** Throws where somebody else works. */
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
