/**
 * Turns an error of an external component into its health trouble: its code with the fixed text of the catalogue, never its message (H3 of
 * health.ts). The errors carry their fixed text, so that no adapter code is loaded for it.
 */
import type { Trouble } from "./health.ts";
import { troubleOf } from "./health-codes.ts";

export function troubleOfError(error: unknown): Trouble {
  if (!(error instanceof Error)) return troubleOf("HEALTH_UNKNOWN");
  const { code, means, fix } = error as { code?: unknown; means?: unknown; fix?: unknown };
  return typeof code === "string" && typeof means === "string" && typeof fix === "string"
    ? { code, means, fix }
    : troubleOf("HEALTH_UNKNOWN");
}
