/** An error of an edge as a component's trouble: its code with the fixed words of the catalogue, never its message (H3 of health.ts). */
import { queueErrorCodes } from "@markmill/queue";
import { sandboxErrorCodes } from "@markmill/sandbox";
import { storeErrorCodes } from "@markmill/store";
import type { Trouble } from "./health.ts";
import { troubleOf } from "./health-codes.ts";

const known: Readonly<Record<string, { readonly means: string; readonly fix: string }>> = {
  ...storeErrorCodes,
  ...queueErrorCodes,
  ...sandboxErrorCodes,
};

export function troubleOfError(error: unknown): Trouble {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  return Object.hasOwn(known, code) && known[code] !== undefined
    ? { code, means: known[code].means, fix: known[code].fix }
    : troubleOf("HEALTH_UNKNOWN");
}
