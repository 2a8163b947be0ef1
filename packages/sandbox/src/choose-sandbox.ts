// Chooses the sandbox of a worker. Invariant: `auto` never means none. If the configured choice is not possible, that is an error, never
// another choice.

import type { Sandbox, SandboxKind } from "./port.ts";
import { SandboxError } from "./sandbox-error.ts";

export type SandboxChoice = "auto" | SandboxKind;

/** Each factory creates its sandbox, or throws a SandboxError with the reason why this machine cannot have it. */
export type SandboxFactories = { readonly [Kind in SandboxKind]: () => Sandbox | Promise<Sandbox> };

export async function chooseSandbox(choice: SandboxChoice, factories: SandboxFactories): Promise<Sandbox> {
  if (choice !== "auto") return await factories[choice]();
  const reasons: SandboxError[] = [];
  for (const kind of ["docker", "jail"] as const) {
    try {
      return await factories[kind]();
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      reasons.push(error);
    }
  }
  throw new SandboxError(
    "SANDBOX_UNAVAILABLE",
    `No sandbox can run on this machine. ${reasons.map(({ message }) => message).join(" ")}`,
    "Start a Docker engine, or install the programs of the jail (apt-get install bash mount perl-base tar util-linux).",
    reasons[0],
  );
}
