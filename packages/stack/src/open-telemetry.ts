/** Opens telemetry if it is configured. Otherwise none of its code is loaded. */
import type { Config } from "@markmill/config";
import type { Telemetry } from "@markmill/telemetry";
import { StackError, stackErrorCodes } from "./stack-error.ts";
import type { StackLog } from "./stack-log.ts";
import { markmillVersion } from "./version.ts";

export async function openTelemetryIfAny(config: Config, role: string, log: StackLog): Promise<Telemetry | null> {
  if (config.telemetry === null) return null;
  const { openTelemetry } = await import("@markmill/telemetry");
  const { fix } = stackErrorCodes.TELEMETRY_LOST;
  const onLost = (why: string) => log.warn({ err: new StackError("TELEMETRY_LOST", why, fix) }, "telemetry");
  return openTelemetry({ settings: config.telemetry, role, version: markmillVersion(), onLost });
}
