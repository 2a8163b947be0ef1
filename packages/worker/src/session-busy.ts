/** The reasons why a session cannot be used now, or not any more (sessions.ts). */
import { SandboxError } from "@markmill/sandbox";

/** Another worker uses the session, or another activity must be committed first. Ask again after this time. */
export class SessionBusy extends Error {
  override readonly name = "SessionBusy";
  readonly forMs: number;

  constructor(rootId: string, worker: string, forMs: number) {
    super(`Worker ${worker} uses the session of run ${rootId}.`);
    this.forMs = forMs;
  }
}

export function leaseLost(rootId: string, lost: AbortController): SessionBusy {
  const busy = new SessionBusy(rootId, "Another", 500);
  lost.abort(busy);
  return busy;
}

export function workspaceLost(name: "latest" | "begun", why: string): SandboxError {
  return new SandboxError(
    "SANDBOX_WORKSPACE_LOST",
    name === "begun"
      ? `The commands were interrupted and cannot be repeated: there is no checkpoint from before them (${why}).`
      : `The session was lost, and there is no checkpoint of it (${why}).`,
    "Run the workflow again.",
  );
}
