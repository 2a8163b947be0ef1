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
      `${flags.join(" and ")} cannot be asked of the server at MARKMILL_URL: which model answers and which sandbox is used there is its operator's choice. ` +
        "Unset MARKMILL_URL to work here. A server that answers from a script: 'markmill mock-model FILE', and OPENAI_BASE_URL of the server set to it.",
    );
  }
  throw new WrongInput(
    `${flags.join(" and ")} choose for a worker of this process, but the database at DATABASE_URL has workers of its own. Unset it to work here.`,
  );
}
