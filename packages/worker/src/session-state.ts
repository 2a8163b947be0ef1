/** A session's saved state (directory, exported environment) as its row stores it. */
import type { Json } from "@markmill/engine";
import type { SessionState } from "@markmill/sandbox";

export const json = (state: SessionState) => state as unknown as Json;

export function isState(state: Json): state is Json & SessionState {
  return typeof state === "object" && state !== null && "cwd" in state;
}
